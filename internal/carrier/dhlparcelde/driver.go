package dhlparcelde

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// The APIs, below one host.
const (
	shippingPath = "/parcel/de/shipping/v2"
	returnsPath  = "/parcel/de/shipping/returns/v1" // fact: path-returns
	pickupPath   = "/parcel/de/transportation/pickup/v3"
	trackingPath = "/parcel/de/tracking/v0/shipments"
)

// defaultProfile is the group profile that every portal user has.
const defaultProfile = "STANDARD_GRUPPENPROFIL"

// defaultReceiver is the receiver of returns from Germany that DHL's documentation
// names. fact: return-receiver
const (
	defaultReceiver = "deu"
	maxReceiver     = 50
)

// driver is one account.
type driver struct {
	base           string
	key, secret    string // of the app
	user, password string // of the business customer portal
	profile        string
	billing        map[string]string // billing numbers by product, without those that are not set
	pickupBilling  string
	receiver       string // of returns, as it is called in the portal
	token          *carrierkit.Token
	via            carrier.Doer
}

func open(opening carrier.Opening) (carrier.Driver, error) {
	given := func(name string) string { return strings.TrimSpace(opening.Credentials[name]) }
	d := &driver{
		base:     opening.BaseURL,
		key:      given("api_key"),
		secret:   given("api_secret"),
		user:     given("username"),
		password: opening.Credentials["password"],
		profile:  given("profile"),
		receiver: cmp.Or(given("return_receiver"), defaultReceiver),
		billing:  map[string]string{},
		token:    carrierkit.NewToken(),
		via:      opening.Via,
	}
	if d.profile == "" {
		d.profile = defaultProfile
	}

	var invalid []ship.FieldError
	read := func(field, procedure string) string {
		number := strings.ToUpper(strings.ReplaceAll(given(field), " ", ""))
		if number != "" && (!billingNumber.MatchString(number) || number[10:12] != procedure) {
			invalid = append(invalid, ship.FieldError{
				Pointer: "/" + field,
				Code:    "invalid",
				Detail:  fmt.Sprintf("must be a billing number of 14 characters with %s as digits 11 and 12, such as 3333333333%s01", procedure, procedure),
			})
		}
		return number
	}
	for _, p := range products {
		if number := read(p.field, p.procedure); number != "" {
			d.billing[p.code] = number
		}
	}
	d.pickupBilling = read("billing_pickup", "08")
	if utf8.RuneCountInString(d.receiver) > maxReceiver {
		invalid = append(invalid, ship.FieldError{
			Pointer: "/return_receiver",
			Code:    "too_long",
			Detail:  fmt.Sprintf("must be the id of a receiver of returns, with at most %d characters, such as %s", maxReceiver, defaultReceiver),
		})
	}
	return d, ship.InvalidFields(invalid)
}

// billingNumber is a customer number of ten digits, a procedure and a
// participation.
var billingNumber = regexp.MustCompile(`^[0-9]{12}[0-9A-Z]{2}$`)

// Check asks for the version of the API, which needs valid credentials. Whether
// the billing numbers may be used shows with the first purchase.
func (d *driver) Check(ctx context.Context) error {
	if len(d.billing) == 0 {
		return ship.Errorf(ship.Forbidden, "the connection has no billing number; add that of each product of your DHL contract")
	}

	var answer versionAnswer
	if err := d.call(ctx, carrierkit.Call{Method: http.MethodGet, URL: d.base + shippingPath + "/"}, &answer); err != nil {
		return err
	}
	if answer.API.Version == "" && answer.Backend.Version == "" {
		return ship.Errorf(ship.Unavailable, "the carrier did not confirm whether the credentials are valid")
	}
	return nil
}

// answerLimit bounds an answer: a label and a customs form are some 200 KB.
const answerLimit = 4 << 20

// call makes one exchange with a token.
func (d *driver) call(ctx context.Context, call carrierkit.Call, answer any) error {
	_, err := d.exchange(ctx, call, answer)
	return err
}

// exchange is call, and also returns the body of a refusal: an error has only its
// first reason.
func (d *driver) exchange(ctx context.Context, call carrierkit.Call, answer any) (refusal []byte, _ error) {
	call.Limit = answerLimit
	call.Refusal = func(body []byte) ship.Refusal {
		refusal = body
		return refusalOf(body)
	}

	err := d.token.Use(ctx, d.fetchToken, func(token string) error {
		call.Header = http.Header{
			"Authorization":   {"Bearer " + token},
			"Accept-Language": {"en-US"},
		}
		return call.Do(ctx, d.via, answer)
	})
	return refusal, err
}

// address returns a URL of one of the APIs.
func (d *driver) address(path string, query url.Values) string {
	if len(query) == 0 {
		return d.base + path
	}
	return d.base + path + "?" + query.Encode()
}
