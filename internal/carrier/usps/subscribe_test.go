package usps_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/usps"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/ship"
)

const secret = "0123456789abcdefghijklmnopqrstuv"

// pushing starts the emulator and opens the carrier with a secret for pushes.
func pushing(t *testing.T) (*emulator.Server, carrier.Doer) {
	t.Helper()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	s := standin.New(ledger)
	return s, carriertest.Server(t, s)
}

func openWith(t *testing.T, via carrier.Doer, secret string) *carrier.Carrier {
	t.Helper()
	c, err := carrier.Open(usps.Spec, carrier.Opening{Credentials: credentials, BaseURL: usps.Spec.TestURL, Via: via, PushSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// buyAs buys the domestic order under another reference.
func buyAs(t *testing.T, c *carrier.Carrier, reference string) string {
	t.Helper()
	b := home()
	b.Reference = reference
	p, err := c.Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return p.TrackingNumber
}

func TestOneUnknownNumberCostsNoOther(t *testing.T) {
	s, via := pushing(t)
	c := openWith(t, via, secret)
	first, second := buyAs(t, c, "S1"), buyAs(t, c, "S2")
	if err := s.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "03", Text: "Accepted"}, {Code: "01", Text: "Delivered"}}}); err != nil {
		t.Fatal(err)
	}
	heard, err := c.Track(t.Context(), []string{first, "9400100000000000000013", "?", second})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, h := range heard {
		seen[h.TrackingNumber]++
		if h.EstimateAt.IsZero() || h.Scan.ZoneUnknown || time.Since(h.Scan.At).Abs() > time.Minute {
			t.Errorf("heard %+v", h)
		}
	}
	if len(seen) != 2 || seen[first] != 2 || seen[second] != 2 {
		t.Errorf("heard %v", seen)
	}
}

// TestResultsKeepToTheCarriersOwnFile checks the results of the newer API
// against what the older one's file says of them; it has none of its own.
func TestResultsKeepToTheCarriersOwnFile(t *testing.T) {
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join(dir, "usps/openapi-json/tracking.json"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	s, plain := pushing(t)
	via := spy(func(r *http.Request) (*http.Response, error) {
		resp, err := plain.Do(r)
		if err != nil || !strings.HasPrefix(r.URL.Path, "/tracking/") {
			return resp, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(strings.NewReader(string(body)))
		var list []map[string]any
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, err
		}
		for _, result := range list {
			checked++
			if err := doc.Components.Schemas["TrackingDetails"].Value.VisitJSON(result); err != nil {
				t.Errorf("a result: %v", err)
			}
		}
		return resp, nil
	})
	c := openWith(t, via, secret)
	at, away := buyAs(t, c, "S1"), ""
	if p, err := c.Buy(t.Context(), abroad()); err != nil {
		t.Fatal(err)
	} else {
		away = p.TrackingNumber
	}
	if err := s.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "03", City: "Washington"}, {Code: "55"}, {Code: "09", Text: "Return to Sender"}}}); err != nil {
		t.Fatal(err)
	}
	if heard, err := c.Track(t.Context(), []string{at, away, "9400100000000000000013"}); err != nil || len(heard) != 6 || checked != 3 {
		t.Errorf("heard %d, checked %d: %v", len(heard), checked, err)
	}
}

type spy func(*http.Request) (*http.Response, error)

// Do is carrier.Doer.
func (s spy) Do(r *http.Request) (*http.Response, error) { return s(r) }

// ear receives what is pushed to an address.
type ear struct {
	*httptest.Server
	mu      sync.Mutex
	carrier *carrier.Carrier
	heard   []string
	errs    []error
}

func newEar(t *testing.T) *ear {
	t.Helper()
	e := &ear{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		push, err := e.carrier.DecodePush(r.Header, body)
		if err != nil || !push.Verified {
			e.errs = append(e.errs, fmt.Errorf("proven %v: %w", push.Verified, err))
			w.WriteHeader(http.StatusForbidden)
			return
		}
		for _, h := range push.Updates {
			e.heard = append(e.heard, h.TrackingNumber+" "+string(h.Scan.Status))
		}
	}))
	t.Cleanup(e.Close)
	return e
}

// wait waits until the given number of events has arrived.
func (e *ear) wait(t *testing.T, n int) []string {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		e.mu.Lock()
		heard, errs := append([]string(nil), e.heard...), e.errs
		e.mu.Unlock()
		switch {
		case len(errs) > 0:
			t.Fatal(errs[0])
		case len(heard) >= n:
			return heard
		case time.Now().After(until):
			t.Fatalf("heard %v, want %d", heard, n)
		}
	}
}

func TestWhatHappensIsPushed(t *testing.T) {
	s, via := pushing(t)
	c := openWith(t, via, secret)
	e := newEar(t)
	e.carrier = c
	if err := s.Turn(emulator.Faults{Tracking: []emulator.Scan{
		{Code: "03"}, {After: emulator.Duration(30 * time.Millisecond), Code: "10"}, {After: emulator.Duration(60 * time.Millisecond), Code: "01"},
	}}); err != nil {
		t.Fatal(err)
	}
	until, err := c.Subscribe(t.Context(), carrier.Subscription{URL: e.URL + "/in"})
	if err != nil || until.Before(time.Now().Add(24*time.Hour)) || until.After(time.Now().Add(25*24*time.Hour)) {
		t.Fatalf("until %v, %v", until, err)
	}
	number := buyAs(t, c, "S1")
	want := fmt.Sprint([]string{number + " picked_up", number + " in_transit", number + " delivered"})
	if got := fmt.Sprint(e.wait(t, 3)); got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
}

func TestSubscribingAgainIsSafe(t *testing.T) {
	var methods []string
	s, plain := pushing(t)
	via := spy(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Path, "/subscriptions") {
			methods = append(methods, r.Method)
		}
		return plain.Do(r)
	})
	to := carrier.Subscription{URL: "https://example.com/in/con_1/a-token", Numbers: []string{"9400100000000000000013"}}
	subscribe := func(secret, want string) {
		t.Helper()
		methods = nil
		if _, err := openWith(t, via, secret).Subscribe(t.Context(), to); err != nil {
			t.Error(err)
		}
		if got := strings.Join(methods, " "); got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
	}
	subscribe(secret, "POST")
	subscribe(secret, "POST GET")
	subscribe(strings.ToUpper(secret), "POST GET DELETE POST")
	subscribe(strings.ToUpper(secret), "POST GET")
	kinds := ""
	for _, e := range s.Ledger.Entries() {
		kinds += e.Kind + " "
	}
	if kinds != "subscribed unsubscribed subscribed " {
		t.Errorf("the ledger has %s", kinds)
	}
}

// TestASuspendedSubscriptionIsReplaced tries one that is gone, one that is
// suspended and one that cannot be read.
func TestASuspendedSubscriptionIsReplaced(t *testing.T) {
	const id = "019db15c-05e8-7432-95dc-8c511d2f9a1b"
	taken := `{"error":{"code":"400","errors":[{"detail":"Duplicate of subscriptionId: ` + id + ` for https://example.com/in/token with ` + secret + `"}]}}`
	for _, tc := range []struct {
		name, body string
		status     int
		want       string
		kind       ship.Kind
	}{
		{"suspended", `{"status":"SUSPENDED"}`, 200, "POST GET DELETE POST", ""},
		{"gone", `{}`, 404, "POST GET POST", ""},
		{"enabled", `{"status":"ENABLED","secret":"********"}`, 200, "POST GET", ""},
		{"down", `{}`, 503, "POST GET", ship.Unavailable},
	} {
		sent, posts := "", 0
		_, plain := pushing(t)
		via := spy(func(r *http.Request) (*http.Response, error) {
			if !strings.HasPrefix(r.URL.Path, "/subscriptions") {
				return plain.Do(r)
			}
			sent += r.Method + " "
			status, body := tc.status, tc.body
			switch r.Method {
			case http.MethodPost:
				if posts++; posts == 1 {
					status, body = 400, taken
				} else {
					status, body = 201, `{"subscriptionId":"x"}`
				}
			case http.MethodDelete:
				status, body = 200, ""
				if r.Header.Get("If-Match") != `"7"` || !strings.HasSuffix(r.URL.Path, id) {
					t.Errorf("%s: %s with %v", tc.name, r.URL.Path, r.Header)
				}
			}
			return &http.Response{StatusCode: status, Header: http.Header{"Etag": {`"7"`}}, Body: io.NopCloser(strings.NewReader(body))}, nil
		})
		_, err := openWith(t, via, secret).Subscribe(t.Context(), carrier.Subscription{URL: "https://example.com/in/token"})
		if strings.TrimSpace(sent) != tc.want || tc.kind == "" && err != nil || tc.kind != "" && ship.KindOf(err) != tc.kind {
			t.Errorf("%s: sent %s: %v", tc.name, sent, err)
		}
	}
}

func TestARefusedSubscriptionKeepsTheSecret(t *testing.T) {
	_, via := pushing(t)
	body := `{"error":{"code":"400","errors":[{"detail":"no: {listenerURL: https://example.com/in/token, secret: ` + secret + `}"}]}}`
	c := openWith(t, spy(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Path, "/subscriptions") {
			return &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
		return via.Do(r)
	}), secret)
	_, err := c.Subscribe(t.Context(), carrier.Subscription{URL: "https://example.com/in/token"})
	e, _ := errors.AsType[*ship.Error](err)
	if text := fmt.Sprintf("%v %+v", err, e.Refusal); ship.KindOf(err) != ship.Invalid || strings.Contains(text, secret) || strings.Contains(text, "in/token") || !strings.Contains(text, "[secret]") {
		t.Errorf("err = %s", text)
	}
	if _, err := openWith(t, via, "").Subscribe(t.Context(), carrier.Subscription{URL: "https://example.com/in"}); ship.KindOf(err) != ship.Internal {
		t.Errorf("without a secret: %v", err)
	}
}
