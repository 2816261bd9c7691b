package webhook

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Target is an endpoint opened for sending: where to, with which headers and
// signed how. It holds secrets in clear and is never logged or stored.
//
// It stays good as long as the endpoint's Version is the same: the end of a
// rotation is noticed by itself. It is safe for concurrent use.
type Target struct {
	Endpoint ship.EndpointID
	Tenant   ship.Tenant
	Version  int

	url    *url.URL
	header http.Header // of every request; shared, never changed
	signer signer
}

// Open makes a target of a stored endpoint.
func (s *Service) Open(e store.Endpoint) (*Target, error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, fmt.Errorf("address of %s: %w", e.ID, err)
	}
	t := &Target{Endpoint: e.ID, Tenant: e.Tenant, Version: e.Version, url: u, signer: signer{signature: e.Signature}}
	if t.header, err = s.requestHeader(e); err != nil {
		return nil, err
	}
	for _, k := range []struct {
		sealed []byte
		until  time.Time
	}{{e.Secret, time.Time{}}, {e.Previous, e.PreviousUntil}} {
		if k.sealed == nil {
			continue
		}
		material, err := s.openSecret(e, k.sealed)
		if err != nil {
			return nil, err
		}
		t.signer.keys = append(t.signer.keys, newSigningKey(material, e.Signature, k.until))
	}
	return t, nil
}

// requestHeader is what every request to the endpoint carries beside its
// signature. The service's own headers cannot be replaced.
func (s *Service) requestHeader(e store.Endpoint) (http.Header, error) {
	custom, err := s.openHeaders(e)
	if err != nil {
		return nil, err
	}
	h := make(http.Header, len(custom)+2)
	for name, value := range custom {
		h[http.CanonicalHeaderKey(name)] = []string{value}
	}
	h["Content-Type"] = []string{"application/json"}
	h["User-Agent"] = []string{s.sender.userAgent}
	return h, nil
}

// Target reads an endpoint and opens it; ship.NotFound if there is none.
func (s *Service) Target(ctx context.Context, t ship.Tenant, id ship.EndpointID) (*Target, error) {
	e, err := s.store.EndpointToSend(ctx, t, id)
	if err != nil {
		return nil, err
	}
	return s.Open(e)
}
