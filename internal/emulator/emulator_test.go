package emulator_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// standIn is an emulator with the minimum of paths.
type standIn struct {
	*emulator.Server
	url string
}

func newStandIn(t *testing.T) standIn {
	t.Helper()
	s := emulator.New("acme", open(t, ""))
	s.Failure = func(status int) (string, []byte) {
		return "application/json", []byte(`{"acme":` + http.StatusText(status)[:1] + `}`)
	}
	answer := func(e emulator.Entry) (int, string, []byte) {
		return http.StatusOK, "application/json", []byte(`{"number":"` + e.Number + `","reference":"` + e.Reference + `"}`)
	}
	s.Handle("POST /buy", true, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if s.Refuses() {
			s.Fail(w, http.StatusBadRequest)
			return
		}
		s.Sell(w, r, emulator.Entry{Number: "N" + string(body), Reference: string(body)}, answer)
	})
	s.Handle("POST /void/{number}", false, func(w http.ResponseWriter, r *http.Request) {
		s.TakeBack(w, r, r.PathValue("number"), func(again, known bool) (int, string, []byte) {
			if !known {
				return http.StatusNotFound, "application/json", []byte("{}")
			}
			return http.StatusOK, "application/json", []byte(`{"again":` + map[bool]string{true: "true", false: "false"}[again] + `}`)
		})
	})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return standIn{s, server.URL}
}

// answer is what a client sees.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // from the request or from reading the body
}

func (s standIn) ask(t *testing.T, method, path, token, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b), err}
}

func (s standIn) turn(t *testing.T, k emulator.Faults) {
	t.Helper()
	if err := s.Turn(k); err != nil {
		t.Fatal(err)
	}
}

// all returns the shares for a fault that always happens.
func all(fault string) map[string]float64 {
	if fault == "" {
		return nil
	}
	return map[string]float64{fault: 1}
}

func TestEveryFaultAfterASaleLeavesTheSale(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	token, _ := s.NewToken()
	for fault, right := range map[string]func(answer) bool{
		"":      func(a answer) bool { return a.status == 200 && a.body == `{"number":"N","reference":""}` },
		"hang":  func(a answer) bool { return errors.Is(a.err, context.DeadlineExceeded) },
		"reset": func(a answer) bool { return errors.Is(a.err, io.EOF) },
		"500":   func(a answer) bool { return a.status == 500 && a.body == `{"acme":I}` },
		"502":   func(a answer) bool { return a.status == 502 && strings.HasPrefix(a.body, "<html>") },
		"truncate": func(a answer) bool {
			return a.status == 200 && errors.Is(a.err, io.ErrUnexpectedEOF) && a.body == `{"number":"N",`
		},
		"wrong_reference": func(a answer) bool {
			return a.status == 200 && a.body == `{"number":"N","reference":"OTHER"}`
		},
	} {
		before := len(s.Ledger.Entries())
		s.turn(t, emulator.Faults{Buy: all(fault), HangFor: emulator.Duration(time.Second)})
		if a := s.ask(t, "POST", "/buy", token, ""); !right(a) {
			t.Errorf("%s: %+v", fault, a)
		}
		list := s.Ledger.Entries()
		if len(list) != before+1 || list[before].Reference != "" {
			t.Errorf("%s: the ledger grows by %d lines, want the sale as it was asked for", fault, len(list)-before)
		}
	}
}

func TestFaultsBeforeASaleSellNothing(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	token, _ := s.NewToken()
	for name, tc := range map[string]struct {
		faults emulator.Faults
		token  string
		status int
	}{
		"limit":    {emulator.Faults{Limit: 1}, token, 429},
		"down":     {emulator.Faults{Down: 1}, token, 503},
		"expired":  {emulator.Faults{Expired: 1}, token, 401},
		"stranger": {emulator.Faults{}, "x", 401},
		"no token": {emulator.Faults{}, "", 401},
		"refuse":   {emulator.Faults{Refuse: 1}, token, 400},
		"stall":    {emulator.Faults{Stall: 1, HangFor: emulator.Duration(time.Second)}, token, 0},
		"slow":     {emulator.Faults{Latency: emulator.Duration(time.Second)}, token, 0},
	} {
		s.turn(t, tc.faults)
		a := s.ask(t, "POST", "/buy", tc.token, "1")
		if a.status != tc.status || (a.status == 0) != (a.err != nil) {
			t.Errorf("%s: %+v, want %d", name, a, tc.status)
		}
		if name == "limit" && a.header.Get("Retry-After") != "1" {
			t.Errorf("%s: Retry-After %q", name, a.header.Get("Retry-After"))
		}
	}
	if list := s.Ledger.Entries(); len(list) > 0 {
		t.Errorf("it sold %+v", list)
	}
}

// A carrier may compress responses although the request does not accept that:
// sales, refusals, failures, and the first half of a sale if the response is
// cut off.
func TestAnswersAreCompressedUnasked(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	token, _ := s.NewToken()
	for name, tc := range map[string]struct {
		faults emulator.Faults
		status int
		body   string
		err    error
	}{
		"sale":     {emulator.Faults{Compress: 1}, 200, `{"number":"N1","reference":"1"}`, nil},
		"refusal":  {emulator.Faults{Compress: 1, Refuse: 1}, 400, `{"acme":B}`, nil},
		"down":     {emulator.Faults{Compress: 1, Down: 1}, 503, `{"acme":S}`, nil},
		"truncate": {emulator.Faults{Compress: 1, Buy: all("truncate")}, 200, `{"number":"N1",`, io.ErrUnexpectedEOF},
	} {
		s.turn(t, tc.faults)
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/buy", strings.NewReader("1"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != tc.status || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: status %d, %v", name, resp.StatusCode, resp.Header)
		}
		plain, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(plain)
		if string(body) != tc.body || !errors.Is(err, tc.err) {
			t.Errorf("%s: %q, %v", name, body, err)
		}
		resp.Body.Close()
	}
}

func TestTokensEnd(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.turn(t, emulator.Faults{TokenLife: emulator.Duration(2 * time.Hour)})
	token, life := s.NewToken()
	if life != 2*time.Hour || !s.TokenGood(token) {
		t.Fatalf("a new token is good for %v: %v", life, s.TokenGood(token))
	}
	s.turn(t, emulator.Faults{TokenLife: emulator.Duration(10 * time.Millisecond)})
	short, _ := s.NewToken()
	time.Sleep(15 * time.Millisecond)
	if s.TokenGood(short) {
		t.Error("it is good after its life")
	}
}

func TestVoidsAreRefusedLostOrDoneAgain(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	for _, n := range []string{"N1", "N2", "N3"} {
		sell(t, s.Ledger, emulator.Entry{Number: n})
	}
	for _, tc := range []struct {
		fault, number, body string
		status              int
		voided              bool
	}{
		{"refuse", "N1", `{"acme":B}`, 400, false},
		{"", "N1", `{"again":false}`, 200, true},
		{"", "N1", `{"again":true}`, 200, true},
		{"lost", "N2", "", 0, true},
		{"hang", "N3", "", 0, true},
		{"", "N4", "{}", 404, false},
	} {
		s.turn(t, emulator.Faults{Void: all(tc.fault), HangFor: emulator.Duration(time.Second)})
		a := s.ask(t, "POST", "/void/"+tc.number, "", "")
		if _, voided, _ := s.Ledger.Sold(tc.number); a.status != tc.status || a.body != tc.body || voided != tc.voided {
			t.Errorf("%s of %s: %+v, voided %v", tc.fault, tc.number, a, voided)
		}
	}
}

func TestALookUpMissesWhatIsTooYoungOrVoided(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	sell(t, s.Ledger, emulator.Entry{Number: "N1", Reference: "S1", Second: "shp_1"})
	if n := len(s.Find("S1")) + len(s.Find("shp_1")); n != 2 || len(s.Find("S2")) != 0 {
		t.Errorf("%d are found by both references", n)
	}
	s.turn(t, emulator.Faults{LookupLag: new(emulator.Duration(time.Hour))})
	if found := s.Find("S1"); len(found) > 0 {
		t.Errorf("found at once: %+v", found)
	}
	s.turn(t, emulator.Faults{LookupLag: new(emulator.Duration(50 * time.Millisecond))})
	time.Sleep(60 * time.Millisecond)
	if len(s.Find("S1")) != 1 {
		t.Error("not found after the lag")
	}
	s.turn(t, emulator.Faults{LookupFlap: 0.5})
	found := 0
	for range 1000 {
		found += len(s.Find("S1"))
	}
	if found < 400 || found > 600 {
		t.Errorf("with half of the look-ups flapping %d of 1000 find it", found)
	}
	s.turn(t, emulator.Faults{})
	sell(t, s.Ledger, emulator.Entry{Number: "N2", Reference: "S1"})
	if _, _, err := s.Ledger.Void("N1"); err != nil {
		t.Fatal(err)
	}
	if found := s.Find("S1"); len(found) != 1 || found[0].Number != "N2" {
		t.Errorf("after a void it finds %+v", found)
	}
}

func TestALookUpHasTheCarriersDelay(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.LookupDelay = time.Hour
	sell(t, s.Ledger, emulator.Entry{Number: "N1", Reference: "S1"})
	if found := s.Find("S1"); len(found) > 0 {
		t.Errorf("found before the carrier's delay: %+v", found)
	}

	// A fault replaces the delay, also by none.
	s.turn(t, emulator.Faults{LookupLag: new(emulator.Duration(0))})
	if len(s.Find("S1")) != 1 {
		t.Error("not found without a delay")
	}
	s.turn(t, emulator.Faults{})
	if found := s.Find("S1"); len(found) > 0 {
		t.Errorf("found before the carrier's delay, after the fault: %+v", found)
	}

	// Compressed to 36 ms.
	s.LookupScale = 0.00001
	time.Sleep(40 * time.Millisecond)
	if len(s.Find("S1")) != 1 {
		t.Error("not found after the compressed delay")
	}
	s.turn(t, emulator.Faults{LookupLag: new(emulator.Duration(time.Hour))})
	if found := s.Find("S1"); len(found) > 0 {
		t.Errorf("found before the delay of the fault: %+v", found)
	}
}

func TestSharesAreAboutRight(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	token, _ := s.NewToken()
	s.turn(t, emulator.Faults{Refuse: 0.2, Buy: map[string]float64{"500": 0.25, "502": 0.125}})
	seen := map[int]int{}
	const n = 2000
	for range n {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/buy", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		s.ServeHTTP(w, r)
		seen[w.Code]++
	}
	// Five standard deviations are at most 0.056.
	for status, share := range map[int]float64{400: 0.2, 500: 0.8 * 0.25, 502: 0.8 * 0.125, 200: 0.8 * 0.625} {
		if got := float64(seen[status]) / n; got < share-0.056 || got > share+0.056 {
			t.Errorf("%d: a share of %v, want about %v", status, got, share)
		}
	}
	if sold := len(s.Ledger.Entries()); sold != n-seen[400] {
		t.Errorf("%d sold of %d that were not refused", sold, n-seen[400])
	}
}

func TestFaultsAreTurnedWhileItRuns(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	set := `{"latency":"5ms","limit":0.25,"buy":{"hang":0.08},"lookupLag":"1m30s"}`
	if a := s.ask(t, "PUT", "/_emulator/faults", "", set); a.status != 204 {
		t.Fatalf("%+v", a)
	}
	a := s.ask(t, "GET", "/_emulator/faults", "", "")
	if strings.TrimSpace(a.body) != set {
		t.Errorf("the faults read %s, want %s", a.body, set)
	}
	for body, want := range map[string]string{
		`{"limit":1.5}`:                           "must be a share",
		`{"refuse":-0.1}`:                         "must be a share",
		`{"buy":{"hang":-0.5,"reset":1}}`:         "must be a share",
		`{"buy":{"explode":0.1}}`:                 `unknown fault "explode"`,
		`{"void":{"reset":0.1}}`:                  `unknown fault "reset"`,
		`{"buy":{"hang":0.6,"reset":0.6}}`:        "add up",
		`{"latency":"soon"}`:                      "invalid duration",
		`{"latency":"-1s"}`:                       "-1s",
		`{"latency":5}`:                           "cannot unmarshal",
		`{"latencies":"5ms"}`:                     "unknown field",
		`{"buy":{"500":0.7,"502":0.2,"hang":`:     "unexpected EOF",
		`{"tracking":[{"after":"x","code":"D"}]}`: "invalid duration",
	} {
		if a := s.ask(t, "PUT", "/_emulator/faults", "", body); a.status != 422 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s, want it to say %q", body, a.status, a.body, want)
		}
	}
	if a := s.ask(t, "GET", "/_emulator/faults", "", ""); strings.TrimSpace(a.body) != set {
		t.Errorf("after mistakes the faults read %s", a.body)
	}
	tenths := map[string]float64{"hang": 0.1, "reset": 0.2, "500": 0.3, "502": 0.4}
	if err := s.Turn(emulator.Faults{Buy: tenths}); err != nil {
		t.Errorf("shares of one in all: %v", err)
	}
}

func TestTheLedgerIsReadOverHTTP(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	sell(t, s.Ledger, emulator.Entry{Number: "N1", Reference: "S1", Amount: "12.34", Currency: "USD", Kept: json.RawMessage(`{"label":"AAAA"}`)})
	if _, _, err := s.Ledger.Void("N1"); err != nil {
		t.Fatal(err)
	}
	a := s.ask(t, "GET", "/_emulator/ledger", "", "")
	var lines []emulator.Entry
	for dec := json.NewDecoder(bytes.NewReader([]byte(a.body))); dec.More(); {
		var e emulator.Entry
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, e)
	}
	if len(lines) != 2 || lines[0].Kind != "sold" || lines[0].Amount != "12.34" || lines[1].Kind != "voided" || lines[1].Reference != "S1" || strings.Contains(a.body, "AAAA") {
		t.Errorf("the ledger reads\n%s", a.body)
	}
}
