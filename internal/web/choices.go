package web

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"

	"github.com/waybillhq/waybill/internal/ship"
)

// countryChoices are all countries, sorted by name.
var countryChoices = sync.OnceValue(func() []choice {
	var list []choice
	for first := 'A'; first <= 'Z'; first++ {
		for second := 'A'; second <= 'Z'; second++ {
			if code := string([]rune{first, second}); ship.KnownCountry(code) {
				list = append(list, choice{code, ship.CountryName(code)})
			}
		}
	}

	slices.SortFunc(list, func(a, b choice) int { return strings.Compare(a.Title, b.Title) })
	return list
})

// newOnce returns a random key that identifies one purchase.
func newOnce() string { return rand.Text() }

var weightUnits = []choice{{"lb", "lb"}, {"oz", "oz"}, {"kg", "kg"}, {"g", "g"}}

var lengthUnits = []choice{{"in", "in"}, {"cm", "cm"}, {"mm", "mm"}}

var signatures = []choice{{"", "Not required"}, {"standard", "Signature required"}, {"adult", "Adult signature required"}}

var recipientTypes = []choice{{"", "Not specified"}, {"consumer", "Consumer"}, {"business", "Business"}}

// or returns s, or the other text if s is empty.
func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
