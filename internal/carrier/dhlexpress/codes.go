package dhlexpress

import (
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
)

// A service of ours is several products of DHL's: which one it is depends on
// the lane. An empty product means that the service does not go there.
type service struct {
	code, name string
	domestic   string // inside a country
	union      string // between members of the European Union
	papers     string // documents across a border
	goods      string // dutiable goods across a border
	timed      bool   // by a time of day, which DHL guarantees
}

// fact: product-codes
var services = []service{
	{"express_worldwide", "DHL Express Worldwide", "", "U", "D", "P", false},
	{"express_12", "DHL Express 12:00", "", "T", "T", "Y", true},
	{"express_10_30", "DHL Express 10:30", "", "L", "L", "M", true},
	{"express_9", "DHL Express 9:00", "", "K", "K", "E", true},
	{"express_domestic", "DHL Express Domestic", "N", "", "", "", false},
	{"express_domestic_12", "DHL Express Domestic 12:00", "1", "", "", "", true},
	{"express_domestic_10_30", "DHL Express Domestic 10:30", "O", "", "", "", true},
	{"express_domestic_9", "DHL Express Domestic 9:00", "I", "", "", "", true},
	{"economy_select", "DHL Economy Select", "", "W", "", "H", false},
	{"economy_select_domestic", "DHL Economy Select Domestic", "G", "", "", "", false},
	{"express_easy", "DHL Express Easy", "", "7", "7", "8", false},
	{"express_envelope", "DHL Express Envelope", "", "X", "X", "", false},
	{"medical_express", "DHL Medical Express", "C", "C", "C", "Q", false},
	{"europack", "DHL Europack", "", "9", "9", "V", false},
}

func specServices() []carrier.Service {
	list := make([]carrier.Service, len(services))
	for i, s := range services {
		list[i] = carrier.Service{Code: s.code, Name: s.name}
	}
	return list
}

// product returns DHL's code of the service on the lane; "" if it does not go
// there.
func (s service) product(on lane) string {
	return [...]string{domestic: s.domestic, union: s.union, papers: s.papers, goods: s.goods}[on]
}

// serviceByCarrierCode returns the service that a product is on the lane.
func serviceByCarrierCode(product string, on lane) (service, bool) {
	i := slices.IndexFunc(services, func(s service) bool { return product != "" && s.product(on) == product })
	if i < 0 {
		return service{}, false
	}
	return services[i], true
}

// A packaging is one of DHL's own. A flyer has no code: it is charged by
// weight.
type packaging struct{ code, name, dhl string }

var packagings = []packaging{
	{"dhl_envelope", "Express Envelope", "XPD"},
	{"dhl_card_envelope", "Card Envelope", "CE1"},
	{"dhl_flyer", "Express Flyer", ""},
	{"dhl_box_2", "Box 2 (Shoe)", "2BX"},
	{"dhl_box_2_cube", "Box 2 (Cube)", "2BC"},
	{"dhl_box_2_pizza", "Box 2 (Pizza)", "2BP"},
	{"dhl_box_3", "Box 3", "3BX"},
	{"dhl_box_4", "Box 4", "4BX"},
	{"dhl_jumbo_box_small", "Box 5 (Jumbo Small)", "5BX"},
	{"dhl_box_6", "Box 6", "6BX"},
	{"dhl_box_7", "Box 7", "7BX"},
	{"dhl_jumbo_box", "Box 8 (Jumbo Large)", "8BX"},
	{"dhl_tube_small", "Tube Small", "TBS"},
	{"dhl_tube_large", "Tube Large", "TBL"},
	{"dhl_bottle_box_1", "Box 2 (1 Bottle)", "WB1"},
	{"dhl_bottle_box_2", "Box 3 (2 Bottles)", "WB2"},
	{"dhl_bottle_box_3", "Box 4 (3 Bottles)", "WB3"},
	{"dhl_bottle_box_6", "Box 5 (6 Bottles)", "WB6"},
}

func specPackagings() []carrier.Packaging {
	list := make([]carrier.Packaging, len(packagings))
	for i, p := range packagings {
		list[i] = carrier.Packaging{Code: p.code, Name: p.name}
	}
	return list
}

// packagingOf returns DHL's code of a packaging: "" for the client's own box.
func packagingOf(code string) (dhl string, ok bool) {
	if code == "" || code == "custom" {
		return "", true
	}
	i := slices.IndexFunc(packagings, func(p packaging) bool { return p.code == code })
	if i < 0 {
		return "", false
	}
	return packagings[i].dhl, true
}

// Codes of extra services. fact: extra-services, paperless
const (
	extraSaturday         = "AA"
	extraSaturdayDomestic = "AG"
	extraSignature        = "SF"
	extraAdultSignature   = "SD"
	extraInsurance        = "II"
	extraLiability        = "IB" // the cover of documents
	extraDutiesPaid       = "DD"
	extraPaperless        = "WY" // paperless trade: customs get the invoice as data
)

// stagings are the services that keep the data of a shipment until it is used, for
// 3, 6, 12 and 24 months. They cost nothing, but DHL must allow them to an account.
var stagings = []string{"PT", "PU", "PV", "PW"}

// incoterms are the terms that the carrier knows and the API lets pass.
//
// fact: incoterms
var incoterms = strings.Fields("EXW FCA CPT CIP DPU DAP DDP FAS FOB CFR CIF")

// A reason says why goods cross a border, by the API's type of contents.
type reason struct{ export, invoice, shipment string }

var reasons = map[string]reason{
	"merchandise":    {"commercial_purpose_or_sale", "commercial", "commercial"},
	"gift":           {"gift", "proforma", "personal"},
	"sample":         {"sample", "proforma", "commercial"},
	"returned_goods": {"return", "returns", "commercial"},
	"other":          {"permanent", "commercial", "commercial"},
}
