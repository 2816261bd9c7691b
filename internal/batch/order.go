package batch

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Wrong is what is wrong with a line: in a field, or "" in the whole.
type Wrong struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`

	// Shipment is the live shipment that the order has already, if that is
	// what is wrong. With Accepted nothing is: a person saw that shipment and
	// wants the order shipped again.
	Shipment ship.ShipmentID `json:"shipment,omitempty"`
	Accepted bool            `json:"accepted,omitempty"`
}

// check refuses a meaning under which no line could be bought.
func (m Meaning) check(columns int) error {
	var wrong []ship.FieldError
	if len(m.Columns) != columns {
		return ship.Errorf(ship.Conflict, "the file has other columns than these")
	}
	seen := map[string]bool{}
	for i, name := range m.Columns {
		if name == "" {
			continue
		}
		pointer := "/columns/" + strconv.Itoa(i)
		if _, known := field(name); !known {
			wrong = append(wrong, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: "is not a field"})
		} else if seen[name] {
			wrong = append(wrong, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: "is taken by another column: a field comes from one"})
		}
		seen[name] = true
	}
	for _, f := range Fields {
		if f.Required && !seen[f.Name] && m.Fixed[f.Name] == "" {
			wrong = append(wrong, ship.FieldError{Pointer: "/fields/" + f.Name, Code: "required", Detail: "choose the column that holds it: " + f.Title})
		}
	}
	return ship.InvalidFields(wrong)
}

// Values are a line by field.
func (m Meaning) Values(cells []string) map[string]string {
	values := make(map[string]string, len(m.Columns))
	for i, name := range m.Columns {
		if name != "" && i < len(cells) {
			values[name] = cells[i]
		}
	}
	for name, value := range m.Fixed {
		if values[name] == "" {
			values[name] = value
		}
	}
	return values
}

// has reports whether a column, or what stands in for one, gives the field.
func (m Meaning) has(name string) bool {
	return slices.Contains(m.Columns, name) || m.Fixed[name] != ""
}

// advice is a mistake and the way out of it.
func advice(f ship.FieldError) string {
	if f.Suggestion != "" {
		return f.Detail + "; did you mean " + f.Suggestion + "?"
	}
	return f.Detail
}

// fields by what the last part of a pointer calls them, where that differs.
var pointed = map[string]string{"orderId": "order", "unit": "lengthUnit", "description": "item", "originCountry": "origin", "contentsType": "contents", "items": "item", "dimensions": "length"}

func fieldOf(pointer string) string {
	name := pointer[strings.LastIndexByte(pointer, '/')+1:]
	name = cmp.Or(pointed[name], name)
	if _, known := field(name); !known {
		return ""
	}
	return name
}

// line reads the values of one.
type line struct {
	values map[string]string
	wrong  []Wrong
}

// add notes a mistake, the first of a field.
func (l *line) add(field, detail string) {
	if !slices.ContainsFunc(l.wrong, func(w Wrong) bool { return w.Field == field }) {
		l.wrong = append(l.wrong, Wrong{Field: field, Detail: detail})
	}
}

// check notes what every order is checked for.
func (l *line) check(o ship.Order, how ship.Normalizing) {
	_, err := o.Normalize(how)
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return
	}
	for _, f := range e.Fields {
		l.add(fieldOf(f.Pointer), member(f.Pointer, o)+advice(f))
	}
	if len(e.Fields) == 0 {
		l.add("", e.Message)
	}
}

func (l *line) order(a ship.Account) ship.Order {
	v := l.values
	o := ship.Order{
		OrderID: v["order"], Reference: v["reference"], ShipDate: ship.Date(v["shipDate"]),
		Destination: ship.Address{
			Name: v["name"], Company: v["company"], Address1: v["address1"], Address2: v["address2"], Address3: v["address3"],
			City: v["city"], State: v["state"], Zip: v["zip"], Country: countryOf(v["country"], a), Phone: v["phone"], Email: v["email"],
		},
		Options: ship.Options{Signature: l.signature()},
	}
	for _, one := range l.several("weight", "weightUnit", "length", "width", "height", "lengthUnit") {
		o.Parcels = append(o.Parcels, l.parcel(one))
	}
	if v["item"] != "" {
		o.Customs = l.customs(a)
	}
	return o
}

func (l *line) parcel(v map[string]string) ship.Parcel {
	p := ship.Parcel{Weight: l.number("weight", v["weight"]), WeightUnit: ship.WeightUnit(unitOf(v["weightUnit"]))}
	if v["length"]+v["width"]+v["height"] != "" {
		p.Dimensions = &ship.Dimensions{
			Length: l.number("length", v["length"]), Width: l.number("width", v["width"]), Height: l.number("height", v["height"]), Unit: ship.LengthUnit(unitOf(v["lengthUnit"])),
		}
	}
	return p
}

// countryOf reads a code or a name. A line without one stays in the account's
// own country.
func countryOf(written string, a ship.Account) string {
	if written == "" && a.Origin != nil {
		return a.Origin.Country
	}
	return code(written)
}

// code is a country's, as far as it is known.
func code(written string) string {
	if code, ok := ship.CountryCode(written); ok {
		return code
	}
	return written
}

// number reads what spreadsheets write, with a point or a comma.
func (l *line) number(name, s string) float64 {
	if s == "" {
		if name == "weight" {
			l.add(name, "is required")
		}
		return 0
	}
	if strings.Contains(s, ".") {
		s = strings.ReplaceAll(s, ",", "")
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", "."), 64)
	if err != nil {
		l.add(name, "is not a number: write it as 2.5, and the unit in a column of its own")
		return 0
	}
	return n
}

// units as people write them.
var unitWords = map[string]string{
	"lbs": "lb", "pound": "lb", "pounds": "lb", "ounce": "oz", "ounces": "oz", "kilogram": "kg", "kilograms": "kg", "kgs": "kg", "gram": "g", "grams": "g", "gr": "g",
	"inch": "in", "inches": "in", `"`: "in", "centimeter": "cm", "centimetre": "cm", "centimeters": "cm", "centimetres": "cm", "millimeter": "mm", "millimetre": "mm",
}

func unitOf(s string) string {
	s = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(s), "."))
	return cmp.Or(unitWords[s], s)
}

func (l *line) signature() string {
	switch s := strings.ToLower(l.values["signature"]); s {
	case "no", "none", "false", "0", "not needed":
		return ""
	case "yes", "true", "1", "required":
		return "standard"
	default:
		return s
	}
}

// customs is the declaration.
func (l *line) customs(a ship.Account) *ship.Customs {
	contents := cmp.Or(strings.ToLower(l.values["contents"]), ship.ContentsTypes[0])
	if !slices.Contains(ship.ContentsTypes, contents) {
		l.add("contents", "is not one of "+strings.Join(ship.ContentsTypes, ", "))
	}
	c := &ship.Customs{ContentsType: contents}
	for _, one := range l.several("value", "item", "quantity", "currency", "hsCode", "origin") {
		c.Items = append(c.Items, l.item(one, a))
	}
	return c
}

// item is one kind of thing.
func (l *line) item(v map[string]string, a ship.Account) ship.CustomsItem {
	item := ship.CustomsItem{Description: v["item"], Quantity: 1, HSCode: v["hsCode"], OriginCountry: code(v["origin"])}
	if v["quantity"] != "" {
		n, err := strconv.Atoi(v["quantity"])
		if err != nil {
			l.add("quantity", "is not a whole number")
		}
		item.Quantity = n
	}
	if v["value"] != "" {
		var ok bool
		if item.Value, ok = ship.ParseMoney(v["value"], strings.ToUpper(cmp.Or(v["currency"], a.Currency))); !ok {
			l.add("value", "is not an amount such as 12.50")
		}
	}
	return item
}
