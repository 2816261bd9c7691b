package carriertest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Server starts a stand-in carrier on this machine, over real HTTP, and returns
// the way to it: whatever host a request names, it goes there.
func Server(t testing.TB, h http.Handler) carrier.Doer {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := s.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return rewired{client, to}
}

// rewired sends every request to one host.
type rewired struct {
	client *http.Client
	to     *url.URL
}

// Do is carrier.Doer.
func (w rewired) Do(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = w.to.Scheme, w.to.Host, ""
	return w.client.Do(r)
}
