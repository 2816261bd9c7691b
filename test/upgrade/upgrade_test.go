//go:build chaos

// Package upgrade proves that a rolling upgrade loses nothing: the binary of the
// previous release serves while the database is migrated, then beside the new one, and
// the new one alone at last.
package upgrade

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// A size is how long the parts of the run take.
type size struct {
	clients int
	part    time.Duration // each copy alone; both together take twice as long
}

func TestProveUpgrade(t *testing.T) {
	run := proving.Pick(t, size{clients: 6, part: 7 * time.Second}, size{clients: 8, part: 40 * time.Second})
	seed := proving.Seed(t)
	previous := buildPrevious(t)
	t.Logf("the release before this one is %s, commit %.10s", previous.version, previous.commit)
	w, old := newWorld(t, previous)

	start := time.Now()
	stop := make(chan struct{})
	clients := w.load(run.clients, seed, stop)
	time.Sleep(run.part)

	// The old copy serves while the schema changes under it.
	w.setMigrating(true, false)
	w.takeSlowest()
	began := time.Now()
	requests := w.requests.Load()
	w.run(proving.Binary(), "migrate")
	migration := time.Since(began)
	requests = w.requests.Load() - requests
	slowest := w.takeSlowest()
	w.setMigrating(true, true)
	time.Sleep(run.part / 2)

	current := w.start("new", proving.Binary(), false)
	w.serve(old, current)
	second := newSink(t)
	second.secret = w.addWebhook(current, second.url)
	time.Sleep(run.part)

	// Whoever goes back a release starts the old binary on the new schema.
	w.serve(current)
	old.Stop(t)
	old.Start(t)
	proving.Ready(t, []*proving.Process{old.Process})
	w.serve(old, current)
	time.Sleep(run.part)

	w.serve(current)
	old.Stop(t)
	time.Sleep(run.part)

	close(stop)
	clients.Wait()
	took := time.Since(start)
	lost, repeated := w.judge(current, second)
	w.readLog(old)
	w.readLog(current)

	figures := map[string]any{
		"from":               previous.version,
		"requests":           w.requests.Load(),
		"failed":             w.failures.Load(),
		"shipments":          w.expected(),
		"inBackground":       w.expected() - len(w.all()),
		"lostEvents":         lost,
		"repeatedDeliveries": repeated,
		"migrationSeconds":   proving.Round(migration.Seconds()),
		"migrationRequests":  requests,
		"migrationSlowest":   proving.Quantile([]time.Duration{slowest}, 1),
		"notSearched":        w.notSearched,
	}
	proving.Report(t, "upgrade.json", func(proof *proving.Proof) {
		proof.N = int(w.requests.Load())
		proof.Seed = seed
		proof.Violations = int(w.failures.Load())
		proof.Bound95 = proving.Upper95(proof.Violations) / float64(proof.N)
		proof.Seconds = proving.Round(took.Seconds())
	}, figures)
}

// setMigrating sets whether the migration has begun, and ended.
func (w *world) setMigrating(began, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isMigrating = began
	w.isMigrated = ended
}

// readLog looks for errors in the log of a copy. Warnings are of the faults that some
// parcels ask for.
func (w *world) readLog(copy *server) {
	w.Helper()
	text, err := os.ReadFile(copy.Log)
	if err != nil {
		w.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, "panic") {
			w.fail("%s: %s", copy.Name, line)
		}
	}
}

// An event is what the log says of one.
type event struct {
	ID       string
	Type     string
	Sequence int
	Data     struct{ Shipment struct{ ID string } }
}

// judge compares what clients were answered with what is there when all is settled, and
// with what the webhook received.
func (w *world) judge(current *server, second *sink) (lost, repeated int) {
	w.Helper()
	w.awaitBackground()
	proving.Await(w.T, "all purchases are settled", time.Minute, func() bool {
		return w.count("SELECT count(*) FROM shipment_states WHERE state IN ('purchasing', 'uncertain')") == 0
	})
	proving.Await(w.T, "the numbers of all shipments are in the index of the search", time.Minute, func() bool {
		return w.count(`SELECT count(*) FROM shipments s WHERE NOT EXISTS (SELECT FROM search_numbers n
			WHERE n.account_id = s.account_id AND n.livemode = s.livemode AND n.shipment_id = s.id AND n.numbers LIKE '%' || upper(regexp_replace(s.purchase->>'trackingNumber', '[^A-Za-z0-9]', '', 'g')) || '%')`) == 0
	})
	proving.Await(w.T, "the audit log is chained", time.Minute, func() bool {
		return w.count("SELECT count(*) FROM audit_pending") == 0
	})
	w.run(proving.Binary(), "audit", "verify")

	for _, p := range w.all() {
		var shipment struct{ TrackingNumber string }
		if !w.call(current, http.MethodGet, "/v1/shipments/"+p.id, "", "", &shipment) {
			continue
		}
		w.finds(current, p, "query="+shipment.TrackingNumber[1:])
	}
	if doubled := w.count(`SELECT count(*) FROM (SELECT value FROM lookup_keys WHERE kind IN ('o', 'p')
		GROUP BY account_id, livemode, value HAVING count(*) > 1) x`); doubled > 0 {
		w.fail("%d orders were purchased twice", doubled)
	}
	if all := w.count("SELECT count(*) FROM shipments"); all != w.expected() {
		w.fail("there are %d shipments, of which clients know %d", all, w.expected())
	}

	events := w.events(current)
	lost = w.missingEvents(events)
	proving.Await(w.T, "the webhook has all events", time.Minute, func() bool { return w.sink.missing(events) == 0 })
	if w.sink.invalid+second.invalid > 0 {
		w.fail("%d deliveries have an invalid signature", w.sink.invalid+second.invalid)
	}
	if len(second.got) == 0 {
		w.fail("the webhook that was added at the new copy received nothing")
	}
	return lost, w.sink.repeated()
}

// events reads the whole log.
func (w *world) events(at *server) (all []event) {
	w.Helper()
	query := "?limit=100"
	for {
		var page struct {
			Data       []event
			NextCursor string
		}
		if !w.call(at, http.MethodGet, "/v1/events"+query, "", "", &page) {
			w.FailNow()
		}
		if len(page.Data) == 0 {
			return all
		}
		all = append(all, page.Data...)
		query = "?limit=100&after=" + page.NextCursor
	}
}

// missingEvents counts events that the log should have and does not: of each shipment in
// sequence, its creation, its label, and its delivery.
func (w *world) missingEvents(events []event) (missing int) {
	w.Helper()
	types := map[string][]string{}
	for _, e := range events {
		id := e.Data.Shipment.ID
		types[id] = append(types[id], e.Type)
		if e.Sequence != len(types[id]) {
			missing++
			w.fail("event %d of %s has the sequence %d", len(types[id]), id, e.Sequence)
		}
	}

	for _, p := range w.all() {
		want := "[shipment.created label.generated]"
		if p.hasArrived {
			want = "[shipment.created label.generated shipment.in_transit shipment.delivered]"
		}
		got := fmt.Sprint(types[p.id])
		if got != want && (p.hasArrived || got != "[shipment.created label.generated shipment.in_transit]") {
			missing++
			w.fail("the log has %s of %s, want %s", got, p.id, want)
		}
	}
	return missing
}
