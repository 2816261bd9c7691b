package newshipment

import (
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
)

func TestAccountsOfOneCarrierAreNamed(t *testing.T) {
	t.Parallel()
	first, second, third := ship.NewConnectionID(1, time.Now()), ship.NewConnectionID(1, time.Now()), ship.NewConnectionID(1, time.Now())
	names := offers.NameAccounts([]shipping.CarrierInfo{
		{Name: "ups", Connections: []shipping.Connection{{ID: first, Name: "Main contract"}, {ID: second, Name: ""}}},
		{Name: "fedex", Connections: []shipping.Connection{{ID: third, Name: "Only one"}}},
	})
	if names[first] != "Main contract" || names[second] != parts.ShortID(string(second)) || names[third] != "" {
		t.Errorf("%v", names)
	}

	rate := ship.Rate{Carrier: "ups", Service: "ground", ServiceName: "UPS Ground", Price: ship.Money{Minor: 900, Currency: "USD"}}
	lines := map[ship.ConnectionID]string{}
	for _, id := range []ship.ConnectionID{first, second} {
		rate.Connection = id
		var page strings.Builder
		if err := offerLine(Form{Accounts: names}, quoting.Quote{ID: "rate_x", Rate: rate}, false, false).Render(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
		lines[id] = page.String()
	}
	if !strings.Contains(lines[first], "Main contract") || !strings.Contains(lines[second], parts.ShortID(string(second))) || lines[first] == lines[second] {
		t.Errorf("rates of two accounts look the same: %s", lines[first])
	}

	// Two accounts of the same name must be distinguishable, too.
	twins := offers.NameAccounts([]shipping.CarrierInfo{{Name: "ups", Connections: []shipping.Connection{{ID: first, Name: "UPS"}, {ID: second, Name: "UPS"}}}})
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
	p := Form{Order: ship.Order{ShipDate: "2026-03-06"}, Quotes: &quoting.Quotes{Rates: []quoting.Quote{
		rate(800, 1, day(10)),      // a day at work, over a weekend
		rate(900, 3, time.Time{}),  // the ninth, by calendar
		rate(1000, 3, day(9)),      // arrives the same day and costs more
		rate(1100, 0, time.Time{}), // nobody knows
	}}}
	for i, want := range []bool{false, true, false, false} {
		if got := p.isFastest(i); got != want {
			t.Errorf("offer %d: %v, want %v", i, got, want)
		}
	}
}
