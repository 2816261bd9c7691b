package shipping_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestAQuotesSelectionIsBought buys a British domestic product of DHL Express,
// which is sold only under the local code that the quote gave.
func TestAQuotesSelectionIsBought(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "dhl_express")
	in := b.order(1)
	in.Order.Origin = ship.Address{
		Name: "Warehouse", Company: "Shop", Address1: "1 Cheapside", City: "London", Zip: "EC2V 6AA", Country: "GB", Phone: "+442079460100",
	}
	in.Order.Destination = ship.Address{
		Name: "Ada Lovelace", Address1: "2 Deansgate", City: "Manchester", Zip: "M3 1AZ", Country: "GB", Phone: "+441614960100",
	}

	quote, err := b.quotes.Quote(t.Context(), quoting.Input{Tenant: in.Tenant, Account: in.Account, Order: in.Order, OneParcel: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, rate := range quote.Rates {
		if rate.Selection == "" || len(rate.ID) > 255 {
			t.Errorf("%s: selection %q, an id of %d characters", rate.Service, rate.Selection, len(rate.ID))
		}
		in := keyed(in, rate.Service)
		in.Order.OrderID = rate.Service
		in.RateID = rate.ID
		got, err := b.Buy(t.Context(), in)
		if err != nil || got.Pending || got.Shipment.Purchase.Selection != rate.Selection {
			t.Fatalf("%s by its rate: %+v, %v", rate.Service, got.Shipment.Purchase, err)
		}
		stored, err := b.store.Shipment(t.Context(), b.tenant, got.Shipment.ID)
		if err != nil || stored.Purchase.Selection != rate.Selection {
			t.Errorf("%s is stored with %q, %v", rate.Service, stored.Purchase.Selection, err)
		}
		if n := len(b.alive()); n != i+1 {
			t.Errorf("%d labels after %d purchases", n, i+1)
		}
	}

	// The service chooses an offer of its own and buys it as it was quoted.
	if _, err := b.Buy(t.Context(), keyed(in, "routed")); err != nil {
		t.Errorf("by the rules: %v", err)
	}
}
