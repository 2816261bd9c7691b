package carriertest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// Server starts a carrier emulator on this machine, over real HTTP, and returns
// a Doer that sends every request there, whatever host it names. Requests go
// over the transport that the service uses, connections included.
func Server(t testing.TB, handler http.Handler) carrier.Doer {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)

	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return rewired{Via(t), to}
}

// Via returns the Doer by which the service reaches a carrier, without its
// quotas: requests that a test makes in a second would be paced over hours.
func Via(t testing.TB) carrier.Doer {
	t.Helper()
	traffic := carrierkit.NewTraffic(patient(nil))
	t.Cleanup(traffic.Close)
	return traffic.Doer(carrier.Spec{}, "")
}

// over returns the Doer by which the service reaches a carrier, with service in
// place of the connections: what service answers is unpacked and classified as
// if it came from the carrier.
func over(service carrier.Doer) carrier.Doer {
	return carrierkit.NewTraffic(patient(service)).Doer(carrier.Spec{}, "")
}

// patient returns the options of traffic whose breakers never open and that
// never pauses: a suite of faults would open every breaker.
func patient(service carrier.Doer) carrierkit.TrafficOptions {
	options := carrierkit.DefaultTrafficOptions()
	options.Breaker.Calls = 1 << 30
	options.Breaker.Timeouts = 1 << 30
	options.LongestHold = time.Nanosecond
	options.UnsaidHold = time.Nanosecond
	if service != nil {
		options.Transport = roundTripper{service}
	}
	return options
}

type roundTripper struct{ service carrier.Doer }

// RoundTrip is http.RoundTripper.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t.service.Do(r) }

// rewired sends every request to one host.
type rewired struct {
	via carrier.Doer
	to  *url.URL
}

// Do is carrier.Doer.
func (w rewired) Do(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = w.to.Scheme
	r.URL.Host = w.to.Host
	r.Host = ""
	return w.via.Do(r)
}
