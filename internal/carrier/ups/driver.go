package ups

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// driver is one UPS account.
type driver struct {
	id, secret, account string
	pickupAddress       string   // the account's own, as comparableAddress writes it; empty if it is not known
	pushSecrets         []string // pushes carry one of them; if there is none, they are not verified
	live                bool     // what is bought costs money
	base                string   // of the API
	tokens              string   // address of the token request
	via                 carrier.Doer
	token               *carrierkit.Token
}

func open(opening carrier.Opening) (carrier.Driver, error) {
	account := strings.ToUpper(strings.TrimSpace(opening.Credentials["account_number"]))
	if len(account) != 6 || strings.Trim(account, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil, invalid("/account_number", "invalid", "must be 6 letters and digits, such as A1B2C3")
	}

	return &driver{
		id:            strings.TrimSpace(opening.Credentials["client_id"]),
		secret:        strings.TrimSpace(opening.Credentials["client_secret"]),
		account:       account,
		pickupAddress: comparableAddress(opening.Credentials["pickup_address"]),
		pushSecrets:   opening.PushSecrets(),
		live:          opening.Live,
		base:          opening.BaseURL,
		tokens:        strings.TrimSuffix(opening.BaseURL, "/api") + "/security/v1/oauth/token",
		via:           opening.Via,
		token:         carrierkit.NewToken(),
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
// only the first. The call's own headers are sent besides those of every call.
func (d *driver) exchange(ctx context.Context, call carrierkit.Call, answer any) (reasons []ship.Refusal, _ error) {
	call.Refusal = func(body []byte) ship.Refusal {
		reasons = refusalsOf(body)
		return first(reasons)
	}
	call.Limit = answerLimit

	header := http.Header{}
	header.Set("transId", rand.Text())
	header.Set("transactionSrc", caller)
	for name, values := range call.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}

	err := d.token.Use(ctx, d.fetchToken, func(token string) error {
		header.Set("Authorization", "Bearer "+token)
		call.Header = header
		return call.Do(ctx, d.via, answer)
	})
	return reasons, err
}

// answerLimit has room for the labels of the most parcels that an order has.
const answerLimit = 8 << 20
