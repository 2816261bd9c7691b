package web

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
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

// readShipmentForm reads the form. It keeps what was typed even if that is not
// a number, so the person can correct it.
func (v *visit) readShipmentForm() newShipment {
	page := newShipment{
		Units:     v.who.Account.Units,
		Countries: countryChoices(),
		Once:      or(v.form("once"), newOnce()),
		From:      v.form("from"),
		Insured:   amountForm{v.form("insured"), or(v.form("insuredCurrency"), v.who.Account.Currency)},
		Chosen:    v.query("chosen"),
	}

	order := &page.Order
	order.OrderID = v.form("order")
	order.Reference = v.form("reference")
	order.ShipDate = ship.Date(v.form("shipDate"))
	order.DeliverBy = ship.Date(v.form("deliverBy"))
	order.Destination = v.readDestination()
	order.Options = ship.Options{
		Signature:        v.form("signature"),
		SaturdayDelivery: v.form("saturday") != "",
		InsuredValue:     page.amount("/options/insuredValue", page.Insured),
	}
	if page.From != "" {
		v.keepUnshown(&page)
	}

	page.Parcels = v.readParcels(page.Units)
	for _, parcel := range page.Parcels {
		order.Parcels = append(order.Parcels, parcel.parcel())
	}

	// Customs depend on both countries, and a copy takes its origin from the
	// earlier shipment, so they come last.
	page.Abroad = page.crossesBorder(v)
	v.readCustoms(&page)
	return page
}

// readDestination reads the recipient's address.
func (v *visit) readDestination() ship.Address {
	to := ship.Address{
		Name:     v.form("name"),
		Company:  v.form("company"),
		Address1: v.form("address1"),
		Address2: v.form("address2"),
		Address3: v.form("address3"),
		City:     v.form("city"),
		State:    v.form("state"),
		Zip:      v.form("zip"),
		Country:  v.form("country"),
		Phone:    v.form("phone"),
		Email:    v.form("email"),
		Type:     v.form("recipientType"),
	}
	if v.form("residential") != "" {
		to.Residential = new(true)
	}
	return to
}

// readParcels reads the parcels; there is always at least one.
func (v *visit) readParcels(units ship.Units) []parcelForm {
	var list []parcelForm
	for i := range ship.MaxParcels {
		prefix := parcelPrefix(i)
		if _, sent := v.r.PostForm[prefix+"weight"]; !sent {
			break
		}

		list = append(list, parcelForm{
			Weight:     v.form(prefix + "weight"),
			WeightUnit: or(v.form(prefix+"weightUnit"), string(units.Weight)),
			Sides:      [3]string{v.form(prefix + "length"), v.form(prefix + "width"), v.form(prefix + "height")},
			LengthUnit: or(v.form(prefix+"lengthUnit"), string(units.Length)),
			Packaging:  v.form(prefix + "packaging"),
			Box:        v.form(prefix + "box"),
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
		Weight:     number(f.Weight),
		WeightUnit: ship.WeightUnit(f.WeightUnit),
		Packaging:  f.Packaging,
	}
	if f.Sides != [3]string{} {
		parcel.Dimensions = &ship.Dimensions{
			Length: number(f.Sides[0]),
			Width:  number(f.Sides[1]),
			Height: number(f.Sides[2]),
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
	f.Sides = [3]string{decimal(box.Length), decimal(box.Width), decimal(box.Height)}
	f.LengthUnit = string(box.Unit)
}

// number parses a number as people type it. Anything else is zero, which the
// service rejects.
func number(text string) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", "."), 64)
	if err != nil {
		return 0
	}
	return n
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// amountForm is an amount of money, as it was filled in.
type amountForm struct{ Value, Currency string }

// amount parses an amount of money, and notes a field error if it is not one.
func (p *newShipment) amount(pointer string, given amountForm) ship.Money {
	if given.Value == "" {
		return ship.Money{}
	}

	value, ok := ship.ParseMoney(strings.ReplaceAll(given.Value, ",", "."), given.Currency)
	if !ok {
		p.Unread = append(p.Unread, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: "must be an amount such as 12.50"})
	}
	return value
}

// crossesBorder reports whether the parcel goes to another country, or to a
// part of its own that customs treat as one, such as the Canary Islands.
func (p newShipment) crossesBorder(v *visit) bool {
	from := p.Order.Origin
	if from.Country == "" {
		from = v.origin()
	}

	to := p.Order.Destination
	if to.Country == "" {
		return false
	}
	return to.Country != from.Country || v.NeedsCustoms != nil && v.NeedsCustoms(from, to)
}

// keepUnshown copies from the earlier shipment what the form does not show: the
// origin, who pays the carrier, metadata, and whether it is a return.
func (v *visit) keepUnshown(page *newShipment) {
	id, ok := ship.ParseShipmentID(page.From)
	if !ok {
		return
	}
	earlier, err := v.Shipping.Shipment(v.ctx(), v.tenant(), id)
	if err != nil {
		return // the parcel is sent from the account's own address then
	}

	page.Order.Origin = earlier.Order.Origin
	page.Order.Billing = earlier.Order.Billing
	page.Order.Metadata = earlier.Order.Metadata
	page.Order.IsReturn = earlier.Order.IsReturn
}

// boxChoices lists the saved boxes with their sides.
func (p newShipment) boxChoices() []choice {
	list := []choice{{"", "No saved box"}}
	for _, box := range p.Boxes {
		list = append(list, choice{string(box.ID), box.Name + " (" + boxSize(box) + ")"})
	}
	return list
}

func boxSize(b account.Box) string { return size(ship.Parcel{Dimensions: &b.Dimensions}) }

// explain records the errors of the form, by its own fields.
func (p *newShipment) explain(found problems) {
	p.Problem = found
	p.Fields = map[string]string{}
	for pointer, text := range found.Fields {
		if field := p.fieldOf(pointer); field != "" {
			p.Fields[field] = text
		}
	}
}

// wrong returns the error message of a field; "" if it has none.
func (p newShipment) wrong(field string) string { return p.Fields[field] }

// hasWrong reports whether a field whose name begins with prefix has an error.
func (p newShipment) hasWrong(prefix string) bool {
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
	"/reference":                "reference",
	"/shipDate":                 "shipDate",
	"/deliverBy":                "deliverBy",
	"/parcel":                   "weight",
	"/options/signature":        "signature",
	"/options/saturdayDelivery": "saturday",
	"/options/insuredValue":     "insured",
	"/destination/type":         "recipientType",
	"/customs":                  "item.0.description",
	"/customs/items":            "item.0.description",
	"/customs/contentsType":     "contents",
	"/customs/incoterm":         "incoterm",
	"/customs/signer":           "signer",
	"/customs/invoiceNumber":    "invoice",
	"/customs/paperless":        "paperless",
	"/customs/taxIdentifiers":   "tax.0.number",
}

// fieldOf returns the form's field for a pointer of the API; "" if the form
// does not show it.
func (p newShipment) fieldOf(pointer string) string {
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
func (p newShipment) customsField(pointer string) string {
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
}

// A fieldProblem is one error that keeps the form from being quoted.
type fieldProblem struct {
	Field string // of the form; "" where the form does not show it
	Title string
	Text  string
}

// fieldProblems lists the errors field by field, in the order of the pointers.
func (p newShipment) fieldProblems() []fieldProblem { return p.listProblems(p.Problem) }

func (p newShipment) listProblems(found problems) []fieldProblem {
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

// fieldTitle returns the label of a form field, or words for the pointer if the
// form has no such field.
func fieldTitle(field, pointer string) string {
	if field == "" {
		words := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		if words[0] == "origin" {
			words[0] = "sender's"
		}
		return plain(strings.Join(words, " "))
	}

	parts := strings.Split(field, ".")
	name := parts[len(parts)-1]
	title := cmp.Or(fieldTitles[name], plain(name))
	if strings.Contains(field, ".product.") {
		title = "Product identifier"
	}
	if len(parts) < 3 {
		return title
	}

	// A field of a line: "Item 2, HS code".
	i, _ := strconv.Atoi(parts[1])
	return plain(parts[0]) + " " + strconv.Itoa(i+1) + ", " + strings.ToLower(title[:1]) + title[1:]
}

// refusal says why the label was not bought, if that is not about a field.
func (p newShipment) refusal() string {
	if text := p.Problem.At("/rateId"); text != "" {
		return text + " Nothing was bought."
	}
	if p.Problem.All == "" || p.EarlierID != "" {
		return ""
	}
	return p.Problem.All + " Nothing was bought."
}

// elsewhere lists the errors of what the form does not show.
func (p newShipment) elsewhere() []fieldProblem {
	return slices.DeleteFunc(p.fieldProblems(), func(f fieldProblem) bool { return f.Field != "" })
}

// placeValue returns the destination's city, state or postal code.
func (p newShipment) placeValue(name string) string {
	to := p.Order.Destination
	return map[string]string{"city": to.City, "state": to.State, "zip": to.Zip}[name]
}

// isResidential reports whether the recipient lives at the address.
func (p newShipment) isResidential() bool {
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

// numberWords returns the tracking number in brackets, if there is one.
func numberWords(shipment ship.Shipment) string {
	if shipment.Purchase.TrackingNumber == "" {
		return ""
	}
	return " (" + shipment.Purchase.TrackingNumber + ")"
}
