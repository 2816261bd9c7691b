package dhlparcelde

import (
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A product is what DHL bills by, with a billing number of its own.
type product struct {
	code      string
	procedure string // digits 11 and 12 of its billing number
	field     string // of the billing number
}

const (
	paket                  = "V01PAK"
	kleinpaket             = "V62KP"
	paketInternational     = "V53WPAK"
	europaket              = "V54EPAK"
	warenpostInternational = "V66WPI"
)

// fact: products, billing-number
var products = []product{
	{paket, "01", "billing_paket"},
	{kleinpaket, "62", "billing_kleinpaket"},
	{paketInternational, "53", "billing_paket_international"},
	{europaket, "54", "billing_europaket"},
	{warenpostInternational, "66", "billing_warenpost_international"},
}

// A service of ours is a product of DHL's, and whether it is sent by priority.
type service struct {
	code, name string
	product    string
	domestic   bool // within Germany; the others go abroad
	premium    bool
}

var services = []service{
	{"paket", "DHL Paket", paket, true, false},
	{"kleinpaket", "DHL Kleinpaket", kleinpaket, true, false},
	{"paket_international", "DHL Paket International", paketInternational, false, false},
	{"paket_international_premium", "DHL Paket International Premium", paketInternational, false, true},
	{"europaket", "DHL Europaket", europaket, false, false},
	{"warenpost_international", "DHL Warenpost International", warenpostInternational, false, false},
	{"warenpost_international_premium", "DHL Warenpost International Premium", warenpostInternational, false, true},
}

func specServices() []carrier.Service {
	list := make([]carrier.Service, len(services))
	for i, s := range services {
		list[i] = carrier.Service{Code: s.code, Name: s.name}
	}
	return list
}

func serviceByCode(code string) (service, bool) {
	i := slices.IndexFunc(services, func(s service) bool { return s.code == code })
	if i < 0 {
		return service{}, false
	}
	return services[i], true
}

// codesOf lists the services within Germany or abroad.
func codesOf(domestic bool) []string {
	var codes []string
	for _, s := range services {
		if s.domestic == domestic {
			codes = append(codes, s.code)
		}
	}
	return codes
}

// exportTypes are DHL's reasons for an export, by the API's type of contents.
// fact: export-types
var exportTypes = map[string]string{
	"merchandise":    "COMMERCIAL_GOODS",
	"gift":           "PRESENT",
	"sample":         "COMMERCIAL_SAMPLE",
	"documents":      "DOCUMENT",
	"returned_goods": "RETURN_OF_GOODS",
	"other":          "OTHER",
}

// extraServices says which services can do which options.
func extraServices() carrier.Extras {
	return carrier.Extras{
		ship.ExtraServicePoint:    codesOf(true),
		ship.ExtraDirectSignature: {"paket"},
		ship.ExtraReturnService:   codesOf(false),
		ship.ExtraCarbonNeutral:   carrier.EveryService,
	}
}
