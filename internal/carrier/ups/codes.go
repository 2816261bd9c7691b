package ups

import (
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
)

// A service is one of our services, with UPS's code on each kind of route;
// empty where it is not sold.
type service struct {
	code, name           string
	us, ca, home, abroad string
}

// canadianNames are the services that have other names inside Canada.
var canadianNames = map[string]string{"express_plus": "UPS Express Early"}

// nameOn returns what UPS calls the service on a lane.
func (s service) nameOn(on lane) string {
	if name, ok := canadianNames[s.code]; ok && on == laneCA {
		return name
	}
	return s.name
}

// fact: service-codes
var services = []service{
	{"ground", "UPS Ground", "03", "", "", ""},
	{"three_day_select", "UPS 3 Day Select", "12", "", "", "12"},
	{"second_day_air", "UPS 2nd Day Air", "02", "", "", ""},
	{"second_day_air_am", "UPS 2nd Day Air A.M.", "59", "", "", ""},
	{"next_day_air_saver", "UPS Next Day Air Saver", "13", "", "", ""},
	{"next_day_air", "UPS Next Day Air", "01", "", "", ""},
	{"next_day_air_early", "UPS Next Day Air Early", "14", "", "", ""},
	{"standard", "UPS Standard", "", "11", "11", "11"},
	{"expedited", "UPS Expedited", "", "02", "08", ""},
	{"express_saver", "UPS Express Saver", "", "13", "65", ""},
	{"express", "UPS Express", "", "01", "07", ""},
	{"express_plus", "UPS Express Plus", "", "14", "54", ""},
	{"express_noon", "UPS Express 12:00", "", "", "74", ""},
	{"worldwide_expedited", "UPS Worldwide Expedited", "", "", "", "08"},
	{"worldwide_saver", "UPS Worldwide Saver", "", "", "", "65"},
	{"worldwide_express", "UPS Worldwide Express", "", "", "", "07"},
	{"worldwide_express_plus", "UPS Worldwide Express Plus", "", "", "", "54"},
}

// codeOn returns UPS's code of the service on a lane.
func (s service) codeOn(on lane) string {
	switch on {
	case laneUS:
		return s.us
	case lanePR:
		if s.us != "" {
			return s.us
		}
		return s.abroad
	case laneCA:
		return s.ca
	case laneHome:
		return s.home
	}
	return s.abroad
}

// serviceByCarrierCode finds our service by UPS's code.
func serviceByCarrierCode(code string, on lane) (service, bool) {
	i := slices.IndexFunc(services, func(s service) bool { return code != "" && s.codeOn(on) == code })
	if i < 0 {
		return service{}, false
	}
	return services[i], true
}

// serviceByCode finds our service by its own code.
func serviceByCode(code string) (service, bool) {
	i := slices.IndexFunc(services, func(s service) bool { return s.code == code })
	if i < 0 {
		return service{}, false
	}
	return services[i], true
}

func serviceCodes() []string {
	codes := make([]string, len(services))
	for i, s := range services {
		codes[i] = s.code
	}
	return codes
}

func specServices() []carrier.Service {
	list := make([]carrier.Service, len(services))
	for i, s := range services {
		list[i] = carrier.Service{Code: s.code, Name: s.name}
	}
	return list
}

// noReturns are UPS's codes of the services that it does not sell for returns:
// Next Day Air Saver, which is Express Saver in Canada, and 2nd Day Air A.M.
var noReturns = []string{"13", "59"}

// noReturnPackagings are the boxes that cannot be returned in: those of 25 and
// of 10 kg.
var noReturnPackagings = []string{"24", "25"}

// ownPackaging is the client's own box.
const ownPackaging = "02"

var packagings = []struct{ code, name, ups string }{
	{"ups_letter", "UPS Letter", "01"},
	{"ups_pak", "UPS Pak", "04"},
	{"ups_tube", "UPS Tube", "03"},
	{"ups_express_box", "UPS Express Box", "21"},
	{"ups_express_box_small", "UPS Express Box, small", "2a"},
	{"ups_express_box_medium", "UPS Express Box, medium", "2b"},
	{"ups_express_box_large", "UPS Express Box, large", "2c"},
	{"ups_10kg_box", "UPS 10 KG Box", "25"},
	{"ups_25kg_box", "UPS 25 KG Box", "24"},
}

// packagingOf returns UPS's code of a packaging of ours.
func packagingOf(code string) (string, bool) {
	if code == "" || code == "custom" {
		return ownPackaging, true
	}
	for _, p := range packagings {
		if p.code == code {
			return p.ups, true
		}
	}
	return "", false
}

func packagingCodes() []string {
	codes := make([]string, len(packagings))
	for i, p := range packagings {
		codes[i] = p.code
	}
	return codes
}

func specPackagings() []carrier.Packaging {
	list := make([]carrier.Packaging, len(packagings))
	for i, p := range packagings {
		list[i] = carrier.Packaging{Code: p.code, Name: p.name}
	}
	return list
}

// UPS's refusals that mean something to the driver, beside those of fields.go.
// UPS's list of errors numbers those of Label Recovery from 300000; the REST API
// answers with others for the same words.
//
// fact: code-recovery, code-recovery-listed, code-tracking-unknown, code-voided-before, return-service
const (
	codeVoidAway      = "190001"  // voids are unavailable for now
	codeVoidedBefore  = "190117"  // the shipment is void already
	codeRecoveryAway  = "300000"  // look-ups are unavailable for now
	codeSeveral       = "300001"  // several shipments have the reference
	codeUnknown       = "9801031" // no shipment has it
	codeUnknownListed = "300007"  // the same in UPS's list
	codeWrongShipper  = "300031"  // the app has no access to the account
	codeWasVoided     = "9801040" // the shipment that has it is void
	codeVoidedListed  = "300033"  // the same in UPS's list
	codeNotYet        = "300034"  // the shipment is not processed yet
	codeTooMany       = "300035"  // too many shipments have it
	codeNoTracking    = "TW0001"  // nothing is known of the number
	codeBadNumber     = "TV1002"  // it is not a UPS number
	returnServiceCode = "9"       // the label comes with the answer
)

// exportReasons are the reasons for an export, by the contents.
var exportReasons = map[string]string{
	"merchandise":    "SALE",
	"gift":           "GIFT",
	"sample":         "SAMPLE",
	"returned_goods": "RETURN",
}

// terms are the incoterms that UPS prints on an invoice.
var terms = strings.Fields("CFR CIF CIP CPT DAF DAP DDP DEQ DES EXW FAS FCA FOB")

// signatures are UPS's codes, which differ between a parcel and a shipment.
var signatures = map[string]struct{ parcel, shipment string }{
	"standard": {"2", "1"}, "direct": {"2", "1"}, "adult": {"3", "2"},
}
