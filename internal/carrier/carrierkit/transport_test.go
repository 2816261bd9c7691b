package carrierkit_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// trap is a keep-alive server that answers the first request of a connection
// and closes it without an answer on the second, as idle connections of a busy
// carrier do. A request whose key begins with "lost" is never answered.
type trap struct {
	at   string
	mu   sync.Mutex
	keys map[string]int // requests on the wire, by Idempotency-Key
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tr := &trap{at: "http://" + l.Addr().String(), keys: map[string]int{}}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go tr.serve(conn)
		}
	}()
	return tr
}

func (tr *trap) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for first := true; ; first = false {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		key := r.Header.Get("Idempotency-Key")
		tr.mu.Lock()
		tr.keys[key]++
		tr.mu.Unlock()
		if !first || strings.HasPrefix(key, "lost") {
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	}
}

// spring triggers the trap: it sends n purchases and voids as a careless driver
// would, with reads between them that leave idle connections behind.
func (tr *trap) spring(t *testing.T, via carrier.Doer, n int) {
	t.Helper()
	exchange := func(ctx context.Context, method, key string, body io.Reader) error {
		req, err := http.NewRequestWithContext(ctx, method, tr.at, body)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		resp, err := via.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		return err
	}
	rates := carrier.WithOperation(t.Context(), carrier.OpRates)
	for i := range n {
		if err := exchange(rates, "GET", "", nil); err != nil {
			t.Fatal(err)
		}
		op, method, body := carrier.OpBuy, "POST", io.Reader(strings.NewReader(`{"buy":1}`))
		if i%2 == 1 {
			op, method, body = carrier.OpVoid, "DELETE", nil // without a body it needs no GetBody to be sent again
		}
		key := fmt.Sprint("kept", i)
		if i%5 == 0 {
			key = fmt.Sprint("lost", i)
		}
		err := exchange(carrier.WithEffect(carrier.WithOperation(t.Context(), op)), method, key, body)
		if (err != nil) != strings.HasPrefix(key, "lost") {
			t.Fatalf("%s: %v", key, err)
		}
	}
}

// repeated counts the keys that were on the wire more than once.
func (tr *trap) repeated() (repeated, keys int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for key, n := range tr.keys {
		if key != "" {
			keys++
			if n > 1 {
				repeated++
			}
		}
	}
	return repeated, keys
}

func TestAnEffectIsOnTheWireAtMostOnce(t *testing.T) {
	n := 500
	if os.Getenv("PROVE") != "" {
		n = 10_000
	}
	quiet := carrierkit.DefaultTrafficOptions()
	quiet.Breaker.Calls, quiet.Breaker.Timeouts = 1e9, 1e9
	traffic := carrierkit.NewTraffic(quiet)
	defer traffic.Close()
	tr := newTrap(t)
	tr.spring(t, traffic.Doer(carrier.Spec{}, "a"), n)
	if repeated, keys := tr.repeated(); repeated != 0 || keys != n {
		t.Errorf("of %d effects %d were on the wire, %d more than once", n, keys, repeated)
	}
	// The trap works: the default transport falls into it.
	careless := newTrap(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	careless.spring(t, client, 50)
	if repeated, _ := careless.repeated(); repeated == 0 {
		t.Error("the trap catches nobody, so it proves nothing")
	}
}

// connections counts those that a server has seen.
func connections(s *httptest.Server) *atomic.Int32 {
	var n atomic.Int32
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			n.Add(1)
		}
	}
	return &n
}

func TestReadsShareConnectionsAndEffectsDoNot(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	n := connections(s)
	s.Start()
	defer s.Close()
	traffic := carrierkit.NewTraffic(carrierkit.TrafficOptions{})
	defer traffic.Close()
	for i := range 20 {
		call := carrierkit.Call{Method: "GET", URL: s.URL}
		if err := call.Do(carrier.WithOperation(t.Context(), carrier.OpRates), traffic.Doer(carrier.Spec{}, fmt.Sprint(i%4)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n.Load() != 1 {
		t.Errorf("20 reads of four accounts took %d connections, want 1", n.Load())
	}
	for range 20 {
		call := carrierkit.Call{Method: "POST", URL: s.URL, Body: 1, Effect: true}
		if err := call.Do(carrier.WithOperation(t.Context(), carrier.OpBuy), traffic.Doer(carrier.Spec{}, "0"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n.Load() != 21 {
		t.Errorf("20 effects took %d connections, want 20", n.Load()-1)
	}
}

func TestAnEffectCannotBeSentAgainByWhateverWrapsTheTransport(t *testing.T) {
	via := over(func(r *http.Request) (*http.Response, error) {
		if r.GetBody != nil {
			t.Error("the body can be had a second time")
		}
		return says(200)
	}).Doer(carrier.Spec{}, "a")
	req, _ := http.NewRequestWithContext(carrier.WithEffect(t.Context()), "POST", "http://carrier.test/", strings.NewReader("1"))
	resp, err := via.Do(req)
	if err != nil || req.GetBody == nil {
		t.Fatalf("err = %v; the caller's own request has lost its GetBody: %v", err, req.GetBody == nil)
	}
	resp.Body.Close()
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var followed atomic.Int32
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			followed.Add(1)
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	via := carrierkit.NewTraffic(carrierkit.TrafficOptions{}).Doer(carrier.Spec{}, "a")
	for effect, want := range map[bool]ship.Kind{true: ship.Uncertain, false: ship.Unavailable} {
		err := carrierkit.Call{Method: "POST", URL: at, Body: 1, Effect: effect}.Do(t.Context(), via, nil)
		if ship.KindOf(err) != want || followed.Load() != 0 {
			t.Errorf("effect %v: %v, followed %d times", effect, err, followed.Load())
		}
	}
}

func TestRequestsSpeakHTTP1AndAskForNoCompression(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"proto":%q,"encoding":%q}`, r.Proto, r.Header.Get("Accept-Encoding"))
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	traffic := carrierkit.NewTraffic(carrierkit.TrafficOptions{RootCAs: roots})
	defer traffic.Close()
	for _, effect := range []bool{true, false} {
		var got struct{ Proto, Encoding string }
		err := carrierkit.Call{Method: "POST", URL: s.URL, Body: 1, Effect: effect}.Do(t.Context(), traffic.Doer(carrier.Spec{}, "a"), &got)
		if err != nil || got.Proto != "HTTP/1.1" || got.Encoding != "" {
			t.Errorf("effect %v: %+v, %v", effect, got, err)
		}
	}
}

func TestOldTLSIsRefusedBeforeAnythingIsSent(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	via := carrierkit.NewTraffic(carrierkit.TrafficOptions{RootCAs: roots}).Doer(carrier.Spec{}, "a")
	err := carrierkit.Call{Method: "POST", URL: s.URL, Body: 1, Effect: true}.Do(t.Context(), via, nil)
	if ship.KindOf(err) != ship.Unavailable {
		t.Errorf("err = %v, want unavailable", err)
	}
}

// Each step has its own time limit, and the limit that was hit tells whether
// anything was sent.
func TestStepsOfACallAreBounded(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	o := carrierkit.TrafficOptions{Handshake: 50 * time.Millisecond, FirstByte: 50 * time.Millisecond}
	via := carrierkit.NewTraffic(o).Doer(carrier.Spec{}, "a")
	for scheme, want := range map[string]ship.Kind{"https://": ship.Unavailable, "http://": ship.Uncertain} {
		began := time.Now()
		err := carrierkit.Call{Method: "POST", URL: scheme + mute.Addr().String(), Body: 1, Effect: true}.Do(t.Context(), via, nil)
		if took := time.Since(began); ship.KindOf(err) != want || took > 5*time.Second {
			t.Errorf("%s: %v after %v, want %s", scheme, err, took, want)
		}
	}
}
