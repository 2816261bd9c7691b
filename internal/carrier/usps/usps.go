// Package usps buys labels from the United States Postal Service over its v3
// APIs, and tracks parcels. It knows the wire format and nothing of the store.
// It makes one attempt per call and keeps no state but its two tokens: the
// access token, and the payment authorization that every label call needs as
// well.
package usps

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Spec describes USPS.
var Spec = carrier.Spec{
	Name:    "usps",
	Title:   "USPS",
	Mark:    carrier.Mark{Background: "#1e3f86", Text: "#fff"},
	LiveURL: "https://apis.usps.com",
	TestURL: "https://apis-tem.usps.com",
	Fields: []carrier.Field{
		{Name: "client_id", Title: "Consumer key", Required: true, Help: "developers.usps.com, Apps, your app, Credentials: the consumer key. The app needs the Labels, International Labels, Payments and Shipping Options products, and Tracking and Subscriptions - Tracking to track parcels; all except Shipping Options need approval from USPS."},
		{Name: "client_secret", Title: "Consumer secret", Required: true, Secret: true, Help: "developers.usps.com, Apps, your app, Credentials: the consumer secret."},
		{Name: "crid", Title: "Customer registration ID (CRID)", Required: true, Help: "gateway.usps.com (Business Customer Gateway), Manage Account, Business Locations: the CRID of the location that ships."},
		{Name: "mid", Title: "Mailer ID (MID)", Required: true, Help: "Business Customer Gateway, Additional Services, Mailer ID: 6 or 9 digits, enrolled in USPS Ship."},
		{Name: "manifest_mid", Title: "Manifest mailer ID", Help: "The MID that manifests are filed under, if it differs from the mailer ID; USPS tells you when it enrolls you in USPS Ship."},
		{Name: "account_number", Title: "Payment account (EPS)", Required: true, Help: "Business Customer Gateway, Enterprise Payment System: the number of the account that pays for postage."},
		{Name: "price_type", Title: "Price type", Help: "\"contract\" to quote by your own agreement with USPS; empty or \"commercial\" for the published commercial prices."},
		{Name: "alert_email", Title: "Alert e-mail", Help: "The address that USPS notifies when it cannot deliver tracking updates to this service, or is about to end the subscription. Optional."},
	},
	Services:   serviceList(),
	Packagings: packagingList(),
	Formats:    []string{formatPDF, formatPNG},
	Address:    limits,
	Quota:      carrier.Quota{Calls: 60, Per: time.Hour, Burst: 20}, // USPS counts by the hour; the burst is how many of them may be made at once
	TrackBatch: trackBatch,
	LookupLag:  time.Minute,
	Deadlines: carrier.Deadlines{
		Check: 20 * time.Second, // two tokens and the account
		Find:  30 * time.Second, // a look-up renders the label again
		Void:  30 * time.Second,
	},
	Limits: []string{
		"Orders with several parcels are rejected, because USPS sells a separate label for each parcel. Create one shipment per parcel.",
		"A purchase whose response was lost is looked up by its idempotency key with a reprint, which also returns the label. USPS reprints a label at most three times, until its mailing date, and not after it was cancelled; after that the shipment needs review.",
		"A label that is voided after its manifest was sent (00:30 Central after the mailing date) is not cancelled: USPS opens a refund request, and the refund stays pending.",
		"Parcels must be sent from the United States, its territories or the freely associated states and weigh at most 70 pounds. Length, width and height are required except for flat rate packaging.",
		"Return labels are rejected: USPS charges for them when they are used and never cancels them. Buy a shipment with sender and recipient swapped instead.",
		"Only the connected payment account pays: billing to the recipient or a third party is rejected, and so are prepaid duties (incoterm DDP).",
		"Signatures are available only for domestic shipments. Saturday delivery needs no option: USPS delivers on Saturdays.",
		"International labels and labels with a customs form are available only as PDF. Items worth more than 2,500 dollars in one line need an export filing (ITN), which is not supported.",
		"A new USPS app may make 60 calls an hour; USPS raises that on request.",
		"USPS sends tracking pushes for the parcels of the mailer ID, signed with a secret that Waybill chooses. The subscription is checked every week, because USPS ends one that was idle for 30 days and suspends one whose URL does not respond.",
		"USPS shows only parcels of the connection's own mailer ID.",
		"Cubic prices of Ground Advantage and Priority Mail are used for boxes where USPS offers them; the label is then bought with the rate indicator of the quote. Cubic prices for soft packs are not used.",
		"First-Class Package International takes goods worth at most 400 dollars.",
		"The order number and the reference are printed on labels without a customs form. A label with a customs form has two references, which USPS stores but does not print: Waybill's and the order number.",
		"A customs form has room for one tax identifier of the sender and one of the recipient; others are left out, with a warning.",
		"USPS reports local times. If it sends no UTC time, the zone of the city or state is used where it is unambiguous; otherwise the event says that its zone is unknown.",
		"USPS has several hundred event codes. Codes that are not in the status table are mapped by their text, or stay unmapped.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}

// limits are those of addresses on a label.
var limits = carrier.AddressLimits{
	Name:    50,
	Company: 50,
	City:    28,
	State:   40,
	Zip:     11,
	Phone:   16,
	Email:   254,
	Lines:   2,
	Line:    50,
	Charset: "ascii",
}

// paymentLife is how long a payment authorization is valid. The answer of USPS
// does not state it.
const paymentLife = 8 * time.Hour

// driver is one account.
type driver struct {
	base, clientID, clientSecret string
	crid, mid, manifestMID       string
	account                      string
	contract                     bool // quote by the account's own agreement
	alertEmail, pushSecret       string
	via                          carrier.Doer

	access  *carrierkit.Token
	payment *carrierkit.Token
	scope   atomic.Pointer[string] // of the access token
}

func open(opening carrier.Opening) (carrier.Driver, error) {
	credentials := opening.Credentials
	d := &driver{
		base:         opening.BaseURL,
		clientID:     credentials["client_id"],
		clientSecret: credentials["client_secret"],
		crid:         credentials["crid"],
		mid:          credentials["mid"],
		manifestMID:  credentials["manifest_mid"],
		account:      credentials["account_number"],
		alertEmail:   credentials["alert_email"],
		pushSecret:   opening.PushSecret,
		via:          opening.Via,
		access:       carrierkit.NewToken(),
		payment:      carrierkit.NewToken(),
	}
	if d.manifestMID == "" {
		d.manifestMID = d.mid
	}

	switch credentials["price_type"] {
	case "", "commercial":
	case "contract":
		d.contract = true
	default:
		return nil, ship.InvalidFields([]ship.FieldError{{Pointer: "/price_type", Code: "invalid", Detail: "must be commercial or contract, or empty for commercial"}})
	}

	for name, mid := range map[string]string{"mid": d.mid, "manifest_mid": d.manifestMID} {
		if len(mid) != 6 && len(mid) != 9 || strings.Trim(mid, "0123456789") != "" {
			return nil, ship.InvalidFields([]ship.FieldError{{Pointer: "/" + name, Code: "invalid", Detail: "must be 6 or 9 digits"}})
		}
	}
	return d, nil
}

// Check requests both tokens and reads the payment account. It spends nothing.
func (d *driver) Check(ctx context.Context) error {
	var account paymentAccount
	err := d.callWithPayment(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + "/payments/v3/payment-account/" + url.PathEscape(d.account) + "?accountType=EPS",
	}, &account)

	// The account number is part of the credentials, so an account that USPS
	// does not know is a problem of the connection and not of a request.
	if kind := ship.KindOf(err); kind == ship.Invalid || kind == ship.NotFound {
		refused, _ := errors.AsType[*ship.Error](err)
		return &ship.Error{
			Kind:    ship.Forbidden,
			Message: "the carrier does not accept the payment account",
			Refusal: refused.Refusal,
			Err:     refused.Err,
		}
	}
	if err != nil {
		return err
	}
	if account.AccountNumber != d.account {
		return ship.Errorf(ship.Unavailable, "the carrier returned a different payment account")
	}

	// A token that lists its scopes and lacks this one would only be refused by
	// the first purchase, after the client saw that the connection works.
	if !d.allows("labels") {
		return ship.Errorf(ship.Forbidden, "the app may not buy labels: ask USPS to add the Labels product to it")
	}
	return nil
}

// Permits reads what the app may do from the scopes of its token: a call to
// find out would be one of the sixty that an account has in an hour.
func (d *driver) Permits(op carrier.Operation) (permitted, known bool) {
	scope := d.scope.Load()
	if scope == nil || *scope == "" {
		return false, false
	}

	switch op {
	case carrier.OpRates:
		// An app without the scope is tried all the same: the answer says more.
		return true, d.allows("shipments")
	case carrier.OpTrack:
		return true, d.allows("tracking")
	}
	return false, false
}

// call makes a call with the access token.
func (d *driver) call(ctx context.Context, call carrierkit.Call, answer any) error {
	return d.callWithScope(ctx, "", d.via, call, answer)
}

// callWithScope makes a call that needs a scope. If the token lacks the scope
// the call is not made: USPS answers as if the token were invalid, and each
// such answer would cost three calls of the quota.
func (d *driver) callWithScope(ctx context.Context, scope string, via carrier.Doer, call carrierkit.Call, answer any) error {
	var parameters []string
	call = withParameters(call, &parameters)

	err := d.access.Use(ctx, d.fetchAccess, func(access string) error {
		if !d.allows(scope) {
			return ship.Errorf(ship.Forbidden, "the app lacks the scope %s: ask USPS to add the product to it", scope)
		}
		return withTokens(call, access, "").Do(ctx, via, answer)
	})
	return withFields(withAdvice(err), parameters)
}

// allows reports whether the access token has a scope. A token that lists no
// scopes is assumed to have them all.
func (d *driver) allows(scope string) bool {
	granted := d.scope.Load()
	return scope == "" || granted == nil || *granted == "" || slices.Contains(strings.Fields(*granted), scope)
}

// callWithPayment makes a call with both tokens.
func (d *driver) callWithPayment(ctx context.Context, call carrierkit.Call, answer any) error {
	var parameters []string
	call = withParameters(call, &parameters)

	err := d.access.Use(ctx, d.fetchAccess, func(access string) error {
		payment, err := d.payment.Get(ctx, d.fetchPayment(access))
		if err != nil {
			return err
		}

		// A 401 does not say which of the two tokens is invalid, so both are
		// fetched again before the one retry.
		err = withTokens(call, access, payment).Do(ctx, d.via, answer)
		if errors.Is(err, carrierkit.Status(http.StatusUnauthorized)) {
			d.payment.Forget(payment)
		}
		return err
	})
	return withFields(withAdvice(err), parameters)
}

// withParameters returns the call, which writes the parts of the request that
// a refusal is about into parameters.
func withParameters(call carrierkit.Call, parameters *[]string) carrierkit.Call {
	read := call.Refusal
	if read == nil {
		read = refusalOf
	}

	call.Refusal = func(body []byte) ship.Refusal {
		*parameters = parametersOf(body)
		return read(body)
	}
	return call
}

// withTokens returns the call with its tokens.
func withTokens(call carrierkit.Call, access, payment string) carrierkit.Call {
	header := call.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Authorization", "Bearer "+access)
	if payment != "" {
		header.Set("X-Payment-Authorization-Token", payment)
	}
	call.Header = header

	// A refusal is shown to clients, so the payment token must not appear in
	// one that repeats the request.
	read := call.Refusal
	if read == nil {
		read = refusalOf
	}
	call.Refusal = func(body []byte) ship.Refusal {
		refusal := read(body)
		if payment != "" {
			refusal.Code = strings.ReplaceAll(refusal.Code, payment, "[secret]")
			refusal.Message = strings.ReplaceAll(refusal.Message, payment, "[secret]")
		}
		return refusal
	}
	return call
}

func (d *driver) fetchAccess(ctx context.Context) (string, time.Duration, error) {
	call := carrierkit.Call{
		Method:  http.MethodPost,
		URL:     d.base + "/oauth2/v3/token",
		Refusal: refusalOf,
		Body: accessRequest{
			GrantType:    "client_credentials",
			ClientID:     d.clientID,
			ClientSecret: d.clientSecret,
		},
	}

	var answer accessAnswer
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return "", 0, err
	}

	d.scope.Store(&answer.Scope)
	seconds, _ := answer.ExpiresIn.Int64()
	return answer.AccessToken, time.Duration(seconds) * time.Second, nil
}

// fetchPayment returns the request for a payment authorization.
func (d *driver) fetchPayment(access string) carrierkit.Fetch {
	return func(ctx context.Context) (string, time.Duration, error) {
		call := withTokens(carrierkit.Call{
			Method: http.MethodPost,
			URL:    d.base + "/payments/v3/payment-authorization",
			Body:   paymentRequest{Roles: d.roles()},
		}, access, "")

		var answer paymentAnswer
		if err := call.Do(ctx, d.via, &answer); err != nil {
			return "", 0, withAdvice(err)
		}

		// USPS answers an account that it has not enrolled with 200, an
		// explanation and no token.
		if answer.Token == "" && answer.Body != "" {
			return "", 0, &ship.Error{
				Kind:    ship.Forbidden,
				Message: notEnrolled,
				Refusal: ship.Refusal{Message: string(answer.Body)},
			}
		}
		return answer.Token, paymentLife, nil
	}
}

// roles are who pays, who owns the label and, for prices by contract, whose
// prices they are.
func (d *driver) roles() []role {
	list := []role{
		{RoleName: "PAYER", CRID: d.crid, AccountType: "EPS", AccountNumber: d.account},
		{RoleName: "LABEL_OWNER", CRID: d.crid, MID: d.mid, ManifestMID: d.manifestMID},
	}
	if d.contract {
		list = append(list, role{RoleName: "RATE_HOLDER", CRID: d.crid, AccountType: "EPS", AccountNumber: d.account})
	}
	return list
}
