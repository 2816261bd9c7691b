package fedex

import (
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// countryOf returns the country of a place as FedEx counts countries: the
// territories of the United States and France are countries of their own, the
// islands of Spain and Finland are not.
func countryOf(place carrierkit.Place) string {
	switch territory := place.Territory(); territory {
	case carrierkit.CanaryIslands, carrierkit.CeutaMelilla:
		return "ES"
	case "AX":
		return "FI"
	default:
		return territory
	}
}

// stateOf returns the state of a place where FedEx knows its code; it needs
// none elsewhere, such as the county of an Irish address.
func stateOf(place carrierkit.Place) string {
	switch country := countryOf(place); {
	case country == "PR":
		return "PR"
	case (country == "US" || country == "CA") && len(place.State) == 2:
		return place.State
	}
	return ""
}

// A lane is where an order goes from and to.
type lane struct{ from, to carrierkit.Place }

func laneOf(order *ship.Order) lane {
	return lane{carrierkit.PlaceOf(order.Origin), carrierkit.PlaceOf(order.Destination)}
}

// crossesCustoms reports whether the parcels are declared to customs.
func (l lane) crossesCustoms() bool { return carrierkit.CrossesCustoms(l.from, l.to) }

// isInternational reports whether FedEx asks what is in the parcels: in all
// that leave a country, inside the European Union too.
func (l lane) isInternational() bool {
	return l.crossesCustoms() || countryOf(l.from) != countryOf(l.to)
}

// entersEU reports whether the rules of the European Union for goods from
// other countries apply.
func (l lane) entersEU() bool { return !l.from.InEU() && l.to.InEU() }
