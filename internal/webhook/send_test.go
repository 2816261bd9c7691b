package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

var testTenant = ship.Tenant{Account: ship.NewAccountID(7, time.Now())}

// testTarget returns an endpoint at the address, opened.
func testTarget(t testing.TB, address string) (*Target, keyMaterial) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	key := newKeyMaterial()
	return &Target{
		Endpoint: ship.NewEndpointID(7, time.Now()), Tenant: testTenant, url: u,
		header: http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Waybill"}, "Authorization": {"Bearer theirs"}},
		signer: signer{SignV1, []signingKey{newSigningKey(key, SignV1, time.Time{})}},
	}, key
}

func testDelivery(target *Target, body string) Delivery {
	return Delivery{Target: target, Event: ship.EventID(testEventID), Body: []byte(body), Number: 1, Trigger: TriggerAuto}
}

// localSender may send to this machine.
func localSender(t testing.TB, change func(*SenderOptions)) *Sender {
	t.Helper()
	o := SenderOptions{Policy: Policy{Loopback: true}}
	if change != nil {
		change(&o)
	}
	s := NewSender(o)
	t.Cleanup(s.Close)
	return s
}

// sink answers with the handler, without TLS.
func sink(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func TestADeliveryArrivesSignedAndWhole(t *testing.T) {
	t.Parallel()
	var got signed
	var r *http.Request
	address := sink(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		got, r = signed{req.Header, body}, req
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("thanks\x00\xff"))
	})
	target, key := testTarget(t, address+"/hook?x=1")
	var line bytes.Buffer
	s := localSender(t, func(o *SenderOptions) { o.Log = slog.New(slog.NewJSONHandler(&line, nil)) })
	a := s.Send(t.Context(), testDelivery(target, `{"secret":"not for the log"}`))
	if !a.Delivered() || a.Status != 202 || a.Error != "" || a.Body != "thanks\uFFFD\uFFFD" || !strings.HasPrefix(a.Head, "HTTP/1.1 202 Accepted\n") || !strings.Contains(a.Head, "\nX-Answer: yes") {
		t.Errorf("attempt = %+v", a)
	}
	if err := verifies(t, key.secret(), got); err != nil || string(got.body) != `{"secret":"not for the log"}` {
		t.Errorf("got %s: %v", got.body, err)
	}
	if r.Method != "POST" || r.URL.String() != "/hook?x=1" || r.Header.Get("Authorization") != "Bearer theirs" || r.Header.Get("Accept-Encoding") != "" ||
		r.Header.Get("Content-Type") != "application/json" || r.ContentLength != int64(len(got.body)) || r.Header.Get("Webhook-Id") != testEventID {
		t.Errorf("request = %s %s %v", r.Method, r.URL, r.Header)
	}
	if !a.Address.IsLoopback() || a.Timings.Total <= 0 || a.Timings.FirstByte <= 0 || a.Timings.Connect <= 0 || a.Timings.TLS != 0 {
		t.Errorf("address %s, timings %+v", a.Address, a.Timings)
	}
	if again := s.Send(t.Context(), testDelivery(target, "{}")); again.Timings.Connect != 0 || again.Timings.DNS != 0 || !again.Delivered() || again.ID == a.ID {
		t.Errorf("over the open connection: %+v", again)
	}
	var logged map[string]any
	if err := json.Unmarshal(bytes.Split(line.Bytes(), []byte("\n"))[0], &logged); err != nil {
		t.Fatal(err)
	}
	if logged["outcome"] != "delivered" || logged["endpoint"] != string(target.Endpoint) || logged["event"] != testEventID || logged["status"] != 202.0 || logged["ms"] == nil {
		t.Errorf("line = %s", line.Bytes())
	}
	for _, secret := range []string{"not for the log", "theirs", "thanks", key.secret(), address} {
		if strings.Contains(line.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

func TestOnlyASuccessIsADelivery(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	address := sink(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", r.URL.Query().Get("after"))
		w.WriteHeader(map[string]int{"/301": 301, "/307": 307, "/308": 308, "/400": 400, "/410": 410, "/429": 429, "/500": 500, "/503": 503, "/200": 200, "/204": 204, "/299": 299, "/300": 300, "/elsewhere": 200}[r.URL.Path])
	})
	s := localSender(t, nil)
	for _, tc := range []struct {
		path    string
		outcome string
		after   time.Duration
		gone    bool
	}{
		{"/200", OutcomeDelivered, 0, false},
		{"/204", OutcomeDelivered, 0, false},
		{"/299", OutcomeDelivered, 0, false},
		{"/300", OutcomeFailed, 0, false},
		{"/301", OutcomeFailed, 0, false},
		{"/307", OutcomeFailed, 0, false},
		{"/308", OutcomeFailed, 0, false},
		{"/400", OutcomeFailed, 0, false},
		{"/410", OutcomeFailed, 0, true},
		{"/429?after=7", OutcomeFailed, 7 * time.Second, false},
		{"/503?after=999999999999", OutcomeFailed, 24 * time.Hour, false},
		{"/503?after=-5", OutcomeFailed, 0, false},
		{"/503?after=soon", OutcomeFailed, 0, false},
		{"/500", OutcomeFailed, 0, false},
	} {
		before := hits.Load()
		target, _ := testTarget(t, address+tc.path)
		a := s.Send(t.Context(), testDelivery(target, "{}"))
		if a.Outcome != tc.outcome || a.RetryAfter != tc.after || a.Gone() != tc.gone || a.Delivered() != (tc.outcome == OutcomeDelivered) || (a.Error == "") != a.Delivered() {
			t.Errorf("%s: %+v", tc.path, a)
		}
		if n := hits.Load() - before; n != 1 {
			t.Errorf("%s was asked %d times", tc.path, n)
		}
	}
	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := retryAfter(date, time.Now()); got < 59*time.Minute || got > time.Hour {
		t.Errorf("Retry-After as a date: %s", got)
	}
}

func TestFailuresHaveTheirOwnNames(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	plain := sink(t, func(http.ResponseWriter, *http.Request) {})
	closed := rawSink(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) })
	garbage := rawSink(t, func(c net.Conn) { readRequest(c); _, _ = c.Write([]byte("SSH-2.0-OpenSSH\r\n\r\n")) })
	hanging := rawSink(t, func(c net.Conn) { time.Sleep(5 * time.Second) })
	s := localSender(t, func(o *SenderOptions) { o.Timeout, o.ConnectTimeout = 3*time.Second, 1500*time.Millisecond })
	for address, want := range map[string]string{
		secure.URL: OutcomeTLS, strings.Replace(plain, "http:", "https:", 1): OutcomeTLS, "http://127.0.0.1:1": OutcomeConnect,
		closed: OutcomeClosed, garbage: OutcomeProtocol, hanging: OutcomeTimeout, strings.Replace(hanging, "http:", "https:", 1): OutcomeTimeout,
		"http://no.such.host.invalid:8080": OutcomeDNS, "https://10.0.0.1:1025": OutcomeNotAllowed,
	} {
		target, _ := testTarget(t, address)
		a := s.Send(t.Context(), testDelivery(target, "{}"))
		if want == OutcomeDNS && a.Outcome == OutcomeTimeout {
			continue // no resolver answers here
		}
		if a.Outcome != want || a.Error == "" || a.Status != 0 {
			t.Errorf("%s: %s %q, want %s", address, a.Outcome, a.Error, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	target, _ := testTarget(t, hanging)
	if a := s.Send(ctx, testDelivery(target, "{}")); a.Outcome != OutcomeCancelled {
		t.Errorf("given up: %s", a.Outcome)
	}
}

func TestTLSIsVerifiedAndTimed(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.TLS.Version < 0x0303 {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	s := localSender(t, func(o *SenderOptions) { o.RootCAs = pool })
	target, _ := testTarget(t, server.URL)
	if a := s.Send(t.Context(), testDelivery(target, "{}")); !a.Delivered() || a.Timings.TLS <= 0 {
		t.Errorf("attempt = %+v", a)
	}
}

func TestPlainHTTPGoesOnlyWhereTheOperatorAllows(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	address := sink(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	for name, p := range map[string]Policy{"nothing allowed": {}, "another network": {Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}} {
		s := NewSender(SenderOptions{Policy: p})
		target, _ := testTarget(t, address)
		if a := s.Send(t.Context(), testDelivery(target, "{}")); a.Outcome != OutcomeNotAllowed || a.Address.IsValid() || a.Timings.Connect != 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
	p := Policy{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	if at := netip.MustParseAddrPort("93.184.215.14:80"); p.allowsPlain(at) || !p.allows(at) {
		t.Error("a public address is spoken to in clear")
	}
}

// rawSink gives each connection to serve, then closes it.
func rawSink(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				serve(c)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func readRequest(c net.Conn) {
	buf := make([]byte, 64<<10)
	n := 0
	for !bytes.Contains(buf[:n], []byte("\r\n\r\n")) {
		more, err := c.Read(buf[n:])
		if err != nil {
			return
		}
		n += more
	}
}
