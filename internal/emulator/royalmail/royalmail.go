// Package royalmail emulates Royal Mail: the part of the Click & Drop API that
// creates, shows, prints and deletes orders and closes manifests, and of the
// Tracking API that shows events and signatures, over real HTTP. It shares no code
// with the service, and tests compare the service's records with its ledger.
//
// Click & Drop answers below "/api/v1", the Tracking API below "/mailpieces/v2".
// Like the real API, it names no prices, prints a label as often as it is asked,
// and keeps orders apart that have the same reference.
//
// The fault "account" knows: "no_oba" (orders are imported and never printed),
// "late_label" (an order is created without its label, which is printed when it is
// asked for again), "no_label" (it is never printed), "late_manifest" (the form of a manifest is ready at the third
// look), "failed_manifest" (a manifest fails after it got its number, and a retry
// closes it), "broken_manifest" (the retry fails too) and "declined_retry" (the
// retry is declined). The orders of a failed manifest stay on it. With
// "no_postage", orders are only imported, as in an account that
// does not apply postage to them. With "absent_rows", orders that are not there are answered with 200 and a list of
// errors instead of 404. With "customs_apart", the customs form is not printed with
// the label, and with "no_customs_form" never.
package royalmail

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// What the emulator accepts.
const (
	APIKey               = "emulated-click-and-drop-key"
	TrackingClientID     = "emulated-royal-mail-client"
	TrackingClientSecret = "emulated-royal-mail-secret"
)

// The faults of an account.
const (
	noOBA        = "no_oba"
	lateLabel    = "late_label"
	noLabel      = "no_label"
	noPostage    = "no_postage"
	absentRows   = "absent_rows"
	customsApart = "customs_apart"
	noCustoms    = "no_customs_form"
	lateManifest = "late_manifest"

	failedManifest = "failed_manifest"
	brokenManifest = "broken_manifest"
	declinedRetry  = "declined_retry"
)

// standIn is the emulated carrier.
type standIn struct {
	*emulator.Server

	mu     sync.Mutex
	looks  map[string]int      // how often the form of each manifest was asked for
	failed map[string][]string // the tracking numbers on each manifest that failed
}

// New returns an emulator that records its sales in l.
func New(l *emulator.Ledger) *emulator.Server {
	s := &standIn{Server: emulator.New("royal_mail", l), looks: map[string]int{}, failed: map[string][]string{}}
	s.Failure = failure
	s.LookupDelay = 5 * time.Minute

	const orders, manifests = "/api/v1/orders", "/api/v1/manifests"
	s.route("POST "+orders, s.createOrders)
	s.route("GET "+orders, s.listOrders)
	s.route("GET "+orders+"/{ids}", s.showOrders)
	s.route("DELETE "+orders+"/{ids}", s.deleteOrders)
	s.route("GET "+orders+"/{ids}/label", s.printLabel)
	s.route("POST /api/v1/returns", s.createReturn)
	s.route("GET /api/v1/returns/services", s.listReturnServices)
	s.route("POST "+manifests, s.closeManifest)
	s.route("GET "+manifests+"/{number}", s.showManifest)
	s.route("POST "+manifests+"/retry/{number}", s.retryManifest)

	const pieces = "/mailpieces/v2"
	s.trackingRoute("GET "+pieces+"/{number}/events", s.showEvents)
	s.trackingRoute("GET "+pieces+"/{number}/signature", s.showSignature)
	return s.Server
}

// route adds a path of Click & Drop, which requires the key.
func (s *standIn) route(pattern string, handler http.HandlerFunc) {
	s.Handle(pattern, false, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+APIKey {
			s.Fail(w, http.StatusUnauthorized)
			return
		}
		handler(w, r)
	})
}

// trackingRoute adds a path of the Tracking API, which has a login and terms of
// its own.
func (s *standIn) trackingRoute(pattern string, handler http.HandlerFunc) {
	s.Handle(pattern, false, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-IBM-Client-Id") != TrackingClientID, r.Header.Get("X-IBM-Client-Secret") != TrackingClientSecret:
			refuseTracking(w, http.StatusUnauthorized, "Unauthorized", "Client id or secret is invalid.", "", "")
		case r.Header.Get("X-Accept-RMG-Terms") != "yes":
			refuseTracking(w, http.StatusBadRequest, "Bad Request", "", "E0004", "Failed header validation for X-Accept-RMG-Terms")
		default:
			handler(w, r)
		}
	})
}

// failure returns Royal Mail's response body for a status that the faults
// selected. Several have none.
func failure(status int) (contentType string, body []byte) {
	switch status {
	case http.StatusBadRequest:
		return "application/json", encode(object{"code": "ValidationError", "message": "The request is not valid."})
	case http.StatusTooManyRequests:
		return "application/json", encode(object{
			"httpCode":        "429",
			"httpMessage":     "Too Many Requests",
			"moreInformation": "The rate limit has been exceeded for the plan or operation being used",
		})
	case http.StatusInternalServerError, http.StatusServiceUnavailable:
		return "application/json", encode(object{"code": "InternalError", "message": "An unexpected error occurred."})
	}
	return "", nil
}

type object = map[string]any

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body))
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	reply(w, status, object{"code": code, "message": message})
}

// refuseTracking is an error in the format of the Tracking API.
func refuseTracking(w http.ResponseWriter, status int, text, more, code, description string) {
	body := object{"httpCode": strconv.Itoa(status), "httpMessage": text}
	if more != "" {
		body["moreInformation"] = more
	}
	if code != "" {
		body["errors"] = []object{{"errorCode": code, "errorDescription": description}}
	}
	reply(w, status, body)
}

// encode encodes what the package itself made, which never fails.
func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return body
}
