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
}

var services = []service{
	{"parcel", "GLS Parcel", "PARCEL", "", ""},
	{"guaranteed24", "GLS Guaranteed24", "PARCEL", "service_guaranteed24", ""},
	{"express", "GLS Express", "EXPRESS", "", ""},
	{"express_8", "GLS Express 8:00", "EXPRESS", "service_0800", ""},
	{"express_9", "GLS Express 9:00", "EXPRESS", "service_0900", ""},
	{"express_10", "GLS Express 10:00", "EXPRESS", "service_1000", "service_saturday_1000"},
	{"express_12", "GLS Express 12:00", "EXPRESS", "service_1200", "service_saturday_1200"},
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

// Names of services that options stand for.
const (
	serviceSignature     = "service_signature"
	serviceAddresseeOnly = "service_addresseeonly"
	serviceShopDelivery  = "service_shopdelivery"
	serviceFlexDelivery  = "service_flexdelivery"
	serviceLiability     = "service_addonliability"
	serviceCash          = "service_cash"
)
