package royalmail

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Click & Drop and the Tracking API are two systems with logins of their own.
const (
	shippingHost = "api.parcel.royalmail.com"
	trackingURL  = "https://api.royalmail.net" + trackingPath
	trackingPath = "/mailpieces/v2"
)

// driver is one account.
type driver struct {
	base        string
	key         string
	carrierName string                 // of the account in Click & Drop; empty if it has one
	codes       map[string]accountCode // of services, where they are not the usual ones
	notices     notices

	tracking     string // the address of the Tracking API
	clientID     string // of the Tracking API; empty if the account has none
	clientSecret string

	via carrier.Doer
}

func open(opening carrier.Opening) (carrier.Driver, error) {
	given := func(field string) string { return strings.TrimSpace(opening.Credentials[field]) }
	d := driver{
		base:         opening.BaseURL,
		key:          given("api_key"),
		carrierName:  given("carrier_name"),
		tracking:     trackingAddress(opening.BaseURL),
		clientID:     given("tracking_client_id"),
		clientSecret: given("tracking_client_secret"),
		via:          opening.Via,
	}

	var invalid []ship.FieldError
	var ok bool
	if d.codes, ok = readCodes(given("service_codes")); !ok {
		invalid = append(invalid, ship.FieldError{
			Pointer: "/service_codes",
			Code:    "invalid",
			Detail:  "must be services with their codes, and after a slash the register of two digits if there is one, such as \"tracked_24=TPN24/02, royal_mail_48=CRL48\"",
		})
	}
	if d.notices, ok = noticesByWord[strings.ToLower(given("notify_recipient"))]; !ok {
		invalid = append(invalid, ship.FieldError{Pointer: "/notify_recipient", Code: "invalid", Detail: "must be email, sms, both or no"})
	}
	if len([]rune(d.carrierName)) > maxCarrierName {
		invalid = append(invalid, ship.FieldError{Pointer: "/carrier_name", Code: "too_long", Detail: "must have at most 50 characters"})
	}
	switch {
	case d.clientID != "" && d.clientSecret == "":
		invalid = append(invalid, ship.FieldError{Pointer: "/tracking_client_secret", Code: "required", Detail: "is required with tracking_client_id"})
	case d.clientID == "" && d.clientSecret != "":
		invalid = append(invalid, ship.FieldError{Pointer: "/tracking_client_id", Code: "required", Detail: "is required with tracking_client_secret"})
	}
	if err := ship.InvalidFields(invalid); err != nil {
		return nil, err
	}
	return d, nil
}

const maxCarrierName = 50

// notices are how Royal Mail notifies recipients of their parcels.
type notices struct{ email, sms bool }

// noticesByWord are the words of the setting.
var noticesByWord = map[string]notices{
	"":      {email: true},
	"email": {email: true},
	"sms":   {sms: true},
	"both":  {email: true, sms: true},
	"no":    {},
}

// trackingAddress returns where parcels are tracked: at Royal Mail's own address,
// or on the same host as an emulator of Click & Drop.
func trackingAddress(base string) string {
	address, err := url.Parse(base)
	if err != nil || address.Host == "" || address.Host == shippingHost {
		return trackingURL
	}
	return address.Scheme + "://" + address.Host + trackingPath
}

// Can reports whether the account has the ability: tracking needs credentials of
// its own.
func (d driver) Can(ability string) bool {
	switch ability {
	case "track", "proof":
		return d.clientID != ""
	}
	return true
}

// Check asks for the newest order, which needs a valid key, and then for the
// label of an order that does not exist: so it shows before anything is bought that
// an account may not print labels.
func (d driver) Check(ctx context.Context) error {
	if err := d.checkKey(ctx); err != nil {
		return err
	}

	err := d.labelCall(quoted(noOrder)).Do(ctx, d.via, &carrierkit.File{})
	switch ship.KindOf(err) {
	case ship.NotFound, ship.Invalid:
		return nil // there is no such order, and the account may ask
	}
	return explainAccount(err)
}

// noOrder is a reference under which nothing is ordered.
const noOrder = "waybill-connection-check"

// checkKey requires an answer that only Click & Drop gives, and only to a valid
// key.
func (d driver) checkKey(ctx context.Context) error {
	var answer ordersAnswer
	if err := d.call(http.MethodGet, "/orders?pageSize=1").Do(ctx, d.via, &answer); err != nil {
		return err
	}
	if answer.Orders == nil {
		return ship.Errorf(ship.Unavailable, "Royal Mail did not confirm whether the key is valid")
	}
	return nil
}

// answerLimit bounds an answer: a label with its customs forms is some 200 KB.
const answerLimit = 8 << 20

// call returns one exchange with Click & Drop.
func (d driver) call(method, path string) carrierkit.Call {
	return carrierkit.Call{
		Method:  method,
		URL:     d.base + path,
		Header:  http.Header{"Authorization": {"Bearer " + d.key}},
		Limit:   answerLimit,
		Refusal: refusalOf,
	}
}

// trackingCall returns one exchange with the Tracking API. Royal Mail answers
// nobody who does not accept its terms in each request.
func (d driver) trackingCall(path string) carrierkit.Call {
	return carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.tracking + path,
		Header: http.Header{
			"X-Ibm-Client-Id":     {d.clientID},
			"X-Ibm-Client-Secret": {d.clientSecret},
			"X-Accept-Rmg-Terms":  {"yes"},
		},
		Refusal: refusalOf,
	}
}

// quoted returns a reference as it is written in the path of a request.
func quoted(reference string) string { return url.PathEscape(`"` + reference + `"`) }
