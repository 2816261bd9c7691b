package usps

import (
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
)

// A service is a mail class.
type service struct {
	code, name string
	class      string // mail class
	abroad     bool
	single     string // rate indicator of a parcel in the client's own box
	flat       flat
	signature  int   // extra service for a signature, 0 for none
	adult      int   // the same for an adult's
	insurance  int   // up to 500 dollars
	insurance2 int   // above
	maxGoods   int64 // that the goods may be worth, in cents; 0 for no limit
	media      bool  // only for books, films, sound recordings and the like
}

// flat says which flat rate packagings a service takes.
type flat uint8

const (
	flatNone flat = iota
	flatEnvelopes
	flatAll
)

// groundAdvantage is the service on the ground, for the largest parcels.
const groundAdvantage = "ground_advantage"

// services leave out what needs drop shipping (Parcel Select, Connect) and the
// other classes for certain contents (Library, Bound Printed Matter). Media Mail
// is quoted only over a connection that says that it ships nothing else: the
// cheapest rate must be one that any parcel of the connection may take.
//
// fact: mail-classes, rate-indicators, extra-services
var services = []service{
	{groundAdvantage, "USPS Ground Advantage", "USPS_GROUND_ADVANTAGE", false, "SP", flatNone, 921, 922, 930, 931, 0, false},
	{"priority_mail", "USPS Priority Mail", "PRIORITY_MAIL", false, "SP", flatAll, 921, 922, 930, 931, 0, false},
	{"priority_mail_express", "USPS Priority Mail Express", "PRIORITY_MAIL_EXPRESS", false, "PA", flatEnvelopes, 981, 922, 925, 925, 0, false},
	{"media_mail", "USPS Media Mail", "MEDIA_MAIL", false, "SP", flatNone, 0, 0, 0, 0, 0, true}, // fact: service-media-mail
	{"first_class_package_international", "USPS First-Class Package International", "FIRST-CLASS_PACKAGE_INTERNATIONAL_SERVICE", true, "SP", flatNone, 0, 0, 0, 0, 400_00, false},
	{"priority_mail_international", "USPS Priority Mail International", "PRIORITY_MAIL_INTERNATIONAL", true, "SP", flatAll, 0, 0, 930, 931, 0, false},
	{"priority_mail_express_international", "USPS Priority Mail Express International", "PRIORITY_MAIL_EXPRESS_INTERNATIONAL", true, "PA", flatEnvelopes, 0, 0, 930, 931, 0, false},
}

func specServices() []carrier.Service {
	var list []carrier.Service
	for _, s := range services {
		list = append(list, carrier.Service{Code: s.code, Name: s.name})
	}
	return list
}

// serviceBy returns the service that satisfies the predicate.
func serviceBy(matches func(service) bool) (service, bool) {
	i := slices.IndexFunc(services, matches)
	if i < 0 {
		return service{}, false
	}
	return services[i], true
}

// A packaging is a flat rate box or envelope, with its outer sides in
// hundredths of an inch.
type packaging struct {
	code, name        string
	kind              string // packaging type
	indicator         string // rate indicator in Priority Mail
	express           string // and in Priority Mail Express; empty: not taken
	category          string
	long, wide, thick int64
}

// fact: packaging-types
var packagings = []packaging{
	{"flat_rate_envelope", "Flat Rate Envelope", "FLAT_RATE_ENVELOPE", "FE", "E4", flats, 1250, 950, 75},
	{"legal_flat_rate_envelope", "Legal Flat Rate Envelope", "LEGAL_FLAT_RATE_ENVELOPE", "FA", "E6", flats, 1500, 950, 75},
	{"padded_flat_rate_envelope", "Padded Flat Rate Envelope", "PADDED_FLAT_RATE_ENVELOPE", "FP", "FP", flats, 1250, 950, 100},
	{"small_flat_rate_box", "Small Flat Rate Box", "SM_FLAT_RATE_BOX", "FS", "", machinable, 869, 544, 175},
	{"medium_flat_rate_box", "Medium Flat Rate Box", "MD_FLAT_RATE_BOX", "FB", "", machinable, 1125, 875, 600},
	{"large_flat_rate_box", "Large Flat Rate Box", "LG_FLAT_RATE_BOX", "PL", "", machinable, 1225, 1225, 600},
}

// Processing categories. fact: processing-categories
const (
	machinable  = "MACHINABLE"
	nonstandard = "NONSTANDARD"
	flats       = "FLATS"
)

// ownBox is the packaging type of the client's own.
const ownBox = "VARIABLE"

func specPackagings() []carrier.Packaging {
	var list []carrier.Packaging
	for _, p := range packagings {
		list = append(list, carrier.Packaging{Code: p.code, Name: p.name})
	}
	return list
}

// contents are the declared kinds of contents, as clients write them.
//
// fact: customs-contents
var contents = map[string]string{
	"":                       "MERCHANDISE",
	"merchandise":            "MERCHANDISE",
	"gift":                   "GIFT",
	"document":               "DOCUMENT",
	"documents":              "DOCUMENT",
	"sample":                 "COMMERCIAL_SAMPLE",
	"commercial_sample":      "COMMERCIAL_SAMPLE",
	"return":                 "RETURNED_GOODS",
	"returned_goods":         "RETURNED_GOODS",
	"humanitarian_donation":  "HUMANITARIAN_DONATIONS",
	"humanitarian_donations": "HUMANITARIAN_DONATIONS",
	"dangerous_goods":        "DANGEROUS_GOODS",
}

// vague lists descriptions of goods that customs do not accept.
var vague = []string{"none", "not applicable", "n/a", "null", "gift", "merchandise"}

// The codes of refusals that are handled differently.
const (
	codeOrderUnknown   = "160185" // to a cancellation
	codeLabelUnknown   = "160378" // to a reprint
	codeAlreadyVoid    = "160186"
	codeReprintVoid    = "160379"
	codeReprintRefund  = "160380"
	codeReprintTooLate = "160381"
	codeReprintTooMany = "160382"
	codeNotYet         = "150006" // to a question about a parcel
)

// The words of refusals for which USPS sends no code of its own.
const (
	wordsOrderUnknown  = "order not found"
	wordsLabelUnknown  = "tracking number not found"
	wordsAlreadyVoid   = "already canceled"
	wordsRefundAlready = "refund request for this order has already been submitted"
	wordsKeyUsed       = "idempotency key" // used before: something may be bought under it
)
