package batch

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Problem is a problem with a line: in a field, or in the whole line if Field is
// empty.
type Problem struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`

	// Shipment is the live shipment that the order has already, if that is the
	// problem. With Accepted there is no problem: a person saw that shipment
	// and wants the order shipped again.
	Shipment ship.ShipmentID `json:"shipment,omitempty"`
	Accepted bool            `json:"accepted,omitempty"`

	// IsDoubt marks what does not keep the line from being bought: its address may
	// be wrong, or customs may object. Suggested are the values of the one that the carrier suggests, by
	// field.
	IsDoubt   bool              `json:"isDoubt,omitempty"`
	Suggested map[string]string `json:"suggested,omitempty"`

	// What programs act on: the place in the line's request and the code of what
	// is wrong there, and the code of the error that the problem is a part of.
	Pointer string `json:"pointer,omitempty"`
	Code    string `json:"code,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// check refuses a meaning under which no line could be bought.
func (m ColumnMapping) check(columns int) error {
	if len(m.Columns) != columns {
		return ship.Errorf(ship.Conflict, "the columns do not match the columns of the file")
	}

	var invalid []ship.FieldError
	seen := map[string]bool{}
	for i, name := range m.Columns {
		if name == "" {
			continue
		}
		pointer := "/columns/" + strconv.Itoa(i)
		if _, known := fieldByName(name); !known {
			invalid = append(invalid, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: "is not a known field"})
		} else if seen[name] {
			invalid = append(invalid, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: "is already mapped to another column: a field can be mapped only once"})
		}
		seen[name] = true
	}

	for _, field := range Fields {
		if field.Required && !seen[field.Name] && m.Fixed[field.Name] == "" {
			invalid = append(invalid, ship.FieldError{
				Pointer: "/fields/" + field.Name,
				Code:    "required",
				Detail:  "choose the column with this field: " + field.Title,
			})
		}
	}
	return ship.InvalidFields(invalid)
}

// Values are the values of a line by field.
func (m ColumnMapping) Values(cells []string) map[string]string {
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

// has reports whether a column or a fixed value gives the field.
func (m ColumnMapping) has(name string) bool {
	return slices.Contains(m.Columns, name) || m.Fixed[name] != ""
}

// advice is the detail of a field error, with its suggestion.
func advice(e ship.FieldError) string {
	if e.Suggestion != "" {
		return e.Detail + "; did you mean " + e.Suggestion + "?"
	}
	return e.Detail
}

// fieldByPointer has the fields by what the last part of a pointer calls them,
// where that differs.
var fieldByPointer = map[string]string{
	"orderId":       "order",
	"unit":          "lengthUnit",
	"description":   "item",
	"originCountry": "origin",
	"contentsType":  "contents",
	"items":         "item",
	"customs":       "item",
	"dimensions":    "length",
	"method":        "codMethod",
}

// fieldOf is the field of a line that a pointer into its order stands for; "" if
// there is none.
func fieldOf(pointer string) string {
	name := pointer[strings.LastIndexByte(pointer, '/')+1:]
	if option, ok := strings.CutPrefix(pointer, "/options/"); ok && option != "cod/method" {
		name, _, _ = strings.Cut(option, "/") // a part of an option is in its column
	}
	name = cmp.Or(fieldByPointer[name], name)
	if _, known := fieldByName(name); !known {
		return ""
	}
	return name
}

// line reads the values of a line, and collects the problems with them.
type line struct {
	values   map[string]string
	problems []Problem
}

// add notes a problem, unless the field has one already.
func (l *line) add(field, detail string) {
	if !slices.ContainsFunc(l.problems, func(w Problem) bool { return w.Field == field }) {
		l.problems = append(l.problems, Problem{Field: field, Detail: detail})
	}
}

// check notes the problems that every order is validated for.
func (l *line) check(order ship.Order, options ship.Normalizing) {
	_, err := order.Normalize(options)
	invalid, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return
	}

	for _, e := range invalid.Fields {
		l.add(fieldOf(e.Pointer), memberPrefix(e.Pointer, order)+advice(e))
	}
	if len(invalid.Fields) == 0 {
		l.add("", invalid.Message)
	}
}

// order is the order of the line.
func (l *line) order(account ship.Account, locations []ship.Location) ship.Order {
	values := l.values
	order := ship.Order{
		OrderID:   values["order"],
		Reference: values["reference"],
		ShipDate:  ship.Date(values["shipDate"]),
		Destination: ship.Address{
			Name:     values["name"],
			Company:  values["company"],
			Address1: values["address1"],
			Address2: values["address2"],
			Address3: values["address3"],
			City:     values["city"],
			State:    values["state"],
			Zip:      values["zip"],
			Country:  countryCode(values["country"]),
			Phone:    values["phone"],
			Email:    values["email"],
		},
		Options: l.options(account),
	}
	l.leaveFrom(&order, locations)
	if values["country"] == "" {
		order.Destination.Country = homeCountry(order, account)
	}

	for _, parcel := range l.splitValues("weight", "weightUnit", "length", "width", "height", "lengthUnit") {
		order.Parcels = append(order.Parcels, l.parcel(parcel))
	}
	if values["item"] != "" {
		order.Customs = l.customs(account)
	}
	return order
}

func (l *line) parcel(values map[string]string) ship.Parcel {
	parcel := ship.Parcel{
		Weight:     l.number("weight", values["weight"]),
		WeightUnit: ship.WeightUnit(unitOf(values["weightUnit"])),
	}
	if values["length"]+values["width"]+values["height"] != "" {
		parcel.Dimensions = &ship.Dimensions{
			Length: l.number("length", values["length"]),
			Width:  l.number("width", values["width"]),
			Height: l.number("height", values["height"]),
			Unit:   ship.LengthUnit(unitOf(values["lengthUnit"])),
		}
	}
	return parcel
}

// homeCountry is the country that a line without one stays in: that of its
// location, else the account's own.
func homeCountry(order ship.Order, account ship.Account) string {
	switch {
	case order.Origin.Country != "":
		return order.Origin.Country
	case account.Location != nil:
		return account.Location.Address.Country
	case account.Origin != nil:
		return account.Origin.Country
	}
	return ""
}

// countryCode is the code of a country, or what is written if it is not known.
func countryCode(written string) string {
	if code, ok := ship.CountryCode(written); ok {
		return code
	}
	return written
}

// number reads what spreadsheets write, with a point or a comma.
func (l *line) number(name, written string) float64 {
	if written == "" {
		if name == "weight" {
			l.add(name, "is required")
		}
		return 0
	}

	// Beside a point a comma separates thousands; alone it is the decimal sign.
	if strings.Contains(written, ".") {
		written = strings.ReplaceAll(written, ",", "")
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(written, ",", "."), 64)
	if err != nil {
		l.add(name, "must be a number such as 2.5, with the unit in a separate column")
		return 0
	}
	return n
}

// unitWords are units as people write them.
var unitWords = map[string]string{
	"lbs": "lb", "pound": "lb", "pounds": "lb", "ounce": "oz", "ounces": "oz", "kilogram": "kg", "kilograms": "kg", "kgs": "kg", "gram": "g", "grams": "g", "gr": "g",
	"inch": "in", "inches": "in", `"`: "in", "centimeter": "cm", "centimetre": "cm", "centimeters": "cm", "centimetres": "cm", "millimeter": "mm", "millimetre": "mm",
}

func unitOf(written string) string {
	unit := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(written), "."))
	return cmp.Or(unitWords[unit], unit)
}

// options are the options of the line, which carriers are asked for beside
// transport.
func (l *line) options(account ship.Account) ship.Options {
	options := ship.Options{
		Signature:              l.signature(),
		SaturdayDelivery:       l.flag("saturdayDelivery"),
		InsuredValue:           l.amount("insuredValue", account),
		HoldAtLocation:         l.flag("holdAtLocation"),
		ReturnServiceRequested: l.flag("returnServiceRequested"),
		Alcohol:                l.flag("alcohol"),
		CarbonNeutral:          l.flag("carbonNeutral"),
		COD: ship.COD{
			Amount: l.amount("cod", account),
			Method: strings.ToLower(l.values["codMethod"]),
		},
	}

	if weight := l.values["dryIce"]; weight != "" {
		options.DryIce.Weight = l.number("dryIce", weight)
	}

	if written := strings.ToLower(l.values["lithiumBatteries"]); written != "" {
		// "ion in_equipment", as the API calls the two parts.
		parts := strings.FieldsFunc(written, func(r rune) bool { return r == ' ' || r == ':' || r == ',' })
		if len(parts) != 2 {
			l.add("lithiumBatteries", "must be a type and a packing, such as ion in_equipment")
			return options
		}
		options.LithiumBatteries = ship.LithiumBatteries{Type: parts[0], Packed: parts[1]}
	}
	return options
}

// flag reads a column that says yes or no.
func (l *line) flag(name string) bool {
	switch strings.ToLower(l.values[name]) {
	case "", "no", "n", "false", "0":
		return false
	case "yes", "y", "true", "1", "x":
		return true
	}
	l.add(name, "must be yes or no")
	return false
}

// amount reads an amount, with its currency or in the account's.
func (l *line) amount(name string, account ship.Account) ship.Money {
	written := l.values[name]
	if written == "" {
		return ship.Money{}
	}
	number, currency, _ := strings.Cut(written, " ")
	money, ok := ship.ParseMoney(number, strings.ToUpper(cmp.Or(strings.TrimSpace(currency), account.Currency)))
	if !ok || !ship.IsCurrency(money.Currency) {
		l.add(name, "must be an amount such as 12.50 or 12.50 EUR")
	}
	return money
}

func (l *line) signature() string {
	switch signature := strings.ToLower(l.values["signature"]); signature {
	case "no", "none", "false", "0", "not needed":
		return ""
	case "yes", "true", "1", "required":
		return "standard"
	default:
		return signature
	}
}

// customs is the customs declaration.
func (l *line) customs(account ship.Account) *ship.Customs {
	contents := cmp.Or(strings.ToLower(l.values["contents"]), ship.ContentsTypes[0])
	if !slices.Contains(ship.ContentsTypes, contents) {
		l.add("contents", "must be one of "+strings.Join(ship.ContentsTypes, ", "))
	}

	customs := &ship.Customs{ContentsType: contents}
	for _, item := range l.splitValues("value", "item", "quantity", "currency", "hsCode", "origin") {
		customs.Items = append(customs.Items, l.item(item, account))
	}
	return customs
}

// item is one line of the declaration.
func (l *line) item(values map[string]string, account ship.Account) ship.CustomsItem {
	item := ship.CustomsItem{
		Description:   values["item"],
		Quantity:      1,
		HSCode:        values["hsCode"],
		OriginCountry: countryCode(values["origin"]),
	}

	if values["quantity"] != "" {
		n, err := strconv.Atoi(values["quantity"])
		if err != nil {
			l.add("quantity", "must be a whole number")
		}
		item.Quantity = n
	}
	if values["value"] != "" {
		currency := strings.ToUpper(cmp.Or(values["currency"], account.Currency))
		var ok bool
		if item.Value, ok = ship.ParseMoney(values["value"], currency); !ok {
			l.add("value", "must be an amount such as 12.50")
		}
	}
	return item
}
