package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestTheTickedOfferStaysTicked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	quotes, err := b.web.Quoting.Quote(t.Context(), quoting.Input{
		Tenant: ship.Tenant{Account: b.owner.ID}, Account: b.owner, OneParcel: true,
		Order: ship.Order{Destination: people[0], Parcels: []ship.Parcel{{Weight: 2.5}}},
	})
	b.must(err)
	chosen := quotes.Rates[len(quotes.Rates)-1]

	f := addressForm()
	f.Set("rate", chosen.ID)
	list := b.send(member.Shipper, b.home+"/shipments/rates", f, "HX-Request", "true").Body.String()
	if !strings.Contains(list, "chosen=") || strings.Contains(list, `value="" checked`) {
		t.Fatalf("the list forgets what was ticked: %s", list)
	}
	path := b.home + "/shipments/rates?carrier=" + chosen.Carrier + "&chosen=" + strings.ReplaceAll(chosen.Carrier+"/"+chosen.Service+"/"+string(chosen.Connection), "/", "%2F")
	w := b.send(member.Shipper, path, f, "HX-Request", "true")
	if w.Code != http.StatusOK || strings.Count(w.Body.String(), " checked") != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
