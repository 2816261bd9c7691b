package web

import (
	"crypto/rand"
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

var signatures = []choice{{"", "Not required"}, {"standard", "Signature required"}, {"adult", "Adult signature required"}}

var recipientTypes = []choice{{"", "Not specified"}, {"consumer", "Consumer"}, {"business", "Business"}}

// or is the first that is not empty.
func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
