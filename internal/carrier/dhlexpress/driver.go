package dhlexpress

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// driver is one account.
type driver struct {
	base    string
	basic   string // the value of the Authorization header
	account string
	// pointKey is for searches of service points; empty if DHL issued none.
	pointKey string
	via      carrier.Doer
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
		base:     opening.BaseURL,
		basic:    "Basic " + base64.StdEncoding.EncodeToString([]byte(key+":"+secret)),
		account:  account,
		pointKey: strings.TrimSpace(opening.Credentials["service_point_key"]),
		via:      opening.Via,
	}, nil
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

// version is the version of the API that this driver was written for.
const version = "3.1.0"

// answerLimit bounds an answer: the label of a hundred pieces is some 6 MB.
const answerLimit = 8 << 20

// call returns one exchange. The reference is for DHL's own logs.
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
		Refusal: refusalOf,
	}
}

// do makes a call about an order. A refusal points to the fields of our own
// request.
func (d driver) do(ctx context.Context, call carrierkit.Call, answer any, order ship.Order, extras []extra) error {
	details, err := d.send(ctx, call, answer)
	return explain(err, details, order, extras)
}

// send makes a call, and returns the problems that a refusal lists.
func (d driver) send(ctx context.Context, call carrierkit.Call, answer any) (details []string, _ error) {
	call.Refusal = func(body []byte) ship.Refusal {
		// The credentials must not come back in the details of an error.
		details = detailsOf(bytes.ReplaceAll(body, []byte(strings.TrimPrefix(d.basic, "Basic ")), []byte("[secret]")))
		return refusalOf(body)
	}

	err := call.Do(ctx, d.via, answer)
	return details, err
}
