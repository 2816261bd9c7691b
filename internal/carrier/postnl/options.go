package postnl

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// extraServices says which services can do which options: a direct signature is
// that of somebody at the address.
func extraServices() carrier.Extras {
	return carrier.Extras{
		ship.ExtraServicePoint:      {"standard", "insured", "age_check", "eu_parcel"},
		ship.ExtraDirectSignature:   {"signature_home_only"},
		ship.ExtraIndirectSignature: {"signature"},
	}
}

// options refuses what the product does not do.
func (c *checker) options(options ship.Options, chosen service) {
	switch options.Signature {
	case "standard":
		if !chosen.signed {
			c.refuse("/options/signature", "unsupported", chosen.name+" has no signature; choose a service with one")
		}
	case "adult":
		if !chosen.adult {
			c.refuse("/options/signature", "unsupported", chosen.name+" does not check the age; choose age_check")
		}
	}
	if options.SaturdayDelivery {
		c.refuse("/options/saturdayDelivery", "unsupported", "PostNL delivers on Saturdays without a choice")
	}

	insured := options.InsuredValue
	switch {
	case insured.IsZero() && chosen.insured:
		c.refuse("/options/insuredValue", "required", chosen.name+" needs the value that is insured")
	case insured.IsZero():
	case !chosen.insured:
		c.refuse("/options/insuredValue", "unsupported", chosen.name+" has no extra cover; choose insured")
	case insured.Currency != "EUR":
		c.refuse("/options/insuredValue/currency", "invalid", "must be EUR for PostNL")
	}
}
