package canadapost

import (
	"context"
	"encoding/base64"
	"net/http"
	"regexp"
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
	hasUSDuties bool // duties of parcels to the United States are prepaid
	via         carrier.Doer
}

// paymentMethods are how Canada Post charges, the usual one first.
//
// fact: payment-methods
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
		hasUSDuties: given("us_duties") == dutiesByZonos,
		via:         opening.Via,
	}

	if !isCustomerNumber(d.customer) {
		refuse("customer_number", "must be a Canada Post customer number of 1 to 10 digits, such as 2004381")
	}
	if d.contract != "" && !isCustomerNumber(d.contract) {
		refuse("contract_id", "must be a Canada Post contract number of 1 to 10 digits, such as 42708517, or empty for an account without a contract")
	}
	switch {
	case d.onBehalfOf == "":
		d.onBehalfOf = d.customer
	case !isCustomerNumber(d.onBehalfOf):
		refuse("on_behalf_of", "must be a Canada Post customer number of 1 to 10 digits, such as 2004381")
	case !d.hasContract():
		refuse("on_behalf_of", "needs a contract: accounts without one ship only for themselves")
	}
	switch {
	case d.payment == "":
		d.payment = paymentMethods[0]
	case !slices.Contains(paymentMethods, d.payment):
		refuse("payment_method", "must be one of "+strings.Join(paymentMethods, ", "))
	case !d.hasContract() && d.payment != "CreditCard":
		refuse("payment_method", "must be CreditCard or empty without a contract: Canada Post charges the card in the profile of the account")
	}
	if given("us_duties") != "" && !d.hasContract() {
		refuse("us_duties", "needs a contract: Canada Post documents labels to the United States for commercial customers only")
	}
	if duties := given("us_duties"); duties != "" && duties != dutiesByZonos {
		refuse("us_duties", `must be "zonos", or empty if parcels to the United States are not sent`)
	}
	if d.refundEmail != "" && (!email.MatchString(d.refundEmail) || len(d.refundEmail) > addressLimits.Email) {
		refuse("refund_email", "must be an e-mail address of at most 60 characters, in a domain that ends in 2 to 5 letters, such as .com")
	}
	return d, ship.InvalidFields(invalid)
}

// email is an address that Canada Post accepts.
//
// fact: email-format
var email = regexp.MustCompile(`^['_A-Za-z0-9+-]+(\.['_A-Za-z0-9+-]+)*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,5}$`)

// dutiesByZonos says that a Zonos account pays the duties of parcels to the United
// States. Canada Post sells labels there only to customers who have linked one, and
// reports every parcel to it: "you create a shipment as per your normal process".
const dutiesByZonos = "zonos" // fact: us-duties

// hasContract reports whether labels are bought under a contract. Without one, they
// are bought from another service and charged to the card of the account's profile.
func (d driver) hasContract() bool { return d.contract != "" }

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
// fact: media-types
const (
	mediaRate        = "application/vnd.cpc.ship.rate-v4+xml"
	mediaShipment    = "application/vnd.cpc.shipment-v8+xml"
	mediaNonContract = "application/vnd.cpc.ncshipment-v4+xml"
	mediaReturn      = "application/vnd.cpc.authreturn-v2+xml"
	mediaTrack       = "application/vnd.cpc.track-v2+xml"
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

// shipmentPath is that of the shipments under the contract.
func (d driver) shipmentPath() string { return "/rs/" + d.customer + "/" + d.onBehalfOf + "/shipment" }

// nonContractPath is that of the shipments without a contract.
func (d driver) nonContractPath() string { return "/rs/" + d.customer + "/" + nonContract }

// returnPath is that of return labels.
func (d driver) returnPath() string {
	return "/rs/" + d.customer + "/" + d.onBehalfOf + "/" + authorizedReturn
}

// The services besides that of contract shipments. A carrier reference begins with
// the name of the service that sold the label, so that a void asks the same one even
// if the connection was changed since; that of a contract shipment is its id alone.
const (
	nonContract      = "ncshipment"
	authorizedReturn = "authorizedreturn"
)
