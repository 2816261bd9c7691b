package gls

import (
	"cmp"
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
	middleware string // the name by which GLS knows the software
	isFlexible bool   // GLS Parcel is bought with FlexDelivery where it can be
	token      *carrierkit.Token
	via        carrier.Doer
}

// defaultMiddleware is the name of this software for GLS. GLS requires one and
// books parcels under it; other software is called "...viaGLS" too.
const defaultMiddleware = "WaybillviaGLS"

const maxMiddleware = 40

func open(opening carrier.Opening) (carrier.Driver, error) {
	given := func(field string) string { return strings.TrimSpace(opening.Credentials[field]) }
	d := &driver{
		base:       opening.BaseURL,
		id:         given("client_id"),
		secret:     given("client_secret"),
		contact:    given("contact_id"),
		middleware: cmp.Or(given("middleware"), defaultMiddleware),
		token:      carrierkit.NewToken(),
		via:        opening.Via,
	}

	var invalid []ship.FieldError
	refuse := func(field, detail string) {
		invalid = append(invalid, ship.FieldError{Pointer: "/" + field, Code: "invalid", Detail: detail})
	}
	if len([]rune(d.middleware)) > maxMiddleware {
		refuse("middleware", "must have at most 40 characters")
	}
	switch strings.ToLower(given("flex_delivery")) {
	case "", "no":
	case "yes":
		d.isFlexible = true
	default:
		refuse("flex_delivery", `must be "yes" or "no"`)
	}
	if err := ship.InvalidFields(invalid); err != nil {
		return nil, err
	}
	return d, nil
}

// Check asks which services the shipper may use, which needs valid credentials and
// a contact id that belongs to them.
func (d *driver) Check(ctx context.Context) error {
	place := location{CountryCode: "DE", ZIPCode: "10115"}
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
