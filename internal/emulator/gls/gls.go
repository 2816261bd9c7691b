// Package gls emulates GLS: the parts of ShipIT and of Track & Trace that sell,
// print again, cancel and track parcels, over real HTTP. It shares no code with
// the service, and tests compare the service's records with its ledger.
//
// Like the real APIs, it quotes no prices, refuses plain JSON, puts the reason of
// a refusal into a header, and answers 200 to a cancellation that it refuses. Where
// GLS publishes nothing, it is the stricter of what may be: it prints a parcel again
// only by the day of its creation, and refuses to cancel one twice.
package gls

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// What the emulator accepts: an app, and a shipper.
const (
	ClientID     = "emulated-gls-client"
	ClientSecret = "emulated-gls-secret"
	ContactID    = "276a45fkqM"
)

// standIn is the emulated carrier.
type standIn struct{ *emulator.Server }

// New returns an emulator that records its sales in l.
func New(l *emulator.Ledger) *emulator.Server {
	s := standIn{emulator.New("gls", l)}
	s.Failure = failure
	s.LookupDelay = 5 * time.Minute

	s.Handle("POST /oauth2/v2/token", false, s.issueToken)
	for path, handler := range map[string]http.HandlerFunc{
		"/rs/shipments":                 s.create,
		"/rs/shipments/allowedservices": s.allowedServices,
		"/rs/shipments/reprintparcel":   s.reprint,
		"/rs/tracking/parcels":          s.list,
		"/rs/tracking/parcelpod":        s.proof,
		"/rs/parcelshop/address":        s.parcelShops,
	} {
		s.Handle("POST /shipit-farm/v1/backend"+path, true, withMediaType(handler))
	}
	s.Handle("POST /shipit-farm/v1/backend/rs/shipments/cancel/{id}", true, s.cancel)
	s.Handle("GET /track-and-trace-v1/tracking/simple/trackids/{numbers}", true, s.track)
	return s.Server
}

// mediaType is that of ShipIT.
const mediaType = "application/glsVersion1+json"

// withMediaType refuses bodies of another type.
func withMediaType(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		if !strings.EqualFold(given, mediaType) {
			w.WriteHeader(http.StatusUnsupportedMediaType)
			return
		}
		handler(w, r)
	}
}

// issueToken answers a request for a token by client credentials.
func (s standIn) issueToken(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if !ok || id != ClientID || secret != ClientSecret || r.ParseForm() != nil || r.PostForm.Get("grant_type") != "client_credentials" {
		s.Fail(w, http.StatusUnauthorized)
		return
	}
	token, life := s.NewToken()
	reply(w, "application/json", map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(life.Seconds())})
}

// failure returns the gateway's body for a status that the faults selected. A
// refusal of a purchase has a body of the platform.
func failure(status int) (contentType string, body []byte) {
	if status == http.StatusBadRequest {
		return "application/json", encode(map[string]any{"errors": []any{map[string]any{
			"code": "COMMON_EXISTS_ZIPCODE", "message": "The ZIP code does not exist in this country",
		}}})
	}
	return "application/json", encode(map[string]any{"fault": map[string]any{
		"faultstring": http.StatusText(status),
		"detail":      map[string]any{"errorcode": "steps.oauth.v2.Failure"},
	}})
}

// refuse answers with a reason in a header, which is Latin-1, and an empty body.
func refuse(w http.ResponseWriter, status int, code, message string) {
	latin := make([]byte, 0, len(message))
	for _, letter := range message {
		latin = append(latin, byte(letter))
	}
	w.Header()["error"] = []string{code}
	w.Header()["message"] = []string{string(latin)}
	w.WriteHeader(status)
}

func reply(w http.ResponseWriter, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(encode(body))
}

// encode encodes what the package itself made, which never fails.
func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return body
}
