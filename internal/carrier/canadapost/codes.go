package canadapost

import (
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
)

// A lane is where a service goes: how Canada Post's codes of services begin.
type lane string

const (
	laneCanada lane = "DOM."
	laneUSA    lane = "USA."
	laneAbroad lane = "INT." // everywhere else
)

// laneTo returns the lane to a country.
func laneTo(country string) lane {
	switch country {
	case home:
		return laneCanada
	case "US":
		return laneUSA
	}
	return laneAbroad
}

// A service of ours is one of Canada Post's.
type service struct {
	code, name string
	own        string // Canada Post's code
}

// lane returns where the service goes.
func (s service) lane() lane { return lane(s.own[:4]) }

// returnsWith reports whether return labels are sold with the service.
//
// fact: return-services
func (s service) returnsWith() bool { return s.lane() == laneCanada && s.own != "DOM.XP.CERT" }

// fact: service-codes
var offered = []service{
	{"regular_parcel", "Regular Parcel", "DOM.RP"},
	{"expedited_parcel", "Expedited Parcel", "DOM.EP"},
	{"xpresspost", "Xpresspost", "DOM.XP"},
	{"xpresspost_certified", "Xpresspost Certified", "DOM.XP.CERT"},
	{"priority", "Priority", "DOM.PC"},
	{"expedited_parcel_usa", "Expedited Parcel USA", "USA.EP"},
	{"xpresspost_usa", "Xpresspost USA", "USA.XP"},
	{"tracked_packet_usa", "Tracked Packet USA", "USA.TP"},
	{"xpresspost_international", "Xpresspost International", "INT.XP"},
	{"tracked_packet_international", "Tracked Packet International", "INT.TP"},
	{"international_parcel_air", "International Parcel, Air", "INT.IP.AIR"},
	{"international_parcel_surface", "International Parcel, Surface", "INT.IP.SURF"},
	{"priority_worldwide_envelope", "Priority Worldwide Envelope", "INT.PW.ENV"},
	{"priority_worldwide_pak", "Priority Worldwide Pak", "INT.PW.PAK"},
	{"priority_worldwide_parcel", "Priority Worldwide Parcel", "INT.PW.PARCEL"},
}

func specServices() []carrier.Service {
	list := make([]carrier.Service, len(offered))
	for i, s := range offered {
		list[i] = carrier.Service{Code: s.code, Name: "Canada Post " + s.name}
	}
	return list
}

// serviceBy returns the service for which is reports true.
func serviceBy(is func(service) bool) (service, bool) {
	i := slices.IndexFunc(offered, is)
	if i < 0 {
		return service{}, false
	}
	return offered[i], true
}

// Codes of options.
//
// fact: option-codes
const (
	optionSignature  = "SO"
	optionAdult      = "PA18" // proof that the recipient is 18 or older
	optionCoverage   = "COV"
	optionHold       = "HFP"  // held for pickup, with a card
	optionReturn     = "RTS"  // back to the sender if it cannot be delivered
	optionReturnPaid = "RASE" // the same, at the sender's expense
)

// adjustmentFuel is the code of the fuel surcharge.
//
// fact: adjustment-fuel
const adjustmentFuel = "FUELSC"

// reasons are the codes of why goods leave Canada, by the API's type of
// contents. Contents without one are "other", with words.
//
// fact: export-reasons
var reasons = map[string]string{
	"documents":   "DOC",
	"merchandise": "SOG",
	"sample":      "SAM",
}

// otherReasons are the words for contents without a code, 4 to 44 characters.
var otherReasons = map[string]string{
	"gift":           "Gift",
	"returned_goods": "Returned goods",
	"other":          "Other",
}
