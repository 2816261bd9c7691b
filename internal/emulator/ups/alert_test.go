package ups_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

func TestSubscriptionsAreRefusedAsUPSDoes(t *testing.T) {
	b := start(t, "")
	const head = `{"locale":"en_US","countryCode":"US"`
	for body, want := range map[string]string{
		`{"trackingNumberList":["1ZA1B2C30300001017"]}`: "VSS300",
		head + `}`:                            "VSS200",
		head + `,"trackingNumberList":["X"]}`: "VSS210",
		head + `,"trackingNumberList":["` + strings.Repeat(`1ZA1B2C30300001017","`, 100) + `1ZA1B2C30300001017"]}`: "VSS220",
		head + `,"trackingNumberList":["1ZA1B2C30300001017","X"]}`:                                                 "",
	} {
		status, answer, err := b.post("/api/track/v2/subscription/standard/package", "application/json", body)
		if err != nil || codeOf(answer) != want || (status == 200) != (want == "") {
			t.Errorf("%.80s: %d %s %v, want %q", body, status, answer, err, want)
		}
	}
	if _, answer, _ := b.post("/api/track/v2/subscription/golden/account", "application/json", head+`}`); codeOf(answer) != "VSS930" {
		t.Errorf("a kind that is none: %s", answer)
	}
	if _, answer, _ := b.post("/api/track/v2/subscription/standard/account", "application/json", head+`,"shipperAccountNumber":"999999"}`); codeOf(answer) != "VSS000" {
		t.Errorf("another's account: %s", answer)
	}
}

// notified is a webhook that keeps what it receives; it refuses the first push.
func notified(t *testing.T, b *bench) <-chan string {
	t.Helper()
	got, first := make(chan string, 100), make(chan bool, 1)
	first <- true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-first:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		default:
		}
		body, _ := io.ReadAll(r.Body)
		var a struct {
			TrackingNumber string
			ActivityStatus struct{ DescriptionCode string }
		}
		if r.Header.Get("Credential") != "secret" || json.Unmarshal(body, &a) != nil {
			t.Errorf("pushed %v %s", r.Header, body)
		}
		got <- a.TrackingNumber + " " + a.ActivityStatus.DescriptionCode
	}))
	t.Cleanup(s.Close)
	for body, want := range map[string]int{`{"url":"` + s.URL + `"}`: 422, `x`: 422, `{"url":"` + s.URL + `","credential":"secret"}`: 204} {
		if status, answer, err := b.do(http.MethodPut, "/_emulator/push", "application/json", body); err != nil || status != want {
			t.Fatal(status, string(answer), err)
		}
	}
	return got
}

func next(t *testing.T, got <-chan string) string {
	t.Helper()
	select {
	case s := <-got:
		return s
	case <-time.After(10 * time.Second):
		t.Fatal("nothing is pushed")
		return ""
	}
}

// A subscribed account receives every scan of every later sale, and its void. A
// push that was not accepted is repeated. Nothing is pushed once the ledger is
// closed.
func TestAnAccountIsPushed(t *testing.T) {
	b := start(t, "")
	got := notified(t, b)
	if err := b.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "MP"}, {Code: "F4", After: emulator.Duration(time.Hour)}}}); err != nil {
		t.Fatal(err)
	}
	const head = `{"locale":"en_US","countryCode":"US","shipperAccountNumber":"A1B2C3"}`
	if status, answer, err := b.post("/api/track/v2/subscription/standard/account", "application/json", head); err != nil || status != 200 || !strings.Contains(string(answer), "9999-12-31") {
		t.Fatal(status, string(answer), err)
	}
	if _, _, err := b.buy("R", 1); err != nil {
		t.Fatal(err)
	}
	number := b.Ledger.Entries()[0].Number
	if s := next(t, got); s != number+" 003" {
		t.Error(s)
	}
	if err := b.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "OR", After: emulator.Duration(time.Since(b.Ledger.Entries()[0].At) + 50*time.Millisecond)}, {Code: "F4", After: emulator.Duration(time.Hour)}}}); err != nil {
		t.Fatal(err)
	}
	if s := next(t, got); s != number+" 038" {
		t.Error("by the new script:", s)
	}
	if status, _, err := b.do(http.MethodDelete, "/api/shipments/v2409/void/cancel/"+number, "application/json", ""); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	if s := next(t, got); s != number+" 007" {
		t.Error("voided:", s)
	}
	_, state, err := b.do(http.MethodGet, "/_emulator/push", "application/json", "")
	if err != nil || !strings.Contains(string(state), `"parcels":0`) {
		t.Error(string(state), err)
	}
	if err := b.Ledger.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.buy("S", 1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if len(got) > 0 {
		t.Error("pushed after the end:", <-got)
	}
}
