package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A script answers requests one after the other, and remembers them. The last
// answer is given for ever.
type script struct {
	answers []http.HandlerFunc

	mu   sync.Mutex
	seen []seen
}

type seen struct {
	method, path, key, body, auth, kind string
	at                                  time.Time
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	n := len(s.seen)
	s.seen = append(s.seen, seen{
		r.Method, r.URL.RequestURI(), r.Header.Get("Idempotency-Key"), string(body), r.Header.Get("Authorization"), r.Header.Get("Content-Type"), time.Now(),
	})
	s.mu.Unlock()
	s.answers[min(n, len(s.answers)-1)](w, r)
}

func (s *script) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func (s *script) client(t *testing.T, o Options) *Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	o.BaseURL = server.URL + "/"
	c := New("sk_test_1", o)
	c.wait = func(int) time.Duration { return time.Millisecond }
	return c
}

func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// hangsUp closes the connection without an answer.
func hangsUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// cutsOff promises more than it sends.
func cutsOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	fmt.Fprint(w, `{"id":`)
}

const created = `{"id":"shp_1","status":"created","carrier":"ups","trackingNumber":"1Z","labelStatus":"ready","createdAt":"2026-11-15T02:03:04.567Z"}`

var order = ShipmentRequest{OrderID: "o1", Destination: Address{Name: "Ada", Address1: "1 Main St", City: "Austin", State: "TX", Zip: "78701", Country: "US"}, Parcel: &Parcel{Weight: 2}}

func TestEveryAttemptOfAPurchaseHasTheSameKeyAndBody(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]http.HandlerFunc{
		"no answer": hangsUp, "half an answer": cutsOff,
		"too many":    says(429, `{"code":"rate_limited"}`),
		"bad gateway": says(502, "<html>"), "unavailable": says(503, `{"code":"carrier_unavailable"}`), "gateway time-out": says(504, ""),
		"still running": says(409, `{"code":"idempotency_in_progress"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answers: []http.HandlerFunc{lost, lost, says(201, created)}}
			sh, err := s.client(t, Options{}).CreateShipment(t.Context(), order)
			if err != nil || sh.ID != "shp_1" || sh.CreatedAt.Nanosecond() != 567e6 {
				t.Fatalf("shipment %+v, %v", sh, err)
			}
			if len(s.requests()) != 3 {
				t.Fatalf("%d attempts, want 3", len(s.requests()))
			}
			for _, a := range s.requests() {
				if a.key == "" || a.key != s.requests()[0].key || a.body != s.requests()[0].body || a.body == "" {
					t.Errorf("an attempt differs: %+v, the first is %+v", a, s.requests()[0])
				}
				if a.auth != "Bearer sk_test_1" || a.kind != "application/json" || a.path != "/v1/shipments" {
					t.Errorf("attempt %+v", a)
				}
			}
		})
	}
}

func TestCallsHaveDifferentKeysAndTheCallersOwnWins(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(201, created, "Idempotent-Replayed", "true")}}
	c := s.client(t, Options{})
	for _, o := range [][]CallOption{nil, nil, {IdempotencyKey("order-1")}} {
		sh, err := c.CreateShipment(t.Context(), order, o...)
		if err != nil || !sh.Replayed {
			t.Fatalf("replayed %t, %v", sh.Replayed, err)
		}
	}
	if s.requests()[0].key == s.requests()[1].key || s.requests()[2].key != "order-1" {
		t.Errorf("keys %q, %q, %q", s.requests()[0].key, s.requests()[1].key, s.requests()[2].key)
	}
}

func TestCallsWithoutAnEffectHaveNoKey(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(200, `{}`)}}
	c := s.client(t, Options{})
	_, err1 := c.Rates(t.Context(), RatesRequest{})
	_, err2 := c.LabelLink(t.Context(), "shp_1", "pdf", time.Hour)
	_, err3 := c.Track(t.Context(), "1Z 9", "ups")
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.requests() {
		if a.key != "" {
			t.Errorf("%s %s has key %q", a.method, a.path, a.key)
		}
	}
	if s.requests()[1].body != `{"format":"pdf","expiresIn":3600}` || s.requests()[2].path != "/v1/tracking/1Z%209?carrier=ups" {
		t.Errorf("sent %+v", s.requests()[1:])
	}
}

func TestADefiniteAnswerIsNotRetried(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 409, 410, 413, 422, 500} {
		s := &script{answers: []http.HandlerFunc{says(status, `{"code":"some_code"}`)}}
		_, err := s.client(t, Options{}).CreateShipment(t.Context(), order)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Status != status || e.Code != "some_code" || len(s.requests()) != 1 {
			t.Errorf("%d: %v after %d attempts", status, err, len(s.requests()))
		}
	}
}

func TestAttemptsEnd(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(503, `{"code":"unavailable","detail":"try later","requestId":"req_1"}`)}}
	_, err := s.client(t, Options{Attempts: 3}).Shipment(t.Context(), "shp_1")
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != "unavailable" || len(s.requests()) != 3 {
		t.Errorf("%v after %d attempts, want 3", err, len(s.requests()))
	}
	s = &script{answers: []http.HandlerFunc{hangsUp}}
	if _, err := s.client(t, Options{Attempts: 1}).Void(t.Context(), "shp_1"); err == nil || len(s.requests()) != 1 {
		t.Errorf("%v after %d attempts, want 1", err, len(s.requests()))
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(429, `{"code":"rate_limited"}`, "Retry-After", "1"), says(200, created)}}
	if _, err := s.client(t, Options{}).Shipment(t.Context(), "shp_1"); err != nil {
		t.Fatal(err)
	}
	if waited := s.requests()[1].at.Sub(s.requests()[0].at); waited < time.Second {
		t.Errorf("waited %s, want a second", waited)
	}
	s = &script{answers: []http.HandlerFunc{says(503, "", "Retry-After", "3600")}}
	_, err := s.client(t, Options{MaxWait: time.Second}).Shipment(t.Context(), "shp_1")
	if e, ok := errors.AsType[*Error](err); !ok || e.RetryAfter != time.Hour || len(s.requests()) != 1 {
		t.Errorf("%v after %d attempts; a wait that is too long ends the call", err, len(s.requests()))
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(503, "", "Retry-After", "20")}}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := s.client(t, Options{}).Shipment(ctx, "shp_1")
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(start))
	}
	if e, ok := errors.AsType[*Error](err); !ok || e.Status != 503 {
		t.Errorf("%v does not tell what went wrong before", err)
	}
}

func TestBackoffGrowsAndHasJitter(t *testing.T) {
	t.Parallel()
	values := map[time.Duration]bool{}
	for attempt := 1; attempt <= 5; attempt++ {
		for range 20 {
			d := backoff(attempt)
			least := 100 * time.Millisecond << (attempt - 1)
			if d < least || d >= 2*least {
				t.Errorf("after attempt %d: %s, want %s to %s", attempt, d, least, 2*least)
			}
			values[d] = true
		}
	}
	if len(values) < 50 {
		t.Errorf("only %d different waits", len(values))
	}
}

func TestAnErrorTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	problem := `{"type":"https://x/docs/errors#validation_failed","title":"t","status":422,"detail":"the request has invalid fields","code":"validation_failed","requestId":"req_9","source":"client",
		"errors":[{"pointer":"/destination/zip","code":"invalid","detail":"does not fit the country"},{"parameter":"limit","code":"invalid","detail":"is too large","suggestion":"100"}],"quoted":{"amount":"1.00"}}`
	s := &script{answers: []http.HandlerFunc{says(422, problem, "Content-Type", "application/problem+json")}}
	_, err := s.client(t, Options{}).CreateShipment(t.Context(), order)
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Errors) != 2 || e.Errors[1].Suggestion != "100" || e.Source != "client" || !strings.Contains(string(e.Body), "quoted") {
		t.Fatalf("err = %#v", err)
	}
	want := "waybill: 422 validation_failed: the request has invalid fields; /destination/zip does not fit the country, limit is too large (req_9)"
	if err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

func TestShipmentsAreListedOverAllPages(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{
		says(200, `{"data":[{"id":"shp_3"},{"id":"shp_2"}],"nextCursor":"c1"}`), says(503, ""), says(200, `{"data":[{"id":"shp_1"}],"nextCursor":null}`),
	}}
	var ids []string
	for sh, err := range s.client(t, Options{}).Shipments(t.Context(), ShipmentsRequest{Status: "delivered", Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sh.ID)
	}
	if !slices.Equal(ids, []string{"shp_3", "shp_2", "shp_1"}) {
		t.Errorf("ids %v", ids)
	}
	if last := s.requests()[2].path; last != "/v1/shipments?cursor=c1&limit=2&status=delivered" {
		t.Errorf("last page is %s", last)
	}
}

func TestAListEndsWithAnError(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(200, `{"data":[{"id":"trk_1"}],"nextCursor":"c1"}`), says(403, `{"code":"insufficient_scope"}`)}}
	var n int
	var last error
	for _, err := range s.client(t, Options{}).Trackers(t.Context()) {
		n, last = n+1, err
	}
	if e, ok := errors.AsType[*Error](last); n != 2 || !ok || e.Code != "insufficient_scope" {
		t.Errorf("%d steps, last %v", n, last)
	}
}

func TestAReaderOfEventsFollowsTheCursorToTheEnd(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{
		says(200, `{"data":[{"id":"evt_1"},{"id":"evt_2"}],"nextCursor":"c1"}`), says(200, `{"data":[{"id":"evt_3"}],"nextCursor":"c2"}`), says(200, `{"data":[],"nextCursor":"c3"}`),
	}}
	var got []string
	for e, err := range s.client(t, Options{}).Events(t.Context(), EventsRequest{After: "c0", Types: []string{"label.generated", "shipment.delivered"}}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.ID+" "+e.Cursor)
	}
	// A reader that stops after evt_1 and goes on from its cursor sees it again.
	if !slices.Equal(got, []string{"evt_1 c0", "evt_2 c1", "evt_3 c2"}) {
		t.Errorf("events %v", got)
	}
	if last := s.requests()[2].path; last != "/v1/events?after=c2&types=label.generated%2Cshipment.delivered" {
		t.Errorf("last page is %s", last)
	}
}

func TestAFollowerWaitsForMore(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(200, `{"data":[],"nextCursor":"c1"}`), says(200, `{"data":[{"id":"evt_1"}],"nextCursor":"c2"}`), says(200, `{"data":[],"nextCursor":"c2"}`)}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for e, err := range s.client(t, Options{}).FollowEvents(ctx, EventsRequest{}, 100*time.Millisecond) {
		if last = err; err == nil && e.ID == "evt_1" {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("ended with %v", last)
	}
}

func TestALabelIsFetchedAsBytes(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(200, "^XA^XZ", "Content-Type", "application/zpl")}}
	data, err := s.client(t, Options{}).Label(t.Context(), "shp_1", LabelOptions{Format: "zpl", DPI: 300})
	if err != nil || string(data) != "^XA^XZ" || s.requests()[0].path != "/v1/labels/shp_1.zpl?dpi=300" {
		t.Errorf("%q from %s, %v", data, s.requests()[0].path, err)
	}
}

func TestADuplicateIsARequestThatCanBeSent(t *testing.T) {
	t.Parallel()
	const duplicate = `{"orderId":"o1","destination":{"name":"Ada","address1":"1 Main St","city":"Austin","state":"TX","zip":"78701","country":"US"},"parcel":{"weight":2},` +
		`"customs":{"contentsType":"gift","items":[{"description":"Shirt","quantity":2,"value":{"amount":"10.00","currency":"USD"},"weight":0.5,"sku":"S-1"}]},"metadata":{"channel":"web"}}`
	s := &script{answers: []http.HandlerFunc{says(200, duplicate), says(201, created)}}
	c := s.client(t, Options{})

	request, err := c.Duplicate(t.Context(), "shp_1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateShipment(t.Context(), request); err != nil {
		t.Fatal(err)
	}

	// Asking for it has no effect, so it needs no key and can be repeated.
	asked, sent := s.requests()[0], s.requests()[1]
	if asked.method != http.MethodPost || asked.path != "/v1/shipments/shp_1/duplicate" || asked.key != "" || asked.body != "" {
		t.Errorf("asked with %s %s, key %q, body %q", asked.method, asked.path, asked.key, asked.body)
	}
	if sent.body != duplicate {
		t.Errorf("sent %s\nwant %s", sent.body, duplicate)
	}
}

func TestAReturnIsAPurchaseWithAKey(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(201, `{"id":"shp_2","labelStatus":"ready","isReturn":true,"returnOf":"shp_1"}`, "Idempotent-Replayed", "true")}}
	got, err := s.client(t, Options{}).Return(t.Context(), "shp_1", ReturnRequest{Parcel: &Parcel{Weight: 2}, Carrier: "ups"})
	if err != nil || got.ID != "shp_2" || !got.IsReturn || got.ReturnOf != "shp_1" || !got.Replayed {
		t.Errorf("%+v, %v", got, err)
	}

	sent := s.requests()[0]
	if sent.path != "/v1/shipments/shp_1/return" || sent.key == "" || sent.body != `{"parcel":{"weight":2},"carrier":"ups"}` {
		t.Errorf("sent %s, key %q, body %s", sent.path, sent.key, sent.body)
	}
}

func TestADuplicateOfNothingIsAnError(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(404, `{"status":404,"code":"shipment_not_found","detail":"no such shipment"}`)}}
	_, err := s.client(t, Options{}).Duplicate(t.Context(), "a/b")
	problem, ok := errors.AsType[*Error](err)
	if !ok || problem.Code != "shipment_not_found" || s.requests()[0].path != "/v1/shipments/a%2Fb/duplicate" {
		t.Errorf("%v from %s", err, s.requests()[0].path)
	}
}

func TestAnAddressThatCannotBeIsNotRetried(t *testing.T) {
	t.Parallel()
	c := New("k", Options{BaseURL: "http://bad host"})
	c.wait = func(int) time.Duration { t.Error("it is retried"); return 0 }
	if _, err := c.Carriers(t.Context()); err == nil {
		t.Error("no error")
	}
}

func TestARequestIsWrittenAsTheServiceReadsIt(t *testing.T) {
	t.Parallel()
	body, err := json.Marshal(order)
	want := `{"orderId":"o1","destination":{"name":"Ada","address1":"1 Main St","city":"Austin","state":"TX","zip":"78701","country":"US"},"parcel":{"weight":2}}`
	if err != nil || string(body) != want {
		t.Errorf("%s, %v", body, err)
	}
}

func TestErrorsHaveTheKeyToResumeWith(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(503, `{"code":"outcome_unknown"}`)}}
	_, err := s.client(t, Options{Attempts: 1}).CreateShipment(t.Context(), order)
	if refused, ok := errors.AsType[*Error](err); !ok || refused.IdempotencyKey == "" || refused.IdempotencyKey != s.requests()[0].key {
		t.Errorf("an answer that is an error: %+v", err)
	}

	for name, lost := range map[string]http.HandlerFunc{"no answer": hangsUp, "half an answer": cutsOff, "no JSON": says(200, "<html>")} {
		s := &script{answers: []http.HandlerFunc{lost}}
		_, err := s.client(t, Options{Attempts: 2}).CreateShipment(t.Context(), order, IdempotencyKey("order-1"))
		if failed, ok := errors.AsType[*NetworkError](err); !ok || failed.IdempotencyKey != "order-1" || !failed.Sent {
			t.Errorf("%s: %+v", name, err)
		}
	}

	nowhere := New("sk_test_1", Options{BaseURL: "http://127.0.0.1:1", Attempts: 1})
	_, err = nowhere.CreateShipment(t.Context(), order)
	if failed, ok := errors.AsType[*NetworkError](err); !ok || failed.IdempotencyKey == "" || failed.Sent {
		t.Errorf("without a connection: %+v", err)
	}
}

func TestALostAttemptCountsAsSentEvenIfTheLastIsNot(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(hangsUp))
	c := New("sk_test_1", Options{BaseURL: server.URL, Attempts: 2})
	c.wait = func(int) time.Duration {
		server.Close()
		return time.Millisecond
	}
	_, err := c.CreateShipment(t.Context(), order)
	if failed, ok := errors.AsType[*NetworkError](err); !ok || !failed.Sent {
		t.Errorf("%+v", err)
	}
}
