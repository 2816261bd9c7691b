package royalmail

import (
	"fmt"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// extraServices says which services can do which options. A parcel that is held
// waits at the post office that Royal Mail chooses by the recipient's postcode.
func extraServices() carrier.Extras {
	var collected []string
	for _, s := range services {
		if s.collect {
			collected = append(collected, s.code)
		}
	}
	return carrier.Extras{ship.ExtraHoldAtLocation: collected}
}

// options refuses what the service does not do.
func (c *checker) options(options ship.Options, chosen service) {
	switch {
	case options.Signature == "adult" && chosen.signature != ageChecked:
		c.refuse("/options/signature", "unsupported", chosen.name+" has no adult signature; choose a service with age verification")
	case options.Signature == "standard" && chosen.signature == neverSigned:
		c.refuse("/options/signature", "unsupported", chosen.name+" has no signature; choose a signed service")
	}
	if options.SaturdayDelivery {
		c.refuse("/options/saturdayDelivery", "unsupported", "Royal Mail does not offer guaranteed delivery on Saturdays over its API")
	}

	insured := options.InsuredValue
	switch {
	case insured.IsZero():
	case chosen.cover == 0:
		c.refuse("/options/insuredValue", "unsupported", chosen.name+" has no cover to choose; choose a Special Delivery service")
	case insured.Currency != "GBP":
		c.refuse("/options/insuredValue/currency", "invalid", "must be GBP for Royal Mail")
	case insured.Minor > chosen.cover*100:
		c.refuse("/options/insuredValue", "invalid", fmt.Sprintf("%s covers up to %d GBP; choose a service with more cover", chosen.name, chosen.cover))
	}
}
