package gls

import (
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
)

// A service of ours is a product of GLS's with a service that has a name of its
// own, and another one on a Saturday.
type service struct {
	code, name string
	product    string
	extra      string // empty for the product alone
	saturday   string // empty if it does not deliver on Saturdays
	isReturn   bool   // brings a parcel back, and nothing else does
}

var services = []service{
	// fact: product-codes, service-names-express
	{"parcel", "GLS Parcel", "PARCEL", "", "", false},
	{"guaranteed24", "GLS Guaranteed24", "PARCEL", "service_guaranteed24", "", false},
	{"express", "GLS Express", "EXPRESS", "", "", false},
	{"express_8", "GLS Express 8:00", "EXPRESS", "service_0800", "", false},
	{"express_9", "GLS Express 9:00", "EXPRESS", "service_0900", "", false},
	{"express_10", "GLS Express 10:00", "EXPRESS", "service_1000", "service_saturday_1000", false},
	{"express_12", "GLS Express 12:00", "EXPRESS", "service_1200", "service_saturday_1200", false},
	{"shop_return", "GLS ShopReturn", "PARCEL", "", "", true},
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

// Names of services that options and returns stand for.
// fact: service-names-options, shop-return
const (
	serviceSignature     = "service_signature"
	serviceAddresseeOnly = "service_addresseeonly"
	serviceShopDelivery  = "service_shopdelivery"
	serviceFlexDelivery  = "service_flexdelivery"
	serviceLiability     = "service_addonliability"
	serviceCash          = "service_cash"
	serviceShopReturn    = "service_shopreturn"
)
