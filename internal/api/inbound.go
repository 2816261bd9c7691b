package api

import (
	"errors"
	"io"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// pushLimit is the largest body, in bytes, that a carrier may push.
const pushLimit = 1 << 20

// How many pushes that are not verified one connection may receive, a second and
// at once. Those of the carrier itself are not limited.
const (
	unverifiedRate  = 20
	unverifiedBurst = 1000
)

// receivePush handles POST /in/{connection}/{token}: tracking updates that a
// carrier sends by itself. A push is verified, stored and answered at once; what
// it reports is recorded later. The address is secret and belongs to one
// connection, and a caller that does not know it learns nothing.
func (s *server) receivePush(w http.ResponseWriter, r *http.Request) {
	connection, ok := ship.ParseConnectionID(r.PathValue("connection"))
	if !ok {
		httpkit.Fail(w, r, pathNotFound())
		return
	}

	// The token is checked first, so the body of a stranger is never read.
	if err := s.Tracking.Admits(connection, r.PathValue("token")); err != nil {
		httpkit.Fail(w, r, err)
		return
	}

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, pushLimit))
	if _, isTooLarge := errors.AsType[*http.MaxBytesError](err); isTooLarge {
		httpkit.Fail(w, r, ship.Coded(ship.Invalid, "body_too_large", "the request body is larger than %d bytes", pushLimit))
		return
	}
	if err != nil {
		return // the carrier hung up
	}

	arrival, err := s.Tracking.Inspect(r.Context(), connection, r.Header, body)
	if err == nil && !arrival.Verified {
		err = s.unverified.Admit(http.Header{}, string(connection))
	}
	if err == nil {
		err = s.Tracking.Receive(r.Context(), arrival)
	}
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	reply{status: http.StatusOK, body: []byte(`{"received":true}`)}.write(w)
}
