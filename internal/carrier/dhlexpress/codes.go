package dhlexpress

import (
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
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

var serviceTable = []service{
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

func services() []carrier.Service {
	list := make([]carrier.Service, len(serviceTable))
	for i, s := range serviceTable {
		list[i] = carrier.Service{Code: s.code, Name: s.name}
	}
	return list
}

// lane is what DHL's products depend on.
type lane int

const (
	domestic lane = iota
	union
	papers
	goods
)

// product is DHL's code of the service on the lane; "" if it does not go there.
func (s service) product(l lane) string {
	return [...]string{domestic: s.domestic, union: s.union, papers: s.papers, goods: s.goods}[l]
}

// serviceOf returns the service that a product is on the lane.
func serviceOf(product string, l lane) (service, bool) {
	i := slices.IndexFunc(serviceTable, func(s service) bool { return product != "" && s.product(l) == product })
	if i < 0 {
		return service{}, false
	}
	return serviceTable[i], true
}

// laneOf tells the lane between two countries in DHL's spelling.
func laneOf(from, to string, documents bool) lane {
	switch {
	case from == to:
		return domestic
	case slices.Contains(europeanUnion, from) && slices.Contains(europeanUnion, to):
		return union
	case documents:
		return papers
	}
	return goods
}

// europeanUnion has no customs inside; Monaco counts as France.
var europeanUnion = strings.Fields("AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MC MT NL PL PT RO SE SI SK")

// countryOf is the country in DHL's spelling, which is ISO's but for islands
// and parts of countries that DHL serves apart.
func countryOf(a carrierkit.FittedAddress) string {
	if a.Country == "ES" && (strings.HasPrefix(a.Zip, "35") || strings.HasPrefix(a.Zip, "38")) {
		return "IC" // the Canary Islands, outside the customs union
	}
	if own, ok := ownCountries[a.Country]; ok {
		return own
	}
	return a.Country
}

var ownCountries = map[string]string{"BL": "XY", "BQ": "XB", "CW": "XC", "SX": "XM", "XK": "KV"}

// box is packaging of DHL's own. A flyer has no code: it is charged by weight.
type box struct{ code, name, dhl string }

var boxTable = []box{
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

func packagings() []carrier.Packaging {
	list := make([]carrier.Packaging, len(boxTable))
	for i, b := range boxTable {
		list[i] = carrier.Packaging{Code: b.code, Name: b.name}
	}
	return list
}

// boxOf returns DHL's code of a packaging: "" for the client's own box.
func boxOf(packaging string) (dhl string, ok bool) {
	if packaging == "" || packaging == "custom" {
		return "", true
	}
	i := slices.IndexFunc(boxTable, func(b box) bool { return b.code == packaging })
	if i < 0 {
		return "", false
	}
	return boxTable[i].dhl, true
}

// Codes of extra services.
const (
	extraSaturday         = "AA"
	extraSaturdayDomestic = "AG"
	extraSignature        = "SF"
	extraAdultSignature   = "SD"
	extraInsurance        = "II"
	extraLiability        = "IB" // the cover of documents
	extraDutiesPaid       = "DD"
)

// incoterms are the terms that the carrier knows and the API lets pass.
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

// offsets are the standard times of countries, and of the states of countries
// that have several, in minutes east of Greenwich. Summer time is left out:
// an hour does not move a day that is told by its noon.
var offsets = map[int]string{
	-600: "US-HI PF CK",
	-540: "US-AK",
	-480: "US-CA US-NV US-OR US-WA CA-BC CA-YT MX-BCN",
	-420: "US-AZ US-CO US-ID US-MT US-NM US-UT US-WY CA-AB CA-NT MX-SON MX-BCS",
	-360: "US-AL US-AR US-IA US-IL US-KS US-LA US-MN US-MO US-MS US-ND US-NE US-OK US-SD US-TN US-TX US-WI CA-MB CA-SK MX BZ CR GT HN NI SV",
	-300: "US CA CO EC PE PA JM HT KY BS CU TC",
	-240: "CA-NB CA-NS CA-PE PR VI VG DO BB TT GP MQ MF BL SX CW BQ XY XM XC XB AW AG AI DM GD GY KN LC MS VC BO VE PY BM BR-AM BR-MT CL",
	-210: "CA-NL",
	-180: "AR BR UY GF SR PM",
	-60:  "CV",
	0:    "GB IE PT IC IS GG JE IM CI GH SN GM ML MR SL TG BF LR GN GW ST FO",
	60:   "AD AL AT BA BE CH CZ DE DK DZ ES FR GI HR HU IT LI LU MA MC ME MK MT NG NL NO PL RS SE SI SK SM TN VA XK KV CM GA CG TD BJ NE AO CD CF GQ",
	120:  "BG CY EE EG FI GR IL LB LT LV LY MD RO UA ZA BW LS MW MZ NA RW SZ ZM ZW BI SD SS PS JO SY",
	180:  "BH BY ER ET IQ KE KW MG QA RU SA SO TR TZ UG YE DJ KM YT",
	210:  "IR",
	240:  "AE AM AZ GE MU OM RE SC",
	270:  "AF",
	300:  "KZ MV PK TJ TM UZ",
	330:  "IN LK",
	345:  "NP",
	360:  "BD BT KG",
	390:  "MM",
	420:  "ID KH LA TH VN",
	480:  "BN CN HK MN MO MY PH SG TW AU-WA",
	540:  "JP KR TL PW",
	570:  "AU-NT AU-SA",
	600:  "AU PG GU MP",
	660:  "NC SB VU FM",
	720:  "FJ NZ KI MH TV WF NR",
	780:  "TO WS",
}

// zoneOf is the time of a place: Greenwich's if nobody knows.
func zoneOf(country, state string) *time.Location {
	minutes, found := 0, false
	for m, places := range offsets {
		for place := range strings.FieldsSeq(places) {
			switch place {
			case country + "-" + state:
				return time.FixedZone("", m*60)
			case country:
				minutes, found = m, true
			}
		}
	}
	if !found {
		return time.UTC
	}
	return time.FixedZone("", minutes*60)
}
