package fedex

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// refusalOf reads why FedEx declined. The code is that of its first error; the
// texts of all are kept.
func refusalOf(body []byte) ship.Refusal {
	faults := faultsOf(body)
	if len(faults) == 0 {
		return ship.Refusal{}
	}

	texts := make([]string, len(faults))
	for i, fault := range faults {
		texts[i] = fault.Message
	}
	return ship.Refusal{
		Code:    faults[0].Code,
		Message: strings.Join(texts, " "),
	}
}

// faultsOf returns the reasons of a refusal.
func faultsOf(body []byte) []fault {
	var answer struct {
		Errors []fault `json:"errors"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	return answer.Errors
}

// explain gives a refusal its meaning: the fields of the order that FedEx
// complains about, or that the test environment does not answer.
func (d *driver) explain(err error, faults []fault) error {
	declined, ok := errors.AsType[*ship.Error](err)
	if !ok || declined.Kind != ship.Invalid {
		return err
	}

	if slices.ContainsFunc(faults, func(f fault) bool { return f.Code == requestMismatch }) {
		if !d.live {
			return notTestable(declined.Refusal)
		}

		// Production should never answer this. Nothing was done, and a void
		// must not be abandoned because of it.
		return &ship.Error{
			Kind:    ship.Unavailable,
			Message: "FedEx sent a response of its test environment",
			Refusal: declined.Refusal,
			Err:     declined.Err,
		}
	}

	var bad problems
	for _, fault := range faults {
		if pointer, detail := fault.field(); pointer != "" {
			bad.add(pointer, "carrier_rejected", "%s", detail)
		}
	}
	if len(bad) == 0 {
		return err
	}

	refused := *declined
	if known, ok := errors.AsType[*ship.Error](carrierkit.InvalidOrder(Spec.Title, bad)); ok {
		refused.Fields = known.Fields
		refused.Message = known.Message
	}
	return &refused
}

const (
	// requestMismatch is what the test environment answers to requests that are
	// not among its recorded ones.
	//
	// fact: code-request-mismatch
	requestMismatch = "REQUEST.MISMATCH"

	// virtualResponse marks a recorded answer, whatever was asked.
	//
	// fact: code-virtual-response
	virtualResponse = "VIRTUAL.RESPONSE"
)

// notTestable is the error of a request that FedEx answers only in production.
func notTestable(refusal ship.Refusal) error {
	return &ship.Error{
		Kind:    ship.Unsupported,
		Code:    "not_testable",
		Message: "the FedEx test environment does not answer this request: it knows only recorded requests",
		Refusal: refusal,
	}
}

// field returns the place in the order that the error is about, if its code
// says so, and a sentence about it. FedEx's own words are not part of the
// sentence, as they may repeat the request.
func (f fault) field() (pointer, detail string) {
	words := strings.NewReplacer(".", "", "_", "", "-", "").Replace(strings.ToUpper(f.Code))
	i := slices.IndexFunc(complaints, func(c complaint) bool { return strings.Contains(words, c.words) })
	if i < 0 {
		return "", ""
	}

	subject := complaints[i].subject
	pointer = complaints[i].pointer
	if strings.HasPrefix(pointer, "~") {
		party, owner := f.party(words)
		if party == "" {
			return "", ""
		}
		pointer = party + strings.TrimPrefix(pointer, "~")
		subject = owner + " " + subject
	}

	for _, missing := range []string{"REQUIRED", "MISSING", "EMPTY"} {
		if strings.Contains(words, missing) && !strings.Contains(words, "INVALID") {
			return pointer, "FedEx needs " + subject
		}
	}
	for _, long := range []string{"TOOLONG", "EXCEEDED", "MAXLENGTH", "LENGTH"} {
		if strings.Contains(words, long) {
			return pointer, "FedEx does not accept " + subject + ": it is above the limit"
		}
	}
	return pointer, "FedEx does not accept " + subject
}

// A complaint is a part of FedEx's codes, and what it is about.
type complaint struct {
	words   string // of a code, without its points
	pointer string // of the order; "~" stands for the party
	subject string
}

// complaints are searched in this order: longer words come before those that
// they contain.
var complaints = []complaint{
	{"PAYORACCOUNT", "/billing/account", "the account number that is billed"},
	{"TINS", "/customs/taxIdentifiers", "a tax number"},
	{"TINNUMBER", "/customs/taxIdentifiers", "a tax number"},
	{"TAXID", "/customs/taxIdentifiers", "a tax number"},
	{"CUSTOMSID", "/customs/taxIdentifiers", "the recipient's tax number"},
	{"HARMONIZEDCODE", "/customs/items", "the HS code of an item"},
	{"COUNTRYOFMANUFACTURE", "/customs/items", "the country of origin of an item"},
	{"PRODUCTID", "/customs/items", "the product identifiers of an item"},
	{"REGULATORYDETAIL", "/customs/items", "the product identifiers of an item"},
	{"COMMODIT", "/customs/items", "the declared items"},
	{"CUSTOMSVALUE", "/customs/items", "the value of the declared items"},
	{"DUTIES", "/customs/incoterm", "who pays duties and taxes"},
	{"TERMSOFSALE", "/customs/incoterm", "the incoterm"},
	{"CUSTOMSCLEARANCE", "/customs", "the customs declaration"},
	{"PHONENUMBER", "~/phone", "phone number"},
	{"POSTALCODE", "~/zip", "postal code"},
	{"POSTAL", "~/zip", "postal code"},
	{"ZIPCODE", "~/zip", "postal code"},
	{"STATEORPROVINCE", "~/state", "state"},
	{"STREETLINE", "~/address1", "street"},
	{"CITY", "~/city", "city"},
	{"COUNTRYCODE", "~/country", "country"},
	{"COMPANYNAME", "~/company", "company"},
	{"PERSONNAME", "~/name", "name"},
	{"CONTACTNAME", "~/name", "name"},
	{"EMAIL", "~/email", "e-mail address"},
	{"RESIDENTIAL", "/destination/residential", "whether the address is residential"},
	{"DECLAREDVALUE", "/options/insuredValue", "the insured value"},
	{"SIGNATURE", "/options/signature", "the signature option"},
	{"SATURDAY", "/options/saturdayDelivery", "Saturday delivery"},
	{"SHIPDATE", "/shipDate", "the ship date"},
	{"SHIPTIMESTAMP", "/shipDate", "the ship date"},
	{"PACKAGINGTYPE", "/parcels/0/packaging", "the packaging"},
	{"DIMENSION", "/parcels/0/dimensions", "the dimensions of a parcel"},
	{"PACKAGEWEIGHT", "/parcels/0/weight", "the weight of a parcel"},
	{"WEIGHT", "/parcels/0/weight", "the weight of a parcel"},
	{"SERVICETYPE", "/service", "the service between these addresses"},
	{"SERVICELANE", "/service", "the service between these addresses"},
}

// party returns whose address the fault is about.
func (f fault) party(words string) (pointer, owner string) {
	text := words + strings.ToUpper(f.Message)
	for _, parameter := range f.Parameters {
		text += strings.ToUpper(parameter.Key)
	}

	for _, word := range []string{"RECIPIENT", "DESTINATION", "CONSIGNEE"} {
		if strings.Contains(text, word) {
			return "/destination", "the recipient's"
		}
	}
	for _, word := range []string{"SHIPPER", "ORIGIN", "SENDER"} {
		if strings.Contains(text, word) {
			return "/origin", "the sender's"
		}
	}
	return "", ""
}

// withoutParcelIndex removes the index from pointers to a parcel where the
// order has several: FedEx's codes do not say which one is meant.
func withoutParcelIndex(err error, order *ship.Order) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Refusal.Code == "" || len(order.Parcels) < 2 {
		return err
	}

	vague := *refused
	vague.Fields = slices.Clone(refused.Fields)
	for i, field := range vague.Fields {
		if strings.HasPrefix(field.Pointer, "/parcels/") {
			vague.Fields[i].Pointer = "/parcels"
		}
	}
	return &vague
}

// withRetryAfter gives a refusal because of too many calls the wait that FedEx
// does not state: until the end of the window, or until midnight if the day's
// calls are used up.
func withRetryAfter(err error, now time.Time) error {
	limited, ok := errors.AsType[*ship.Error](err)
	if !ok || limited.Kind != ship.Limited || limited.RetryAfter > 0 {
		return err
	}

	until := now.Truncate(quotaWindow).Add(quotaWindow)
	text := strings.ToLower(limited.Refusal.Code + limited.Refusal.Message)
	if strings.Contains(text, "daily") || strings.Contains(text, "quota") {
		until = now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}

	waiting := *limited
	waiting.RetryAfter = until.Sub(now)
	return &waiting
}

// quotaWindow is the period in which FedEx counts calls.
const quotaWindow = 10 * time.Second
