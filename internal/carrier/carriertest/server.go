package carriertest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/carrier/conformance"
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
	traffic := carrierkit.NewTraffic(conformance.Patient())
	t.Cleanup(traffic.Close)
	return traffic.Doer(carrier.Spec{}, "")
}

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
