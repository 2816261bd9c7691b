package ups_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/ups"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// inbox is a webhook that keeps the pushes it receives.
type inbox struct {
	url    string
	pushes chan carrier.Push
	bodies chan []byte
}

func newInbox(t *testing.T, c *carrier.Carrier) inbox {
	t.Helper()
	in := inbox{pushes: make(chan carrier.Push, 100), bodies: make(chan []byte, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		p, heardErr := c.DecodePush(r.Header, body)
		if err != nil || heardErr != nil {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		in.pushes <- p
		in.bodies <- body
	}))
	t.Cleanup(s.Close)
	in.url = s.URL
	return in
}

// pushing sets up the emulator's webhook, as a client does in UPS's portal.
func pushing(t *testing.T, s *emulator.Server, to string) {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	notified := httptest.NewRecorder()
	s.ServeHTTP(notified, httptest.NewRequest(http.MethodPut, "/_emulator/push", strings.NewReader(`{"url":"`+to+`","credential":"`+pushSecret+`"}`)))
	if notified.Code != http.StatusNoContent {
		t.Fatalf("%d %s", notified.Code, notified.Body)
	}
}

// A push reports the same as a poll: the same scan at the same time.
func TestPushesAndPollsTellTheSame(t *testing.T) {
	server, via := service(t)
	c := listener(t, via, pushSecret)
	in := newInbox(t, c)
	pushing(t, server, in.url)
	b := buyOrder()
	b.Order.Parcels = []ship.Parcel{parcel(), parcel()}
	script := []emulator.Scan{
		{Code: "MP"},
		{Code: "OR", City: "RENO", After: emulator.Duration(300 * time.Millisecond)},
		{Code: "X/48/022", Text: "Nobody home", City: "New York", After: emulator.Duration(400 * time.Millisecond)},
		{Code: "F4", City: "New York", After: emulator.Duration(500 * time.Millisecond)},
	}
	if err := server.Turn(emulator.Faults{Tracking: script}); err != nil {
		t.Fatal(err)
	}
	p, err := c.Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	until, err := c.Subscribe(t.Context(), carrier.Subscription{URL: in.url, Numbers: append(p.Pieces, "NOT-A-NUMBER")})
	if left := time.Until(until); err != nil || left < 13*24*time.Hour || left > 14*24*time.Hour {
		t.Fatal(until, err)
	}
	pushed := map[string]map[ship.Scan]bool{}
	for range 6 { // three scans of two parcels: earlier scans are not pushed
		select {
		case got := <-in.pushes:
			h := got.Updates[0]
			if !got.Verified || len(got.Updates) != 1 || pushed[h.TrackingNumber][h.Scan] {
				t.Fatalf("pushed %+v", got)
			}
			if pushed[h.TrackingNumber] == nil {
				pushed[h.TrackingNumber] = map[ship.Scan]bool{}
			}
			pushed[h.TrackingNumber][h.Scan] = true
			followsTheFile(t, <-in.bodies)
		case <-time.After(10 * time.Second):
			t.Fatal("nothing is pushed")
		}
	}
	heard, err := c.Track(t.Context(), p.Pieces)
	if err != nil || len(heard) != 8 {
		t.Fatal(len(heard), err)
	}
	for _, h := range heard {
		if h.Scan.Code != "M/MP/003" && !pushed[h.TrackingNumber][h.Scan] {
			t.Errorf("%s: %+v was not pushed, but %+v", h.TrackingNumber, h.Scan, pushed[h.TrackingNumber])
		}
	}
}

// followsTheFile checks a push against UPS's own description of it.
func followsTheFile(t *testing.T, body []byte) {
	t.Helper()
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		return
	}
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join(dir, "ups/openapi-json/UPSTrackAlert.json"))
	if err != nil {
		t.Fatal(err)
	}
	var push any
	if err := json.Unmarshal(body, &push); err != nil {
		t.Fatal(err)
	}
	event := doc.Components.Schemas["TrackingEventRequest"].Value
	event.Properties["activityStatus"].Value.Properties["type"].Value.OneOf = nil // constants, which the schema library does not support
	if err := event.VisitJSON(push); err != nil {
		t.Errorf("the push does not keep to UPS's file: %v", err)
	}
}

// alertDoer checks the exchanges of Track Alert against its own file, whose
// paths begin elsewhere.
type alertDoer struct{ alerts, others carrier.Doer }

// Do is carrier.Doer.
func (d alertDoer) Do(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/track/v2/") {
		return d.alerts.Do(r)
	}
	return d.others.Do(r)
}

func TestSubscriptionsKeepToTheContract(t *testing.T) {
	server, via := service(t)
	alerts := carriertest.NewContract(t, ups.Spec.TestURL+"/track/v2", alertDepartures, "ups/openapi-json/UPSTrackAlert.json")
	c := listener(t, alertDoer{alerts.Checked(via), via}, pushSecret)
	if until, err := c.Subscribe(t.Context(), carrier.Subscription{}); err != nil || !until.IsZero() {
		t.Errorf("the account is pushed until %v, %v, want until further notice", until, err)
	}
	if _, err := c.Subscribe(t.Context(), carrier.Subscription{Numbers: []string{"1ZA1B2C30300001017"}}); err != nil {
		t.Error(err)
	}
	if _, err := c.Subscribe(t.Context(), carrier.Subscription{Numbers: make([]string, 101)}); ship.KindOf(err) != ship.Invalid {
		t.Errorf("101 numbers: %v", err)
	}
	other := listener(t, via, pushSecret)
	if _, err := other.Subscribe(t.Context(), carrier.Subscription{Numbers: []string{"9241990000003349952"}}); ship.KindOf(err) != ship.Invalid || code(err) != "VSS210" {
		t.Errorf("a number that is not pushed: %v", err)
	}
	if err := server.Turn(emulator.Faults{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Subscribe(t.Context(), carrier.Subscription{}); ship.KindOf(err) != ship.Limited {
		t.Errorf("too many requests: %v", err)
	}
}

// alertDepartures are features of the file that the schema library does not
// support.
var alertDepartures = []carriertest.Departure{
	{
		Operation: "POST /subscription/{type}/account", Contains: `parameter "type" in path`,
		Reason: "the kinds are constants, which the reader does not know",
	},
	{
		Operation: "POST /subscription/{type}/package", Contains: `parameter "type" in path`,
		Reason: "as of the account",
	},
	{
		Operation: "POST /subscription/{type}/package", Contains: `parameter "version" in path`,
		Reason: "the version is in the address of the server, not in the path",
	},
}

func TestOneNumberNeverCostsTheOthers(t *testing.T) {
	server, via := service(t)
	c := open(t, via)
	p, err := c.Buy(t.Context(), buyOrder())
	if err != nil {
		t.Fatal(err)
	}
	server.Handle("GET /api/track/v1/details/POISONED1", true, func(w http.ResponseWriter, _ *http.Request) { server.Fail(w, http.StatusInternalServerError) })
	server.Handle("GET /api/track/v1/details/WEBPAGE1", true, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	server.Handle("GET /api/track/v1/details/MISSING1", true, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"response":{"errors":[{"code":"TW0001","message":"Tracking Information Not Found"}]}}`)
	})
	server.Handle("GET /api/track/v1/details/NOWHERE1", true, func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) })
	server.Handle("GET /api/track/v1/details/SILENT01", true, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	numbers := []string{"POISONED1", "1Z0000000000000000", "BAD", "a/b?c", "WEBPAGE1", "MISSING1", "NOWHERE1", "SILENT01", p.TrackingNumber}
	heard, err := c.Track(t.Context(), numbers)
	if err != nil || len(heard) != 1 || heard[0].TrackingNumber != p.TrackingNumber || heard[0].Scan.Status != ship.LabelGenerated || heard[0].EstimateAt.IsZero() {
		t.Errorf("heard %+v, %v", heard, err)
	}
	for number, want := range map[string]ship.Kind{
		"POISONED1": ship.Unavailable, "WEBPAGE1": ship.Unavailable, "NOWHERE1": ship.Unavailable, "SILENT01": ship.Unavailable,
		"MISSING1": "", "BAD": "", "1Z0000000000000000": "",
	} {
		if heard, err := c.Track(t.Context(), []string{number}); len(heard) != 0 || err != nil != (want != "") || err != nil && ship.KindOf(err) != want {
			t.Errorf("%s alone: %+v, %v", number, heard, err)
		}
	}
	if heard, err := c.Track(t.Context(), nil); len(heard) != 0 || err != nil {
		t.Errorf("of nothing: %+v, %v", heard, err)
	}
}

func TestSeveralNumbersAreAskedAtOnce(t *testing.T) {
	server, via := service(t)
	c := open(t, via)
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Turn(emulator.Faults{Latency: emulator.Duration(100 * time.Millisecond)}); err != nil {
		t.Fatal(err)
	}
	numbers := make([]string, ups.Spec.TrackBatch)
	for i := range numbers {
		numbers[i] = "1Z0000000000000000"
	}
	began := time.Now()
	if _, err := c.Track(t.Context(), numbers); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 800*time.Millisecond {
		t.Errorf("%d numbers of 100 ms took %v", len(numbers), took)
	}
}
