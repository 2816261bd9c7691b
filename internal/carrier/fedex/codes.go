package fedex

import (
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A service is a way to send a parcel, in our code and in that of FedEx.
type service struct {
	code, kind, name string
	ownBoxOnly       bool // it takes no packaging of FedEx
}

// fact: service-codes
var services = []service{
	{"ground", "FEDEX_GROUND", "FedEx Ground", true},
	{"home_delivery", "GROUND_HOME_DELIVERY", "FedEx Home Delivery", true},
	{"ground_economy", "SMART_POST", "FedEx Ground Economy", true},
	{"express_saver", "FEDEX_EXPRESS_SAVER", "FedEx Express Saver", false},
	{"two_day", "FEDEX_2_DAY", "FedEx 2Day", false},
	{"two_day_am", "FEDEX_2_DAY_AM", "FedEx 2Day AM", false},
	{"standard_overnight", "STANDARD_OVERNIGHT", "FedEx Standard Overnight", false},
	{"priority_overnight", "PRIORITY_OVERNIGHT", "FedEx Priority Overnight", false},
	{"first_overnight", "FIRST_OVERNIGHT", "FedEx First Overnight", false},
	{"standard_overnight_extra_hours", "FEDEX_STANDARD_OVERNIGHT_EXTRA_HOURS", "FedEx Standard Overnight Extra Hours", false},
	{"priority_overnight_extra_hours", "FEDEX_PRIORITY_OVERNIGHT_EXTRA_HOURS", "FedEx Priority Overnight Extra Hours", false},
	{"first_overnight_extra_hours", "FEDEX_FIRST_OVERNIGHT_EXTRA_HOURS", "FedEx First Overnight Extra Hours", false},
	{"same_day", "SAME_DAY", "FedEx SameDay", false},
	{"same_day_city", "SAME_DAY_CITY", "FedEx SameDay City", false},
	{"economy", "FEDEX_ECONOMY", "FedEx Economy", false},
	{"economy_select", "FEDEX_ECONOMY_SELECT", "FedEx Economy Select", false},
	{"priority", "FEDEX_PRIORITY", "FedEx Priority", false},
	{"priority_express", "FEDEX_PRIORITY_EXPRESS", "FedEx Priority Express", false},
	{"first", "FEDEX_FIRST", "FedEx First", false},
	{"regional_economy", "FEDEX_REGIONAL_ECONOMY", "FedEx Regional Economy", false},
	{"international_connect_plus", "FEDEX_INTERNATIONAL_CONNECT_PLUS", "FedEx International Connect Plus", false},
	{"international_economy", "INTERNATIONAL_ECONOMY", "FedEx International Economy", false},
	{"international_priority", "FEDEX_INTERNATIONAL_PRIORITY", "FedEx International Priority", false},
	{"international_priority_express", "FEDEX_INTERNATIONAL_PRIORITY_EXPRESS", "FedEx International Priority Express", false},
	{"international_first", "INTERNATIONAL_FIRST", "FedEx International First", false},
}

const (
	ground        = "FEDEX_GROUND"
	homeDelivery  = "GROUND_HOME_DELIVERY"
	groundEconomy = "SMART_POST"
)

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

// otherKinds are further names of FedEx for its services, in lists and answers.
var otherKinds = map[string]string{
	"PRIORITY_OVERNIGHT_EXTRA_HOURS": "FEDEX_PRIORITY_OVERNIGHT_EXTRA_HOURS",
	"STANDARD_OVERNIGHT_EXTRA_HOURS": "FEDEX_STANDARD_OVERNIGHT_EXTRA_HOURS",
	"FIRST_OVERNIGHT_EXTRA_HOURS":    "FEDEX_FIRST_OVERNIGHT_EXTRA_HOURS",
	"INTERNATIONAL_PRIORITY":         "FEDEX_INTERNATIONAL_PRIORITY",
}

// serviceByCarrierCode returns the service that has this code at FedEx.
func serviceByCarrierCode(kind string) (service, bool) {
	if usual, other := otherKinds[kind]; other {
		kind = usual
	}
	i := slices.IndexFunc(services, func(s service) bool { return s.kind == kind })
	if i < 0 {
		return service{}, false
	}
	return services[i], true
}

const (
	ownPackaging = "YOUR_PACKAGING"
	ownBox       = "custom" // in our API
)

// packagings are those of FedEx. Its code is ours in capitals, or has FEDEX instead
// of ONE_RATE.
var packagings = []carrier.Packaging{
	{Code: "fedex_envelope", Name: "FedEx Envelope"},
	{Code: "fedex_pak", Name: "FedEx Pak"},
	{Code: "fedex_box", Name: "FedEx Box"},
	{Code: "fedex_small_box", Name: "FedEx Small Box"},
	{Code: "fedex_medium_box", Name: "FedEx Medium Box"},
	{Code: "fedex_large_box", Name: "FedEx Large Box"},
	{Code: "fedex_extra_large_box", Name: "FedEx Extra Large Box"},
	{Code: "fedex_10kg_box", Name: "FedEx 10kg Box"},
	{Code: "fedex_25kg_box", Name: "FedEx 25kg Box"},
	{Code: "fedex_tube", Name: "FedEx Tube"},
	{Code: "one_rate_envelope", Name: "FedEx Envelope, One Rate"},
	{Code: "one_rate_pak", Name: "FedEx Pak, One Rate"},
	{Code: "one_rate_small_box", Name: "FedEx Small Box, One Rate"},
	{Code: "one_rate_medium_box", Name: "FedEx Medium Box, One Rate"},
	{Code: "one_rate_large_box", Name: "FedEx Large Box, One Rate"},
	{Code: "one_rate_extra_large_box", Name: "FedEx Extra Large Box, One Rate"},
	{Code: "one_rate_tube", Name: "FedEx Tube, One Rate"},
}

// oneRatePrefix begins the codes of packagings that are sent at FedEx's flat rate.
// At FedEx they are the same packagings, with a special service.
const oneRatePrefix = "one_rate_"

// oneRateService is FedEx's name of the flat rate.
//
// fact: one-rate
const oneRateService = "FEDEX_ONE_RATE"

// oneRateServices are the services that have flat rates, inside the United States.
//
// fact: one-rate-services
var oneRateServices = []string{"express_saver", "two_day", "two_day_am", "standard_overnight", "priority_overnight", "first_overnight"}

// isOneRate reports whether the order is sent at FedEx's flat rate.
func isOneRate(order *ship.Order) bool {
	return len(order.Parcels) > 0 && strings.HasPrefix(order.Parcels[0].Packaging, oneRatePrefix)
}

func specPackagings() []carrier.Packaging { return slices.Clone(packagings) }

func packagingOf(code string) (string, bool) {
	if code == "" || code == ownBox {
		return ownPackaging, true
	}
	known := slices.ContainsFunc(packagings, func(p carrier.Packaging) bool { return p.Code == code })
	if kind, ok := strings.CutPrefix(code, oneRatePrefix); ok {
		code = "fedex_" + kind
	}
	return strings.ToUpper(code), known
}

// oldCurrencies are the codes of FedEx that are older than ISO 4217. No
// country uses any of them for another currency.
var oldCurrencies = map[string]string{
	"ARN": "ARS",
	"CHP": "CLP",
	"CID": "KYD",
	"DHS": "AED",
	"ECD": "XCD",
	"JAD": "JMD",
	"JYE": "JPY",
	"KUD": "KWD",
	"NMP": "MXN",
	"NTD": "TWD",
	"RDD": "DOP",
	"SFR": "CHF",
	"SID": "SGD",
	"UKL": "GBP",
	"WON": "KRW",
}

// isoCurrency returns the ISO 4217 code of one of FedEx's currencies.
func isoCurrency(fedex string) string {
	fedex = strings.ToUpper(strings.TrimSpace(fedex))
	if iso, old := oldCurrencies[fedex]; old {
		return iso
	}
	return fedex
}

// fedexCurrency returns a currency as FedEx writes it.
func fedexCurrency(iso string) string {
	for old, now := range oldCurrencies {
		if now == iso {
			return old
		}
	}
	return iso
}

// transitDays are the words of FedEx for a number of days.
var transitDays = map[string]int{
	"ONE_DAY": 1, "TWO_DAYS": 2, "THREE_DAYS": 3, "FOUR_DAYS": 4, "FIVE_DAYS": 5, "SIX_DAYS": 6, "SEVEN_DAYS": 7,
	"EIGHT_DAYS": 8, "NINE_DAYS": 9, "TEN_DAYS": 10, "ELEVEN_DAYS": 11, "TWELVE_DAYS": 12, "THIRTEEN_DAYS": 13,
	"FOURTEEN_DAYS": 14, "FIFTEEN_DAYS": 15, "SIXTEEN_DAYS": 16, "SEVENTEEN_DAYS": 17, "EIGHTEEN_DAYS": 18,
	"NINETEEN_DAYS": 19, "TWENTY_DAYS": 20,
}

// purposes are the reasons of a shipment on its invoice, by what is in it.
var purposes = map[string]string{
	"merchandise":    "SOLD",
	"gift":           "GIFT",
	"sample":         "SAMPLE",
	"documents":      "NOT_SOLD",
	"returned_goods": "REPAIR_AND_RETURN",
}

func purposeOf(contents string) string {
	if purpose, ok := purposes[contents]; ok {
		return purpose
	}
	return "NOT_SOLD"
}
