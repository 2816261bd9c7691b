// Package dhlexpress emulates DHL Express: the part of the MyDHL API that
// quotes, buys, looks up and tracks shipments and books couriers, over real
// HTTP. It shares no code with the service, and tests compare the service's
// records with its ledger.
//
// It answers below "/mydhlapi", below "/mydhlapi/test", and at the root. Like
// the real API, it cannot cancel a shipment, returns a label only once, and has
// no look-up for pickups.
package dhlexpress

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// What the emulator accepts: HTTP Basic, and one account.
const (
	APIKey    = "emulated-dhl-key"
	APISecret = "emulated-dhl-secret"
	Account   = "123456789"
)

// standIn is the emulated carrier.
type standIn struct{ *emulator.Server }

// New returns an emulator that records its sales in l.
func New(l *emulator.Ledger) *emulator.Server {
	s := standIn{emulator.New("dhl_express", l)}
	s.Failure = failure
	s.LookupDelay = 60 * time.Minute

	for _, prefix := range []string{"", "/mydhlapi", "/mydhlapi/test"} {
		s.route("GET "+prefix+"/address-validate", s.validateAddress)
		s.route("POST "+prefix+"/rates", s.rates)
		s.route("POST "+prefix+"/shipments", s.ship)
		s.route("GET "+prefix+"/tracking", s.trackMany)
		s.route("GET "+prefix+"/shipments/{number}/tracking", s.trackOne)
		s.route("GET "+prefix+"/shipments/{number}/proof-of-delivery", s.proof)
		s.route("PATCH "+prefix+"/shipments/{number}/upload-image", s.uploadImage)
		s.route("GET "+prefix+"/shipments/{number}/get-image", s.showImages)
		s.route("GET "+prefix+"/servicepoints", s.servicePoints)
		s.route("POST "+prefix+"/landed-cost", s.landedCost)
		s.route("POST "+prefix+"/pickups", s.bookPickup)
		s.route("DELETE "+prefix+"/pickups/{number}", s.cancelPickup)
	}
	return s.Server
}

// route adds a path that requires credentials and the version of the API.
func (s standIn) route(pattern string, handler http.HandlerFunc) {
	s.Handle(pattern, false, func(w http.ResponseWriter, r *http.Request) {
		key, secret, ok := r.BasicAuth()
		switch {
		case !ok || key != APIKey || secret != APISecret:
			s.Fail(w, http.StatusUnauthorized)
		case r.Header.Get("X-Version") == "":
			refuse(w, r, http.StatusBadRequest, "Missing mandatory parameters: x-version")
		default:
			handler(w, r)
		}
	})
}

// problem is an error in DHL's format. Its code precedes the detail.
type problem struct {
	Instance          string   `json:"instance,omitempty"`
	Detail            string   `json:"detail"`
	Title             string   `json:"title"`
	Message           string   `json:"message"`
	AdditionalDetails []string `json:"additionalDetails,omitempty"`
	Status            string   `json:"status"`
}

var titles = map[int][2]string{
	400: {"Bad request", "Bad request"},
	401: {"Unauthorized", "Unauthorized"},
	404: {"Not data found", "Not data found"},
	422: {"Validation error", "Unprocessable Entity"},
	429: {"Too Many Requests", "Too many requests within defined time period, please try again later."},
	500: {"Internal Server Error", "Internal Server Error"},
	503: {"Service Unavailable", "Service Unavailable"},
}

// failure returns DHL's response body for a status that the faults selected.
func failure(status int) (contentType string, body []byte) {
	detail := ""
	switch status {
	case http.StatusUnauthorized:
		detail = "Invalid Credentials"
	case http.StatusBadRequest:
		detail = "7008: The requested product is not available between this origin and destination."
	case http.StatusInternalServerError:
		detail = "999: Process failure occurred. Process ID associated for that transaction (1234567890)"
	}
	return "application/json", encode(problemOf("/expressapi", status, detail))
}

func problemOf(instance string, status int, details ...string) problem {
	p := problem{
		Instance: instance,
		Title:    titles[status][0],
		Message:  titles[status][1],
		Status:   strconv.Itoa(status),
	}
	if len(details) == 1 {
		p.Detail = details[0]
		return p
	}

	p.Detail = "Multiple problems found, see Additional Details"
	p.AdditionalDetails = details
	return p
}

func refuse(w http.ResponseWriter, r *http.Request, status int, details ...string) {
	reply(w, status, problemOf("/expressapi"+r.URL.RequestURI(), status, details...))
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
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
