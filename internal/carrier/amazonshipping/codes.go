package amazonshipping

import (
	"regexp"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A business is the country of an Amazon Shipping account.
type business struct {
	suffix   string // of its id
	country  string
	region   string // of the host
	currency string
}

// fact: business-ids
var businesses = []business{
	{"US", "US", "na", "USD"},
	{"UK", "GB", "eu", "GBP"},
	{"IN", "IN", "eu", "INR"},
	{"IT", "IT", "eu", "EUR"},
	{"ES", "ES", "eu", "EUR"},
	{"FR", "FR", "eu", "EUR"},
	{"JP", "JP", "fe", "JPY"},
	{"UAE", "AE", "eu", "AED"},
	{"SA", "SA", "eu", "SAR"},
	{"EG", "EG", "eu", "EGP"},
}

const businessPrefix = "AmazonShipping_"

func (b business) id() string { return businessPrefix + b.suffix }

func businessIDs() []string {
	var list []string
	for _, b := range businesses {
		list = append(list, b.id())
	}
	return list
}

// businessOf reads a business id, or the country alone.
func businessOf(text string) (business, bool) {
	if len(text) > len(businessPrefix) && strings.EqualFold(text[:len(businessPrefix)], businessPrefix) {
		text = text[len(businessPrefix):]
	}
	for _, b := range businesses {
		if strings.EqualFold(text, b.suffix) || strings.EqualFold(text, b.country) {
			return b, true
		}
	}
	return business{}, false
}

// A service of ours is what Amazon's services have in common by their names.
type service struct {
	code, name string
	named      *regexp.Regexp // nil for all others
}

var services = []service{
	{"same_day", "Amazon Shipping Same-Day", regexp.MustCompile(`(?i)same.?day`)},
	{"one_day", "Amazon Shipping One-Day", regexp.MustCompile(`(?i)one.?day|next.?day|1.?day|overnight`)},
	{"two_day", "Amazon Shipping Two-Day", regexp.MustCompile(`(?i)two.?day|2.?day`)},
	{"standard", "Amazon Shipping Standard", nil},
}

func specServices() []carrier.Service {
	list := make([]carrier.Service, len(services))
	for i, s := range services {
		list[i] = carrier.Service{Code: s.code, Name: s.name}
	}
	return list
}

// serviceOf returns our service of one of Amazon's.
func serviceOf(name string) service {
	for _, s := range services {
		if s.named != nil && s.named.MatchString(name) {
			return s
		}
	}
	return services[len(services)-1]
}

// chargeTypes are what the parts of a price are for; all others are other
// charges.
var chargeTypes = map[string]ship.ChargeType{
	"BASE_RATE":                     ship.BaseCharge,
	"FUEL_SURCHARGE":                ship.FuelCharge,
	"RESIDENTIAL_SURCHARGE":         ship.ResidentialCharge,
	"DELIVERY_AREA_SURCHARGE":       ship.DeliveryArea,
	"SIGNATURE_CONFIRMATION":        ship.SignatureCharge,
	"ADULT_SIGNATURE_CONFIRMATION":  ship.SignatureCharge,
	"DELIVERY_CONFIRMATION":         ship.SignatureCharge,
	"INSURANCE":                     ship.InsuranceCharge,
	"DECLARED_VALUE":                ship.InsuranceCharge,
	"OVERSIZE_SURCHARGE":            ship.OversizeCharge,
	"NONSTANDARD_FEE":               ship.OversizeCharge,
	"HIGH_CUBE_SURCHARGE":           ship.OversizeCharge,
	"HIGH_LENGTH_SURCHARGE":         ship.OversizeCharge,
	"HIGH_WIDTH_SURCHARGE":          ship.OversizeCharge,
	"DEMAND_SURCHARGE":              ship.PeakCharge,
	"VAT":                           ship.TaxCharge,
	"AMAZON_SPONSORED_DISCOUNT":     ship.DiscountCharge,
	"INTEGRATOR_SPONSORED_DISCOUNT": ship.DiscountCharge,
	"REBATE":                        ship.DiscountCharge,
}

// businessCountries are where parcels can be sent from.
func businessCountries() []string {
	var list []string
	for _, b := range businesses {
		list = append(list, b.country)
	}
	return list
}
