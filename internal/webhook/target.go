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

// A Target is an endpoint opened for sending: its address, headers and signing
// keys. It holds secrets in clear and is never logged or stored.
//
// It stays valid as long as the endpoint's Version is the same: the end of a
// secret's rotation is noticed by itself. It is safe for concurrent use.
type Target struct {
	Endpoint ship.EndpointID
	Tenant   ship.Tenant
	Version  int

	url    *url.URL
	header http.Header // of every request; shared, never changed
	signer signer

	format *Format // nil for the service's own
	secret []byte  // of a format
}

// Open makes a target of a stored endpoint.
func (s *Service) Open(endpoint store.Endpoint) (*Target, error) {
	parsed, err := url.Parse(endpoint.URL)
	if err != nil {
		return nil, fmt.Errorf("address of %s: %w", endpoint.ID, err)
	}
	header, err := s.requestHeader(endpoint)
	if err != nil {
		return nil, err
	}

	target := &Target{
		Endpoint: endpoint.ID,
		Tenant:   endpoint.Tenant,
		Version:  endpoint.Version,
		url:      parsed,
		header:   header,
		signer:   signer{signature: endpoint.Signature},
	}

	if format, ok := s.formats[endpoint.Signature]; ok {
		target.format = &format
		target.secret, err = s.openSecret(endpoint, endpoint.Secret)
		return target, err
	}

	for _, secret := range []struct {
		sealed []byte
		until  time.Time
	}{{endpoint.Secret, time.Time{}}, {endpoint.Previous, endpoint.PreviousUntil}} {
		if secret.sealed == nil {
			continue
		}
		key, err := s.openKeyMaterial(endpoint, secret.sealed)
		if err != nil {
			return nil, err
		}
		target.signer.keys = append(target.signer.keys, newSigningKey(key, endpoint.Signature, secret.until))
	}
	return target, nil
}

// requestHeader returns what every request to the endpoint carries beside its
// signature. The service's own headers cannot be replaced.
func (s *Service) requestHeader(endpoint store.Endpoint) (http.Header, error) {
	custom, err := s.openHeaders(endpoint)
	if err != nil {
		return nil, err
	}

	header := make(http.Header, len(custom)+2)
	for name, value := range custom {
		header[http.CanonicalHeaderKey(name)] = []string{value}
	}

	// These come last, so that they override custom ones.
	header["Content-Type"] = []string{"application/json"}
	header["User-Agent"] = []string{s.sender.userAgent}
	return header, nil
}

// Target reads an endpoint and opens it; ship.NotFound if there is none.
func (s *Service) Target(ctx context.Context, t ship.Tenant, id ship.EndpointID) (*Target, error) {
	endpoint, err := s.store.EndpointToSend(ctx, t, id)
	if err != nil {
		return nil, err
	}
	return s.Open(endpoint)
}
