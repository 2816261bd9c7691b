// Package ups is the driver of UPS: quotes, labels, look-ups, voids and tracking
// over its REST API, and the pushes of its Track Alert. It makes one attempt a call, keeps nothing but its token, and
// logs nothing.
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
	LiveURL: "https://onlinetools.ups.com/api",
	TestURL: "https://wwwcie.ups.com/api",
	Fields: []carrier.Field{
		{
			Name: "client_id", Title: "Client ID", Required: true,
			Help: "At developer.ups.com open Apps, choose the app (or add one with the products Authorization, Rating, Shipping and Tracking), and copy the Client ID from its credentials.",
		},
		{
			Name: "client_secret", Title: "Client secret", Secret: true, Required: true,
			Help: "Stands beside the Client ID of the same app.",
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
	Limits: []string{
		"UPS sends labels as GIF or ZPL and never as PDF; Waybill buys the GIF and makes the other formats of it.",
		"UPS has no key against buying twice. A purchase without an answer is looked up by its reference with Label Recovery, which gives the label again for about 30 days, but not the price.",
		"UPS does not say how soon Label Recovery knows a sale: Waybill waits a minute before it believes that there was none.",
		"Prices are those of the account where UPS has agreed on some, and without taxes.",
		"Return labels take one parcel from the United States and Puerto Rico, no signature, and do not cross a customs border.",
		"A ship date may be at most seven days ahead.",
		"Of the names of the sender UPS prints 30 of 35 characters, and of cities 15 of 30.",
		"UPS tells of one tracking number a call, and forgets a parcel 120 days after it moved last.",
		"UPS pushes (product UPS Track Alert) to the webhook that the app has at developer.ups.com under Manage Webhook Credentials: give it the connection's address and secret. It pushes about numbers that begin with 1Z or 1R, for 14 days at a time, and nothing of what was before.",
		"UPS does not sign its pushes; they carry the secret alone. Its test environment pushes about no parcel but two of its own.",
		"Older scans have the time of their place without its zone. Where the place does not tell the zone either, the event says so.",
	},
	Meaning: meaning,
	Open:    open,
}

// addressLimits are what UPS takes; labels are printed in Latin-1.
var addressLimits = carrier.AddressLimits{
	Name: 35, Company: 35, City: 30, State: 5, Zip: 9, Phone: 15, Lines: 3, Line: 35, Charset: "latin1",
}

// driver is one UPS account.
type driver struct {
	id, secret, account string
	pushSecret          string // that pushes carry; empty: they prove nothing
	base                string // of the API
	tokens              string // address of the token request
	via                 carrier.Doer
	token               *carrierkit.Token
}

func open(o carrier.Opening) (carrier.Driver, error) {
	account := strings.ToUpper(strings.TrimSpace(o.Credentials["account_number"]))
	if len(account) != 6 || strings.Trim(account, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil, invalid("/account_number", "invalid", "a UPS account number has six letters and digits")
	}
	return &driver{
		id:         strings.TrimSpace(o.Credentials["client_id"]),
		secret:     strings.TrimSpace(o.Credentials["client_secret"]),
		account:    account,
		pushSecret: o.PushSecret,
		base:       o.BaseURL,
		tokens:     strings.TrimSuffix(o.BaseURL, "/api") + "/security/v1/oauth/token",
		via:        o.Via,
		token:      carrierkit.NewToken(),
	}, nil
}

// checkReference is under no shipment.
const checkReference = "WAYBILL-CHECK"

// Check looks up a shipment that is not there: UPS can only say so to an app
// that is let in, has the product Shipping, and was given the account.
func (d *driver) Check(ctx context.Context) error {
	_, err := d.lookUp(ctx, checkReference)
	e, ok := errors.AsType[*ship.Error](err)
	switch {
	case !ok || e.Kind != ship.Invalid:
		return err
	case e.Refusal.Code == codeWrongShipper:
		wrong := *e
		wrong.Kind, wrong.Message = ship.Forbidden, "the account number does not belong to these credentials"
		return &wrong
	}
	return nil // it heard us, and answered about the shipment
}

// call makes one exchange with a token.
func (d *driver) call(ctx context.Context, c carrierkit.Call, answer any) error {
	c.Refusal = refusal
	c.Limit = answerLimit
	id := rand.Text()
	return d.token.Use(ctx, d.fetch, func(token string) error {
		c.Header = http.Header{
			"Authorization":  {"Bearer " + token},
			"transId":        {id},
			"transactionSrc": {"waybill"},
		}
		return c.Do(ctx, d.via, answer)
	})
}

// answerLimit has room for the labels of the most parcels that an order has.
const answerLimit = 8 << 20

// fetch asks for a token with the client's credentials.
func (d *driver) fetch(ctx context.Context) (string, time.Duration, error) {
	var a tokenAnswer
	err := carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.tokens,
		Header: http.Header{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(d.id+":"+d.secret))},
			"Content-Type":  {"application/x-www-form-urlencoded"},
		},
		Refusal: refusal,
	}.Do(ctx, formDoer{d.via, "grant_type=client_credentials"}, &a)
	if err != nil {
		return "", 0, err
	}
	seconds, err := strconv.Atoi(string(a.ExpiresIn))
	if err != nil {
		return "", 0, ship.Errorf(ship.Unavailable, "UPS sent a token without its life")
	}
	return a.AccessToken, time.Duration(seconds) * time.Second, nil
}

// formDoer gives a request the body of a form, where a Call has JSON alone.
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

// refusal reads UPS's own words. It may list several errors; the first is the
// one that counts.
func refusal(body []byte) ship.Refusal {
	var said errorAnswer
	if json.Unmarshal(body, &said) != nil || len(said.Response.Errors) == 0 {
		return ship.Refusal{}
	}
	first := said.Response.Errors[0]
	return ship.Refusal{Code: string(first.Code), Message: first.Message}
}

// refusedWith reports whether UPS refused with one of the codes.
func refusedWith(err error, codes ...string) bool {
	e, ok := errors.AsType[*ship.Error](err)
	return ok && (e.Kind == ship.Invalid || e.Kind == ship.NotFound) && slices.Contains(codes, e.Refusal.Code)
}

// as is a refusal that means something else than that the request is wrong.
func as(kind ship.Kind, message string, err error) error {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	other := *e
	other.Kind, other.Message = kind, message
	return &other
}

// invalid refuses one field of the order before anything is sent.
func invalid(pointer, code, detail string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: pointer, Code: code, Detail: detail}})
}
