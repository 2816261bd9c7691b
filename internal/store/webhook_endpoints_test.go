package store_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// hooks is a database of its own for webhooks.
type hooks struct {
	*store.Store
	url    string
	owner  *pgx.Conn
	tenant ship.Tenant
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	url := storetest.URL(t)
	s, err := store.Open(context.Background(), store.Options{URL: url, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &hooks{Store: s, url: url, owner: storetest.Conn(t, url), tenant: ship.Tenant{Account: ship.NewAccountID(7, time.Now())}}
}

func hookSettings() store.EndpointSettings {
	return store.EndpointSettings{
		URL: "https://example.com/hook", Kinds: []ship.EventKind{ship.ShipmentDelivered}, Description: "d", Signature: "v1", Secret: []byte("sealed"), Headers: []byte("h"), Enabled: true,
	}
}

func (h *hooks) add(t *testing.T, tenant ship.Tenant) store.Endpoint {
	t.Helper()
	e, err := h.AddEndpoint(t.Context(), tenant, ship.NewEndpointID(7, time.Now()), hookSettings())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (h *hooks) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := h.owner.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func TestAnEndpointIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	e := h.add(t, h.tenant)
	if e.Version != 1 || !e.Enabled || e.Verified || e.Parked || !e.Joining || e.Slot < 0 || e.Slot >= store.WebhookSlots || e.Wants(ship.ShipmentCreated) || !e.Wants(ship.ShipmentDelivered) {
		t.Errorf("endpoint = %+v", e)
	}
	same, err := h.Endpoint(t.Context(), h.tenant, e.ID)
	if err != nil || fmt.Sprintf("%+v", same) != fmt.Sprintf("%+v", e) {
		t.Errorf("read again: %+v, %v", same, err)
	}
	if same, err := h.EndpointToSend(t.Context(), h.tenant, e.ID); err != nil || fmt.Sprintf("%+v", same) != fmt.Sprintf("%+v", e) {
		t.Errorf("for the sender: %+v, %v", same, err)
	}
	for _, other := range []ship.Tenant{{Account: h.tenant.Account, Livemode: true}, {Account: ship.NewAccountID(7, time.Now())}} {
		_, err := h.Endpoint(t.Context(), other, e.ID)
		_, sent := h.EndpointToSend(t.Context(), other, e.ID)
		_, changed := h.ChangeEndpoint(t.Context(), other, e.ID, "webhook.changed", func(*store.Endpoint) error { return nil })
		for _, err := range []error{err, sent, changed, h.DropEndpoint(t.Context(), other, e.ID)} {
			if ship.KindOf(err) != ship.NotFound {
				t.Errorf("another tenant: %v", err)
			}
		}
		if list, err := h.Endpoints(t.Context(), other); len(list) != 0 || err != nil {
			t.Errorf("another tenant lists %v, %v", list, err)
		}
	}
}

func TestTwentyEndpointsAndNoMoreHoweverManyAskAtOnce(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	var made, refused atomic.Int32
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			switch _, err := h.AddEndpoint(t.Context(), h.tenant, ship.NewEndpointID(7, time.Now()), hookSettings()); {
			case err == nil:
				made.Add(1)
			case ship.CodeOf(err) == "webhook_limit":
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != store.MaxEndpoints || refused.Load() != 60-store.MaxEndpoints {
		t.Errorf("%d made, %d refused", made.Load(), refused.Load())
	}
	h.add(t, ship.Tenant{Account: h.tenant.Account, Livemode: true}) // the other mode has its own
	list, err := h.Endpoints(t.Context(), h.tenant)
	if err != nil || len(list) != store.MaxEndpoints || list[0].ID < list[19].ID {
		t.Errorf("%d listed, %v", len(list), err)
	}
}

// logged writes an event in a transaction of its own and returns its place.
func (h *hooks) logged(t *testing.T) store.Position {
	t.Helper()
	id := ship.NewEventIDs(7, time.Now(), 1)[0].Raw()
	p := store.Position{ID: id}
	var tx string
	err := h.owner.QueryRow(t.Context(), `INSERT INTO events (id, account_id, livemode, subject_id, kind, sequence, body_version, snapshot)
		VALUES ($1, $2, false, $1, 'shipment.created', 1, 1, '{}') RETURNING txid::text`, [16]byte(id), [16]byte(h.tenant.Account.Raw())).Scan(&tx)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Sscan(tx, &p.Tx)
	return p
}

func TestANewEndpointBeginsAtTheHorizon(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	before := h.logged(t)
	var e store.Endpoint
	for range 300 { // transactions of other tests hold the horizon up
		if e = h.add(t, ship.Tenant{Account: ship.NewAccountID(7, time.Now())}); before.Before(e.Cursor) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	after := h.logged(t)
	if !before.Before(e.Cursor) || !e.Cursor.Before(after) || time.Since(e.Cursor.At).Abs() > time.Minute {
		t.Errorf("an event at %+v, the cursor %+v, an event at %+v", before, e.Cursor, after)
	}
}

func TestAnEventThatIsUnderWayWhenAnEndpointIsMadeIsNotLost(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	tx, err := h.owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if err := tx.QueryRow(t.Context(), "SELECT pg_current_xact_id()::text").Scan(&text); err != nil {
		t.Fatal(err)
	}
	e := h.add(t, h.tenant)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var p store.Position
	_, _ = fmt.Sscan(text, &p.Tx)
	if !e.Cursor.Before(p) {
		t.Errorf("the cursor %+v is behind transaction %d, which commits later", e.Cursor, p.Tx)
	}
}

func TestAnEndpointKnowsWhichEventsWereThereBeforeIt(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	old, err := h.owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var running uint64
	if err := old.QueryRow(t.Context(), "SELECT pg_current_xact_id()::text::bigint").Scan(&running); err != nil {
		t.Fatal(err)
	}
	other := &hooks{Store: h.Store, owner: storetest.Conn(t, h.url), tenant: h.tenant}
	before := other.logged(t) // commits, above a transaction that still runs
	e := h.add(t, h.tenant)
	if err := old.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := other.logged(t)
	if !e.Cursor.Before(before) || !e.Born.Has(before.Tx) {
		t.Errorf("an event from before, at %+v: the cursor is %+v, born %+v", before, e.Cursor, e.Born)
	}
	if e.Born.Has(running) || e.Born.Has(after.Tx) || !e.Born.Has(1) || (store.Snapshot{}).Has(1) {
		t.Errorf("born %+v has %d or %d, which were committed later", e.Born, running, after.Tx)
	}
}

func TestSwitchingOffKeepsThePlaceAndSwitchingOnStartsAfresh(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	e := h.add(t, h.tenant)
	// The dispatcher has taken it in, and its slot has got further.
	h.exec(t, "UPDATE webhook_endpoints SET catching_up = false, verified = true, failures = 3, failing_since = now(), probes = 2, cursor_txid = NULL, cursor_id = NULL, cursor_at = NULL")
	h.exec(t, "UPDATE webhook_slots SET cursor_txid = '4242', cursor_id = $2, cursor_at = now() WHERE slot = $1", e.Slot, [16]byte(e.ID.Raw()))
	set := func(change func(*store.Endpoint)) store.Endpoint {
		t.Helper()
		got, err := h.ChangeEndpoint(t.Context(), h.tenant, e.ID, "webhook.changed", func(e *store.Endpoint) error { change(e); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := set(func(e *store.Endpoint) { e.Description = "x" }); got.Cursor != (store.Position{}) || got.Joining || got.Failures != 3 || got.Version != 2 || got.Description != "x" {
		t.Errorf("a plain change: %+v", got)
	}
	off := set(func(e *store.Endpoint) { e.Enabled, e.DisabledReason = false, "client" })
	if off.Cursor.Tx != 4242 || off.Cursor.ID != e.ID.Raw() || off.Joining || off.Failures != 3 || off.DisabledReason != "client" {
		t.Errorf("switched off: %+v", off)
	}
	on := set(func(e *store.Endpoint) { e.Enabled, e.DisabledReason = true, "" })
	if on.Cursor != off.Cursor || !on.Joining || on.Failures != 0 || !on.FailingSince.IsZero() || on.Probe != 0 || !on.Verified || on.DisabledReason != "" {
		t.Errorf("switched on: %+v", on)
	}
	h.exec(t, "UPDATE webhook_endpoints SET catching_up = false, parked = true, failures = 12")
	moved := set(func(e *store.Endpoint) { e.URL = "https://example.org/" })
	if moved.Verified || moved.Parked || !moved.Joining || moved.Failures != 0 || moved.Cursor != off.Cursor {
		t.Errorf("moved while parked: %+v", moved)
	}
	_, err := h.ChangeEndpoint(t.Context(), h.tenant, e.ID, "webhook.changed", func(*store.Endpoint) error { return ship.Errorf(ship.Invalid, "no") })
	if same, readErr := h.Endpoint(t.Context(), h.tenant, e.ID); ship.KindOf(err) != ship.Invalid || readErr != nil || same.Version != moved.Version {
		t.Errorf("a change that is refused: %v, version %d", err, same.Version)
	}
}

func TestChangesOfOneEndpointWaitForEachOther(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	e := h.add(t, h.tenant)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := h.ChangeEndpoint(t.Context(), h.tenant, e.ID, "webhook.changed", func(e *store.Endpoint) error { e.Description += "x"; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := h.Endpoint(t.Context(), h.tenant, e.ID); err != nil || got.Description != "d"+strings.Repeat("x", 20) || got.Version != 21 {
		t.Errorf("%q, version %d, %v", got.Description, got.Version, err)
	}
}

func TestAnEndpointIsDroppedWithItsRetries(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	gone, stays := h.add(t, h.tenant), h.add(t, h.tenant)
	for _, e := range []store.Endpoint{gone, stays} {
		h.exec(t, `INSERT INTO webhook_retries (account_id, livemode, endpoint_id, event_id, event_txid, slot, attempts, next_attempt_at) VALUES ($1, false, $2, $2, '9', $3, 1, now())`,
			[16]byte(h.tenant.Account.Raw()), [16]byte(e.ID.Raw()), e.Slot)
	}
	if err := h.DropEndpoint(t.Context(), h.tenant, gone.ID); err != nil {
		t.Fatal(err)
	}
	var left [16]byte
	if err := h.owner.QueryRow(t.Context(), "SELECT endpoint_id FROM webhook_retries").Scan(&left); err != nil || left != stays.ID.Raw() {
		t.Errorf("left: %x, %v", left, err)
	}
	if err := h.DropEndpoint(t.Context(), h.tenant, gone.ID); ship.KindOf(err) != ship.NotFound {
		t.Errorf("dropped again: %v", err)
	}
}

func TestOnlyTheAddressThatAnsweredIsVerified(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	e := h.add(t, h.tenant)
	at := time.Now().UTC().Truncate(time.Millisecond)
	for url, want := range map[string]bool{"https://example.org/": false, e.URL: true} {
		if err := h.VerifyEndpoint(t.Context(), h.tenant, e.ID, url, at); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Endpoint(t.Context(), h.tenant, e.ID); err != nil || url == e.URL && (got.Verified != want || !got.LastSuccessAt.Equal(at)) {
			t.Errorf("%s: %+v, %v", url, got, err)
		}
	}
}

func TestAttemptsAreWrittenTogetherAndPagedNewestFirst(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	other := ship.Tenant{Account: ship.NewAccountID(9, time.Now()), Livemode: true}
	endpoint, event := ship.NewEndpointID(7, time.Now()), ship.NewEventIDs(7, time.Now(), 1)[0]
	start := time.Now().Add(-time.Minute)
	var list []store.WebhookAttempt
	for i := range 25 {
		a := store.WebhookAttempt{
			ID: ship.NewAttemptID(7, start.Add(time.Duration(i)*time.Second)), Tenant: h.tenant, Endpoint: endpoint, Event: event, Number: i + 1, Trigger: "retry", Outcome: "timeout", Error: "no answer in time",
		}
		if i == 24 {
			a.Outcome, a.Error, a.Status, a.Address, a.Head, a.Body = "delivered", "", 200, netip.MustParseAddr("2606:4700::1111"), "HTTP/1.1 200 OK", "ö"
			a.Timings = store.AttemptTimings{DNS: time.Millisecond, Connect: 2 * time.Millisecond, TLS: 3 * time.Millisecond, FirstByte: 40 * time.Millisecond, Total: 41 * time.Millisecond}
		}
		list = append(list, a)
	}
	theirs := list[0]
	theirs.Tenant = other
	for range 2 { // again, as after a crash
		if err := h.AddAttempts(t.Context(), append(list, theirs)); err != nil {
			t.Fatal(err)
		}
	}
	var got []store.WebhookAttempt
	page := ship.Page{Limit: 10}
	for {
		more, err := h.WebhookAttempts(t.Context(), h.tenant, endpoint, page)
		if err != nil {
			t.Fatal(err)
		}
		if len(more) == 0 {
			break
		}
		got = append(got, more...)
		page.Before = got[len(got)-1].ID.Raw()
	}
	if len(got) != len(list) {
		t.Fatalf("%d attempts, want %d", len(got), len(list))
	}
	for i, a := range got {
		if want := list[len(list)-1-i]; a != want {
			t.Errorf("attempt %d is\n%+v\nwant\n%+v", i, a, want)
		}
	}
	if list, err := h.WebhookAttempts(t.Context(), other, endpoint, ship.Page{Limit: 10}); err != nil || len(list) != 1 {
		t.Errorf("the other tenant's: %d, %v", len(list), err)
	}
	if err := h.AddAttempts(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestTheRecordOfDeliveriesIsDroppedAfterThirtyDays(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	if err := store.MaintainPartitions(t.Context(), url, time.Now().AddDate(0, 0, 33), nil); err != nil {
		t.Fatal(err)
	}
	conn := storetest.Conn(t, url)
	today := "webhook_attempts_" + time.Now().UTC().Format("20060102")
	ahead := "webhook_attempts_" + time.Now().UTC().AddDate(0, 0, 33).Format("20060102")
	var old, fresh bool
	if err := conn.QueryRow(t.Context(), "SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL", today, ahead).Scan(&old, &fresh); err != nil || old || !fresh {
		t.Errorf("%s there: %t, %s there: %t, %v", today, old, ahead, fresh, err)
	}
}

func BenchmarkAddAttempts(b *testing.B) {
	s := storetest.Open(b)
	tenant, endpoint, event := ship.Tenant{Account: ship.NewAccountID(7, time.Now())}, ship.NewEndpointID(7, time.Now()), ship.NewEventIDs(7, time.Now(), 1)[0]
	const batch = 200
	for b.Loop() {
		list := make([]store.WebhookAttempt, batch)
		for i := range list {
			list[i] = store.WebhookAttempt{
				ID: ship.NewAttemptID(7, time.Now()), Tenant: tenant, Endpoint: endpoint, Event: event, Number: 1, Trigger: "auto", Outcome: "delivered", Status: 200,
				Address: netip.MustParseAddr("127.0.0.1"), Head: "HTTP/1.1 200 OK\nContent-Length: 2\nDate: Sun, 01 Mar 2026 09:30:00 GMT", Body: "ok",
				Timings: store.AttemptTimings{FirstByte: time.Millisecond, Total: time.Millisecond},
			}
		}
		if err := s.AddAttempts(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/batch, "us/attempt")
}
