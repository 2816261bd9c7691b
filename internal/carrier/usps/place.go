package usps

import (
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// isAbroad reports whether USPS delivers to the place as to another country.
func isAbroad(a ship.Address) bool { return stateOf(a) == "" && a.Country != "US" }

// stateOf returns the state of an address as USPS writes it: territories and
// freely associated states have codes of their own. It is empty abroad.
func stateOf(a ship.Address) string {
	territory := carrierkit.PlaceOf(a).Territory()
	switch {
	case carrierkit.IsUSTerritory(territory), carrierkit.IsAssociatedState(territory):
		return territory
	case territory == "US":
		return a.State
	}
	return ""
}

// fromPlace returns where the parcel is mailed.
func (c *draft) fromPlace() carrierkit.Place {
	place := carrierkit.PlaceOf(c.order.Origin)
	place.State = stateOf(c.order.Origin)
	return place
}

// military are the state codes of post offices of the armed forces.
var military = strings.Fields("AA AE AP")

// takesForm reports whether a parcel from or to the state may carry a customs
// form: it is outside the customs territory of the United States.
func takesForm(state string) bool {
	return slices.Contains(military, state) || carrierkit.IsAssociatedState(state) ||
		carrierkit.IsUSTerritory(state) && state != "PR"
}
