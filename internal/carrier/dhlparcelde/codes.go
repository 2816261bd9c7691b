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
	isReturn   bool // brings a parcel back, and nothing else does
}

var services = []service{
	{code: "paket", name: "DHL Paket", product: paket, domestic: true},
	{code: "kleinpaket", name: "DHL Kleinpaket", product: kleinpaket, domestic: true},
	{code: "paket_international", name: "DHL Paket International", product: paketInternational},
	{code: "paket_international_premium", name: "DHL Paket International Premium", product: paketInternational, premium: true},
	{code: "europaket", name: "DHL Europaket", product: europaket},
	{code: "warenpost_international", name: "DHL Warenpost International", product: warenpostInternational},
	{code: "warenpost_international_premium", name: "DHL Warenpost International Premium", product: warenpostInternational, premium: true},
	{code: returnService, name: "DHL Retoure", domestic: true, isReturn: true},
}

// returnService has no product in an order: that of the receiver's contract is used.
const returnService = "retoure"

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

// codesOf lists the services within Germany or abroad, without returns.
func codesOf(domestic bool) []string {
	var codes []string
	for _, s := range services {
		if s.domestic == domestic && !s.isReturn {
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
