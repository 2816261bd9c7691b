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

// Server starts a stand-in carrier on this machine, over real HTTP, and returns
// the way to it: whatever host a request names, it goes there. The way is the
// one that the service uses, connections included.
func Server(t testing.TB, h http.Handler) carrier.Doer {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)

	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return rewired{Via(t), to}
}

// Via returns the way by which the service reaches a carrier, without its
// quotas: requests that a test makes in a second would be paced over hours.
func Via(t testing.TB) carrier.Doer {
	t.Helper()
	traffic := carrierkit.NewTraffic(patient(nil))
	t.Cleanup(traffic.Close)
	return traffic.Doer(carrier.Spec{}, "")
}

// over is the way by which the service reaches a carrier, with service in place
// of the connections: what service answers is unpacked and judged as it would be
// if it came from the carrier.
func over(service carrier.Doer) carrier.Doer {
	return carrierkit.NewTraffic(patient(service)).Doer(carrier.Spec{}, "")
}

// patient are the options of traffic that never gives a carrier up and never
// pauses: a suite of faults would open every breaker.
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
	r.URL.Scheme, r.URL.Host, r.Host = w.to.Scheme, w.to.Host, ""
	return w.via.Do(r)
}
