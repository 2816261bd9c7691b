package batch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestALineIsBoughtFromWhomItNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tc := range []struct{ carrier, service, wantCarrier, wantService, wrong string }{
		{"", "", "", "", ""},
		{"UPS", "", "ups", "", ""},
		{"fedex", "", "fedex", "", ""},
		{"DHL Express", "", "dhl_express", "", ""},
		{"dhl", "", "dhl_express", "", ""},
		{"ups", "UPS 2nd Day Air", "ups", "second_day_air", ""},
		{"", "Priority Mail", "usps", "priority_mail", ""},
		{"", "ground", "", "", "service"},
		{"Pigeon", "", "", "", "carrier"},
		{"UPS", "Priority Mail", "", "", "service"},
		{"", "Pigeon", "", "", "service"},
	} {
		t.Run(tc.carrier+" "+tc.service, func(t *testing.T) {
			text := fmt.Sprintf("Order,Recipient,Street,City,State,Zip,Country,Weight,Carrier,Service\n%s,Ada,5 Main St,Austin,TX,78701,US,2,%s,%s\n", t.Name(), tc.carrier, tc.service)
			id := b.upload(text)
			b.work(id)
			row, err := b.Row(t.Context(), b.tenant, id, 1)
			b.must(err)
			if tc.wrong != "" {
				if row.State != batch.RowBad || row.At(tc.wrong) == "" {
					t.Errorf("%s %+v, want a word at %s", row.State, row.Problems, tc.wrong)
				}
				return
			}
			if row.State != batch.RowRated {
				t.Fatalf("%s %+v", row.State, row.Problems)
			}
			b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
			b.work(id)
			row, err = b.Row(t.Context(), b.tenant, id, 1)
			b.must(err)
			sh, err := b.shipping.Shipment(t.Context(), b.tenant, row.Shipment)
			b.must(err)
			if !strings.HasPrefix(sh.Purchase.Carrier, tc.wantCarrier) || !strings.HasPrefix(sh.Purchase.Service, tc.wantService) || sh.Purchase.Carrier != row.Rate.Carrier || sh.Purchase.Service != row.Rate.Service {
				t.Errorf("bought %s %s, shown was %s %s", sh.Purchase.Carrier, sh.Purchase.Service, row.Rate.Carrier, row.Rate.Service)
			}
		})
	}
}

// TestALineLeavesFromTheLocationThatItNames reads a file with a location, one
// without and one that does not exist.
func TestALineLeavesFromTheLocationThatItNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.accounts.AddLocation(t.Context(), b.tenant, account.LocationSettings{
		Name:    new("Reno warehouse"),
		Address: &ship.Address{Name: "Acme", Address1: "1 Commerce Way", City: "Reno", State: "NV", Zip: "89502", Country: "US"},
	})
	b.must(err)
	id := b.upload("Order,Recipient,Street,City,State,Zip,Weight,Ship from\n" +
		"L-1,Ada,5 Main St,Austin,TX,78701,2,reno  Warehouse\nL-2,Ada,5 Main St,Austin,TX,78701,2,Rino warehouse\n")
	b.work(id)

	unknown, err := b.Row(t.Context(), b.tenant, id, 2)
	b.must(err)
	if unknown.State != batch.RowBad || !strings.Contains(unknown.At("location"), "did you mean Reno warehouse?") {
		t.Errorf("%s %+v", unknown.State, unknown.Problems)
	}
	b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
	b.work(id)
	row, err := b.Row(t.Context(), b.tenant, id, 1)
	b.must(err)
	sh, err := b.shipping.Shipment(t.Context(), b.tenant, row.Shipment)
	b.must(err)
	if sh.Order.Location.Name != "Reno warehouse" || sh.Order.Origin.City != "Reno" {
		t.Errorf("it left from %+v", sh.Order.Location)
	}
}
