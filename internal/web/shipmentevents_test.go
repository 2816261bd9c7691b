package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/webhook"
)

func TestAShipmentShowsWhatWasToldOfIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "1", people[0], 1)
	b.buy(b.owner, "2", people[1], 1)
	b.advance(sh, ship.Delivered, "")
	page := b.send(member.Owner, b.home+"/shipments/"+string(sh.ID), nil).Body.String()
	for _, kind := range []string{"shipment.created", "label.generated", "shipment.delivered"} {
		if strings.Count(page, ">"+kind+"<") != 1 {
			t.Errorf("%s is there %d times", kind, strings.Count(page, ">"+kind+"<"))
		}
	}
}

// Retries of a webhook that is disabled or parked have no next time.
func TestAShipmentShowsWhatADisabledWebhookWaitsFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "1", people[0], 1)
	hook, err := b.web.Webhook.Create(b.Context(), sh.Tenant, webhook.Settings{URL: new("http://127.0.0.1:19999/hook")})
	b.must(err)
	events, err := b.web.Webhook.ShipmentEvents(b.Context(), sh.Tenant, sh.ID)
	b.must(err)
	_, err = storetest.Conn(b, b.database).Exec(b.Context(), `
		INSERT INTO webhook_retries (account_id, livemode, endpoint_id, event_id, event_txid, slot, attempts, next_attempt_at)
		VALUES ($1, false, $2, $3, '9', 0, 3, 'infinity')`,
		[16]byte(sh.Tenant.Account.Raw()), [16]byte(hook.ID.Raw()), [16]byte(events[0].Event.ID.Raw()))
	b.must(err)

	w := b.send(member.Owner, b.home+"/shipments/"+string(sh.ID), nil)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Pending, tried 3 times") {
		t.Errorf("the page answers %d: %.500s", w.Code, w.Body)
	}
}

func TestAVoidElsewhereReachesTheOpenPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh, other := b.buy(b.owner, "1", people[0], 1), b.buy(b.owner, "2", people[1], 1)
	page, leave, ok := b.web.Watch(sh.Tenant, sh.ID)
	if !ok {
		t.Fatal("no room")
	}
	defer leave()
	time.Sleep(1300 * time.Millisecond) // the hub has seen the earlier state
	for len(page) > 0 {
		<-page
	}
	for _, x := range []ship.Shipment{other, sh} { // as the API or another copy of the program would do it
		_, err := b.web.Shipping.Void(b.Context(), x.Tenant, x.ID)
		b.must(err)
	}
	select {
	case id := <-page:
		if id != string(sh.ID) {
			t.Errorf("told of %s", id)
		}
	case <-time.After(5 * time.Second):
		t.Error("the page hears nothing")
	}
}
