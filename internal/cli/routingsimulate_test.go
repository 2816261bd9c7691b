package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// bought stores n shipments for which the cheapest offer was bought: UPS for 10
// dollars and five days, before FedEx for 12 dollars and two days. Every tenth
// named its carrier.
func bought(t *testing.T, s shell, n int) {
	t.Helper()
	id := strings.TrimSpace(s.must(t, "account", "create", "--name", "Acme"))
	st, err := store.Open(t.Context(), store.Options{URL: s["DATABASE_URL"], Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	for i := range n {
		sh := storetest.Shipment(ship.Tenant{Account: ship.AccountID(id)}, fmt.Sprintf("o%d", i))
		sh.ID = ship.NewShipmentID(sh.Tenant.Shard(), storetest.Now().Add(time.Duration(i-n)*time.Millisecond))
		sh.Purchase.Price = ship.Money{Minor: 1000, Currency: "USD"}
		sh.Purchase.Routing = ship.Routing{Strategy: "cheapest", Considered: 2, Seen: ship.Seen{
			{Carrier: "ups", Service: "ground", Price: ship.Money{Minor: 1000, Currency: "USD"}, TransitDays: 5},
			{Carrier: "fedex", Service: "two_day", Price: ship.Money{Minor: 1200, Currency: "USD"}, TransitDays: 2},
		}}
		if i%10 == 9 {
			sh.Purchase.Routing.Strategy = "named"
		}
		if _, err := st.Create(t.Context(), storetest.Bought(sh, fmt.Sprintf("1Z%d", i))); err != nil {
			t.Fatal(err)
		}
	}
}

const fastBook = `{"rules": [{"name": "Fast east", "when": "destination.state == \"NY\"", "then": {"choose": "fastest"}}]}`

const backTest = `Looked at 20 shipments, compared 18: 18 would ship differently.
  2 not compared: the client named the carrier or the rate, so no rule applies

               WAS     WOULD BE  SAVED
cost, USD      180.00  216.00    -36.00 (-20.0 %)
days, average  5.00    2.00      3.00

CARRIER  SHIPMENTS  WOULD BE  COST    WOULD BE  DAYS  WOULD BE
fedex    0          18        0.00    216.00    -     2.00
ups      18         0         180.00  0.00      5.00  -

ZONE    SHIPMENTS  WOULD BE  COST    WOULD BE  DAYS  WOULD BE  SAVED
US-101  18         18        180.00  216.00    5.00  2.00      -36.00 (-20.0 %)

RULE       SHIPMENTS
Fast east  18

NEWEST CHANGES                  ORDER  WAS               WOULD BE             SAVED  RULE
`

func TestABackTestTellsWhatWouldChange(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	bought(t, s, 20)
	file := write(t, "rules.json", fastBook)
	out, said, err := s.run(t, "routing", "simulate", file, "--last", "20", "--since", "1d")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out, backTest) {
		t.Errorf("it tells\n%s\nwant\n%s", out, backTest)
	}
	if want := "o18    ups ground 10.00  fedex two_day 12.00  -2.00  Fast east\n"; !strings.Contains(out, want) || strings.Count(out, "two_day") != 10 {
		t.Errorf("the changes are\n%s", out)
	}
	if said != "looked at 20 of at most 20 shipments\n" {
		t.Errorf("its progress is %q", said)
	}
	if out := s.must(t, "routing", "simulate", file, "--last", "5"); !strings.HasPrefix(out, "Looked at 5 shipments, compared 4: 4 would") {
		t.Errorf("of the last 5: %s", out)
	}
}

func TestABackTestIsJSONToo(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	bought(t, s, 10)
	s.must(t, "routing", "draft", write(t, "rules.json", fastBook))
	var sim struct {
		Shipments, Compared, Changed, Named int
		Was, Is, Saved                      struct {
			Amount      string
			AverageDays float64
			Days        float64
			Percent     float64
		}
		Carriers []struct{ Carrier string }
		Changes  []struct {
			OrderID string
			Is      struct{ Carrier, Amount string }
		}
		Notes []string
	}
	out := s.must(t, "routing", "simulate", "--json")
	if err := json.Unmarshal([]byte(out), &sim); err != nil {
		t.Fatal(err)
	}
	if sim.Shipments != 10 || sim.Compared != 9 || sim.Changed != 9 || sim.Named != 1 || sim.Was.Amount != "90.00" || sim.Is.AverageDays != 2 ||
		sim.Saved.Amount != "-18.00" || sim.Saved.Percent != -20 || sim.Saved.Days != 3 || len(sim.Carriers) != 2 || len(sim.Notes) != 1 {
		t.Errorf("it is %s", out)
	}
	if len(sim.Changes) != 9 || sim.Changes[0].OrderID != "o8" || sim.Changes[0].Is.Carrier != "fedex" || sim.Changes[0].Is.Amount != "12.00" {
		t.Errorf("the changes are %+v", sim.Changes)
	}
}

func TestABackTestWithoutShipmentsSaysSo(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	if out := s.must(t, "routing", "simulate", write(t, "rules.json", fastBook)); out != "Looked at 0 shipments, compared 0: 0 would ship differently.\n" {
		t.Errorf("it tells %s", out)
	}
	var said bytes.Buffer
	err := cli.Run(t.Context(), []string{"routing", "simulate", "-"}, cli.Streams{Env: s.lookup, In: strings.NewReader(wrongBook), Out: &said, Err: &said})
	if !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(said.String(), "did you mean destination.state?") {
		t.Errorf("wrong rules: %v: %s", err, said.String())
	}
}
