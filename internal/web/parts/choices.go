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

// WeightUnits are the choices of a weight.
var WeightUnits = []Choice{{"lb", "lb"}, {"oz", "oz"}, {"kg", "kg"}, {"g", "g"}}

// LengthUnits are the choices of a length.
var LengthUnits = []Choice{{"in", "in"}, {"cm", "cm"}, {"mm", "mm"}}

// Signatures are the choices of a signature on delivery.
var Signatures = []Choice{{"", "Not required"}, {"standard", "Signature required"}, {"adult", "Adult signature required"}}

// RecipientTypes are the choices of who receives a parcel.
var RecipientTypes = []Choice{{"", "Not specified"}, {"consumer", "Consumer"}, {"business", "Business"}}
