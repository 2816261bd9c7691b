package dhlparcelde

import (
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// countryOf returns the country in DHL's spelling, with three letters: the
// territory, where DHL has a code for it.
func countryOf(place carrierkit.Place) string {
	territory := place.Territory()
	if slices.Contains([]string{carrierkit.CanaryIslands, carrierkit.CeutaMelilla}, territory) {
		territory = place.Country
	}
	return ship.CountryAlpha3(territory)
}

// stateOf returns the state of a consignee. DHL takes those of the United States
// in the form of ISO 3166-2.
func stateOf(country, state string) string {
	if country == "US" && state != "" {
		return "US-" + state
	}
	return state
}

// germany is where parcels are sent from, and the clock of DHL's scans.
func germany() *time.Location { return carrierkit.Place{Country: "DE"}.ClosestZone() }
