package api

import (
	"errors"
	"io"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// pushLimit bounds what a carrier may push.
const pushLimit = 1 << 20

// receivePush handles POST /in/{connection}/{token}: what a carrier tells by
// itself. It is stored as it came and answered at once; what it means is found
// out later. The address is the connection's own, and whoever lacks it learns
// nothing.
func (s *server) receivePush(w http.ResponseWriter, r *http.Request) {
	id, ok := ship.ParseConnectionID(r.PathValue("connection"))
	if !ok {
		httpkit.Fail(w, r, noRoute())
		return
	}
	if err := s.Tracking.Admits(id, r.PathValue("token")); err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, pushLimit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		httpkit.Fail(w, r, ship.Coded(ship.Invalid, "body_too_large", "the body is too large"))
		return
	}
	if err != nil {
		return // the carrier hung up
	}
	if err := s.Tracking.Receive(r.Context(), id, r.Header, body); err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	reply{status: http.StatusOK, body: []byte(`{"received":true}`)}.write(w)
}
