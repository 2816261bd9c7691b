package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

var historyNames = []string{"Ada Lovelace", "Grace Hopper", "Jürgen Müller", "Ada Byron-King", "Hedy O'Hara"}

// A history is what happens to one tenant's shipments, at random.
type history struct {
	*fixture
	t    *testing.T
	rand *rand.Rand
	list []ship.Shipment
}

// step does one thing.
func (h *history) step(n int) {
	h.t.Helper()
	if len(h.list) == 0 || h.rand.IntN(3) == 0 {
		h.make(n)
		return
	}
	sh, err := h.Shipment(h.t.Context(), h.tenant, h.list[h.rand.IntN(len(h.list))].ID)
	h.must(err)
	switch h.rand.IntN(5) {
	case 0:
		for _, to := range []ship.State{ship.StateVoiding, ship.StateVoided, ship.StateNeedsReview, ship.StateFailed, ship.StateUncertain} {
			if sh.State.CanBecome(to) {
				h.must(h.Move(h.t.Context(), sh, to))
				return
			}
		}
	case 1: // a scan that tells nobody anything
		h.hear(h.t, sh, ship.Scan{Code: fmt.Sprint("X", n), At: now().Add(time.Duration(n) * time.Hour), Reason: ship.ReasonUnmapped})
	default:
		status := ship.Statuses[2+h.rand.IntN(5)]
		h.hear(h.t, sh, ship.Scan{Code: fmt.Sprint("C", n), At: now().Add(time.Duration(h.rand.IntN(200)) * time.Hour), Status: status})
	}
}

// make buys, at once or in two steps.
func (h *history) make(n int) {
	h.t.Helper()
	sh := shipmentOf(h.tenant, fmt.Sprint("o", n))
	sh.Purchase.Carrier = []string{"ups", "fedex", "usps"}[h.rand.IntN(3)]
	sh.Purchase.Service = []string{"ground", "air"}[h.rand.IntN(2)]
	sh.Purchase.Price.Minor = int64(h.rand.IntN(5000))
	sh.Order.Destination.Name = historyNames[h.rand.IntN(len(historyNames))]
	if h.rand.IntN(2) == 0 {
		sh.Purchase.EstimateAt = now().Add(time.Duration(h.rand.IntN(200)) * time.Hour)
	}
	if c := bought(sh, fmt.Sprint("1Z", n)); h.rand.IntN(3) > 0 {
		_, err := h.Create(h.t.Context(), c)
		h.must(err)
	} else {
		_, err := h.Intend(h.t.Context(), sh, store.Attempt{Number: 1, Reference: "R", Carrier: sh.Purchase.Carrier, Service: sh.Purchase.Service}, ship.KeyName{})
		h.must(err)
		if h.rand.IntN(3) > 0 {
			_, err := h.Settle(h.t.Context(), store.Settlement{Creation: c, Attempt: 1, BoughtBy: 1})
			h.must(err)
		}
	}
	h.list = append(h.list, sh)
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// notified returns the shipments that clients know of, newest first.
func (h *history) notified() []ship.Shipment {
	h.t.Helper()
	var list []ship.Shipment
	for _, sh := range h.list {
		got, err := h.Shipment(h.t.Context(), h.tenant, sh.ID)
		h.must(err)
		if got.Sequence > 0 {
			list = append(list, got)
		}
	}
	slices.SortFunc(list, func(a, b ship.Shipment) int { return cmp.Compare(b.ID, a.ID) })
	return list
}

// line is what a tally has in common.
func line(carrier string, status ship.Status, state ship.State) string {
	return fmt.Sprint(carrier, " ", status, " ", state)
}

// check compares counts and lists with the rows themselves.
func (h *history) check(what string) {
	h.t.Helper()
	notified := h.notified()
	want, spend := map[string]int{}, map[string]int64{}
	live := 0
	for _, sh := range notified {
		if sh.State == ship.StatePurchased {
			live++
		}
		l := line(sh.Purchase.Carrier, sh.Progress.Status, sh.State)
		want[l]++
		spend[l] += sh.Purchase.Price.Minor
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	counts, err := h.Tallies(h.t.Context(), h.tenant, today.AddDate(0, 0, -1), today.AddDate(0, 0, -1), today.AddDate(0, 0, 1))
	h.must(err)
	days := 0
	for _, d := range counts.Days {
		days += d.Count
	}
	if days != live || len(counts.Before) > 0 {
		h.t.Fatalf("%s: the days count %d, there are %d with a live label", what, days, live)
	}
	got, paid, promised, onTime := map[string]int{}, map[string]int64{}, 0, 0
	for _, a := range counts.Tallies {
		l := line(a.Carrier, a.Status, a.State)
		got[l] += a.Count
		paid[l] += a.Price.Minor
		promised, onTime = promised+a.Promised, onTime+a.OnTime
	}
	if fmt.Sprint(got, paid) != fmt.Sprint(want, spend) {
		h.t.Fatalf("%s: counted %v %v, there are %v %v", what, got, paid, want, spend)
	}
	wantPromised, wantOnTime := h.punctual(notified)
	if promised != wantPromised || onTime != wantOnTime {
		h.t.Fatalf("%s: %d of %d on time, want %d of %d", what, onTime, promised, wantOnTime, wantPromised)
	}
	h.checkLists(what, notified)
}

func (h *history) punctual(notified []ship.Shipment) (promised, onTime int) {
	for _, sh := range notified {
		if sh.Progress.Status != ship.Delivered || sh.Purchase.EstimateAt.IsZero() {
			continue
		}
		promised++
		j, _, err := h.TrackingState(h.t.Context(), h.tenant, sh.ID.Raw())
		h.must(err)
		if j.NewestAt.UTC().Format(time.DateOnly) <= sh.Purchase.EstimateAt.UTC().Format(time.DateOnly) {
			onTime++
		}
	}
	return promised, onTime
}

func (h *history) checkLists(what string, notified []ship.Shipment) {
	h.t.Helper()
	for _, tc := range []struct {
		filter store.ShipmentFilter
		keep   func(ship.Shipment) bool
	}{
		{store.ShipmentFilter{Status: ship.InTransit}, func(s ship.Shipment) bool { return s.Progress.Status == ship.InTransit }},
		{store.ShipmentFilter{Status: ship.Exception, Order: store.ShipmentOrder{First: true}}, func(s ship.Shipment) bool { return s.Progress.Status == ship.Exception }},
		{store.ShipmentFilter{Carrier: "fedex"}, func(s ship.Shipment) bool { return s.Purchase.Carrier == "fedex" }},
		{store.ShipmentFilter{Carrier: "ups", Status: ship.Delivered, Order: store.ShipmentOrder{First: true}}, func(s ship.Shipment) bool { return s.Purchase.Carrier == "ups" && s.Progress.Status == ship.Delivered }},
		{store.ShipmentFilter{States: []ship.State{ship.StatePurchased}}, isLive},
		{store.ShipmentFilter{States: []ship.State{ship.StatePurchased}, Order: store.ShipmentOrder{Due: true}}, isLive},
		{
			store.ShipmentFilter{Status: ship.LabelGenerated, States: []ship.State{ship.StatePurchased}},
			func(s ship.Shipment) bool { return isLive(s) && s.Progress.Status == ship.LabelGenerated },
		},
		{
			store.ShipmentFilter{Carrier: "ups", States: []ship.State{ship.StatePurchased}},
			func(s ship.Shipment) bool { return isLive(s) && s.Purchase.Carrier == "ups" },
		},
		{
			store.ShipmentFilter{States: []ship.State{ship.StateVoiding, ship.StateVoided}},
			func(s ship.Shipment) bool { return s.State == ship.StateVoiding || s.State == ship.StateVoided },
		},
		{
			store.ShipmentFilter{Carrier: "fedex", States: []ship.State{ship.StateVoiding, ship.StateVoided}, Order: store.ShipmentOrder{First: true}},
			func(s ship.Shipment) bool {
				return s.Purchase.Carrier == "fedex" && (s.State == ship.StateVoiding || s.State == ship.StateVoided)
			},
		},
		{
			store.ShipmentFilter{Query: "ada", States: []ship.State{ship.StateVoided}},
			func(s ship.Shipment) bool {
				return strings.HasPrefix(s.Order.Destination.Name, "Ada") && s.State == ship.StateVoided
			},
		},
		{store.ShipmentFilter{Query: "ada"}, func(s ship.Shipment) bool { return strings.HasPrefix(s.Order.Destination.Name, "Ada") }},
		{store.ShipmentFilter{Query: "lovelace ADA"}, func(s ship.Shipment) bool { return s.Order.Destination.Name == "Ada Lovelace" }},
		{store.ShipmentFilter{Query: "1z1"}, func(s ship.Shipment) bool { return strings.HasPrefix(s.Purchase.TrackingNumber, "1Z1") }},
		{store.ShipmentFilter{Query: "ada", Carrier: "ups"}, func(s ship.Shipment) bool {
			return strings.HasPrefix(s.Order.Destination.Name, "Ada") && s.Purchase.Carrier == "ups"
		}},
		{store.ShipmentFilter{Order: store.ShipmentOrder{First: true}}, func(ship.Shipment) bool { return true }},
		{store.ShipmentFilter{Order: store.ShipmentOrder{Due: true}}, func(ship.Shipment) bool { return true }},
		{store.ShipmentFilter{Status: ship.InTransit, Order: store.ShipmentOrder{Due: true, First: true}}, func(s ship.Shipment) bool { return s.Progress.Status == ship.InTransit }},
	} {
		want := slices.DeleteFunc(slices.Clone(notified), func(s ship.Shipment) bool { return !tc.keep(s) })
		slices.SortStableFunc(want, func(a, b ship.Shipment) int {
			c := cmp.Compare(b.ID, a.ID)
			if tc.filter.Order.Due {
				c = cmp.Or(dueOf(b).Compare(dueOf(a)), c)
			}
			if tc.filter.Order.First {
				return -c
			}
			return c
		})
		if got := h.pages(tc.filter); fmt.Sprint(got) != fmt.Sprint(ids(want)) {
			h.t.Fatalf("%s: %+v lists\n%v, want\n%v", what, tc.filter, got, ids(want))
		}
	}
}

func isLive(sh ship.Shipment) bool { return sh.State == ship.StatePurchased }

// dueOf is the estimate; none is after all others.
func dueOf(sh ship.Shipment) time.Time {
	if sh.Progress.EstimateAt.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return sh.Progress.EstimateAt
}

// pages reads a list to its end, three at a time.
func (h *history) pages(f store.ShipmentFilter) []ship.ShipmentID {
	h.t.Helper()
	var all []ship.ShipmentID
	p := ship.Page{Limit: 3}
	for {
		list, err := h.Shipments(h.t.Context(), h.tenant, f, p)
		h.must(err)
		all = append(all, ids(list)...)
		if len(list) < p.Limit {
			return all
		}
		last := list[len(list)-1]
		p.Before, f.DueAt = last.ID.Raw(), last.Progress.EstimateAt
	}
}

func ids(list []ship.Shipment) (out []ship.ShipmentID) {
	for _, sh := range list {
		out = append(out, sh.ID)
	}
	return out
}

// rolled counts until nothing is left; transactions of other tests may keep
// the newest events back.
func (h *history) rolled() {
	h.t.Helper()
	for {
		n, err := h.RollUp(h.t.Context())
		h.must(err)
		if n == 0 {
			return
		}
	}
}

func TestCountsAndListsEqualTheRowsInAnyHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		h := &history{fixture: newFixture(t), t: t, rand: rand.New(rand.NewPCG(seed, 7))}
		for n := range 48 {
			h.step(n)
			if h.rand.IntN(6) == 0 {
				h.rolled()
			}
			if n%8 == 7 {
				h.check(fmt.Sprintf("seed %d, step %d", seed, n))
			}
		}
		h.rolled()
		h.must(store.Recount(t.Context(), h.url))
		if c, err := h.Tallies(t.Context(), h.tenant, now(), now(), now()); c.Ready || err != nil {
			t.Errorf("ready before it is counted again: %v", err)
		}
		h.rolled()
		h.check("counted again")
	}
}

// TestALaterDeliveryIsNotOnTime has a carrier report a delivery twice: the second
// scan changes no status, but the day.
func TestALaterDeliveryIsNotOnTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := shipmentOf(f.tenant, "o1")
	sh.Purchase.EstimateAt = now().Add(24 * time.Hour)
	if _, err := f.Create(t.Context(), bought(sh, "1Z1")); err != nil {
		t.Fatal(err)
	}

	for _, report := range []struct {
		after  time.Duration
		onTime bool
	}{
		{24 * time.Hour, true},
		{72 * time.Hour, false},
	} {
		f.hear(t, sh, ship.Scan{Code: report.after.String(), At: now().Add(report.after), Status: ship.Delivered})
		f.rollUp(t)
		if got := one[bool](t, f.owner, "SELECT on_time FROM shipment_facts"); got != report.onTime {
			t.Errorf("delivered after %s: on time is %v", report.after, got)
		}
	}
}

func TestCountsDoNotNeedTheTail(t *testing.T) {
	t.Parallel()
	h := &history{fixture: newFixture(t), t: t, rand: rand.New(rand.NewPCG(9, 9))}
	for n := range 40 {
		h.step(n)
	}
	h.must(store.Recount(t.Context(), h.url))
	h.rolled()
	var want int
	for _, sh := range h.notified() {
		want += int(sh.Purchase.Price.Minor) + 1
	}
	if got := one[int](t, h.owner, "SELECT sum(shipments + amount_minor) FROM daily_shipment_counts"); got != want {
		t.Errorf("the days hold %d, want %d", got, want)
	}
	if got := one[int](t, h.owner, "SELECT count(*) FROM daily_shipment_counts WHERE shipments = 0"); got != 0 {
		t.Errorf("%d days count nothing", got)
	}
	if got := one[int](t, h.owner, "SELECT count(*) FROM shipment_facts"); got != len(h.notified()) {
		t.Errorf("%d shipments have facts, want %d", got, len(h.notified()))
	}
}

func TestWordsAreFoundAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Jürgen  Müller": "jurgen muller", "O'Brien & Sons": "o brien sons", "ADA ada": "ada", "": "", "王小明": "王小明", "Łukasz": "łukasz", "A-1 Freight": "a 1 freight",
	} {
		if got := strings.Join(store.Words(text), " "); got != want {
			t.Errorf("Words(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestCopiesOfTheFirstReleaseShareTheSearch has both releases roll up the same
// shipment: v0.1.0 wrote and searched a column of the facts.
func TestCopiesOfTheFirstReleaseShareTheSearch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, f.tenant, "A-1", "1Z999")
	exec := func(sql string) {
		t.Helper()
		if _, err := f.owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}

	// What this release rolls up is in the column too, and the trigger is not
	// fired for it: it would cost every roll-up.
	const body = `RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS `
	function := one[string](t, f.owner, "SELECT prosrc FROM pg_proc WHERE proname = 'copy_search_numbers'")
	exec(`CREATE OR REPLACE FUNCTION copy_search_numbers() ` + body + `'BEGIN RAISE EXCEPTION ''fired''; END'`)
	f.rollUp(t)
	exec(`CREATE OR REPLACE FUNCTION copy_search_numbers() ` + body + `$body$` + function + `$body$`)
	exec("SET ROLE waybill_sys")
	if got := one[string](t, f.owner, "SELECT search_numbers FROM shipment_facts"); got == "" || got != one[string](t, f.owner, "SELECT numbers FROM search_numbers") {
		t.Errorf("the column has the numbers %q", got)
	}

	// What v0.1.0 rolls up is found by this release.
	find := func(what string, want int) {
		t.Helper()
		found, err := f.Shipments(t.Context(), f.tenant, store.ShipmentFilter{Query: "Z99"}, ship.Page{Limit: 10})
		if err != nil || len(found) != want {
			t.Errorf("%s: the search finds %d shipments, want %d: %v", what, len(found), want, err)
		}
	}
	exec("DELETE FROM search_numbers")
	find("without its numbers", 0)
	exec("UPDATE shipment_facts SET search_numbers = search_numbers")
	find("after an update of the column", 1)
	exec("DELETE FROM search_numbers")
	exec("CREATE TEMP TABLE facts AS SELECT * FROM shipment_facts")
	exec("DELETE FROM shipment_facts")
	exec("INSERT INTO shipment_facts SELECT * FROM facts")
	find("after an insert with the column", 1)
	exec("UPDATE search_numbers SET numbers = 'OTHER'")
	exec("UPDATE shipment_facts SET search_numbers = search_numbers")
	find("after an update of other numbers", 1)
}
