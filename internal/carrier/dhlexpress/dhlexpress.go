// Package dhlexpress buys labels from DHL Express over its MyDHL API, and
// tracks parcels. It makes one attempt per call, keeps no state, and never
// books a courier: a label that is not used costs nothing, a courier that comes
// for nothing does.
package dhlexpress

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// version is the interface that this driver was written against.
const version = "3.1.0"

// answerLimit bounds an answer: the label of a hundred pieces is some 6 MB.
const answerLimit = 8 << 20

// Spec describes DHL Express.
var Spec = carrier.Spec{
	Name:    "dhl_express",
	Title:   "DHL Express",
	Mark:    carrier.Mark{Background: "#ffcc00", Text: "#c8102e"},
	LiveURL: "https://express.api.dhl.com/mydhlapi",
	TestURL: "https://express.api.dhl.com/mydhlapi/test",
	Fields: []carrier.Field{
		{
			Name: "api_key", Title: "API key", Secret: true, Required: true,
			Help: "On developer.dhl.com, under your app for \"DHL Express - MyDHL API\": the API key. DHL issues one pair for tests and, after approval, another for live use.",
		},
		{
			Name: "api_secret", Title: "API secret", Secret: true, Required: true,
			Help: "Next to the API key: choose \"Show secret\".",
		},
		{
			Name: "account_number", Title: "Account number", Required: true,
			Help: "Your DHL Express account, usually nine digits, from an invoice or your DHL contract. The API key must be allowed to use it.",
		},
	},
	Services:   services(),
	Packagings: packagings(),
	Formats:    []string{"pdf", "zpl"},
	Address: carrier.AddressLimits{
		Name:    255,
		Company: 100,
		City:    45,
		State:   35,
		Zip:     12,
		Phone:   70,
		Email:   70,
		Lines:   3,
		Line:    45,
	},
	TrackBatch:       trackBatch,
	LookupLag:        2 * time.Minute,
	LookupLacksLabel: true,
	Deadlines:        carrier.Deadlines{Rates: 15 * time.Second, Track: 20 * time.Second},
	Limits: []string{
		"A label cannot be voided: the MyDHL API has no call for it. DHL bills a shipment when it is scanned, so a label that is not used is not billed.",
		"The label is sent once, in the response to the purchase. If that response is lost, the shipment can be found by its reference, but without its label and price.",
		"A shipment found without its label is left unused, and the parcel needs a new purchase.",
		"The response to a purchase does not repeat Waybill's reference, so it cannot be used to detect a response to a different request.",
		"The test environment does not show the shipments it sold, so look-ups there find nothing. It accepts about 500 calls a day.",
		"Buying a label never books a courier pickup.",
		"A purchase needs phone numbers for sender and recipient. A quote needs only postal code, city and country.",
		"The ship date may be at most ten days ahead.",
		"Documents are covered by DHL's extended liability, which has a fixed amount, instead of the insured value.",
		"A return is bought on the same account; DHL must allow the account to import.",
		"Paperless trade is used where the quote offers it, unless customs.paperless is off. Otherwise, and for purchases by a rate sheet, the commercial invoice must be printed; the shipment then has a warning.",
		"The order number and the reference are printed on the label as free text.",
		"A domestic product with a country-specific code, as in Great Britain, can be bought only after a quote.",
		"DHL Express does not send pushes: parcels are polled, 200 per call.",
		"Scans from a call about many parcels may have no time zone. In a country with several time zones, they are local times.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}

// driver is one account.
type driver struct {
	base    string
	basic   string // the value of the Authorization header
	account string
	via     carrier.Doer
}

func open(opening carrier.Opening) (carrier.Driver, error) {
	account := strings.TrimSpace(opening.Credentials["account_number"])
	if len(account) > maxAccount {
		return nil, ship.InvalidFields([]ship.FieldError{{
			Pointer: "/account_number",
			Code:    "invalid",
			Detail:  "must be a DHL Express account number of at most 12 characters",
		}})
	}

	key := strings.TrimSpace(opening.Credentials["api_key"])
	secret := strings.TrimSpace(opening.Credentials["api_secret"])
	return driver{
		base:    opening.BaseURL,
		basic:   "Basic " + base64.StdEncoding.EncodeToString([]byte(key+":"+secret)),
		account: account,
		via:     opening.Via,
	}, nil
}

// call is one exchange. The reference is for DHL's own logs.
func (d driver) call(method, path string, query url.Values, reference string) carrierkit.Call {
	address := d.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}

	header := http.Header{
		"Authorization":                 {d.basic},
		"X-Version":                     {version},
		"Shipping-System-Platform-Name": {"Waybill"},
	}
	if reference != "" {
		header.Set("Message-Reference", reference)
	}

	return carrierkit.Call{
		Method:  method,
		URL:     address,
		Header:  header,
		Limit:   answerLimit,
		Refusal: refusal,
	}
}

// Check asks whether DHL delivers to its own head office, which needs valid
// credentials. The account number is checked by the first quote, as DHL reads
// it only there.
func (d driver) Check(ctx context.Context) error {
	query := url.Values{
		"type":        {"delivery"},
		"countryCode": {"DE"},
		"postalCode":  {"53113"},
		"cityName":    {"Bonn"},
	}

	var answer addressAnswer
	if err := d.call(http.MethodGet, "/address-validate", query, "").Do(ctx, d.via, &answer); err != nil {
		return err
	}
	if len(answer.Address) == 0 {
		return ship.Errorf(ship.Unavailable, "the carrier did not confirm whether the credentials are valid")
	}
	return nil
}

// refusal reads an error of DHL's. Its own code, where there is one, stands
// before a colon at the beginning of the text.
func refusal(body []byte) ship.Refusal {
	var answer problem
	if json.Unmarshal(body, &answer) != nil {
		return ship.Refusal{}
	}

	details := answer.AdditionalDetails
	if len(details) == 0 {
		details = []string{answer.Detail}
	}
	first := details[0]
	if first == "" {
		first = answer.Title
	}

	code, text, ok := strings.Cut(first, ":")
	if !ok || !isCode(code) {
		return ship.Refusal{Message: strings.Join(append([]string{first}, details[1:]...), "; ")}
	}
	texts := append([]string{strings.TrimSpace(text)}, details[1:]...)
	return ship.Refusal{Code: code, Message: strings.Join(texts, "; ")}
}

func isCode(s string) bool {
	return s != "" && len(s) <= 8 && strings.Trim(s, "0123456789") == ""
}
