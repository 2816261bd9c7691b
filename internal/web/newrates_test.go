package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

func TestAccountsOfOneCarrierAreNamed(t *testing.T) {
	t.Parallel()
	first, second, third := ship.NewConnectionID(1, time.Now()), ship.NewConnectionID(1, time.Now()), ship.NewConnectionID(1, time.Now())
	names := accountNamesOf([]shipping.CarrierInfo{
		{Name: "ups", Connections: []shipping.Connection{{ID: first, Name: "Main contract"}, {ID: second, Name: ""}}},
		{Name: "fedex", Connections: []shipping.Connection{{ID: third, Name: "Only one"}}},
	})
	if names[first] != "Main contract" || names[second] != short(string(second)) || names[third] != "" {
		t.Errorf("%v", names)
	}

	rate := ship.Rate{Carrier: "ups", Service: "ground", ServiceName: "UPS Ground", Price: ship.Money{Minor: 900, Currency: "USD"}}
	lines := map[ship.ConnectionID]string{}
	for _, id := range []ship.ConnectionID{first, second} {
		rate.Connection = id
		var page strings.Builder
		if err := offerLine(newShipment{Accounts: names}, quoting.Quote{ID: "rate_x", Rate: rate}, false, false).Render(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
		lines[id] = page.String()
	}
	if !strings.Contains(lines[first], "Main contract") || !strings.Contains(lines[second], short(string(second))) || lines[first] == lines[second] {
		t.Errorf("rates of two accounts look the same: %s", lines[first])
	}

	// Two accounts of the same name are told apart too.
	twins := accountNamesOf([]shipping.CarrierInfo{{Name: "ups", Connections: []shipping.Connection{{ID: first, Name: "UPS"}, {ID: second, Name: "UPS"}}}})
	if twins[first] == twins[second] {
		t.Errorf("%v", twins)
	}
}

func TestTheFastestArrivesFirst(t *testing.T) {
	t.Parallel()
	day := func(d int) time.Time { return time.Date(2026, 3, d, 20, 0, 0, 0, time.UTC) }
	rate := func(minor int64, days int, at time.Time) quoting.Quote {
		return quoting.Quote{Rate: ship.Rate{Price: ship.Money{Minor: minor, Currency: "USD"}, TransitDays: days, DeliveryAt: at}}
	}
	p := newShipment{Order: ship.Order{ShipDate: "2026-03-06"}, Quotes: &quoting.Quotes{Rates: []quoting.Quote{
		rate(800, 1, day(10)),      // a day at work, over a weekend
		rate(900, 3, time.Time{}),  // the ninth, by calendar
		rate(1000, 3, day(9)),      // the same day for more
		rate(1100, 0, time.Time{}), // nobody knows
	}}}
	for i, want := range []bool{false, true, false, false} {
		if got := p.isFastest(i); got != want {
			t.Errorf("offer %d: %v, want %v", i, got, want)
		}
	}
}

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
