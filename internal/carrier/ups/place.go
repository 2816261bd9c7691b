package ups

import (
	"cmp"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// A lane is the kind of route between two countries. UPS has other services, or
// the same under other names, on each.
type lane int

const (
	laneUS     lane = iota // inside the United States, or inside Puerto Rico
	lanePR                 // between the two
	laneCA                 // inside Canada
	laneHome               // inside any other country
	laneAbroad             // between countries
)

// laneOf returns the lane between two countries as UPS counts them.
func laneOf(from, to string) lane {
	inUnitedStates := func(country string) bool { return country == "US" || country == "PR" }
	switch {
	case from == to && inUnitedStates(from):
		return laneUS
	case inUnitedStates(from) && inUnitedStates(to):
		return lanePR
	case from == to && from == "CA":
		return laneCA
	case from == to:
		return laneHome
	}
	return laneAbroad
}

// localized returns an address in the spelling of UPS: territories of the
// United States and of France, and the Canary Islands, are countries; North
// American postal codes have no separators; a Vietnamese province has its
// country before it.
func localized(given ship.Address) ship.Address {
	switch territory := carrierkit.PlaceOf(given).Territory(); territory {
	case carrierkit.CeutaMelilla, "AX":
		// UPS has no code for Ceuta, Melilla and the Åland Islands: they stay
		// in Spain and Finland.
	default:
		given.Country = cmp.Or(territory, given.Country)
	}

	if carrierkit.IsUSTerritory(given.Country) {
		given.State = given.Country
	}
	if given.Country == "VN" && len(given.State) == 2 {
		given.State = "VN-" + given.State
	}
	if isUnitedStates(given.Country) || given.Country == "CA" || len(given.Zip) > addressLimits.Zip {
		given.Zip = strings.NewReplacer(" ", "", "-", "").Replace(given.Zip)
	}
	given.Email = "" // UPS would write to it
	return given
}

// isUnitedStates reports whether UPS counts the country as the United States
// for units: the states and their territories.
func isUnitedStates(country string) bool {
	return country == "US" || carrierkit.IsUSTerritory(country)
}
