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
			Help: "Six letters and digits, also called the shipper number: at ups.com under Profile, Accounts and Payment, or on an invoice. It must be one of the accounts that the app was given.",
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
		"UPS sends labels as GIF or ZPL and never as PDF; Waybill buys the GIF and makes the other formats of it.",
		"UPS takes two references, 35 characters each, and prints both. The first is the order number, followed by `reference` if both fit; the second is the reference by which Waybill finds the purchase again.",
		"UPS has no key against buying twice. A purchase without an answer is looked up by its reference with Label Recovery, which gives the label again for about 30 days, but not the price; what is not found there is looked for by tracking its reference (product Tracking). If several shipments have the reference, the one with the order's postal code is used; if that does not decide, a person has to.",
		"UPS does not say how soon Label Recovery knows a sale: Waybill waits a minute before it believes that there was none.",
		"UPS's test environment gives every parcel the number 1ZXXXXXXXXXXXXXXXX and keeps nothing. Waybill adds a suffix to make such numbers unique, never tracks them, and voids them without a call to UPS.",
		"Prices are those of the account where UPS has agreed on some, and without taxes. The published price is shown beside them.",
		"Return labels take one parcel from the United States and Puerto Rico, no signature, and do not cross a customs border.",
		"A ship date may be at most seven days ahead.",
		"For shipments from outside into the European Union, UPS asks whether the parties are businesses or consumers. Waybill sends their `type`; without one, the sender counts as a business, and the recipient as a business if `company` is given and as a consumer otherwise. Goods are declared as worth at most 150 EUR only if their value is in EUR, or if an IOSS number is given: amounts in other currencies are not converted.",
		"In sales to consumers in the European Union, an item without a GTIN is declared as having no standardized identifier. Without an identifier of type `none` to confirm that, the shipment gets a warning.",
		"Registrations under which the seller has collected the tax are sent in their own market only: IOSS in the European Union, VOEC in Norway, ARN in Australia, IRD in New Zealand, Singapore's GST in Singapore.",
		"UPS sends the invoice to customs electronically where the account and the destination allow it; `customs.paperless: off` requests a printed one. A copy of the invoice is among the shipment's documents either way.",
		"Addresses in Vietnam need a province. UPS has country codes of its own for the Canary Islands and for territories of the United States and France; Waybill uses them.",
		"Of the names of the sender UPS prints 30 of 35 characters, and of cities 15 of 30.",
		"UPS tells of one tracking number a call, and forgets a parcel 120 days after it moved last.",
		"UPS pushes (product UPS Track Alert) to the webhook that the app has at developer.ups.com under Manage Webhook Credentials: give it the connection's address and secret. It pushes about numbers that begin with 1Z or 1R, for 14 days at a time, and nothing of what was before.",
		"UPS does not sign its pushes; they carry the secret alone. Its test environment pushes about no parcel but two of its own.",
		"Older scans have the time of their place without its zone. Where the place does not tell the zone either, the event says so.",
		"To be confirmed with a real account, because UPS's documents leave it open: that Label Recovery finds other labels than returns by reference; that a second reference is found like the first; that an order number and a reference in one line are accepted; that the fields for the European Union and the indicator against paperless invoices work in production as documented; which codes its newer refusals have.",
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
		return nil, invalid("/account_number", "invalid", "a UPS account number has six letters and digits")
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
		return "", 0, ship.Errorf(ship.Unavailable, "UPS sent a token without its life")
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
