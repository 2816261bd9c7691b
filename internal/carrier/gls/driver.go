package gls

import (
	"context"
	"net/http"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// The APIs, below one host.
const (
	shippingPath = "/shipit-farm/v1/backend"
	trackingPath = "/track-and-trace-v1"
)

// mediaType is that of ShipIT, which refuses plain JSON.
const mediaType = "application/glsVersion1+json"

// driver is one account.
type driver struct {
	base       string
	id, secret string // of the app
	contact    string // the shipper's id
	token      *carrierkit.Token
	via        carrier.Doer
}

func open(opening carrier.Opening) (carrier.Driver, error) {
	return &driver{
		base:    opening.BaseURL,
		id:      strings.TrimSpace(opening.Credentials["client_id"]),
		secret:  strings.TrimSpace(opening.Credentials["client_secret"]),
		contact: strings.TrimSpace(opening.Credentials["contact_id"]),
		token:   carrierkit.NewToken(),
		via:     opening.Via,
	}, nil
}

// Check asks which services the shipper may use, which needs valid credentials and
// a contact id that belongs to them.
func (d *driver) Check(ctx context.Context) error {
	place := location{CountryCode: "DE", Zipcode: "10115"}
	var answer allowedAnswer
	err := d.post(ctx, "/rs/shipments/allowedservices", allowedRequest{
		Source:      place,
		Destination: place,
		ContactID:   d.contact,
	}, &answer)
	if err != nil {
		return err
	}
	if answer.Services == nil {
		return ship.Errorf(ship.Unavailable, "the carrier did not confirm whether the credentials are valid")
	}
	return nil
}

// answerLimit has room for the labels of the most parcels that an order has.
const answerLimit = 8 << 20

// post sends a question to ShipIT, which takes a POST for reads too.
func (d *driver) post(ctx context.Context, path string, body, answer any) error {
	return d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + shippingPath + path,
		Header: shipItHeader(),
		Body:   body,
	}, answer)
}

func shipItHeader() http.Header {
	return http.Header{
		"Content-Type": {mediaType},
		"Accept":       {mediaType + ", application/json"},
	}
}

// call makes one exchange with a token. The reason of a refusal is in a header,
// or in the body.
func (d *driver) call(ctx context.Context, call carrierkit.Call, answer any) error {
	var answered http.Header
	call.Limit = answerLimit
	call.Refusal = func(body []byte) ship.Refusal { return refusalOf(answered, body) }

	header := http.Header{}
	for name, values := range call.Header {
		header[name] = values
	}
	return d.token.Use(ctx, d.fetchToken, func(token string) error {
		header.Set("Authorization", "Bearer "+token)
		header.Set("Accept-Language", "en")
		call.Header = header
		return call.Do(ctx, headerDoer{d.via, &answered}, answer)
	})
}

// headerDoer keeps the header of the answer, which a Call does not return.
type headerDoer struct {
	via    carrier.Doer
	header *http.Header
}

// Do is carrier.Doer.
func (d headerDoer) Do(r *http.Request) (*http.Response, error) {
	response, err := d.via.Do(r)
	if err == nil {
		*d.header = response.Header
	}
	return response, err
}
