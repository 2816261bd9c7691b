package webhook

import (
	"net/http"
	"net/url"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// A Format is how the clients of another API expect their events: with other
// bodies, and other proofs of who sent them. An endpoint has one from its creation
// on, under its name as the way to sign.
type Format struct {
	// Body renders an event. Like the service's own body, it is the same on every
	// call.
	Body func(Entry) ([]byte, error)

	// Sign returns the headers that prove a body. The secret is the client's own,
	// and may be empty.
	Sign func(secret []byte, at time.Time, address *url.URL, body []byte) http.Header
}

// maxSecret bounds the secret that a client chooses, in bytes.
const maxSecret = 256

// body renders an event for the endpoints that sign in a way.
func (s *Service) body(signature string, entry Entry) ([]byte, error) {
	if format, ok := s.formats[signature]; ok {
		return format.Body(entry)
	}
	return wire.EventBody(entry.Event, entry.Shipment, entry.Tracker)
}

// hasFormat reports whether an endpoint gets its events in a format of another API.
func (s *Service) hasFormat(signature string) bool {
	_, ok := s.formats[signature]
	return ok
}

// checkSignature returns what is invalid about a new way to sign. A format cannot be
// chosen later or given up: its secret is the client's own.
func (s *Service) checkSignature(row *store.Endpoint, set Settings) []ship.FieldError {
	isOwn := *set.Signature == SignV1 || *set.Signature == SignV1a || *set.Signature == SignBoth
	switch {
	case s.hasFormat(row.Signature) && *set.Signature != row.Signature:
		return []ship.FieldError{{
			Pointer: "/signature",
			Code:    "not_allowed",
			Detail:  "cannot be changed: the webhook was created in the format of another API; create a new webhook instead",
		}}
	case isOwn, s.hasFormat(*set.Signature) && (set.Secret != nil || row.Signature == *set.Signature):
		return nil
	}
	return []ship.FieldError{{Pointer: "/signature", Code: "not_allowed", Detail: "must be one of v1, v1a, both"}}
}
