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

// receivePush handles POST /in/{connection}/{token}: tracking updates that a
// carrier sends by itself. A push is stored as it came and answered at once; it
// is decoded later. The address is secret and belongs to one connection, and a
// caller that does not know it learns nothing.
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

	if err := s.Tracking.Receive(r.Context(), connection, r.Header, body); err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	reply{status: http.StatusOK, body: []byte(`{"received":true}`)}.write(w)
}
