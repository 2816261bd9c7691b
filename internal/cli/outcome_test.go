package cli_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/cli"
)

// against returns a terminal of a service that answers as the function does.
func against(t *testing.T, answer http.HandlerFunc) shell {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return shell{"WAYBILL_KEY": "sk_test_1", "WAYBILL_URL": server.URL, "WAYBILL_CONFIG_DIR": t.TempDir()}
}

// says answers with a status and a body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// TestAPurchaseWhoseOutcomeIsOpenEndsWithItsOwnCode: a script that takes it for a
// failure, or repeats it under another key, may buy twice.
func TestAPurchaseWhoseOutcomeIsOpenEndsWithItsOwnCode(t *testing.T) {
	t.Parallel()
	buy := []string{"ship", "--order-id", "1", "--to", toJane, "--weight", "1lb"}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		args   []string
		code   int
		says   string
	}{
		"unknown":     {says(503, `{"code":"outcome_unknown"}`), buy, 7, ""},
		"restored":    {says(503, `{"code":"restore_pending"}`), buy, 7, ""},
		"in progress": {says(409, `{"code":"idempotency_in_progress"}`), buy, 7, ""},
		"no answer":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, buy, 7, ""},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"id":`)
		}, buy, 7, "was cut off"},
		"half an answer of a GET": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"id":`)
		}, []string{"shipments", "get", "shp_1"}, 6, "was cut off"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				http.Redirect(w, r, "/v1/shipments", http.StatusFound)
				return
			}
			fmt.Fprint(w, `{"data":[],"nextCursor":null}`)
		}, buy, 1, "redirects to /v1/shipments"},
		"approval": {says(202, `{"id":"shp_1","labelStatus":"pending","approval":{"id":"apr_1","status":"waiting"}}`), buy, 7, "a person must approve it"},
		"carrier":  {says(202, `{"id":"shp_1","labelStatus":"pending"}`), buy, 7, "the carrier has not answered yet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := against(t, test.answer).run(t, test.args...)
			if cli.ExitCode(err) != test.code || err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("ends with %d: %v; want %d, %q", cli.ExitCode(err), err, test.code, test.says)
			}
		})
	}
}

func TestAnInterruptedWaitIsNoAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(503)
		time.AfterFunc(200*time.Millisecond, cancel)
	}))
	t.Cleanup(server.Close)
	_, err := client.New("sk_test_1", client.Options{BaseURL: server.URL}).Carriers(ctx)
	if cli.ExitCode(err) != 130 {
		t.Errorf("ends with %d: %v", cli.ExitCode(err), err)
	}
}

func TestFlagsThatAreMissingOrExcludeEachOtherAreWrongUsage(t *testing.T) {
	t.Parallel()
	s := shell{"WAYBILL_KEY": "sk_test_1", "WAYBILL_URL": "http://127.0.0.1:1", "WAYBILL_CONFIG_DIR": t.TempDir()}
	for _, args := range [][]string{
		{"pickup", "resolve", "pik_1"},
		{"pickup", "resolve", "pik_1", "--booked", "--not-booked"},
	} {
		if _, _, err := s.run(t, args...); cli.ExitCode(err) != 2 {
			t.Errorf("%v ends with %d: %v", args, cli.ExitCode(err), err)
		}
	}
}

// TestTheKeyOfAnyPostIsPrintedBeforeTheCall: it is needed when the answer is lost.
func TestTheKeyOfAnyPostIsPrintedBeforeTheCall(t *testing.T) {
	t.Parallel()
	var sent atomic.Value
	s := against(t, func(_ http.ResponseWriter, r *http.Request) {
		sent.Store(r.Header.Get("Idempotency-Key"))
		panic(http.ErrAbortHandler)
	})
	_, said, err := s.run(t, "api", "POST", "/v1/shipments", "-d", "{}")
	found := regexp.MustCompile(`(?m)^idempotency key: (\S+)$`).FindStringSubmatch(said)
	if found == nil || found[1] != sent.Load() || cli.ExitCode(err) != 7 {
		t.Errorf("sent %v and printed %q, %v", sent.Load(), said, err)
	}
}

// TestAnOrderWhoseLabelWasVoidedDoesNotLookBought: the service answers the repeated
// purchase as it did the first time, with a label that is no longer valid.
func TestAnOrderWhoseLabelWasVoidedDoesNotLookBought(t *testing.T) {
	t.Parallel()
	now := "ready"
	s := against(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Idempotent-Replayed", "true")
		status := now
		if r.Method == http.MethodPost {
			status = "ready"
		}
		fmt.Fprintf(w, `{"id":"shp_1","orderId":"1","labelStatus":%q}`, status)
	})
	buy := []string{"ship", "--order-id", "1", "--to", toJane, "--weight", "1lb"}

	out, said, err := s.run(t, buy...)
	if err != nil || !strings.Contains(out, "ready") || !strings.Contains(said, "order 1 was bought with this key") {
		t.Errorf("bought before: %v\n%s%s", err, out, said)
	}
	for _, now = range []string{"voided", "refund_pending"} {
		out, _, err := s.run(t, buy...)
		if cli.ExitCode(err) != 1 || !strings.Contains(err.Error(), "--idempotency-key cli-1-2") || strings.Contains(out, "ready") {
			t.Errorf("%s: %v\n%s", now, err, out)
		}
	}
}

func TestAnImportCountsWhatWasRefusedApart(t *testing.T) {
	t.Parallel()
	files := []string{filepath.Join(t.TempDir(), "export.json")}
	const export = `[{"object":"Tracker","tracking_code":"1Z1","carrier":"UPS","status":"in_transit"},
		{"object":"Tracker","tracking_code":"bad","carrier":"UPS","status":"in_transit"}]`
	if err := os.WriteFile(files[0], []byte(export), 0o600); err != nil {
		t.Fatal(err)
	}
	s := against(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "bad") {
			w.WriteHeader(422)
			fmt.Fprint(w, `{"error":{"code":"TRACKER.CREATE.ERROR","message":"the request has invalid fields","errors":[{"field":"tracking_code","message":"is not a number of UPS"}]}}`)
			return
		}
		fmt.Fprint(w, `{}`)
	})

	out, _, err := s.run(t, append([]string{"import", "easypost"}, files...)...)
	if err != nil || !strings.Contains(out, "0 addresses and 1 open trackers imported") ||
		!strings.Contains(out, "0 addresses and 1 trackers were refused") || !strings.Contains(out, "not imported: bad: the request has invalid fields; tracking_code is not a number of UPS") {
		t.Errorf("%v\n%s", err, out)
	}

	s["WAYBILL_KEY"] = "sk_live_1"
	if _, _, err := s.run(t, append([]string{"import", "easypost"}, files...)...); err == nil || !strings.Contains(err.Error(), "add --live") {
		t.Errorf("with a live key: %v", err)
	}
	s.must(t, append([]string{"import", "easypost", "--live"}, files...)...)
}

func TestStatusesAreCompletedAsTheAPIHasThem(t *testing.T) {
	t.Parallel()
	if out := (shell{}).must(t, "__complete", "shipments", "list", "--status", "label"); !strings.Contains(out, "label_generated") {
		t.Errorf("completes %q", out)
	}
}
