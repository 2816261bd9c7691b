package batch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/batch"
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
