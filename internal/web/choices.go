package web

import (
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/waybillhq/waybill/internal/ship"
)

// countryChoices are all countries by name, those that most parcels go to
// first.
var countryChoices = sync.OnceValue(func() []choice {
	var list []choice
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			if code := string([]rune{a, b}); ship.KnownCountry(code) {
				list = append(list, choice{code, ship.CountryName(code)})
			}
		}
	}
	slices.SortFunc(list, func(a, b choice) int { return strings.Compare(a.Title, b.Title) })
	return list
})

// newOnce is a name for one purchase.
func newOnce() string { return rand.Text() }

var weightUnits = []choice{{"lb", "lb"}, {"oz", "oz"}, {"kg", "kg"}, {"g", "g"}}

var lengthUnits = []choice{{"in", "in"}, {"cm", "cm"}, {"mm", "mm"}}

var signatures = []choice{{"", "Not needed"}, {"standard", "Anybody there"}, {"adult", "An adult"}}

// or is the first that is not empty.
func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// missing is what stands between the form and its rates, field by field.
func (p newShipment) missing() [][3]string {
	var list [][3]string
	for _, pointer := range slices.Sorted(maps.Keys(p.Wrong.Fields)) {
		name := pointer[strings.LastIndexByte(pointer, '/')+1:]
		field, title := name, name
		if known, ok := fieldTitles[name]; ok {
			title = known
		}
		switch {
		case name == "orderId":
			field = "order"
		case strings.HasPrefix(pointer, "/customs/items/"):
			field = strings.ReplaceAll(strings.TrimPrefix(pointer, "/customs/items/"), "/", ".")
			field = "item." + field
		}
		list = append(list, [3]string{plain(title), p.Wrong.Fields[pointer], field})
	}
	return list
}

// placeValue is the destination's value of a field below the street.
func (p newShipment) placeValue(name string) string {
	to := p.Order.Destination
	return map[string]string{"city": to.City, "state": to.State, "zip": to.Zip}[name]
}

var fieldTitles = map[string]string{"address1": "Street", "zip": "Postal code", "orderId": "Order number", "originCountry": "Made in", "hsCode": "HS code"}
