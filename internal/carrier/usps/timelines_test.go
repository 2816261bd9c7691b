package usps

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// The parcels of the answers in testdata/track: the first is asked for by its
// barcode, with the ZIP code before the number.
const (
	parcelA = "9400100000000000000013"
	parcelB = "9400100000000000000020"
	parcelC = "LZ123456785US"
)

// said issues tokens, and answers every other request with a status and a body.
type said struct {
	status int
	body   string
	sent   []string
}

// Do is carrier.Doer.
func (s *said) Do(r *http.Request) (*http.Response, error) {
	status, body := s.status, s.body
	if strings.HasSuffix(r.URL.Path, "/token") {
		status, body = http.StatusOK, `{"access_token":"an-access-token","expires_in":"28799","scope":"tracking subscriptions-tracking"}`
	} else if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.sent = append(s.sent, string(data))
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func listening(t testing.TB, via carrier.Doer, secret string) *carrier.Carrier {
	t.Helper()
	c, err := carrier.Open(Spec, carrier.Opening{BaseURL: Spec.TestURL, Via: via, PushSecret: secret, Credentials: carrier.Credentials{
		"client_id": "id", "client_secret": "a-client-secret", "crid": "1", "mid": "903456789", "account_number": "2",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnswersBecomeTimelines(t *testing.T) {
	files, err := filepath.Glob("testdata/track/*.json")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d answers, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			numbers := []string{"42063104" + parcelA, parcelB, strings.ToLower(parcelC)}
			heard, err := listening(t, &said{status: http.StatusMultiStatus, body: string(body)}, "").Track(t.Context(), numbers)
			if err != nil {
				t.Fatal(err)
			}
			got := timeline(heard)
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("it is\n%swant\n%s", got, want)
			}
		})
	}
}

// timeline writes the decoded updates, one line per event.
func timeline(heard []carrier.TrackingUpdate) string {
	var b strings.Builder
	for _, h := range heard {
		zone := ""
		if h.Scan.ZoneUnknown {
			zone = " zone unknown"
		}
		estimate := "-"
		if !h.EstimateAt.IsZero() {
			estimate = h.EstimateAt.Format(time.DateOnly)
		}
		s := h.Scan
		fmt.Fprintf(&b, "%s | %s%s | %s %s | %s | %s | %s | %s\n", h.TrackingNumber, s.At.Format(time.RFC3339), zone, s.Status, s.Reason, s.Code, s.Location, s.Description, estimate)
	}
	return b.String()
}

// TestATimelineEndsWhereTheParcelIs checks the responses together with the
// domain's interpretation of them.
func TestATimelineEndsWhereTheParcelIs(t *testing.T) {
	for file, want := range map[string]string{
		"delivered": "delivered ", "exception": "exception delivery_attempted", "return": "exception return_to_sender",
		"out_of_order": "out_for_delivery ", "unknown_code": "out_for_delivery ", "odd_date": "in_transit ",
	} {
		body, err := os.ReadFile("testdata/track/" + file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		heard, err := listening(t, &said{status: 200, body: string(body)}, "").Track(t.Context(), []string{parcelA})
		if err != nil {
			t.Fatal(err)
		}
		var scans []ship.Scan
		for _, h := range heard {
			scans = append(scans, h.Scan)
			if h.TrackingNumber != parcelA || !bytes.HasPrefix(h.Raw, []byte("{")) {
				t.Errorf("%s: heard of %s: %s", file, h.TrackingNumber, h.Raw)
			}
		}
		p := ship.Advance(ship.Progress{}, scans, 1)
		if got := fmt.Sprintf("%s %s", p.Status, p.Reason); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestWhatUSPSDoesNotKnowIsNoError(t *testing.T) {
	refusal := func(code string) string {
		return `{"apiVersion":"/tracking/v3r2","error":{"code":"400","message":"Bad Request","errors":[{"status":"400","code":"` + code + `","detail":"none"}]}}`
	}
	for _, tc := range []struct {
		name    string
		status  int
		body    string
		numbers []string
		want    ship.Kind
	}{
		{"not yet", 400, refusal("150001"), []string{parcelA}, ""},
		{"another shipper's", 400, refusal("150010"), []string{parcelA}, ""},
		{"not found", 404, refusal("404"), []string{parcelA}, ""},
		{"not yet, by its words", 404, said150006("A status update is not yet available on your package."), []string{parcelA}, ""},
		{"too many on one slip", 400, said150006("3 items were also tied to your 3849 ID but exceeded the maximum number"), []string{parcelA}, ship.Invalid},
		{"another mailer's", 403, `{"error":{"code":"403","message":"Forbidden","errors":[]}}`, []string{parcelA}, ship.Forbidden},
		{"no such path, with a code", 404, `{"fault":{"faultstring":"Unable to identify proxy","detail":{"errorcode":"messaging.adaptors.http.flow.ApplicationNotFound"}}}`, []string{parcelA}, ship.NotFound},
		{"the whole batch", 400, refusal("150001"), []string{parcelA, parcelB}, ship.Invalid},
		{"no such path", 404, `{"fault":{"faultstring":"no proxy"}}`, []string{parcelA}, ship.NotFound},
		{"another refusal", 400, refusal("010005"), []string{parcelA}, ship.Invalid},
		{"an empty list", 200, `[]`, []string{parcelA}, ""},
		{"nothing at all", 200, `{}`, []string{parcelA}, ship.Unavailable},
		{"a number", 200, `7`, []string{parcelA}, ship.Unavailable},
		{"a null", 200, `null`, []string{parcelA}, ship.Unavailable},
		{"a page", 200, `<html>`, []string{parcelA}, ship.Unavailable},
	} {
		heard, err := listening(t, &said{status: tc.status, body: tc.body}, "").Track(t.Context(), tc.numbers)
		if len(heard) > 0 || tc.want == "" && err != nil || tc.want != "" && ship.KindOf(err) != tc.want {
			t.Errorf("%s: %v, %v; want %q", tc.name, heard, err, tc.want)
		}
	}
}

// said150006 returns a code that USPS uses in two senses.
func said150006(words string) string {
	return `{"apiVersion":"/tracking/v3r2","error":{"code":"404","message":"Not Found","errors":[{"code":"150006","detail":"` + words + `"}]}}`
}

func TestAForeignParcelSaysWhoseParcelsAreShown(t *testing.T) {
	_, err := listening(t, &said{status: 403, body: `{"error":{"code":"403","message":"Forbidden","errors":[]}}`}, "").Track(t.Context(), []string{parcelA})
	if err == nil || !strings.Contains(err.Error(), "only parcels of your own mailer ID") {
		t.Errorf("err = %v", err)
	}
}

func TestOddNumbersAreNotAskedFor(t *testing.T) {
	via := &said{status: 200, body: `[]`}
	c := listening(t, via, "")
	if _, err := c.Track(t.Context(), []string{"", "7", "ÄÖÜ1234567890", parcelA, "4206310423519400100000000000000013", "9400 1000 0000 0000 0000 20", strings.Repeat("9", 60)}); err != nil {
		t.Fatal(err)
	}
	want := `[{"trackingNumber":"` + parcelA + `"},{"trackingNumber":"` + parcelB + `"}]`
	if len(via.sent) != 1 || via.sent[0] != want {
		t.Errorf("sent %s, want %s", via.sent, want)
	}
	if _, err := c.Track(t.Context(), []string{"?"}); err != nil || len(via.sent) != 1 {
		t.Errorf("%d requests, %v", len(via.sent), err)
	}
	many := make([]string, trackBatch+1)
	for i := range many {
		many[i] = fmt.Sprintf("%022d", i)
	}
	if _, err := c.Track(t.Context(), many); ship.KindOf(err) != ship.Invalid || len(via.sent) != 1 {
		t.Errorf("%v after %d requests", err, len(via.sent))
	}
}

func TestAnAppWithoutTheScopeIsNotAskedFor(t *testing.T) {
	asked := 0
	via := doer(func(r *http.Request) (*http.Response, error) {
		body := `{"access_token":"t","expires_in":"28799","scope":"labels prices"}`
		if !strings.HasSuffix(r.URL.Path, "/token") {
			asked++
			body = `[]`
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
	})
	c := listening(t, via, testSecret)
	if _, err := c.Track(t.Context(), []string{parcelA}); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("Track: %v", err)
	}
	if _, err := c.Subscribe(t.Context(), carrier.Subscription{URL: "https://example.com/in"}); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("Subscribe: %v", err)
	}
	if asked > 0 {
		t.Errorf("%d requests", asked)
	}
}

type doer func(*http.Request) (*http.Response, error)

// Do is carrier.Doer.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }
