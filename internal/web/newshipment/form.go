package newshipment

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// parcelForm is one parcel, as it was filled in.
type parcelForm struct {
	Weight     string
	WeightUnit string
	Sides      [3]string
	LengthUnit string
	Packaging  string
	Box        string
}

// parcelPrefix returns the prefix of a parcel's fields; those of the first
// parcel have none.
func parcelPrefix(i int) string {
	if i == 0 {
		return ""
	}
	return "parcel." + strconv.Itoa(i) + "."
}

// ReadForm reads the form. It keeps what was typed even if that is not
// a number, so the person can correct it.
func ReadForm(v *site.Visit) Form {
	page := Form{
		Units:     v.Who.Account.Units,
		Countries: parts.CountryChoices(),
		Once:      cmp.Or(v.Form("once"), parts.NewPurchaseKey()),
		From:      v.Form("from"),
		Return:    v.Form("return") != "",
		Insured:   amountForm{v.Form("insured"), cmp.Or(v.Form("insuredCurrency"), v.Who.Account.Currency)},
		Chosen:    v.Query("chosen"),
	}

	order := &page.Order
	order.OrderID = v.Form("order")
	order.Reference = v.Form("reference")
	order.ShipDate = ship.Date(v.Form("shipDate"))
	order.DeliverBy = ship.Date(v.Form("deliverBy"))
	order.Destination = readDestination(v)
	readOptions(v, &page)
	if page.From != "" {
		keepUnshown(v, &page)
	}
	if !page.isReturn() {
		readLocation(v, &page)
	}

	page.Parcels = readParcels(v, page.Units)
	for _, parcel := range page.Parcels {
		order.Parcels = append(order.Parcels, parcel.parcel())
	}

	// Customs depend on both countries, and a copy takes its origin from the
	// earlier shipment, so they come last.
	page.Abroad = page.crossesBorder(v)
	readCustoms(v, &page)
	return page
}

// readLocation has the order leave from the location that is chosen, if one is.
func readLocation(v *site.Visit, page *Form) {
	id, ok := ship.ParseLocationID(v.Form("location"))
	if !ok {
		return
	}

	location, err := v.Account.Location(v.Context(), v.Tenant(), id)
	if err != nil {
		page.Unread = append(page.Unread, ship.FieldError{
			Pointer: "/origin/locationId",
			Code:    "unknown_location",
			Detail:  "no longer exists; choose another location",
		})
		return
	}
	page.Order.LeaveFrom(location)
}

// hasLocations reports whether the form asks where the parcel leaves from. A
// return leaves from where the recipient is.
func (p Form) hasLocations() bool { return len(p.Locations) > 0 && !p.isReturn() }

// locationChoices lists the locations, after what applies if none is chosen.
func (p Form) locationChoices(usual ship.Account) []parts.Choice {
	first := parts.Choice{Title: "Ship-from address of the account"}
	switch {
	case p.From != "" && p.Order.Origin.City != "" && p.Order.Location.ID == "":
		first.Title = "As before: " + p.Order.Origin.Name + ", " + p.Order.Origin.City
	case usual.Location != nil:
		first.Title = "Default: " + usual.Location.Name
	}

	list := []parts.Choice{first}
	for _, location := range p.Locations {
		list = append(list, parts.Choice{Value: string(location.ID), Title: location.Name + " (" + location.Address.City + ")"})
	}
	return list
}

// readDestination reads the recipient's address.
func readDestination(v *site.Visit) ship.Address {
	to := ship.Address{
		Name:     v.Form("name"),
		Company:  v.Form("company"),
		Address1: v.Form("address1"),
		Address2: v.Form("address2"),
		Address3: v.Form("address3"),
		City:     v.Form("city"),
		State:    v.Form("state"),
		Zip:      v.Form("zip"),
		Country:  v.Form("country"),
		Phone:    v.Form("phone"),
		Email:    v.Form("email"),
		Type:     v.Form("recipientType"),
	}
	if v.Form("residential") != "" {
		to.Residential = new(true)
	}
	return to
}

// readParcels reads the parcels; there is always at least one.
func readParcels(v *site.Visit, units ship.Units) []parcelForm {
	var list []parcelForm
	for i := range ship.MaxParcels {
		prefix := parcelPrefix(i)
		if _, sent := v.Request.PostForm[prefix+"weight"]; !sent {
			break
		}

		list = append(list, parcelForm{
			Weight:     v.Form(prefix + "weight"),
			WeightUnit: cmp.Or(v.Form(prefix+"weightUnit"), string(units.Weight)),
			Sides:      [3]string{v.Form(prefix + "length"), v.Form(prefix + "width"), v.Form(prefix + "height")},
			LengthUnit: cmp.Or(v.Form(prefix+"lengthUnit"), string(units.Length)),
			Packaging:  v.Form(prefix + "packaging"),
			Box:        v.Form(prefix + "box"),
		})
	}

	if len(list) == 0 {
		list = []parcelForm{{WeightUnit: string(units.Weight), LengthUnit: string(units.Length)}}
	}
	return list
}

// parcel returns the parcel as the service takes it.
func (f parcelForm) parcel() ship.Parcel {
	parcel := ship.Parcel{
		Weight:     parts.ParseNumber(f.Weight),
		WeightUnit: ship.WeightUnit(f.WeightUnit),
		Packaging:  f.Packaging,
	}
	if f.Sides != [3]string{} {
		parcel.Dimensions = &ship.Dimensions{
			Length: parts.ParseNumber(f.Sides[0]),
			Width:  parts.ParseNumber(f.Sides[1]),
			Height: parts.ParseNumber(f.Sides[2]),
			Unit:   ship.LengthUnit(f.LengthUnit),
		}
	}
	return parcel
}

// fillBox puts the sides of the chosen box into the form.
func (f *parcelForm) fillBox(boxes []account.Box) {
	i := slices.IndexFunc(boxes, func(b account.Box) bool { return string(b.ID) == f.Box })
	if i < 0 {
		return
	}

	box := boxes[i]
	f.Sides = [3]string{parts.Decimal(box.Length), parts.Decimal(box.Width), parts.Decimal(box.Height)}
	f.LengthUnit = string(box.Unit)
}

// amountForm is an amount of money, as it was filled in.
type amountForm struct{ Value, Currency string }

// amount parses an amount of money, and notes a field error if it is not one.
func (p *Form) amount(pointer string, given amountForm) ship.Money {
	if given.Value == "" {
		return ship.Money{}
	}

	value, ok := ship.ParseMoney(strings.ReplaceAll(given.Value, ",", "."), given.Currency)
	if !ok || !ship.IsCurrency(value.Currency) {
		p.Unread = append(p.Unread, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: "must be an amount such as 12.50"})
	}
	return value
}

// crossesBorder reports whether the parcel goes to another country, or to a
// part of its own that customs treat as one, such as the Canary Islands.
func (p Form) crossesBorder(v *site.Visit) bool {
	from := p.Order.Origin
	if from.Country == "" {
		from = Origin(v)
	}

	to := p.Order.Destination
	if to.Country == "" {
		return false
	}
	return to.Country != from.Country || v.NeedsCustoms != nil && v.NeedsCustoms(from, to)
}

// keepUnshown copies from the earlier shipment what the form does not show: the
// origin, who pays the carrier, metadata, and whether it is a return. In the form
// for a return, the parcels come from where the earlier shipment went.
func keepUnshown(v *site.Visit, page *Form) {
	id, ok := ship.ParseShipmentID(page.From)
	if !ok {
		return
	}
	earlier, err := v.Shipping.Shipment(v.Context(), v.Tenant(), id)
	if err != nil {
		return // the parcel is sent from the account's own address then
	}

	if page.Return {
		back := earlier.ReturnOrder()
		page.Order.Origin = back.Origin
		page.Order.Metadata = back.Metadata
		page.Order.IsReturn = true
		page.Order.ReturnOf = back.ReturnOf
		return
	}

	page.Order.Origin = earlier.Order.Origin
	page.Order.Billing = earlier.Order.Billing
	page.Order.Metadata = earlier.CurrentMetadata()
	page.Order.IsReturn = earlier.Order.IsReturn
	page.Order.ReturnOf = earlier.Order.ReturnOf
}

// boxChoices lists the saved boxes with their sides.
func (p Form) boxChoices() []parts.Choice {
	list := []parts.Choice{{Value: "", Title: "No saved box"}}
	for _, box := range p.Boxes {
		list = append(list, parts.Choice{Value: string(box.ID), Title: box.Name + " (" + boxSize(box) + ")"})
	}
	return list
}

func boxSize(b account.Box) string { return parts.Size(ship.Parcel{Dimensions: &b.Dimensions}) }

// Explain records the errors of the form, by its own fields.
func (p *Form) Explain(found site.Problems) {
	p.Problem = found
	p.Fields = map[string]string{}
	for pointer, text := range found.Fields {
		if field := p.fieldOf(pointer); field != "" {
			p.Fields[field] = text
		}
	}
}

// wrong returns the error message of a field; "" if it has none.
func (p Form) wrong(field string) string { return p.Fields[field] }

// hasWrong reports whether a field whose name begins with prefix has an error.
func (p Form) hasWrong(prefix string) bool {
	for field := range p.Fields {
		if strings.HasPrefix(field, prefix) {
			return true
		}
	}
	return false
}

// orderFields are the form's fields by the pointers of the API, where the names
// differ.
var orderFields = map[string]string{
	"/orderId":                  "order",
	"/origin/locationId":        "location",
	"/reference":                "reference",
	"/shipDate":                 "shipDate",
	"/deliverBy":                "deliverBy",
	"/parcel":                   "weight",
	"/options/signature":        "signature",
	"/options/saturdayDelivery": "saturday",
	"/options/insuredValue":     "insured",
	"/destination/type":         "recipientType",

	"/destination/servicePoint":        "option.servicePoint",
	"/options/holdAtLocation":          "option.hold",
	"/options/returnServiceRequested":  "option.returnService",
	"/options/dryIce":                  "option.dryIce",
	"/options/dryIce/weight":           "option.dryIce",
	"/options/alcohol":                 "option.alcohol",
	"/options/lithiumBatteries":        "option.batteries",
	"/options/lithiumBatteries/type":   "option.batteries",
	"/options/lithiumBatteries/packed": "option.packed",
	"/options/cod":                     "option.cod",
	"/options/cod/method":              "option.codMethod",
	"/options/carbonNeutral":           "option.carbonNeutral",

	"/customs":                 "item.0.description",
	"/customs/items":           "item.0.description",
	"/customs/contentsType":    "contents",
	"/customs/incoterm":        "incoterm",
	"/customs/signer":          "signer",
	"/customs/invoiceNumber":   "invoice",
	"/customs/paperless":       "paperless",
	"/customs/documentsFollow": "paperless",
	"/customs/taxIdentifiers":  "tax.0.number",
}

// fieldOf returns the form's field for a pointer of the API; "" if the form
// does not show it.
func (p Form) fieldOf(pointer string) string {
	if field, ok := orderFields[pointer]; ok {
		return field
	}

	part, rest, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	rest = strings.ReplaceAll(rest, "/amount", "")
	switch part {
	case "destination":
		return rest

	case "parcel":
		return parcelField(0, rest)

	case "parcels":
		number, name, _ := strings.Cut(rest, "/")
		i, err := strconv.Atoi(number)
		if err != nil {
			return ""
		}
		return parcelField(i, name)

	case "options":
		return orderFields["/options/"+rest]

	case "customs":
		return p.customsField(rest)
	}
	return ""
}

// customsField returns the form's field for a pointer below /customs. Empty
// lines of the form are not declared, so a line's number in the form can be
// higher than in the order.
func (p Form) customsField(pointer string) string {
	kind, rest, _ := strings.Cut(pointer, "/")
	number, name, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	if err != nil {
		return ""
	}

	switch kind {
	case "items":
		if product, ok := strings.CutPrefix(name, "productIdentifiers"); ok {
			name = "product" + cmp.Or(strings.ReplaceAll(product, "/", "."), ".0.number")
		}
		return "item." + strconv.Itoa(lineAt(p.Customs.itemLines, i)) + "." + cmp.Or(name, "description")
	case "taxIdentifiers":
		return "tax." + strconv.Itoa(lineAt(p.Customs.taxLines, i)) + "." + cmp.Or(name, "number")
	}
	return ""
}

// parcelField returns the form's field of a parcel.
func parcelField(i int, name string) string {
	switch name {
	case "":
		name = "weight"
	case "dimensions":
		name = "length"
	case "dimensions/unit":
		name = "lengthUnit"
	}
	return parcelPrefix(i) + strings.TrimPrefix(name, "dimensions/")
}

// lineAt returns the i-th line number, or i if the list is shorter.
func lineAt(lines []int, i int) int {
	if i < len(lines) {
		return lines[i]
	}
	return i
}

// fieldTitles are the labels of the fields.
var fieldTitles = map[string]string{
	"address1":      "Street",
	"address2":      "Suite, floor",
	"zip":           "Postal code",
	"order":         "Order number",
	"shipDate":      "Ship date",
	"deliverBy":     "Deliver by",
	"originCountry": "Country of origin",
	"hsCode":        "HS code",
	"sku":           "SKU",
	"paperless":     "Customs documents",
	"weightUnit":    "Weight unit",
	"lengthUnit":    "Length unit",
	"insured":       "Insured value",
	"contents":      "Contents",
	"invoice":       "Invoice number",
	"email":         "E-mail",
	"recipientType": "Recipient",
	"servicePoint":  "Service point",
	"hold":          "Hold for collection",
	"returnService": "Return service",
	"dryIce":        "Dry ice",
	"batteries":     "Lithium batteries",
	"cod":           "Collect on delivery",
	"codMethod":     "Paid by",
	"carbonNeutral": "Carbon-neutral shipping",
}

// A fieldProblem is one error that keeps the form from being quoted.
type fieldProblem struct {
	Field string // of the form; "" where the form does not show it
	Title string
	Text  string
}

// FieldProblems lists the errors field by field, in the order of the pointers.
func (p Form) FieldProblems() []fieldProblem { return p.listProblems(p.Problem) }

func (p Form) listProblems(found site.Problems) []fieldProblem {
	var list []fieldProblem
	for _, pointer := range slices.Sorted(maps.Keys(found.Fields)) {
		if pointer == "/rateId" {
			continue // refusal reports it
		}
		field := p.fieldOf(pointer)
		list = append(list, fieldProblem{Field: field, Title: fieldTitle(field, pointer), Text: found.Fields[pointer]})
	}
	return list
}

// warn shows what customs would object to beside the fields that it is about.
func (p *Form) warn(found []ship.FieldError) {
	for _, warning := range found {
		field := p.fieldOf(warning.Pointer)
		p.Warnings = append(p.Warnings, fieldProblem{Field: field, Title: warningTitle(field, warning.Pointer), Text: warning.Detail})
	}
}

// listTitles name the lists of a declaration in warnings, which are about all of
// their items.
var listTitles = map[string]string{
	"/customs/items":          "The declared items",
	"/customs/taxIdentifiers": "The declaration",
}

func warningTitle(field, pointer string) string {
	return cmp.Or(listTitles[pointer], fieldTitle(field, pointer))
}

// NameField returns a warning that begins with a pointer with the label of the field
// instead: "Item 2, HS code is missing".
func NameField(warning string) string {
	pointer, text, found := strings.Cut(warning, " ")
	if !found || !strings.HasPrefix(pointer, "/") {
		return warning
	}
	return warningTitle(Form{}.fieldOf(pointer), pointer) + " " + text
}

// fieldTitle returns the label of a form field, or words for the pointer if the
// form has no such field.
func fieldTitle(field, pointer string) string {
	if field == "" {
		words := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		if words[0] == "origin" {
			words[0] = "sender's"
		}
		return parts.Plain(strings.Join(words, " "))
	}

	segments := strings.Split(field, ".")
	name := segments[len(segments)-1]
	title := cmp.Or(fieldTitles[name], parts.Plain(name))
	if strings.Contains(field, ".product.") {
		title = "Product identifier"
	}
	if len(segments) < 3 {
		return title
	}

	// A field of a line: "Item 2, quantity". Abbreviations such as HS and SKU keep
	// their capitals.
	i, _ := strconv.Atoi(segments[1])
	if title[1:2] != strings.ToUpper(title[1:2]) {
		title = strings.ToLower(title[:1]) + title[1:]
	}
	return parts.Plain(segments[0]) + " " + strconv.Itoa(i+1) + ", " + title
}

// refusal says why the label was not bought, if that is not about a field.
func (p Form) refusal() string {
	if text := p.Problem.At("/rateId"); text != "" {
		return text + " Nothing was bought."
	}
	if p.Problem.All == "" || p.EarlierID != "" {
		return ""
	}
	return p.Problem.All + " Nothing was bought."
}

// elsewhere lists the errors of what the form does not show.
func (p Form) elsewhere() []fieldProblem {
	return slices.DeleteFunc(p.FieldProblems(), func(f fieldProblem) bool { return f.Field != "" })
}

// placeValue returns the destination's city, state or postal code.
func (p Form) placeValue(name string) string {
	to := p.Order.Destination
	return map[string]string{"city": to.City, "state": to.State, "zip": to.Zip}[name]
}

// isResidential reports whether the recipient lives at the address.
func (p Form) isResidential() bool {
	residential := p.Order.Destination.Residential
	return residential != nil && *residential
}

// earlierWords says what became of the order before; the time follows it.
func earlierWords(shipment ship.Shipment) string {
	if shipment.State.Bought() {
		return "was shipped"
	}
	return "was ordered from the carrier"
}
