package parts

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"

	"github.com/waybillhq/waybill/internal/ship"
)

// CountryChoices are all countries, sorted by name.
var CountryChoices = sync.OnceValue(func() []Choice {
	var list []Choice
	for first := 'A'; first <= 'Z'; first++ {
		for second := 'A'; second <= 'Z'; second++ {
			if code := string([]rune{first, second}); ship.KnownCountry(code) {
				list = append(list, Choice{code, ship.CountryName(code)})
			}
		}
	}

	slices.SortFunc(list, func(a, b Choice) int { return strings.Compare(a.Title, b.Title) })
	return list
})

// NewPurchaseKey returns a random key that identifies one purchase.
func NewPurchaseKey() string { return rand.Text() }

// WeightUnits are the units to choose from for a weight.
var WeightUnits = []Choice{{"lb", "lb"}, {"oz", "oz"}, {"kg", "kg"}, {"g", "g"}}

// LengthUnits are the units to choose from for a length.
var LengthUnits = []Choice{{"in", "in"}, {"cm", "cm"}, {"mm", "mm"}}

// Signatures are the kinds of signature on delivery to choose from.
var Signatures = []Choice{
	{"", "Not required"},
	{"standard", "Signature required"},
	{"indirect", "Signature required, a neighbor may sign"},
	{"direct", "Signature required at the address"},
	{"adult", "Adult signature required"},
}

// RecipientTypes are the kinds of recipient to choose from.
var RecipientTypes = []Choice{{"", "Not specified"}, {"consumer", "Consumer"}, {"business", "Business"}}
