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

// parcelPrefix stands before the fields of a parcel; those of the first have
// none.
func parcelPrefix(i int) string {
	if i == 0 {
		return ""
	}
	return "parcel." + strconv.Itoa(i) + "."
}

// readShipmentForm reads the form. It keeps what was typed, even where that is
// no number: the person must be able to correct it.
func (v *visit) readShipmentForm() newShipment {
	p := newShipment{
		Units:     v.who.Account.Units,
		Countries: countryChoices(),
		Once:      or(v.form("once"), newOnce()),
		From:      v.form("from"),
		Insured:   amountForm{v.form("insured"), or(v.form("insuredCurrency"), v.who.Account.Currency)},
		Chosen:    v.query("chosen"),
	}

	o := &p.Order
	o.OrderID = v.form("order")
	o.Reference = v.form("reference")
	o.ShipDate = ship.Date(v.form("shipDate"))
	o.DeliverBy = ship.Date(v.form("deliverBy"))
	o.Destination = v.readDestination()
	o.Options = ship.Options{
		Signature:        v.form("signature"),
		SaturdayDelivery: v.form("saturday") != "",
		InsuredValue:     p.amount("/options/insuredValue", p.Insured),
	}
	if p.From != "" {
		v.keepUnshown(&p)
	}

	p.Parcels = v.readParcels(p.Units)
	for _, parcel := range p.Parcels {
		o.Parcels = append(o.Parcels, parcel.parcel())
	}

	p.Abroad = p.crossesBorder(v)
	v.readCustoms(&p)
	return p
}

// readDestination reads where it goes.
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

// readParcels reads the parcels; there is always one.
func (v *visit) readParcels(units ship.Units) []parcelForm {
	var list []parcelForm
	for i := range ship.MaxParcels {
		at := parcelPrefix(i)
		if _, sent := v.r.PostForm[at+"weight"]; !sent {
			break
		}
		list = append(list, parcelForm{
			Weight:     v.form(at + "weight"),
			WeightUnit: or(v.form(at+"weightUnit"), string(units.Weight)),
			Sides:      [3]string{v.form(at + "length"), v.form(at + "width"), v.form(at + "height")},
			LengthUnit: or(v.form(at+"lengthUnit"), string(units.Length)),
			Packaging:  v.form(at + "packaging"),
			Box:        v.form(at + "box"),
		})
	}
	if len(list) == 0 {
		list = []parcelForm{{WeightUnit: string(units.Weight), LengthUnit: string(units.Length)}}
	}
	return list
}

// parcel is the parcel as the service takes it.
func (f parcelForm) parcel() ship.Parcel {
	p := ship.Parcel{
		Weight:     number(f.Weight),
		WeightUnit: ship.WeightUnit(f.WeightUnit),
		Packaging:  f.Packaging,
	}
	if f.Sides != [3]string{} {
		p.Dimensions = &ship.Dimensions{
			Length: number(f.Sides[0]),
			Width:  number(f.Sides[1]),
			Height: number(f.Sides[2]),
			Unit:   ship.LengthUnit(f.LengthUnit),
		}
	}
	return p
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

// number reads what people type; what is none is zero, which the service
// refuses.
func number(s string) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", "."), 64)
	if err != nil {
		return 0
	}
	return n
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// amountForm is an amount of money, as it was filled in.
type amountForm struct{ Value, Currency string }

// amount reads an amount of money; what is none is noted.
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

// crossesBorder reports whether the parcel goes to another country.
func (p newShipment) crossesBorder(v *visit) bool {
	from := or(p.Order.Origin.Country, v.originCountry())
	to := p.Order.Destination.Country
	return to != "" && to != from
}

// keepUnshown takes over from the shipment that the form is a copy of what the
// form does not show: where it comes from, who pays, and the notes of programs.
func (v *visit) keepUnshown(p *newShipment) {
	id, ok := ship.ParseShipmentID(p.From)
	if !ok {
		return
	}
	earlier, err := v.Shipping.Shipment(v.ctx(), v.tenant(), id)
	if err != nil {
		return // it is sent from the account's own address then
	}
	p.Order.Origin = earlier.Order.Origin
	p.Order.Billing = earlier.Order.Billing
	p.Order.Metadata = earlier.Order.Metadata
	p.Order.IsReturn = earlier.Order.IsReturn
}

// boxChoices are the saved boxes with their sides.
func (p newShipment) boxChoices() []choice {
	list := []choice{{"", "No saved box"}}
	for _, b := range p.Boxes {
		list = append(list, choice{string(b.ID), b.Name + " (" + boxSize(b) + ")"})
	}
	return list
}

func boxSize(b account.Box) string { return size(ship.Parcel{Dimensions: &b.Dimensions}) }

// explain notes what is wrong with the form, by its own fields.
func (p *newShipment) explain(wrong problems) {
	p.Problem = wrong
	p.Fields = map[string]string{}
	for pointer, text := range wrong.Fields {
		if field := p.fieldOf(pointer); field != "" {
			p.Fields[field] = text
		}
	}
}

// wrong is what is wrong with a field of the form; "" if nothing is.
func (p newShipment) wrong(field string) string { return p.Fields[field] }

// hasWrong reports whether anything is wrong with the fields whose names begin
// so.
func (p newShipment) hasWrong(prefix string) bool {
	for field := range p.Fields {
		if strings.HasPrefix(field, prefix) {
			return true
		}
	}
	return false
}

// orderFields are the fields of the form by the pointers of the API, where
// they have another name.
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

// fieldOf is the form's field at a pointer of the API; "" if the form does not
// show it.
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
		kind, line, _ := strings.Cut(rest, "/")
		number, name, _ := strings.Cut(line, "/")
		i, err := strconv.Atoi(number)
		if err != nil {
			return ""
		}
		switch kind {
		case "items":
			if product, ok := strings.CutPrefix(name, "productIdentifiers"); ok {
				name = "product" + cmp.Or(strings.ReplaceAll(product, "/", "."), ".0.number")
			}
			return "item." + strconv.Itoa(at(p.Customs.itemLines, i)) + "." + cmp.Or(name, "description")
		case "taxIdentifiers":
			return "tax." + strconv.Itoa(at(p.Customs.taxLines, i)) + "." + cmp.Or(name, "number")
		}
	}
	return ""
}

// parcelField is the form's field of a parcel.
func parcelField(i int, name string) string {
	switch name {
	case "", "dimensions":
		name = map[string]string{"": "weight", "dimensions": "length"}[name]
	case "dimensions/unit":
		name = "lengthUnit"
	}
	return parcelPrefix(i) + strings.TrimPrefix(name, "dimensions/")
}

// at is the i-th of a list, or i where the list is shorter.
func at(list []int, i int) int {
	if i < len(list) {
		return list[i]
	}
	return i
}

// fieldTitles are what people call the fields.
var fieldTitles = map[string]string{
	"address1":      "Street",
	"address2":      "Suite, floor",
	"zip":           "Postal code",
	"order":         "Order number",
	"shipDate":      "Ship date",
	"deliverBy":     "Deliver by",
	"originCountry": "Made in",
	"hsCode":        "HS code",
	"sku":           "SKU",
	"paperless":     "Customs documents",
	"weightUnit":    "Unit of weight",
	"lengthUnit":    "Unit of length",
	"insured":       "Insured value",
	"contents":      "Contents",
	"invoice":       "Invoice number",
	"email":         "E-mail",
	"recipientType": "Recipient",
}

// A fieldProblem is one thing that stands between the form and its rates.
type fieldProblem struct {
	Field string // of the form; "" where the form does not show it
	Title string
	Text  string
}

// fieldProblems are what is wrong, field by field, in the order of the
// pointers.
func (p newShipment) fieldProblems() []fieldProblem { return p.listProblems(p.Problem) }

func (p newShipment) listProblems(wrong problems) []fieldProblem {
	var list []fieldProblem
	for _, pointer := range slices.Sorted(maps.Keys(wrong.Fields)) {
		if pointer == "/rateId" {
			continue
		}
		field := p.fieldOf(pointer)
		list = append(list, fieldProblem{Field: field, Title: fieldTitle(field, pointer), Text: wrong.Fields[pointer]})
	}
	return list
}

// fieldTitle is what people call a field of the form, or what a pointer to
// something else points at.
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
	i, _ := strconv.Atoi(parts[1])
	return plain(parts[0]) + " " + strconv.Itoa(i+1) + ", " + strings.ToLower(title[:1]) + title[1:]
}

// refusal is why the label was not bought, where no field is the reason.
func (p newShipment) refusal() string {
	if text := p.Problem.At("/rateId"); text != "" {
		return text + " Nothing was bought."
	}
	if p.Problem.All == "" || p.EarlierID != "" {
		return ""
	}
	return p.Problem.All + " Nothing was bought."
}

// elsewhere are the problems with what the form does not show.
func (p newShipment) elsewhere() []fieldProblem {
	return slices.DeleteFunc(p.fieldProblems(), func(f fieldProblem) bool { return f.Field != "" })
}

// placeValue is the destination's value of a field below the street.
func (p newShipment) placeValue(name string) string {
	to := p.Order.Destination
	return map[string]string{"city": to.City, "state": to.State, "zip": to.Zip}[name]
}

// isResidential reports whether the recipient lives at the address.
func (p newShipment) isResidential() bool {
	r := p.Order.Destination.Residential
	return r != nil && *r
}

// earlierWords say what became of the order before, in front of when.
func earlierWords(sh ship.Shipment) string {
	if sh.State.Bought() {
		return "was shipped"
	}
	return "was ordered from the carrier"
}

// numberWords are the tracking number in brackets, if there is one.
func numberWords(sh ship.Shipment) string {
	if sh.Deal.TrackingNumber == "" {
		return ""
	}
	return " (" + sh.Deal.TrackingNumber + ")"
}
