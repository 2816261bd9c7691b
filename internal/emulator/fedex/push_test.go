package fedex_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
)

const token = "Wb7dQ2mKx9TzRfYc4LhNsPgVjE3uAo6i"

// ears is a webhook that accepts pushes, but refuses the first one.
type ears struct {
	t      *testing.T
	refuse int

	mu    sync.Mutex
	heard []string
}

func (e *ears) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	mac := hmac.New(sha256.New, []byte(token))
	_, _ = mac.Write(body)
	if err != nil || r.Header.Get("Fdx-Signature") != base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		e.t.Errorf("a push with the signature %q: %v", r.Header.Get("Fdx-Signature"), err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse > 0 {
		e.refuse--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	e.heard = append(e.heard, string(body))
	w.WriteHeader(http.StatusAccepted)
}

func (e *ears) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.heard)
}

// wait waits until n pushes have arrived.
func (e *ears) wait(n int) {
	e.t.Helper()
	for end := time.Now().Add(10 * time.Second); e.count() < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			e.t.Fatalf("heard %d of %d pushes", e.count(), n)
		}
	}
}

// pushing returns an emulator that can push, and its ledger.
func pushing(t *testing.T, script ...emulator.Scan) (client, *emulator.Ledger) {
	t.Helper()
	l := ledger(t, "")
	server := fedex.New(l)
	if err := server.Turn(emulator.Faults{Tracking: script}); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	return client{t, s.URL, tokenOf(t, s.URL)}, l
}

func tokenOf(t *testing.T, base string) string {
	t.Helper()
	resp, err := http.Post(base+"/oauth/token", "application/x-www-form-urlencoded",
		strings.NewReader("grant_type=client_credentials&client_id="+fedex.ClientID+"&client_secret="+fedex.ClientSecret))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Value string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return "Bearer " + got.Value
}

func (c client) buy() {
	c.t.Helper()
	if status, body, err := c.ask("POST", "/ship/v1/shipments", purchase); status != 200 || err != nil {
		c.t.Fatal(status, body, err)
	}
}

func (c client) push(url string) {
	c.t.Helper()
	if status, body, err := c.ask("PUT", "/_emulator/push", `{"url":"`+url+`","token":"`+token+`"}`); status != 204 || err != nil {
		c.t.Fatal(status, body, err)
	}
}

func TestEveryScanIsPushedOnceItHappens(t *testing.T) {
	c, l := pushing(t,
		emulator.Scan{Code: "OC", Text: "Label created"}, emulator.Scan{Code: "PU", Text: "Picked up"},
		emulator.Scan{After: emulator.Duration(300 * time.Millisecond), Code: "DL", Text: "Delivered"},
		emulator.Scan{After: emulator.Duration(time.Hour), Code: "RS", Text: "Returned"})
	e := &ears{t: t, refuse: 1}
	to := httptest.NewServer(e)
	t.Cleanup(to.Close)
	c.buy()
	c.push(to.URL)
	c.buy()
	e.wait(6)
	all := strings.Join(e.heard, "\n")
	for _, sale := range l.Entries() {
		for _, code := range []string{"OC", "PU", "DL"} {
			if n := strings.Count(all, `"eventType":"`+code+`"`); n != 2 || !strings.Contains(all, `"trackingNumber":"`+sale.Number+`"`) {
				t.Errorf("%s was pushed %d times", code, n)
			}
		}
	}
	if strings.Contains(all, "Returned") || !strings.Contains(all, `"attemptNumber":2`) {
		t.Errorf("pushed %s", all)
	}

	// A push is counted when its answer is read, which is after it was received.
	shown := ""
	for range 100 {
		if _, shown, _ = c.ask("GET", "/_emulator/push", ""); strings.Contains(shown, `"pushed":6`) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !strings.Contains(shown, `"pushed":6`) || !strings.Contains(shown, `"failed":0`) {
		t.Errorf("it says %s", shown)
	}
}

func TestPushesEndWithTheLedgerOrWithoutAnAddress(t *testing.T) {
	for name, end := range map[string]func(client, *emulator.Ledger){
		"the ledger is closed": func(_ client, l *emulator.Ledger) { _ = l.Close() },
		"no address":           func(c client, _ *emulator.Ledger) { c.push("") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, l := pushing(t, emulator.Scan{Code: "OC"}, emulator.Scan{After: emulator.Duration(time.Second), Code: "PU"})
			e := &ears{t: t}
			to := httptest.NewServer(e)
			t.Cleanup(to.Close)
			c.push(to.URL)
			c.buy()
			e.wait(1)
			end(c, l)
			time.Sleep(1200 * time.Millisecond)
			if n := e.count(); n != 1 {
				t.Errorf("%d pushes", n)
			}
		})
	}
}

func TestCancellationsArePushed(t *testing.T) {
	c, l := pushing(t, emulator.Scan{Code: "OC"}, emulator.Scan{After: emulator.Duration(time.Hour), Code: "PU"})
	e := &ears{t: t}
	to := httptest.NewServer(e)
	t.Cleanup(to.Close)
	c.push(to.URL)
	c.buy()
	void := `{"accountNumber":{"value":"740561073"},"trackingNumber":"` + l.Entries()[0].Number + `"}`
	if status, body, err := c.ask("PUT", "/ship/v1/shipments/cancel", void); status != 200 || err != nil {
		t.Fatal(status, body, err)
	}
	e.wait(2)
	if all := strings.Join(e.heard, "\n"); !strings.Contains(all, `"eventType":"CA"`) {
		t.Errorf("pushed %s", all)
	}
}

func TestPushesNeedAnAddressAndAToken(t *testing.T) {
	c, _ := pushing(t)
	for _, body := range []string{`{"url":"http://127.0.0.1:1"}`, `{"url":"nowhere","token":"t"}`, `{"url":`, `{"url":"http://%zz","token":"t"}`} {
		if status, _, err := c.ask("PUT", "/_emulator/push", body); status != 422 || err != nil {
			t.Errorf("%s: %d, %v", body, status, err)
		}
	}
}
