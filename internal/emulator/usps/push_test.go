package usps_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/usps"
)

const (
	secret32 = "0123456789abcdefghijklmnopqrstuv"
	listPath = "/subscriptions-tracking/v3/subscriptions"
)

// listener is a subscriber.
type listener struct {
	*httptest.Server
	mu     sync.Mutex
	codes  []string // number and code of each event with a valid signature
	wrong  int      // proofs
	refuse int      // how many more requests are answered with 500
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.refuse > 0 {
			l.refuse--
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		l.take(r.Header.Get("X-HMAC"), body)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) take(proof string, body []byte) {
	var in struct{ Timestamp, Payload string }
	var result struct {
		Number string `json:"trackingNumber"`
		Events []struct {
			Code string `json:"eventCode"`
		} `json:"trackingEvents"`
	}
	_ = json.Unmarshal(body, &in)
	_ = json.Unmarshal([]byte(in.Payload), &result)
	mac := hmac.New(sha256.New, []byte(secret32))
	mac.Write([]byte(in.Timestamp + in.Payload))
	if proof != base64.StdEncoding.EncodeToString(mac.Sum(nil)) || len(result.Events) != 1 {
		l.wrong++
		return
	}
	l.codes = append(l.codes, result.Number+" "+result.Events[0].Code)
}

// heard waits for the given number of events, then a little longer for
// unexpected ones, and lists them.
func (l *listener) heard(t *testing.T, n int) string {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		enough := len(l.codes) >= n
		l.mu.Unlock()
		if enough {
			break
		}
	}
	time.Sleep(30 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong > 0 {
		t.Errorf("%d wrong proofs", l.wrong)
	}
	return strings.Join(l.codes, ",")
}

func (c *client) subscribe(url string) (id string, status int, said string) {
	c.t.Helper()
	var answer struct {
		ID string `json:"subscriptionId"`
	}
	status, said = c.do("POST", listPath, "", fmt.Sprintf(`{"listenerURL":%q,"secret":%q,"filterProperties":{"MID":%q}}`, url, secret32, usps.MID), &answer)
	return answer.ID, status, said
}

func script(codes ...string) emulator.Faults {
	var k emulator.Faults
	for i, code := range codes {
		k.Tracking = append(k.Tracking, emulator.Scan{After: emulator.Duration(time.Duration(i) * 20 * time.Millisecond), Code: code})
	}
	return k
}

func TestEventsArePushedAsTheyHappen(t *testing.T) {
	s, c, _ := start(t, "")
	l := listen(t)
	if err := s.Turn(script("03", "10", "01")); err != nil {
		t.Fatal(err)
	}
	var before, sold, voided label
	c.do("POST", "/labels/v3/label", key2, request(nil), &before)
	time.Sleep(50 * time.Millisecond)
	if _, status, said := c.subscribe(l.URL); status != 201 {
		t.Fatalf("%d %s", status, said)
	}
	l.refuse = 1 // the first is sent again
	c.do("POST", "/labels/v3/label", key1, request(nil), &sold)
	want := fmt.Sprintf("%[1]s 03,%[1]s 10,%[1]s 01", sold.Number)
	if got := l.heard(t, 3); got != want {
		t.Errorf("heard %s, want %s: what had happened before is not told", got, want)
	}
	if err := s.Turn(emulator.Faults{Tracking: []emulator.Scan{{After: emulator.Duration(time.Hour), Code: "01"}}}); err != nil {
		t.Fatal(err)
	}
	c.do("POST", "/labels/v3/label", "8be4df61-93ca-41d2-aa0d-00e098032b8e", request(nil), &voided)
	c.do("DELETE", "/labels/v3/label/"+voided.Number, "", "", nil)
	if err := s.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "09"}}}); err != nil {
		t.Fatal(err)
	}
	if got := l.heard(t, 5); strings.Count(got, " 09") != 2 || strings.Contains(got, voided.Number) {
		t.Errorf("after another script: %s", got)
	}
}

func TestASubscriptionOutlivesTheStandIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	l := listen(t)
	_, c, stop := start(t, file)
	id, _, _ := c.subscribe(l.URL)
	gone, _, _ := c.subscribe(l.URL + "/gone")
	c.delete(gone, `"`+gone[:8]+`"`)
	stop()
	s, c, stop := start(t, file)
	if err := s.Turn(script("03", "01")); err != nil {
		t.Fatal(err)
	}
	var sold label
	c.do("POST", "/labels/v3/label", key1, request(nil), &sold)
	want := fmt.Sprintf("%[1]s 03,%[1]s 01", sold.Number)
	if got := l.heard(t, 2); got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	if again, status, said := c.subscribe(l.URL); status != 400 || again != "" || !strings.Contains(said, id) {
		t.Errorf("%d %s", status, said)
	}
	stop()
	if err := s.Turn(script("09", "09", "09")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1200 * time.Millisecond) // it looks at the faults once in a second
	if got := l.heard(t, 0); got != want {
		t.Errorf("after the end: %s", got)
	}
}

// delete ends a subscription, with a version.
func (c *client) delete(id, version string) int {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodDelete, c.at+listPath+"/"+id, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.access)
	req.Header.Set("If-Match", version)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestSubscriptionsThatAreRefused(t *testing.T) {
	_, c, _ := start(t, "")
	for want, body := range map[string]string{
		"https":         `{"listenerURL":"http://example.com/in","secret":"` + secret32 + `","filterProperties":{"MID":"` + usps.MID + `"}}`,
		"32 characters": `{"listenerURL":"https://example.com/in","secret":"short","filterProperties":{"MID":"` + usps.MID + `"}}`,
		"caller's":      `{"listenerURL":"https://example.com/in","secret":"` + secret32 + `","filterProperties":{"MID":"1"}}`,
		"not allowed":   `{"listenerURL":"https://example.com/in","secret":"` + secret32 + `","filterProperties":{"MID":"` + usps.MID + `"},"colour":"red"}`,
	} {
		if status, said := c.do("POST", listPath, "", body, nil); status != 400 || !strings.Contains(said, want) {
			t.Errorf("%d %s, want %s", status, said, want)
		}
	}
	id, _, _ := c.subscribe("https://example.com/in")
	for path, want := range map[string]int{"?MID=" + usps.MID: 200, "?MID=1": 404, "": 400, "/" + id: 200, "/unknown": 404} {
		if status, said := c.do("GET", listPath+path, "", "", nil); status != want {
			t.Errorf("GET %s: %d %s, want %d", path, status, said, want)
		}
	}
	for _, tc := range []struct {
		id, version string
		want        int
	}{{"unknown", "", 404}, {id, "", 412}, {id, `"` + id[:8] + `"`, 200}, {id, `"` + id[:8] + `"`, 404}} {
		if status := c.delete(tc.id, tc.version); status != tc.want {
			t.Errorf("DELETE %s %s: %d, want %d", tc.id, tc.version, status, tc.want)
		}
	}
}
