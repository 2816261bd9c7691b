package tracking_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
)

// A statusTable is what codes mean; a code that is not in it is unmapped.
type statusTable map[string]ship.Scan

func (st statusTable) meaning(code string) (ship.Status, string, bool) {
	m, known := st[code]
	if !known {
		return "", ship.ReasonUnmapped, false
	}
	return m.Status, m.Reason, true
}

func (st statusTable) spec() carrier.Spec {
	return carrier.Spec{Name: "acme", Title: "Acme", MeaningOf: st.meaning}
}

// read sets the status of scans by the table.
func (st statusTable) read(scans []ship.Scan) []ship.Scan {
	list := slices.Clone(scans)
	for i := range list {
		list[i].Status, list[i].Reason, _ = st.meaning(list[i].Code)
	}
	return list
}

// A table, and a better one: it knows more codes, corrects two of them, one of
// which is a delivery, and drops the meaning of another.
var (
	poor = statusTable{
		"AR": {Status: ship.InTransit}, "DL": {Status: ship.Delivered}, "CH": {Status: ship.Delivered}, "ED": {Status: ship.InTransit}, "HL": {Status: ship.InTransit},
	}
	better = statusTable{
		"AR": {Status: ship.InTransit}, "DL": {Status: ship.Delivered}, "CH": {Status: ship.Exception, Reason: "refused"}, "ED": {Reason: "estimate_updated"},
		"HL": {Status: ship.Exception, Reason: "customs_hold"}, "PU": {Status: ship.PickedUp}, "NW": {Reason: "no_news"},
	}
)

// sell stores a bought parcel of a carrier.
func (b *bench) sell(t *testing.T, name string, pieces int, simulated bool) ship.Shipment {
	t.Helper()
	sh := storetest.Shipment(b.tenant, "o")
	sh.Order.Parcels = slices.Repeat(sh.Order.Parcels, pieces)
	sh.Purchase.Carrier, sh.Purchase.Simulated = name, simulated
	if !simulated {
		sh.Purchase.Connection = ship.NewConnectionID(b.tenant.Shard(), time.Now())
	}
	c := storetest.Bought(sh, "AC"+string(sh.ID[4:]))
	c.PollAt = time.Time{}
	if _, err := b.store.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c.Shipment
}

// hear applies the parcels' scans as interpreted by a table.
func (b *bench) hear(t *testing.T, parcels []ship.Shipment, scans [][]ship.Scan, table statusTable) {
	t.Helper()
	for i, sh := range parcels {
		h := tracking.Update{Subject: ship.Subject{Tenant: b.tenant, ID: sh.ID.Raw()}}
		for _, s := range table.read(scans[i]) {
			h.Scans = append(h.Scans, store.NewScan{Scan: s})
		}
		if err := b.ApplyUpdates(t.Context(), []tracking.Update{h}); err != nil {
			t.Error(err)
		}
	}
}

// acmeScans generates distinct carrier scans.
func acmeScans(sh ship.Shipment) []ship.Scan {
	codes := append(slices.Sorted(maps.Keys(better)), "ZZ")
	seen, list := map[ship.ScanKey]bool{}, []ship.Scan(nil)
	for range 1 + rand.IntN(6) {
		s := ship.Scan{Piece: rand.IntN(len(sh.Order.Parcels)), Code: codes[rand.IntN(len(codes))], Description: "Scan", At: sh.CreatedAt().Truncate(time.Second).Add(time.Duration(rand.IntN(9)) * time.Second)}
		if !seen[s.Key()] {
			seen[s.Key()] = true
			list = append(list, s)
		}
	}
	return list
}

// seen returns what a client sees of parcels, except for IDs and the log.
func (b *bench) seen(t *testing.T, parcels []ship.Shipment) (list []string) {
	t.Helper()
	for _, sh := range parcels {
		got, err := b.Track(t.Context(), b.tenant, string(sh.ID), "")
		if err != nil {
			t.Fatal(err)
		}
		pieces := got.Progress.Pieces
		if len(slices.Compact(slices.Clone(pieces))) == 1 {
			pieces = nil // pieces cannot be distinguished before the first scan of one
		}
		text := fmt.Sprintln(got.Progress.Status, got.Progress.Reason, pieces)
		for _, s := range got.Scans {
			text += fmt.Sprintln(s.Piece, s.Code, s.Status, s.Reason, s.At.Sub(sh.CreatedAt().Truncate(time.Second)))
		}
		list = append(list, text)
	}
	return list
}

// notified returns the tracking events of the log, sorted. It ignores the horizon
// of the log, which open transactions of other tests hold back.
func (b *bench) notified(t *testing.T) (list []string) {
	t.Helper()
	rows, err := b.store.System().Query(t.Context(), "SELECT subject_id, snapshot FROM events")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id [16]byte
		var notified ship.Snapshot
		if err := rows.Scan(&id, &notified); err != nil {
			t.Fatal(err)
		}
		if n := notified.Scan; n != nil {
			list = append(list, fmt.Sprintln(ship.ShipmentIDOf(id), n.Piece, n.Code, n.At.Unix()))
		}
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	slices.Sort(list)
	return list
}

func TestReplayLeadsToWhatABetterTableWouldHaveFromTheStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const parcels = 40
	sold, twins, scans, twinScans := make([]ship.Shipment, parcels), make([]ship.Shipment, parcels), make([][]ship.Scan, parcels), make([][]ship.Scan, parcels)
	var want []string // what clients are notified of
	for i := range sold {
		sold[i], twins[i] = b.sell(t, "acme", 1+i%3, false), b.sell(t, "twin", 1+i%3, false)
		scans[i] = acmeScans(sold[i])
		for _, s := range scans[i] {
			key := fmt.Sprintln(sold[i].ID, s.Piece, s.Code, s.At.Unix())
			if poor[s.Code].Status != "" || better[s.Code].Status != "" {
				want = append(want, key)
			}
			s.At = s.At.Add(twins[i].CreatedAt().Truncate(time.Second).Sub(sold[i].CreatedAt().Truncate(time.Second)))
			twinScans[i] = append(twinScans[i], s)
			if better[s.Code].Status != "" {
				want = append(want, fmt.Sprintln(twins[i].ID, s.Piece, s.Code, s.At.Unix()))
			}
		}
	}
	b.hear(t, sold, scans, poor)
	b.hear(t, twins, twinScans, better)
	simulated := b.sell(t, "acme", 1, true)
	play := []ship.Scan{{Code: "CH", At: simulated.CreatedAt()}}
	b.hear(t, []ship.Shipment{simulated}, [][]ship.Scan{play}, poor)
	want = append(want, fmt.Sprintln(simulated.ID, 0, "CH", play[0].At.Unix()))
	slices.Sort(want)

	before, notifiedBefore := b.seen(t, append(sold, simulated)), b.notified(t)
	dry := b.mustReplay(t, tracking.ReplayInput{Spec: better.spec(), Since: time.Now().Add(-time.Hour)})
	if dry.Parcels != parcels || dry.Corrected+dry.Written+dry.Moved != 0 || len(dry.Differences) == 0 {
		t.Errorf("a dry run says %+v", dry)
	}
	if after := b.seen(t, append(sold, simulated)); !slices.Equal(after, before) || !slices.Equal(b.notified(t), notifiedBefore) {
		t.Error("a dry run changes something")
	}
	checkDifferences(t, dry.Differences, scans)

	done := b.mustReplay(t, tracking.ReplayInput{Spec: better.spec(), Since: time.Now().Add(-time.Hour), Apply: true})
	if !reflect.DeepEqual(done.Differences, dry.Differences) || done.Moved == 0 || done.Written == 0 || done.Corrected <= done.Written {
		t.Errorf("applied: %+v, after a dry run %+v", done, dry)
	}
	if got, wanted := b.seen(t, sold), b.seen(t, twins); !slices.Equal(got, wanted) {
		for i := range got {
			if got[i] != wanted[i] {
				t.Errorf("parcel %d is\n%swant\n%s", i, got[i], wanted[i])
			}
		}
	}
	if got := b.seen(t, []ship.Shipment{simulated}); got[0] != before[parcels] {
		t.Errorf("a simulated parcel is read by the carrier's table: %s", got[0])
	}
	if got := b.notified(t); !slices.Equal(got, want) {
		t.Errorf("the log tells of\n%v\nwant each once\n%v", got, want)
	}
	again := b.mustReplay(t, tracking.ReplayInput{Spec: better.spec(), Since: time.Now().Add(-time.Hour), Apply: true})
	if len(again.Differences) != 0 || again.Corrected+again.Written+again.Moved != 0 || len(b.notified(t)) != len(want) {
		t.Errorf("a second time: %+v", again)
	}
}

func (b *bench) mustReplay(t *testing.T, in tracking.ReplayInput) tracking.ReplayReport {
	t.Helper()
	r, err := b.Replay(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkDifferences counts the differences independently and compares the
// results.
func checkDifferences(t *testing.T, got []tracking.Difference, scans [][]ship.Scan) {
	t.Helper()
	want := map[string]tracking.Difference{}
	for _, list := range scans {
		mine := map[string]bool{}
		for _, s := range list {
			was, is := poor.read([]ship.Scan{s})[0], better.read([]ship.Scan{s})[0]
			if was.Status == is.Status && was.Reason == is.Reason {
				continue
			}
			d := want[s.Code]
			d.Code, d.Was, d.Is, d.Notified = s.Code, tracking.CodeMeaning{Status: was.Status, Reason: was.Reason}, tracking.CodeMeaning{Status: is.Status, Reason: is.Reason}, was.Status != ""
			d.Events++
			if !mine[s.Code] {
				mine[s.Code] = true
				d.Parcels++
			}
			want[s.Code] = d
		}
	}
	if len(got) != len(want) || !slices.IsSortedFunc(got, func(a, b tracking.Difference) int { return b.Events - a.Events }) {
		t.Errorf("differences %+v, want %+v", got, want)
	}
	for _, d := range got {
		if want[d.Code] != d {
			t.Errorf("difference %+v, want %+v", d, want[d.Code])
		}
	}
}

func TestReplayWhilePollsHearTheSameTellsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const parcels = 30
	sold, scans := make([]ship.Shipment, parcels), make([][]ship.Scan, parcels)
	want := 0
	for i := range sold {
		sold[i] = b.sell(t, "acme", 1, false)
		scans[i] = acmeScans(sold[i])
		for _, s := range scans[i] {
			if poor[s.Code].Status != "" || better[s.Code].Status != "" {
				want++
			}
		}
	}
	b.hear(t, sold, scans, poor)
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		b.hear(t, sold, scans, better)
		b.hear(t, sold, scans, poor) // a copy of the previous release
	}()
	for range 3 {
		b.mustReplay(t, tracking.ReplayInput{Spec: better.spec(), Apply: true})
	}
	<-polled
	b.mustReplay(t, tracking.ReplayInput{Spec: better.spec(), Apply: true})
	if got := b.notified(t); len(got) != want || len(slices.Compact(got)) != want {
		t.Errorf("the log tells of %d, want %d", len(got), want)
	}
	if r := b.mustReplay(t, tracking.ReplayInput{Spec: better.spec()}); len(r.Differences) != 0 {
		t.Errorf("left over: %+v", r.Differences)
	}
}

func TestReplayHasAParcelAskedAboutAgainThatIsNotDelivered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sold := []ship.Shipment{b.sell(t, "acme", 1, false), b.sell(t, "acme", 1, false), b.sell(t, "acme", 1, false)}
	at := sold[0].CreatedAt()
	b.hear(t, sold, [][]ship.Scan{{{Code: "CH", At: at}}, {{Code: "DL", At: at}}, {{Code: "CH", At: at}, {Code: "DL", At: at}}}, poor)
	r := b.mustReplay(t, tracking.ReplayInput{Spec: better.spec(), Apply: true})
	if r.Moved != 1 || r.Corrected != 2 || r.Written != 0 {
		t.Errorf("%+v", r)
	}
	now := time.Now()
	due, err := b.store.DueWatches(t.Context(), now, now, 10, nil)
	if err != nil || len(due) != 1 || due[0].ID != sold[0].ID.Raw() || due[0].Connection != sold[0].Purchase.Connection {
		t.Errorf("to be asked about: %+v, %v", due, err)
	}
}

func TestReplayGoesOverEveryPageSinceItsBegin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sold := make([]ship.Shipment, 7)
	for i := range sold {
		b.tenant = ship.Tenant{Account: ship.NewAccountID(ship.Shard(i), time.Now()), Livemode: i%2 == 0}
		sold[i] = b.sell(t, "acme", 1, false)
		b.sell(t, "other", 1, false)
	}
	found := map[ship.RawID]int{}
	var after ship.Subject
	for pages := 0; ; pages++ {
		list, last, err := b.store.ParcelsSince(t.Context(), "acme", time.Now().Add(-time.Hour), after, 3)
		if err != nil || pages > 6 {
			t.Fatal(pages, err)
		}
		for _, p := range list {
			found[p.ID]++
		}
		if after = last; last == (ship.Subject{}) {
			break
		}
	}
	for _, sh := range sold {
		if found[sh.ID.Raw()] != 1 {
			t.Errorf("%s was found %d times", sh.ID, found[sh.ID.Raw()])
		}
	}
	if r := b.mustReplay(t, tracking.ReplayInput{Spec: better.spec(), Since: time.Now().Add(time.Hour)}); len(found) != len(sold) || r.Parcels != 0 {
		t.Errorf("%d of %d found; %d in the future", len(found), len(sold), r.Parcels)
	}
	if _, err := b.Replay(t.Context(), tracking.ReplayInput{Spec: carrier.Spec{Title: "Acme"}}); ship.KindOf(err) != ship.Unsupported {
		t.Errorf("a carrier without a table: %v", err)
	}
}

func TestUnmappedCodesAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sold, simulated := b.sell(t, "acme", 2, false), b.sell(t, "acme", 1, true)
	at := sold.CreatedAt().Truncate(time.Second)
	b.hear(t, []ship.Shipment{sold, simulated}, [][]ship.Scan{{
		{Code: "ZZ", At: at, Description: "Strange"},
		{Code: "ZZ", At: at.Add(time.Minute), Description: "Stranger"},
		{Code: "ZZ", Piece: 1, At: at},
		{Code: "PU", At: at.Add(time.Hour), Description: "Picked up"},
		{Code: "AR", At: at},
	}, {{Code: "ZX", At: at}}}, poor)
	got, err := b.UnmappedCodes(t.Context(), []carrier.Spec{better.spec()}, time.Now().Add(-time.Hour))
	want := []tracking.UnmappedCode{
		{Unmapped: store.Unmapped{Carrier: "acme", Code: "PU", Events: 1, Parcels: 1, NewestAt: at.Add(time.Hour), Description: "Picked up"}, Known: true},
		{Unmapped: store.Unmapped{Carrier: "acme", Code: "ZZ", Events: 3, Parcels: 1, NewestAt: at.Add(time.Minute), Description: "Stranger"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if got, err := b.UnmappedCodes(t.Context(), nil, time.Now().Add(time.Hour)); err != nil || len(got) != 0 {
		t.Errorf("in the future: %+v, %v", got, err)
	}
}
