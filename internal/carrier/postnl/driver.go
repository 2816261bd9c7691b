package postnl

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// driver is one account.
type driver struct {
	base           string
	key            string
	customerCode   string
	customerNumber string
	location       string             // of collection; empty if the contract names none
	products       map[string]product // of the contract by PostNL's usual codes, where they differ
	via            carrier.Doer
}

var (
	customerCode       = regexp.MustCompile(`^[A-Z0-9]{1,6}$`)
	customerNumber     = regexp.MustCompile(`^[0-9]{1,8}$`)
	collectionLocation = regexp.MustCompile(`^[0-9]{6}$`)
)

func open(opening carrier.Opening) (carrier.Driver, error) {
	given := func(field string) string { return strings.TrimSpace(opening.Credentials[field]) }
	d := driver{
		base:           opening.BaseURL,
		key:            given("api_key"),
		customerCode:   strings.ToUpper(given("customer_code")),
		customerNumber: given("customer_number"),
		location:       given("collection_location"),
		via:            opening.Via,
	}

	var invalid []ship.FieldError
	refuse := func(field, detail string) {
		invalid = append(invalid, ship.FieldError{Pointer: "/" + field, Code: "invalid", Detail: detail})
	}
	if !customerCode.MatchString(d.customerCode) {
		refuse("customer_code", "must be 1 to 6 letters, such as DEVC")
	}
	if !customerNumber.MatchString(d.customerNumber) {
		refuse("customer_number", "must be 1 to 8 digits, such as 11223344")
	}
	if d.location != "" && !collectionLocation.MatchString(d.location) {
		refuse("collection_location", "must be 6 digits, such as 123456")
	}
	var ok bool
	if d.products, ok = readProducts(given("product_codes")); !ok {
		refuse("product_codes", "must be services or usual codes with the codes of your contract, such as \"eu_parcel=4944, 4946=4947, standard=3085+118/006\"")
	}
	if err := ship.InvalidFields(invalid); err != nil {
		return nil, err
	}
	return d, nil
}

// Check draws a barcode, which needs a valid key, customer code and number, and
// is worth nothing without a label.
func (d driver) Check(ctx context.Context) error {
	_, err := d.drawBarcode(ctx, d.customerCode, false)
	return err
}

// answerLimit bounds an answer: a label is some 100 KB.
const answerLimit = 4 << 20

// call returns one exchange with PostNL.
func (d driver) call(method, path string, query url.Values) carrierkit.Call {
	address := d.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return carrierkit.Call{
		Method:  method,
		URL:     address,
		Header:  http.Header{"Apikey": {d.key}},
		Limit:   answerLimit,
		Refusal: refusalOf,
	}
}
