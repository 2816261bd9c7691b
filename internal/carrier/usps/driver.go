package usps

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// driver is one account.
type driver struct {
	base, clientID, clientSecret string
	crid, mid, manifestMID       string
	account                      string
	contract                     bool // quote by the account's own agreement
	media                        bool // it ships nothing but media
	alertEmail                   string
	pushSecret                   string   // of new subscriptions
	pushSecrets                  []string // that verify pushes
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
		pushSecrets:  opening.PushSecrets(),
		via:          opening.Via,
		access:       carrierkit.NewToken(),
		payment:      carrierkit.NewDerivedToken(),
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

	switch credentials["media_mail"] {
	case "", "off":
	case "on":
		d.media = true
	default:
		return nil, ship.InvalidFields([]ship.FieldError{{Pointer: "/media_mail", Code: "invalid", Detail: "must be on or off, or empty for off"}})
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
		// An app without the scope is tried anyway: the carrier's answer says
		// more.
		return true, d.allows("shipments")
	case carrier.OpTrack:
		return true, d.allows("tracking")
	case carrier.OpCheckAddress:
		return true, d.allows("addresses")
	case carrier.OpPickup:
		return true, d.allows(pickupScope)
	case carrier.OpManifest:
		return true, d.allows(scanFormScope)
	case carrier.OpPoints:
		return true, d.allows(locationScope)
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
			return lacksScope(scope)
		}
		return withTokens(call, access, "").Do(ctx, via, answer)
	})
	return explain(err, parameters)
}

func lacksScope(scope string) error {
	return ship.Errorf(ship.Forbidden, "the app lacks the scope %s: ask USPS to add the product to it",
		strings.ReplaceAll(scope, " ", " or "))
}

// allows reports whether the access token has a scope. Of several, separated by
// spaces, one is enough: USPS has two names for some. A token that lists no
// scopes is assumed to have them all.
func (d *driver) allows(scope string) bool {
	granted := d.scope.Load()
	if scope == "" || granted == nil || *granted == "" {
		return true
	}
	return slices.ContainsFunc(strings.Fields(scope), func(name string) bool {
		return slices.Contains(strings.Fields(*granted), name)
	})
}

// callWithPayment makes a call with both tokens.
func (d *driver) callWithPayment(ctx context.Context, call carrierkit.Call, answer any) error {
	return d.callPaid(ctx, "", call, answer)
}

// callPaid makes a call with both tokens that needs a scope.
func (d *driver) callPaid(ctx context.Context, scope string, call carrierkit.Call, answer any) error {
	var parameters []string
	call = withParameters(call, &parameters)

	err := d.access.Use(ctx, d.fetchAccess, func(access string) error {
		if !d.allows(scope) {
			return lacksScope(scope)
		}
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
	return explain(err, parameters)
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
