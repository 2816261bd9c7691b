package carrierkit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// serve starts a carrier, and returns its address.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// closedPort returns an address that nobody listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestDoDecodesTheAnswer(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"heard":%s,"type":%q}`, body, r.Header.Get("Content-Type"))
	})
	var got struct{ Heard, Type string }
	err := carrierkit.Call{Method: "POST", URL: at, Body: "hello"}.Do(t.Context(), http.DefaultClient, &got)
	if err != nil || got.Heard != "hello" || got.Type != "application/json" {
		t.Errorf("Do = %+v, %v", got, err)
	}
}

// Over a real transport, requests that were certainly not sent are
// distinguished from those that may have been.
func TestDoTellsUnsentFromUncertain(t *testing.T) {
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	hang := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // a server notices a disconnected client only after reading the body
		<-r.Context().Done()
	})
	half := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, `{"label":`)
	})
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS() // with a certificate that nobody trusts
	t.Cleanup(tls.Close)
	for _, tc := range []struct {
		name, url    string
		effect, read ship.Kind
	}{
		{"nobody listens", closedPort(t), ship.Unavailable, ship.Unavailable},
		{"no such host", "http://carrier.invalid/", ship.Unavailable, ship.Unavailable},
		{"wrong certificate", tls.URL, ship.Unavailable, ship.Unavailable},
		{"cut after sending", cut, ship.Uncertain, ship.Unavailable},
		{"never answers", hang, ship.Uncertain, ship.Unavailable},
		{"answer cut in half", half, ship.Uncertain, ship.Unavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, effect := range []bool{true, false} {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
				err := carrierkit.Call{Method: "POST", URL: tc.url, Body: 1, Effect: effect}.Do(ctx, client, new(any))
				want := tc.read
				if effect {
					want = tc.effect
				}
				if got := ship.KindOf(err); got != want {
					t.Errorf("effect %v: err = %v: kind %q, want %q", effect, err, got, want)
				}
			}
		})
	}
}

// A connection that dies under the second request must not make the transport
// send it again by itself.
func TestAnEffectIsSentOnceOverAReusedConnection(t *testing.T) {
	var requests atomic.Int32
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			fmt.Fprint(w, `{}`)
			return
		}
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
	})
	client := &http.Client{Transport: &http.Transport{}}
	call := carrierkit.Call{Method: "POST", URL: at, Body: 1, Effect: true, Header: http.Header{"Idempotency-Key": {"k"}}}
	if err := call.Do(t.Context(), client, new(any)); err != nil {
		t.Fatal(err)
	}
	err := call.Do(t.Context(), client, new(any))
	if ship.KindOf(err) != ship.Uncertain || requests.Load() != 2 {
		t.Errorf("err = %v after %d requests; want uncertain after 2", err, requests.Load())
	}
}

func TestDoKeepsSecretsOutOfErrors(t *testing.T) {
	const secret = "c2VjcmV0LXNlY3JldA"
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		fmt.Fprintf(w, "you sent %s", r.Header.Get("Authorization"))
	})
	refusal := func(body []byte) ship.Refusal { return ship.Refusal{Code: "X", Message: string(body)} }
	for _, url := range []string{at, closedPort(t) + "?key=" + secret, "http://bad host/" + secret, "http://127.0.0.1:1/?key=" + secret} {
		err := carrierkit.Call{
			Method: "GET", URL: url, Header: http.Header{"Authorization": {"Basic " + secret}}, Refusal: refusal,
		}.Do(t.Context(), http.DefaultClient, nil)
		e, ok := errors.AsType[*ship.Error](err)
		if !ok || strings.Contains(fmt.Sprintf("%v %+v %v", err, *e, e.Err), secret) {
			t.Errorf("a secret is in %+v", e)
		}
	}
}

func TestRefusalsAreCutBetweenCharacters(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) })
	err := carrierkit.Call{Method: "GET", URL: at, Refusal: func([]byte) ship.Refusal {
		return ship.Refusal{Message: strings.Repeat("é", 1000)}
	}}.Do(t.Context(), http.DefaultClient, nil)
	e, _ := errors.AsType[*ship.Error](err)
	if got := e.Refusal.Message; len(got) > 510 || strings.Contains(got, "\ufffd") || !strings.HasSuffix(got, "é...") {
		t.Errorf("message of %d bytes: %q", len(got), got)
	}
}

func TestStatusesBecomeKinds(t *testing.T) {
	for _, tc := range []struct {
		status       int
		effect, read ship.Kind
	}{
		{302, ship.Uncertain, ship.Unavailable},
		{400, ship.Invalid, ship.Invalid},
		{401, ship.Forbidden, ship.Forbidden},
		{403, ship.Forbidden, ship.Forbidden},
		{404, ship.Invalid, ship.NotFound},
		{408, ship.Uncertain, ship.Unavailable},
		{409, ship.Invalid, ship.Invalid},
		{422, ship.Invalid, ship.Invalid},
		{429, ship.Limited, ship.Limited},
		{500, ship.Uncertain, ship.Unavailable},
		{503, ship.Uncertain, ship.Unavailable},
	} {
		at := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tc.status) })
		for _, effect := range []bool{true, false} {
			want := tc.read
			if effect {
				want = tc.effect
			}
			err := carrierkit.Call{Method: "POST", URL: at, Effect: effect}.Do(t.Context(), http.DefaultClient, nil)
			if got := ship.KindOf(err); got != want || !errors.Is(err, carrierkit.Status(tc.status)) {
				t.Errorf("%d, effect %v: err = %v: kind %q, want %q", tc.status, effect, err, got, want)
			}
		}
	}
}

func TestRetryAfterReadsBothSpellings(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"soon":                          0,
		"99999999999":                   24 * time.Hour,
		"Sun, 15 Nov 2026 12:00:30 GMT": 30 * time.Second,
		"Sun, 15 Nov 2026 11:00:00 GMT": 0,
	} {
		if got := carrierkit.RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("RetryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}

// TestAnAnswerThatGrowsWhenItIsDecodedIsNotDecoded sends four megabytes of empty
// objects, each of which would be a large struct.
func TestAnAnswerThatGrowsWhenItIsDecodedIsNotDecoded(t *testing.T) {
	status := http.StatusOK
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, `{"list":[`+strings.Repeat("{},", 1_300_000)+"{}]}")
	})
	type large struct{ Text [64]string }
	var answer struct{ List []large }

	err := carrierkit.Call{Method: "POST", URL: at, Effect: true}.Do(t.Context(), http.DefaultClient, &answer)
	if ship.KindOf(err) != ship.Uncertain || len(answer.List) > 0 {
		t.Errorf("a sale: %v, %d elements", err, len(answer.List))
	}

	status = http.StatusBadRequest
	call := carrierkit.Call{Method: "POST", URL: at, Effect: true}
	call.Refusal = func(body []byte) ship.Refusal {
		if len(body) > 0 {
			t.Errorf("%d bytes of a refusal are decoded", len(body))
		}
		return ship.Refusal{}
	}
	if err := call.Do(t.Context(), http.DefaultClient, &answer); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a refusal: %v", err)
	}
}

// signsIn is a driver whose check is one call.
type signsIn struct{ at string }

func (d signsIn) Check(ctx context.Context) error {
	var answer struct{ Account string }
	err := carrierkit.Call{Method: "POST", URL: d.at, Body: map[string]string{"user": "ann"}, Refusal: func([]byte) ship.Refusal {
		return ship.Refusal{Code: "X1", Message: "the user ann may not sign in"}
	}}.Do(ctx, http.DefaultClient, &answer)
	if err == nil && answer.Account == "" {
		return ship.Errorf(ship.Unavailable, "the answer has no account")
	}
	return err
}

func TestWhatADriverDoesNotKnowIsObserved(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   carrier.Difference
	}{
		"a code":    {400, `{"error":"X1"}`, carrier.Difference{Kind: carrier.DifferentCode, Operation: carrier.OpCheck, Code: "X1", Detail: "the user ... may not sign in"}},
		"an answer": {200, `{"customer":"Ann Lee"}`, carrier.Difference{Kind: carrier.DifferentAnswer, Operation: carrier.OpCheck, Detail: "customer string"}},
		"a success": {200, `{"account":"Ann Lee"}`, carrier.Difference{}},
	} {
		at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tc.status)
			fmt.Fprint(w, tc.body)
		})
		var got carrier.Difference
		c := carrier.New(carrier.Spec{Name: "acme", Title: "Acme"}, signsIn{at})
		c.Observe = func(op carrier.Operation, _ time.Duration, err error) { got, _ = carrier.DifferenceOf(op, err) }
		err := c.Check(t.Context())
		if got != tc.want {
			t.Errorf("%s: %+v, want %+v (%v)", name, got, tc.want, err)
		}
	}
}
