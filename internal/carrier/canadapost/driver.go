package canadapost

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// driver is one account.
type driver struct {
	base        string
	basic       string // the value of the Authorization header
	customer    string
	contract    string
	onBehalfOf  string
	payment     string
	refundEmail string
	via         carrier.Doer
}

// paymentMethods are how Canada Post charges, the usual one first.
var paymentMethods = []string{"Account", "CreditCard", "SupplierAccount"}

func open(opening carrier.Opening) (carrier.Driver, error) {
	given := func(name string) string { return strings.TrimSpace(opening.Credentials[name]) }
	var invalid []ship.FieldError
	refuse := func(name, detail string) {
		invalid = append(invalid, ship.FieldError{Pointer: "/" + name, Code: "invalid", Detail: detail})
	}

	d := driver{
		base:        opening.BaseURL,
		basic:       "Basic " + base64.StdEncoding.EncodeToString([]byte(given("api_user")+":"+given("api_password"))),
		customer:    given("customer_number"),
		contract:    given("contract_id"),
		onBehalfOf:  given("on_behalf_of"),
		payment:     given("payment_method"),
		refundEmail: given("refund_email"),
		via:         opening.Via,
	}

	if !isCustomerNumber(d.customer) {
		refuse("customer_number", "must be a Canada Post customer number of 1 to 10 digits, such as 2004381")
	}
	if !isCustomerNumber(d.contract) {
		refuse("contract_id", "must be a Canada Post contract number of 1 to 10 digits, such as 42708517")
	}
	switch {
	case d.onBehalfOf == "":
		d.onBehalfOf = d.customer
	case !isCustomerNumber(d.onBehalfOf):
		refuse("on_behalf_of", "must be a Canada Post customer number of 1 to 10 digits, such as 2004381")
	}
	switch {
	case d.payment == "":
		d.payment = paymentMethods[0]
	case !slices.Contains(paymentMethods, d.payment):
		refuse("payment_method", "must be one of "+strings.Join(paymentMethods, ", "))
	}
	if d.refundEmail != "" && (!strings.Contains(d.refundEmail, "@") || len(d.refundEmail) > addressLimits.Email) {
		refuse("refund_email", "must be an e-mail address of at most 60 characters")
	}
	return d, ship.InvalidFields(invalid)
}

func isCustomerNumber(text string) bool {
	return text != "" && len(text) <= 10 && carrierkit.AllDigits(text)
}

// Check lists the services within Canada, which needs a valid API key. The
// numbers of customer and contract are checked by the first quote.
func (d driver) Check(ctx context.Context) error {
	var answer services
	call := d.call(http.MethodGet, "/rs/ship/service?country=CA", mediaRate)
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return err
	}
	if len(answer.Services) == 0 {
		return ship.Errorf(ship.Unavailable, "Canada Post did not confirm whether the credentials are valid")
	}
	return nil
}

// The media types of the services, which carry their versions.
const (
	mediaRate     = "application/vnd.cpc.ship.rate-v4+xml"
	mediaShipment = "application/vnd.cpc.shipment-v8+xml"
	mediaTrack    = "application/vnd.cpc.track-v2+xml"
)

// call returns one exchange with a service.
func (d driver) call(method, path, mediaType string) carrierkit.Call {
	return carrierkit.Call{
		Method:   method,
		URL:      d.base + path,
		Encoding: carrierkit.XML,
		Header: http.Header{
			"Authorization":   {d.basic},
			"Accept":          {mediaType},
			"Content-Type":    {mediaType},
			"Accept-Language": {"en-CA"},
		},
		Refusal: refusalOf,
	}
}

// shipmentPath is that of the account's shipments.
func (d driver) shipmentPath() string { return "/rs/" + d.customer + "/" + d.onBehalfOf + "/shipment" }
