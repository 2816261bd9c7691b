package cli_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
)

// acmeParcel stores a parcel of Acme with one event of a code that no table
// knew and one that was read wrongly.
func acmeParcel(t *testing.T, url string) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	sh := storetest.Shipment(storetest.Tenant(), "o")
	sh.Purchase.Carrier, sh.Purchase.Simulated = "acme", false
	c := storetest.Bought(sh, "AC1")
	c.PollAt = time.Time{}
	if _, err := st.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	err = tracking.New(tracking.Config{Store: st, Log: slog.New(slog.DiscardHandler)}).ApplyUpdates(t.Context(), []tracking.Update{{
		Subject: ship.Subject{Tenant: sh.Tenant, ID: sh.ID.Raw()},
		Scans: []store.NewScan{
			{Scan: ship.Scan{Code: "PU", At: storetest.Now(), Reason: ship.ReasonUnmapped, Description: "Collected\nby van"}},
			{Scan: ship.Scan{Code: "HL", At: storetest.Now(), Status: ship.InTransit}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestABetterTableIsShownAndThenApplied(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.specs[0].MeaningOf = func(code string) (ship.Status, string, bool) {
		switch code {
		case "PU":
			return ship.PickedUp, "", true
		case "HL":
			return ship.Exception, "customs_hold", true
		}
		return "", ship.ReasonUnmapped, false
	}
	acmeParcel(t, c.shell["DATABASE_URL"])

	list := strings.Join(strings.Fields(c.must(t, "tracking", "unmapped")), " ")
	if want := "acme PU 1 1 " + time.Now().UTC().Format(time.DateOnly) + " yes Collected by van"; !strings.HasSuffix(list, want) {
		t.Errorf("the list is %s, want %s at its end", list, want)
	}
	if shown := c.must(t, "tracking", "unmapped", "--json"); !strings.Contains(shown, `"code":"PU","events":1`) || !strings.Contains(shown, `"knownNow":true`) {
		t.Errorf("as JSON: %s", shown)
	}
	today := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	dry := c.must(t, "tracking", "replay", "--carrier", "acme", "--since", today)
	for _, want := range []string{"PU - unmapped picked_up 1 1 notified", "HL in_transit exception customs_hold 1 1 not notified again"} {
		if got := strings.Join(strings.Fields(dry), " "); !strings.Contains(got, want) {
			t.Errorf("it shows %s, want %s", got, want)
		}
	}
	if !strings.Contains(c.said.String(), "nothing was changed") {
		t.Errorf("it does not say that it is a dry run: %s", c.said.String())
	}
	if applied := c.must(t, "tracking", "replay", "--carrier", "acme", "--since", "2d", "--apply"); applied != dry {
		t.Errorf("what is applied is %s, shown was %s", applied, dry)
	}
	if want := "corrected 2 tracking events; 1 parcels have a new status; 1 events are sent"; !strings.Contains(c.said.String(), want) {
		t.Errorf("it said %s, want %s", c.said.String(), want)
	}
	if again := c.must(t, "tracking", "replay", "--carrier", "acme", "--since", today, "--apply"); again != "" {
		t.Errorf("a second time: %s", again)
	}
	if list := c.must(t, "tracking", "unmapped"); list != "" {
		t.Errorf("still unmapped: %s", list)
	}
}

func TestAReplaySaysWhatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	for want, args := range map[string][]string{
		"did you mean acme":          {"--carrier", "acne", "--since", "1d"},
		"Acme has no status table":   {"--carrier", "acme", "--since", "1d"},
		"--since must be a duration": {"--carrier", "acme", "--since", "yesterday"},
		`"since" not set`:            {"--carrier", "acme"},
		`"carrier" not set`:          {"--since", "1d"},
	} {
		_, err := c.run(t, nil, append([]string{"tracking", "replay"}, args...)...)
		if err == nil || !strings.Contains(cli.Explain(err), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}
