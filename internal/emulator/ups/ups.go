// Package ups is an emulator of UPS: tokens, quotes, purchases, label recovery,
// voids, tracking, Track Alert, checks of addresses, pickups, Access Points,
// estimates of duties and documents, in UPS's own protocol. It shares no code with the service,
// and tests compare the service's records with its ledger.
//
// It pushes the events of parcels, from their subscription on, to the webhook
// that is set up in UPS's portal:
//
//	PUT /_emulator/push   {"url":"http://...","credential":"..."}; an empty url ends it
//	GET /_emulator/push   how many pushes arrived, failed and wait
//
// It can behave like other variants of UPS, as described in settings.go:
//
//	PUT /_emulator/settings   {"testEnvironment":true,"recovery":"candidates"}
//	GET /_emulator/settings
package ups

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// The credentials that the emulator accepts.
const (
	ClientID     = "emulated-ups-client"
	ClientSecret = "emulated-ups-secret"
	Account      = "A1B2C3"
)

// server is the emulator.
type server struct {
	*emulator.Server
	webhook  *webhook
	settings atomic.Pointer[settings]
}

// New returns an emulator that continues with the ledger.
func New(l *emulator.Ledger) *emulator.Server {
	s := &server{Server: emulator.New("ups", l)}
	s.webhook = newWebhook(s)
	s.settings.Store(&settings{})
	s.Failure = failure
	s.LookupDelay = 60 * time.Minute
	s.Handle("POST /security/v1/oauth/token", false, s.giveToken)
	s.Handle("POST /api/rating/v2409/{option}", true, s.rate)
	s.Handle("POST /api/shipments/v2409/ship", true, s.ship)
	s.Handle("POST /api/labels/v1/recovery", true, s.recover)
	s.Handle("DELETE /api/shipments/v2409/void/cancel/{id}", true, s.void)
	s.Handle("GET /api/track/v1/details/{number}", true, s.track)
	s.Handle("GET /api/track/v1/reference/details/{reference}", true, s.trackReference)
	s.Handle("GET /api/track/v1/shipment/details/{number}", true, s.trackShipment)
	s.Handle("POST /api/addressvalidation/v2/{option}", true, s.checkAddress)
	s.Handle("POST /api/pickupcreation/v2409/pickup", true, s.bookPickup)
	s.Handle("GET /api/shipments/v2409/pickup/{type}", true, s.showPickups)
	s.Handle("DELETE /api/shipments/v2409/pickup/{by}", true, s.cancelPickup)
	s.Handle("POST /api/locations/v3/search/availabilities/{option}", true, s.findPoints)
	s.Handle("POST /api/landedcost/v1/quotes", true, s.estimate)
	s.Handle("POST /api/paperlessdocuments/v2/upload", true, s.uploadForm)
	s.Handle("POST /api/paperlessdocuments/v2/image", true, s.attachForm)
	s.Handle("POST /api/track/v2/subscription/{kind}/package", true, s.subscribe)
	s.Handle("POST /api/track/v2/subscription/{kind}/account", true, s.subscribeAccount)
	s.Handle("PUT /_emulator/push", false, s.webhook.set)
	s.Handle("GET /_emulator/push", false, s.webhook.show)
	s.Handle("PUT /_emulator/settings", false, s.changeSettings)
	s.Handle("GET /_emulator/settings", false, s.showSettings)
	return s.Server
}

// A refusal is an error as UPS reports it.
type refusal struct{ code, message string }

// failure writes UPS's own error body for a status. 400 is the refusal of a
// void; purchases have their own refusals.
func failure(status int) (contentType string, body []byte) {
	said := map[int]refusal{
		http.StatusBadRequest:          {"190102", "No shipment found within the allowed void period"},
		http.StatusUnauthorized:        {"250002", "Invalid Authentication Information."},
		http.StatusTooManyRequests:     {"10429", "Too Many Requests"},
		http.StatusInternalServerError: {"10004", "The system is temporarily unable to process the request"},
		http.StatusServiceUnavailable:  {"10004", "The system is temporarily unavailable"},
	}[status]
	return "application/json", said.body()
}

func (r refusal) body() []byte {
	type one struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	return encode(map[string]any{"response": map[string]any{"errors": []one{{r.code, r.message}}}})
}

// refuse answers with 400.
func refuse(w http.ResponseWriter, r refusal) { answer(w, http.StatusBadRequest, r.body()) }

func answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types can always be encoded
	}
	return body
}

// decode reads a request; UPS requires the content type of JSON.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	_, ok := decodeBody(w, r, into)
	return ok
}

// decodeBody is decode, and returns the body as it was sent.
func decodeBody(w http.ResponseWriter, r *http.Request, into any) (body []byte, ok bool) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		refuse(w, refusal{"10007", "The request has an invalid content type"})
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
	if err != nil || json.Unmarshal(body, into) != nil {
		refuse(w, refusal{"10002", "The JSON document is not valid"})
		return nil, false
	}
	return body, true
}

// giveToken is the grant of client credentials.
func (s *server) giveToken(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if r.ParseForm() != nil || r.PostForm.Get("grant_type") != "client_credentials" {
		refuse(w, refusal{"10400", "Invalid/Missing Grant Type"})
		return
	}
	if id != ClientID || secret != ClientSecret {
		answer(w, http.StatusUnauthorized, refusal{"10401", "ClientId is Invalid"}.body())
		return
	}
	token, life := s.NewToken()
	answer(w, http.StatusOK, encode(map[string]string{
		"token_type": "Bearer", "issued_at": strconv.FormatInt(time.Now().UnixMilli(), 10), "client_id": ClientID,
		"access_token": token, "scope": "public", "expires_in": strconv.Itoa(int(life.Seconds())),
		"refresh_count": "0", "status": "approved",
	}))
}
