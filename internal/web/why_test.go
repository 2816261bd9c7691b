package web

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestWhatRoutingStoresIsEnoughToTell buys with a rule and checks the
// explanation on the page.
func TestWhatRoutingStoresIsEnoughToTell(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	_, err := b.web.Rules.SaveDraft(t.Context(), tenant, routing.Book{Rules: []routing.Rule{{Name: "Ours", Then: routing.Action{Use: []routing.Target{{Carrier: "fedex", Service: "ground"}, {Carrier: "ups"}}}}}})
	b.must(err)
	_, err = b.web.Rules.Publish(t.Context(), rulebook.PublishInput{Tenant: tenant})
	b.must(err)
	sh := b.buy(b.owner, "1", people[0], 1)
	page := b.send(member.Owner, b.home+"/shipments/"+string(sh.ID), nil).Body.String()
	want := "Rule “Ours”: FedEx Ground ($"
	if !strings.Contains(page, want) || !strings.Contains(page, ") is the first in the list with an offer; next best is UPS ") || strings.Contains(page, "fedex ground (") {
		t.Errorf("the page does not say %q", want)
	}
	if !strings.HasPrefix(sh.Purchase.Routing.Why, "Rule “Ours”: fedex ground (") {
		t.Errorf("the API says %q", sh.Purchase.Routing.Why)
	}
}
