package amazonshipping

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// driver is one account.
type driver struct {
	base      string
	tokenURL  string
	client    string
	secret    string
	refresh   string
	business  business
	carrierID string // of Amazon's own network, for tracking
	via       carrier.Doer
	token     *carrierkit.Token
}

func open(opening carrier.Opening) (carrier.Driver, error) {
	given := func(name string) string { return strings.TrimSpace(opening.Credentials[name]) }
	account, ok := businessOf(cmp.Or(given("business_id"), businesses[0].id()))
	if !ok {
		return nil, ship.InvalidFields([]ship.FieldError{{
			Pointer: "/business_id",
			Code:    "invalid",
			Detail:  "must be one of " + strings.Join(businessIDs(), ", "),
		}})
	}

	d := &driver{
		base:      opening.BaseURL,
		tokenURL:  opening.BaseURL + tokenPath,
		client:    given("client_id"),
		secret:    given("client_secret"),
		refresh:   given("refresh_token"),
		business:  account,
		carrierID: given("tracking_carrier_id"),
		via:       opening.Via,
		token:     carrierkit.NewToken(),
	}
	if d.carrierID == "" {
		d.carrierID = "AMZN_" + account.suffix // fact: carrier-id
	}

	// Amazon has a host for each part of the world, and another that issues
	// tokens for all of them.
	if d.base == liveURL || d.base == testURL {
		d.base = strings.Replace(d.base, "-na.", "-"+account.region+".", 1)
		d.tokenURL = "https://api.amazon.com" + tokenPath
	}
	return d, nil
}

// Check asks which shipments wait for a collection form, which changes nothing
// and needs the app, the authorization and the shipping account.
//
// Collection forms may be closed to an account that can ship. Then a parcel that does
// not exist is tracked: an answer about the parcel shows that the account may ask.
func (d *driver) Check(ctx context.Context) error {
	var answer struct {
		Carriers []struct{} `json:"unmanifestedCarrierInformationList"`
	}
	err := d.do(ctx, carrierkit.Call{
		Method: http.MethodPut,
		URL:    d.base + "/shipping/v2/unmanifestedShipments",
		Body:   struct{}{},
	}, &answer)
	if err == nil || !errors.Is(err, carrierkit.Status(http.StatusForbidden)) {
		return err
	}

	_, trackErr := d.trackOne(ctx, noParcel)
	isAnswer := ship.KindOf(trackErr) == ship.Invalid && ship.ErrorOf(trackErr).Refusal.Code != ""
	if trackErr == nil || isAnswer {
		return nil
	}
	return err
}

// noParcel is a number that no parcel has.
const noParcel = "TBA000000000000"

// userAgent is what Amazon asks every app to send.
const userAgent = "Waybill/1.0 (Language=Go)"

// do makes one call with a token.
func (d *driver) do(ctx context.Context, call carrierkit.Call, answer any) error {
	call.Refusal = refusalOf
	call.Limit = answerLimit

	// Each attempt gets a header of its own, as the second has another token.
	header := call.Header
	err := d.token.Use(ctx, d.fetchToken, func(token string) error {
		call.Header = header.Clone()
		if call.Header == nil {
			call.Header = http.Header{}
		}
		call.Header.Set("X-Amz-Access-Token", token)
		call.Header.Set("X-Amzn-Shipping-Business-Id", d.business.id())
		call.Header.Set("User-Agent", userAgent)
		return asUnauthorized(call.Do(ctx, d.via, answer))
	})
	return explain(err)
}

// badToken are Amazon's words for an access token that has expired or was revoked.
var badToken = regexp.MustCompile(`(?i)\baccess token\b.*\b(expired|revoked|invalid)\b`)

// asUnauthorized makes an answer about the token one that a new token can change:
// Amazon answers it with 403, like a role that is missing.
func asUnauthorized(err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || !errors.Is(err, carrierkit.Status(http.StatusForbidden)) || !badToken.MatchString(refused.Refusal.Message) {
		return err
	}
	unauthorized := *refused
	unauthorized.Err = carrierkit.Status(http.StatusUnauthorized)
	return &unauthorized
}

// answerLimit bounds an answer: a label is some hundred kilobytes.
const answerLimit = 4 << 20
