package canadapost_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/canadapost"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestALostAnswerWithoutAContractIsFound loses the answer to a sale in every way, among
// sales of others, and requires that the look-up returns the one of the reference.
func TestALostAnswerWithoutAContractIsFound(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"reset", "500", "502", "truncate"} {
		server := newStandIn(t)
		post := openWith(t, withoutContract, newSchemas(t).Checked(carriertest.Server(t, server)))
		if _, err := post.Find(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Unavailable {
			t.Errorf("%s: in an account that has bought nothing: %v, want unavailable", fault, err)
		}
		sellAnother(t, server)
		if _, err := post.Find(t.Context(), domesticOrder()); ship.KindOf(err) != ship.NotFound {
			t.Errorf("%s: before the sale: %v, want not found", fault, err)
		}

		if err := server.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}}); err != nil {
			t.Fatal(err)
		}
		if _, err := post.Buy(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Uncertain {
			t.Fatalf("%s: %v, want uncertain", fault, err)
		}
		found, err := post.Find(t.Context(), domesticOrder())
		if err != nil {
			t.Fatalf("%s: %v", fault, err)
		}
		sold := server.Ledger.Entries()[1]
		if found.TrackingNumber != sold.Number || found.Price.Amount() != sold.Amount || found.CarrierRef != "ncshipment/"+sold.ID || found.DeliveryAt.IsZero() || found.Label.Format != "pdf" {
			t.Errorf("%s: found %+v, and the ledger has %+v", fault, found, sold)
		}
	}
}

// TestAnEarlierPurchaseProvesThatTheLookUpWorks: the account has bought nothing since
// the order, and a label before it.
func TestAnEarlierPurchaseProvesThatTheLookUpWorks(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	sellAnother(t, server)
	later := domesticOrder()
	later.Shipment = ship.NewShipmentID(0, time.Now().Add(12*time.Minute))
	via := &emptySince{via: newSchemas(t).Checked(carriertest.Server(t, server))}
	if _, err := openWith(t, withoutContract, via).Find(t.Context(), later); ship.KindOf(err) != ship.NotFound || via.asked != 1 {
		t.Errorf("asked %d times: %v, want not found", via.asked, err)
	}
}

// emptySince answers lists that last to the present with nothing.
type emptySince struct {
	via   carrier.Doer
	asked int
}

// Do is carrier.Doer.
func (e *emptySince) Do(r *http.Request) (*http.Response, error) {
	if !r.URL.Query().Has("from") || r.URL.Query().Has("to") {
		return e.via.Do(r)
	}
	e.asked++
	return fixed{200, `<non-contract-shipments xmlns="http://www.canadapost.ca/ws/ncshipment-v4"/>`}.Do(r)
}

// TestAListThatIsTooLongProvesNothing has an account that bought more labels since the
// order than a look-up opens: the one that is missing may be among the rest.
func TestAListThatIsTooLongProvesNothing(t *testing.T) {
	t.Parallel()
	var links strings.Builder
	for i := range 50 {
		fmt.Fprintf(&links, `<link rel="shipment" href="https://ct.soa-gw.canadapost.ca/rs/7023210/ncshipment/%d" media-type="application/vnd.cpc.ncshipment-v4+xml"/>`, i)
	}
	via := carriertest.Answer{
		Path:   "/ncshipment",
		Status: http.StatusOK,
		Body:   `<non-contract-shipments xmlns="http://www.canadapost.ca/ws/ncshipment-v4">` + links.String() + `</non-contract-shipments>`,
	}.Instead(carriertest.Answer{
		Path:   "/details",
		Status: http.StatusOK,
		Body:   `<non-contract-shipment-details xmlns="http://www.canadapost.ca/ws/ncshipment-v4"><delivery-spec/></non-contract-shipment-details>`,
	}.Instead(carriertest.Server(t, newStandIn(t))))
	if _, err := openWith(t, withoutContract, via).Find(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("%v, want unavailable", err)
	}
}

// TestALabelWithoutAReceiptIsALabel: only its price is not known.
func TestALabelWithoutAReceiptIsALabel(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	set(t, server, `{"noReceipt":true}`)
	bought, err := openWith(t, withoutContract, carriertest.Server(t, server)).Buy(t.Context(), domesticOrder())
	if err != nil || len(bought.Label.Data) == 0 || !bought.Price.IsZero() {
		t.Fatalf("%+v, %v", bought, err)
	}
	if !slices.ContainsFunc(bought.Warnings, func(w string) bool { return strings.Contains(w, "receipt") }) {
		t.Errorf("the warnings are %q", bought.Warnings)
	}
}

// TestAnAccountWithoutAContract quotes, buys abroad and asks for a refund.
func TestAnAccountWithoutAContract(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	post := openWith(t, withoutContract, newSchemas(t).Checked(carriertest.Server(t, server)))
	if rates, err := post.Rates(t.Context(), domesticOrder().Order); err != nil || len(rates) != 5 {
		t.Errorf("%d rates, %v", len(rates), err)
	}

	bought, err := post.Buy(t.Context(), foreignOrder())
	if err != nil {
		t.Fatal(err)
	}
	if len(bought.Documents) != 1 || bought.Label.Format != "pdf" {
		t.Errorf("bought %+v", bought)
	}
	if !slices.Contains(bought.Warnings, "customs.taxIdentifiers.0 is left out: Canada Post takes tax numbers only under a contract") {
		t.Errorf("the warnings are %q", bought.Warnings)
	}

	// Asking again is safe.
	purchase := ship.Purchase{CarrierRef: bought.CarrierRef, TrackingNumber: bought.TrackingNumber}
	for range 2 {
		if result, err := post.Void(t.Context(), purchase); err != nil || result.State != ship.StateRefundPending {
			t.Errorf("%+v, %v", result, err)
		}
	}

	returned := domesticOrder()
	returned.Order.IsReturn = true
	if _, err := post.Buy(t.Context(), returned); ship.KindOf(err) != ship.Invalid || !strings.Contains(err.Error(), "contract") {
		t.Errorf("a return: %v", err)
	}
}

func TestFieldsOfAConnection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		base  carrier.Credentials
		field string
		value string
		isBad bool
	}{
		"no contract":                        {withoutContract, "contract_id", "", false},
		"a contract that is a word":          {credentials, "contract_id", "abc", true},
		"for others without a contract":      {withoutContract, "on_behalf_of", "99", true},
		"on account without a contract":      {withoutContract, "payment_method", "Account", true},
		"by card without a contract":         {withoutContract, "payment_method", "CreditCard", false},
		"duties without a contract":          {withoutContract, "us_duties", "zonos", true},
		"other duties":                       {credentials, "us_duties", "yes", true},
		"an address that schemas do not let": {credentials, "refund_email", "a@shop.company", true},
	} {
		given := carrier.Credentials{test.field: test.value}
		for name, value := range test.base {
			if name != test.field {
				given[name] = value
			}
		}
		_, err := carrier.Open(canadapost.Spec, carrier.Opening{Credentials: given, BaseURL: canadapost.Spec.TestURL})
		isNamed := slices.ContainsFunc(ship.ErrorOf(err).Fields, func(f ship.FieldError) bool { return f.Pointer == "/"+test.field })
		if isNamed != test.isBad || (err != nil) != test.isBad {
			t.Errorf("%s: %v %+v", name, err, ship.ErrorOf(err).Fields)
		}
	}
}
