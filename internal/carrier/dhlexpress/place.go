package dhlexpress

import (
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// lane is what DHL's products depend on.
type lane int

const (
	domestic lane = iota
	union
	papers
	goods
)

// laneOf returns the lane between two places. A parcel that is declared inside
// a country, such as one to Ceuta, is still a domestic one.
func laneOf(from, to carrierkit.Place, declared bool) lane {
	switch {
	case countryOf(from) == countryOf(to):
		return domestic
	case declared:
		return goods
	case from.InEU() && to.InEU():
		return union
	}
	return papers
}

// countryOf returns the country in DHL's spelling: the territory, where DHL
// serves it as a country. Some islands and Kosovo have codes of DHL's own.
func countryOf(place carrierkit.Place) string {
	territory := place.Territory()
	if slices.Contains(partOfCountry, territory) {
		return strings.ToUpper(place.Country)
	}
	if own, ok := ownCountries[territory]; ok {
		return own
	}
	return territory
}

// partOfCountry are the territories that DHL serves as a part of their country:
// Ceuta and Melilla, the Åland Islands.
var partOfCountry = []string{carrierkit.CeutaMelilla, "AX"}

var ownCountries = map[string]string{"BL": "XY", "BQ": "XB", "CW": "XC", "SX": "XM", "XK": "KV"}

// placeOf returns a place that DHL named.
func placeOf(country, state, city string) carrierkit.Place {
	for iso, own := range ownCountries {
		if country == own {
			country = iso
		}
	}
	return carrierkit.Place{
		Country: country,
		State:   state,
		City:    city,
	}
}
