package web

import (
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
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
