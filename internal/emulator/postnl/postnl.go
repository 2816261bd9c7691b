// Package postnl emulates PostNL: the APIs that draw barcodes, make and confirm
// labels, list pickup points, and show the status and the signature of parcels, over
// real HTTP. It
// shares no code with the service, and tests compare the service's records with
// its ledger.
//
// Like the real API, it names no prices, cannot cancel a parcel, announces a
// barcode once however often its label is made, and writes empty texts as "{}".
package postnl

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// What the emulator accepts: one key for two customers.
const (
	APIKey              = "emulated-postnl-key"
	CustomerCode        = "DEVC"
	CustomerNumber      = "11223344"
	ShortCustomerCode   = "DEV"
	ShortCustomerNumber = "22334455"
	CollectionLocation  = "123456"
)

// standIn is the emulated carrier.
type standIn struct {
	*emulator.Server

	mu    sync.Mutex
	drawn map[string]bool // barcodes that were drawn
}

// New returns an emulator that records its sales in l.
func New(l *emulator.Ledger) *emulator.Server {
	s := &standIn{Server: emulator.New("postnl", l), drawn: map[string]bool{}}
	s.Failure = failure
	s.LookupDelay = 60 * time.Minute
	s.route("GET /shipment/v1_1/barcode", s.drawBarcode)
	s.route("POST /shipment/v2_2/label", s.makeLabel)
	s.route("GET /shipment/v2_1/locations/nearest", s.showNearest)
	s.route("GET /shipment/v2_1/locations/lookup", s.showLocation)
	s.route("GET /shipment/v2/status/barcode/{barcode}", s.showBarcode)
	s.route("GET /shipment/v2/status/reference/{reference}", s.showReference)
	s.route("GET /shipment/v2/status/signature/{barcode}", s.showSignature)
	return s.Server
}

// route adds a path, which requires the key.
func (s *standIn) route(pattern string, handler http.HandlerFunc) {
	s.Handle(pattern, false, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("apikey") != APIKey {
			s.Fail(w, http.StatusUnauthorized)
			return
		}
		handler(w, r)
	})
}

// failure returns PostNL's response body for a status that the faults selected.
func failure(status int) (contentType string, body []byte) {
	text := map[int]string{
		http.StatusUnauthorized:    "Failed to resolve API Key variable 'request.header.apikey'",
		http.StatusTooManyRequests: "Too many requests. Rate limit exceeded!",
	}[status]
	if text != "" {
		return "application/json", encode(object{"message": text, "http_status_code": status})
	}
	if status == http.StatusBadRequest {
		return "application/json", encode(object{"Errors": []object{{"Error": "Validation failed", "Code": "1280000", "Description": "The request is not valid"}}})
	}
	return "application/json", encode(object{"fault": object{
		"faultstring": "Unexpected EOF at target",
		"detail":      object{"errorcode": "messaging.adaptors.http.flow.UnexpectedEOFAtTarget"},
	}})
}

// drawBarcode draws a barcode. One that no label is made for is worth nothing.
func (s *standIn) drawBarcode(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	code := query.Get("CustomerCode")
	digits := checkSerie(code, query.Get("Serie"))
	switch {
	case !isAccount(code, query.Get("CustomerNumber")):
		reply(w, http.StatusBadRequest, object{"errors": []object{{"ErrorMsg": "Customer code and number do not match", "ErrorNumber": "3"}}})
		return
	case query.Get("Type") != "3S":
		reply(w, http.StatusBadRequest, object{"errors": []object{{"ErrorMsg": "Barcode type is not supported", "ErrorNumber": "5"}}})
		return
	case digits == 0:
		reply(w, http.StatusBadRequest, object{"errors": []object{{"ErrorMsg": "Serie is not valid: the barcode must have 13 or 15 characters", "ErrorNumber": "8"}}})
		return
	}

	barcode := fmt.Sprintf("3S%s%0*d", code, digits, s.Ledger.Next())
	s.mu.Lock()
	s.drawn[barcode] = true
	s.mu.Unlock()
	reply(w, http.StatusOK, object{"Barcode": barcode})
}

// isAccount reports whether PostNL knows a customer.
func isAccount(code, number string) bool { return number != "" && accounts[code] == number }

// wasDrawn reports whether a barcode was drawn here, in this process or, if a
// label was made for it, in one before.
func (s *standIn) wasDrawn(barcode string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn[barcode] {
		return true
	}
	_, _, sold := s.Ledger.Sold(barcode)
	return sold
}

type object = map[string]any

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
