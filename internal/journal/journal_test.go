package journal_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func newJournal(t *testing.T) (*journal.Service, ship.Tenant) {
	t.Helper()
	return journal.New(journal.Config{Store: storetest.Open(t), Requests: true, Exchanges: true}), storetest.Tenant()
}

func request(t ship.Tenant, at time.Time, path string, status int) journal.Request {
	return journal.Request{ID: ship.RequestIDOf(ship.NewRawID(t.Shard(), at)), Tenant: t, Key: ship.NewKeyID(1, at), Method: "GET", Route: path, Path: path, Status: status, Took: 1500 * time.Microsecond}
}

func flush(t *testing.T, j *journal.Service) {
	t.Helper()
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsAreListedFilteredAndPaged(t *testing.T) {
	t.Parallel()
	j, tenant := newJournal(t)
	other := storetest.Tenant()
	now := time.Now()
	for i := range 7 {
		j.Note(request(tenant, now.Add(time.Duration(i)*time.Millisecond), "/v1/shipments", 200))
	}
	bad := request(tenant, now.Add(time.Second), "/v1/rates", 422)
	bad.Code, bad.Problem, bad.Idempotency = "validation_failed", []byte(`{"code":"validation_failed"}`), "k1"
	j.Note(bad)
	j.Note(request(other, now, "/v1/rates", 500))
	flush(t, j)
	list, more, err := j.List(t.Context(), tenant, journal.RequestFilter{}, ship.Page{Limit: 5})
	if err != nil || len(list) != 5 || !more || list[0].ID != bad.ID {
		t.Fatalf("the first page: %d more %t %v, newest %s", len(list), more, err, list[0].ID)
	}
	rest, more, err := j.List(t.Context(), tenant, journal.RequestFilter{}, ship.Page{Limit: 5, Before: list[4].ID.Raw()})
	if err != nil || len(rest) != 3 || more {
		t.Errorf("the second page: %d more %t %v", len(rest), more, err)
	}
	for _, f := range []journal.RequestFilter{{Class: 4}, {Route: "/v1/rates"}, {Key: bad.Key}, {From: now.Add(500 * time.Millisecond)}} {
		list, _, err := j.List(t.Context(), tenant, f, ship.Page{Limit: 5})
		if err != nil || len(list) != 1 || list[0].ID != bad.ID {
			t.Errorf("%+v: %d %v", f, len(list), err)
		}
	}
	one, err := j.Request(t.Context(), tenant, bad.ID)
	if err != nil || string(one.Problem) != string(bad.Problem) || one.Took != bad.Took || one.Idempotency != "k1" || one.Code != bad.Code {
		t.Errorf("one: %+v %v", one, err)
	}
	if _, err := j.Request(t.Context(), other, bad.ID); ship.KindOf(err) != ship.NotFound {
		t.Errorf("another tenant reads it: %v", err)
	}
}

func TestUnderPressureRequestsAreDroppedAndCounted(t *testing.T) {
	t.Parallel()
	j, tenant := newJournal(t)
	for range 20_010 {
		j.Note(request(tenant, time.Now(), "/v1/rates", 200))
	}
	if n, _, _ := j.Dropped(); n != 10 {
		t.Errorf("dropped %d, want 10", n)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if j.Flush(gone) == nil {
		t.Error("what could not be written is no error")
	}
	if n, _, _ := j.Dropped(); n != 20_010 {
		t.Errorf("dropped %d, want all", n)
	}
}

func TestAnExchangeIsKeptWholeAndCopiedAsACommand(t *testing.T) {
	t.Parallel()
	j, tenant := newJournal(t)
	id, connection := ship.NewShipmentID(tenant.Shard(), time.Now()), ship.NewConnectionID(tenant.Shard(), time.Now())
	x := carrier.Exchange{
		Operation: carrier.OpBuy, At: time.Now(), Took: 120 * time.Millisecond, Method: "POST", URL: "https://carrier.example/ship", Status: 201,
		Header: http.Header{"Authorization": {"[secret]"}}, Body: `{"name":"O'Brien"}`, Answer: http.Header{"Content-Type": {"application/json"}}, Answered: "{}",
	}
	j.NoteExchange(tenant, id, connection, x)
	flush(t, j)
	list, err := j.OfShipment(t.Context(), tenant, id)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d %v", len(list), err)
	}
	got := list[0]
	if got.Body != x.Body || got.Answered != "{}" || got.Status != 201 || got.Took != x.Took || got.Connection != connection || got.Header.Get("Authorization") != "[secret]" {
		t.Errorf("kept %+v", got)
	}
	want := "curl -X POST 'https://carrier.example/ship' \\\n  -H 'Authorization: YOUR-SECRET' \\\n  -d '{\"name\":\"O'\\''Brien\"}'"
	if got.Curl() != want {
		t.Errorf("curl: %s", got.Curl())
	}
	if list, err := j.OfShipment(t.Context(), storetest.Tenant(), id); err != nil || len(list) != 0 {
		t.Errorf("another tenant reads %d %v", len(list), err)
	}
}

func TestHealthAddsUpWhatTwoCopiesSaw(t *testing.T) {
	t.Parallel()
	st, tenant := storetest.Open(t), storetest.Tenant()
	id := ship.NewConnectionID(tenant.Shard(), time.Now())
	standing := func() []journal.Standing {
		return []journal.Standing{{Connection: id, Operation: carrier.OpBuy, Breaker: "open", QuotaLeft: 7}, {Connection: "con_other", Operation: carrier.OpBuy}}
	}
	for range 2 {
		j := journal.New(journal.Config{Store: st, Standing: standing})
		tell := j.Observe(tenant, id)
		for range 95 {
			tell(carrier.OpRates, 90*time.Millisecond, nil)
		}
		for range 5 {
			tell(carrier.OpRates, 3*time.Second, ship.Errorf(ship.Unavailable, "no"))
		}
		tell(carrier.OpBuy, 200*time.Millisecond, ship.Errorf(ship.Invalid, "no"))
		flush(t, j)
	}
	all, err := journal.New(journal.Config{Store: st, Standing: standing}).Health(t.Context(), tenant)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v %v", all, err)
	}
	h := all[id]
	if h.Calls != 202 || h.Failed != 10 || h.Refused != 2 || h.QuotaLeft != 7 {
		t.Errorf("calls %d failed %d refused %d quota %d", h.Calls, h.Failed, h.Refused, h.QuotaLeft)
	}
	rates := h.Operations[0]
	if p50, p95, p99 := rates.Within(0.5), rates.Within(0.95), rates.Within(0.99); p50 < 90*time.Millisecond || p50 > 130*time.Millisecond || p95 != p50 || p99 < 3*time.Second || p99 > 4300*time.Millisecond {
		t.Errorf("p50 %s p95 %s p99 %s", p50, p95, p99)
	}
	if h.Operations[1].Breaker != "open" {
		t.Errorf("breaker %q", h.Operations[1].Breaker)
	}
	sum := 0
	for _, p := range h.Parts {
		sum += p.Calls
	}
	if sum != h.Calls {
		t.Errorf("the parts have %d calls of %d", sum, h.Calls)
	}
}
