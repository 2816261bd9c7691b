// Package ups is the driver of UPS: quotes, labels, look-ups, voids and tracking
// over its REST API, and the pushes of its Track Alert. It makes one attempt per
// call, keeps no state but its token, and logs nothing.
package ups

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Spec describes UPS. Its addresses end in /api, as all paths but the token's
// begin with it.
var Spec = carrier.Spec{
	Name:    "ups",
	Title:   "UPS",
	Mark:    carrier.Mark{Background: "#4b2e1a", Text: "#ffc44d"},
	LiveURL: "https://onlinetools.ups.com/api",
	TestURL: "https://wwwcie.ups.com/api",
	Fields: []carrier.Field{
		{
			Name: "client_id", Title: "Client ID", Required: true,
			Help: "At developer.ups.com open Apps, choose the app (or add one with the products Authorization, Rating, Shipping and Tracking), and copy the Client ID from its credentials.",
		},
		{
			Name: "client_secret", Title: "Client secret", Secret: true, Required: true,
			Help: "Shown next to the Client ID of the same app.",
		},
		{
			Name: "account_number", Title: "Account number", Required: true,
			Help: "Six letters and digits, also called the shipper number: at ups.com under Profile, Accounts and Payment, or on an invoice. The account must be added to the app.",
		},
	},
	Services:       specServices(),
	Packagings:     specPackagings(),
	Formats:        []string{"gif", "zpl"},
	Address:        addressLimits,
	TrackBatch:     trackBatch,
	SubscribeBatch: subscribeBatch,
	LookupLag:      time.Minute,
	Deadlines:      carrier.Deadlines{Buy: 30 * time.Second, Track: 10 * time.Second},
	Limits: []string{
		"UPS sends labels as GIF or ZPL, never as PDF. Waybill buys GIF labels and creates the other formats from them.",
		"UPS accepts two references, 35 characters each, and prints both. The first is the order number, followed by `reference` if both fit; the second is the reference that Waybill uses to find the purchase.",
		"UPS has no idempotency keys. A purchase without a response is looked up by its reference with Label Recovery, which returns the label, but not the price, for about 30 days. If Label Recovery does not find it, the reference is tracked (product Tracking). If several shipments have the reference, the one with the order's postal code is used; if that is not unique, the shipment needs review.",
		"UPS does not document how soon a purchase appears in Label Recovery: Waybill waits one minute before it concludes that nothing was bought.",
		"UPS's test environment gives every parcel the number 1ZXXXXXXXXXXXXXXXX and stores nothing. Waybill adds a suffix to make such numbers unique, never tracks them, and voids them without a call to UPS.",
		"Prices are the account's negotiated rates if it has any, without taxes. The published price is shown as well.",
		"Return labels from the United States and Puerto Rico cover one parcel. Returns have no signature option and cannot cross a customs border.",
		"A ship date may be at most seven days ahead.",
		"For shipments into the European Union from outside, UPS asks whether the parties are businesses or consumers. Waybill sends their `type`; without one, the sender is treated as a business, and the recipient as a business if `company` is given and as a consumer otherwise. Goods are declared as worth at most 150 EUR only if their value is in EUR, or if an IOSS number is given: amounts in other currencies are not converted.",
		"In sales to consumers in the European Union, an item without a GTIN is declared as having no standardized identifier. Without an identifier of type `none` to confirm that, the shipment gets a warning.",
		"Registrations under which the seller has collected the tax are sent in their own market only: IOSS in the European Union, VOEC in Norway, ARN in Australia, IRD in New Zealand, Singapore's GST in Singapore.",
		"UPS sends the invoice to customs electronically where the account and the destination allow it; `customs.paperless: off` requests a printed one. A copy of the invoice is among the shipment's documents either way.",
		"Addresses in Vietnam need a province. UPS has country codes of its own for the Canary Islands and for territories of the United States and France; Waybill uses them.",
		"UPS accepts 35 characters in the sender's name and prints 30; it accepts 30 characters in a city and prints 15.",
		"UPS tracks one number per call, and keeps a parcel for 120 days after its last movement.",
		"UPS sends pushes (product UPS Track Alert) to the webhook that is set for the app at developer.ups.com under Manage Webhook Credentials: enter the connection's URL and secret there. It covers numbers that begin with 1Z or 1R, for 14 days at a time, and sends no earlier events.",
		"UPS does not sign its pushes; they only contain the secret. Its test environment sends pushes only for two sample parcels of its own.",
		"Older scans have local times without a time zone. If the location does not determine the zone, the event says that its zone is unknown.",
		"To be confirmed with a real account, because UPS's documentation leaves it open: that Label Recovery finds labels other than returns by reference; that the second reference can be looked up like the first; that an order number and a reference are accepted in one line; that the fields for the European Union and the indicator against paperless invoices work in production as documented; which codes newer rejections have.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}

// addressLimits are what UPS takes; labels are printed in Latin-1.
var addressLimits = carrier.AddressLimits{
	Name:    35,
	Company: 35,
	City:    30,
	State:   5,
	Zip:     9,
	Phone:   15,
	Lines:   3,
	Line:    35,
	Charset: "latin1",
}

// driver is one UPS account.
type driver struct {
	id, secret, account string
	pushSecret          string // that pushes carry; if empty, they are not verified
	live                bool   // what is bought costs money
	base                string // of the API
	tokens              string // address of the token request
	via                 carrier.Doer
	token               *carrierkit.Token
}

func open(opening carrier.Opening) (carrier.Driver, error) {
	account := strings.ToUpper(strings.TrimSpace(opening.Credentials["account_number"]))
	if len(account) != 6 || strings.Trim(account, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil, invalid("/account_number", "invalid", "must be 6 letters and digits, such as A1B2C3")
	}

	return &driver{
		id:         strings.TrimSpace(opening.Credentials["client_id"]),
		secret:     strings.TrimSpace(opening.Credentials["client_secret"]),
		account:    account,
		pushSecret: opening.PushSecret,
		live:       opening.Live,
		base:       opening.BaseURL,
		tokens:     strings.TrimSuffix(opening.BaseURL, "/api") + "/security/v1/oauth/token",
		via:        opening.Via,
		token:      carrierkit.NewToken(),
	}, nil
}

// checkReference is a reference that no shipment has.
const checkReference = "WAYBILL-CHECK"

// Check looks up a shipment that does not exist: UPS says so only to an app
// that is authorized, has the product Shipping, and was given the account.
func (d *driver) Check(ctx context.Context) error {
	_, err := d.lookUp(ctx, checkReference)
	refused, ok := errors.AsType[*ship.Error](err)
	switch {
	case !ok || refused.Kind != ship.Invalid:
		return err
	case refused.Refusal.Code == codeWrongShipper:
		return withKind(ship.Forbidden, "the account number does not belong to these credentials", err)
	}
	return nil // any other refusal is about the shipment
}

// caller is the name of this program in the header that names the source.
const caller = "waybill"

// call makes one exchange with a token.
func (d *driver) call(ctx context.Context, call carrierkit.Call, answer any) error {
	_, err := d.exchange(ctx, call, answer)
	return err
}

// exchange is call, and also returns all reasons of a refusal: an error has
// only the first.
func (d *driver) exchange(ctx context.Context, call carrierkit.Call, answer any) (reasons []ship.Refusal, _ error) {
	call.Refusal = func(body []byte) ship.Refusal {
		reasons = refusals(body)
		return first(reasons)
	}
	call.Limit = answerLimit

	id := rand.Text()
	source := caller
	if call.Header != nil {
		source = call.Header.Get("transactionSrc")
	}
	err := d.token.Use(ctx, d.fetch, func(token string) error {
		call.Header = http.Header{
			"Authorization":  {"Bearer " + token},
			"transId":        {id},
			"transactionSrc": {source},
		}
		return call.Do(ctx, d.via, answer)
	})
	return reasons, err
}

// answerLimit has room for the labels of the most parcels that an order has.
const answerLimit = 8 << 20

// fetch requests a token with the client's credentials.
func (d *driver) fetch(ctx context.Context) (string, time.Duration, error) {
	call := carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.tokens,
		Header: http.Header{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(d.id+":"+d.secret))},
			"Content-Type":  {"application/x-www-form-urlencoded"},
		},
		Refusal: func(body []byte) ship.Refusal { return first(refusals(body)) },
	}

	var answer tokenAnswer
	if err := call.Do(ctx, formDoer{d.via, "grant_type=client_credentials"}, &answer); err != nil {
		return "", 0, err
	}
	seconds, err := strconv.Atoi(string(answer.ExpiresIn))
	if err != nil {
		return "", 0, ship.Errorf(ship.Unavailable, "UPS sent a token without an expiry time")
	}
	return answer.AccessToken, time.Duration(seconds) * time.Second, nil
}

// formDoer gives a request the body of a form, as a Call sends only JSON.
type formDoer struct {
	via  carrier.Doer
	form string
}

// Do is carrier.Doer.
func (f formDoer) Do(r *http.Request) (*http.Response, error) {
	r.Body = io.NopCloser(strings.NewReader(f.form))
	r.ContentLength = int64(len(f.form))
	return f.via.Do(r)
}

// refusals reads UPS's errors, one entry for each.
func refusals(body []byte) []ship.Refusal {
	var answer errorAnswer
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}

	list := make([]ship.Refusal, 0, len(answer.Response.Errors))
	for _, reason := range answer.Response.Errors {
		list = append(list, ship.Refusal{Code: string(reason.Code), Message: reason.Message})
	}
	return list
}

// first is the refusal that decides what an error means.
func first(list []ship.Refusal) ship.Refusal {
	if len(list) == 0 {
		return ship.Refusal{}
	}
	return list[0]
}

// isRefusedWith reports whether UPS declined with one of the codes.
func isRefusedWith(err error, codes ...string) bool {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid && refused.Kind != ship.NotFound {
		return false
	}
	return slices.Contains(codes, refused.Refusal.Code)
}

// withKind is a refusal that means something else than an invalid request.
func withKind(kind ship.Kind, message string, err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}

	changed := *refused
	changed.Kind = kind
	changed.Message = message
	return &changed
}

// invalid refuses one field of the order before anything is sent.
func invalid(pointer, code, detail string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: pointer, Code: code, Detail: detail}})
}
