// Package fedex is an emulator of FedEx: tokens, rates, labels, cancellation,
// tracking, checks of addresses, pickups, manifests, proofs of delivery, service
// points and documents, in the carrier's own protocol and as strict as the carrier. It shares no
// code with the service.
//
// It also sends pushes, like the webhook that is set up in FedEx's portal:
//
//	PUT /_emulator/push   {"url":"http://...","token":"..."}: begins; an empty url ends it
//	GET /_emulator/push   how many pushes arrived, failed and wait
//
// It can behave like FedEx's test environment, as described in settings.go:
//
//	PUT /_emulator/settings   {"unanswered":["rates"]}
//	GET /_emulator/settings
package fedex

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// The credentials that the emulator accepts. The second pair is of a tracking
// project: its tokens are valid only for tracking. The third has the other
// interface for rates, Comprehensive Rates. The second account is not enrolled
// for electronic trade documents.
const (
	ClientID          = "l7fedexemulatorshippingkey"
	ClientSecret      = "fedex-emulator-shipping-secret"
	TrackClientID     = "l7fedexemulatortrackingkey"
	TrackClientSecret = "fedex-emulator-tracking-secret"
	Account           = "740561073"

	ComprehensiveClientID     = "l7fedexemulatorcomprehensivekey"
	ComprehensiveClientSecret = "fedex-emulator-comprehensive-secret"
	UnenrolledAccount         = "740561081"

	Hub = "5531"
)

// fedex is the emulated carrier on its server.
type fedex struct {
	*emulator.Server
	mu       sync.Mutex
	projects map[string]string // the project of each token, by its key
	webhook  *webhook
	settings atomic.Pointer[settings]
	closing  sync.Mutex // held while a day is closed
}

// New returns an emulator that continues with the given ledger.
func New(ledger *emulator.Ledger) *emulator.Server {
	f := &fedex{Server: emulator.New("fedex", ledger), projects: map[string]string{}}
	f.Failure = failure
	f.LookupDelay = 24 * time.Hour
	f.Compresses = true // with and without Accept-Encoding, refusals too
	f.webhook = newWebhook(f)
	f.settings.Store(&settings{})

	f.Handle("POST /oauth/token", false, f.token)
	f.Handle("POST /rate/v1/rates/quotes", true, f.onlyFor(f.answered("rates", f.rates), ClientID))
	f.Handle("POST /rate/v1/comprehensiverates/quotes", true, f.onlyFor(f.answered("rates", f.rates), ComprehensiveClientID))
	f.Handle("POST /ship/v1/shipments", true, f.onlyFor(f.answered("ship", f.buy), ClientID, ComprehensiveClientID))
	f.Handle("POST /ship/v1/shipments/packages/validate", true, f.onlyFor(f.answered("ship", f.rehearse), ClientID, ComprehensiveClientID))
	f.Handle("PUT /ship/v1/shipments/cancel", true, f.onlyFor(f.answered("cancel", f.cancel), ClientID, ComprehensiveClientID))
	f.Handle("POST /address/v1/addresses/resolve", true, f.onlyFor(f.answered("address", f.resolve), ClientID, ComprehensiveClientID))
	f.Handle("POST /pickup/v1/pickups", true, f.onlyFor(f.answered("pickup", f.bookPickup), ClientID, ComprehensiveClientID))
	f.Handle("PUT /pickup/v1/pickups/cancel", true, f.onlyFor(f.answered("pickup", f.cancelPickup), ClientID, ComprehensiveClientID))
	f.Handle("PUT /ship/v1/endofday/", true, f.onlyFor(f.answered("close", f.closeDay), ClientID, ComprehensiveClientID))
	f.Handle("POST /ship/v1/endofday/", true, f.onlyFor(f.answered("close", f.reprint), ClientID, ComprehensiveClientID))
	f.Handle("POST /location/v1/locations", true, f.onlyFor(f.answered("locations", f.locations), ClientID, ComprehensiveClientID))
	for _, host := range []string{"", "/sandbox"} {
		f.Handle("POST "+host+"/documents/v1/etds/encodedmultiupload", true, f.onlyFor(f.answered("documents", f.uploadDocument), ClientID, ComprehensiveClientID))
	}
	f.Handle("POST /track/v1/referencenumbers", true, f.answered("track", f.trackReference))
	f.Handle("POST /track/v1/trackingnumbers", true, f.answered("track", f.trackNumbers))
	f.Handle("POST /track/v1/trackingdocuments", true, f.answered("track", f.prove))

	f.Handle("PUT /_emulator/push", false, f.webhook.set)
	f.Handle("GET /_emulator/push", false, f.webhook.show)
	f.Handle("PUT /_emulator/settings", false, f.changeSettings)
	f.Handle("GET /_emulator/settings", false, f.showSettings)
	return f.Server
}

// token issues tokens for the known keys.
func (f *fedex) token(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil || r.PostForm.Get("grant_type") != "client_credentials" {
		refuse(w, r, http.StatusUnauthorized, "NOT.AUTHORIZED.ERROR", "The given grant type is not supported.")
		return
	}

	id := r.PostForm.Get("client_id")
	secret := r.PostForm.Get("client_secret")
	if known, ok := secrets[id]; !ok || secret != known {
		refuse(w, r, http.StatusUnauthorized, "NOT.AUTHORIZED.ERROR", "The given client credentials were not valid. Please modify your request and try again.")
		return
	}

	token, life := f.NewToken()
	f.mu.Lock()
	f.projects[token] = id
	f.mu.Unlock()
	send(w, http.StatusOK, object{
		"access_token": token,
		"token_type":   "bearer",
		"expires_in":   int(life.Seconds()),
		"scope":        "CXS",
	})
}

// secrets are the projects' secrets by their keys.
var secrets = map[string]string{
	ClientID:              ClientSecret,
	TrackClientID:         TrackClientSecret,
	ComprehensiveClientID: ComprehensiveClientSecret,
}

// onlyFor refuses tokens of other projects.
func (f *fedex) onlyFor(handler http.HandlerFunc, projects ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		project := f.projects[r.Header.Get("Authorization")[len("Bearer "):]]
		f.mu.Unlock()
		if !slices.Contains(projects, project) {
			f.Fail(w, http.StatusForbidden)
			return
		}
		handler(w, r)
	}
}

// knownAccount reports whether the account is one of those that may ship.
func knownAccount(number string) bool { return number == Account || number == UnenrolledAccount }

// object is a JSON object.
type object map[string]any

// transaction is the id of every answer. FedEx gives each its own; the
// emulator's responses are the same from run to run.
const transaction = "624deea6-b709-470c-8c39-4b5511281492"

// A problem is why a request is refused.
type problem struct{ code, message string }

// failures are FedEx's error messages by status.
var failures = map[int]problem{
	http.StatusBadRequest:          {"SHIPMENT.REQUEST.REFUSED", "The shipment cannot be processed as requested."},
	http.StatusUnauthorized:        {"NOT.AUTHORIZED.ERROR", "Access token expired. Please modify your request and try again."},
	http.StatusForbidden:           {"FORBIDDEN.ERROR", "We could not authorize your credentials. Please check your permissions and try again."},
	http.StatusTooManyRequests:     {"RATE.LIMIT.EXCEEDED", "You have exceeded the number of requests allowed."},
	http.StatusInternalServerError: {"INTERNAL.SERVER.ERROR", "We encountered an unexpected error and are working to resolve the issue. We apologize for any inconvenience. Please check back at a later time."},
	http.StatusServiceUnavailable:  {"SERVICE.UNAVAILABLE.ERROR", "The service is currently unavailable and we are working to resolve the issue. We apologize for any inconvenience. Please check back at a later time."},
}

func failure(status int) (contentType string, body []byte) {
	p := failures[status]
	return "application/json", marshal(object{"transactionId": transaction, "errors": []object{{"code": p.code, "message": p.message}}})
}

func refuse(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	body := envelope(r)
	body["errors"] = []object{{"code": code, "message": message}}
	send(w, status, body)
}

// envelope returns the part that every response has.
func envelope(r *http.Request) object {
	body := object{"transactionId": transaction}
	if id := r.Header.Get("X-Customer-Transaction-Id"); id != "" {
		body["customerTransactionId"] = id
	}
	return body
}

func answer(w http.ResponseWriter, r *http.Request, output object) {
	body := envelope(r)
	body["output"] = output
	send(w, http.StatusOK, body)
}

func send(w http.ResponseWriter, status int, body object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(marshal(body))
}

func marshal(body object) []byte {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // the emulator's own objects
	}
	return data
}

// read decodes a request, and refuses anything that is not JSON of the expected
// structure.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	_, ok := readBody(w, r, into)
	return ok
}

// readBody is read, and returns the body as it was sent.
func readBody(w http.ResponseWriter, r *http.Request, into any) (body []byte, ok bool) {
	const limit = 16 << 20

	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		refuse(w, r, http.StatusBadRequest, "INVALID.INPUT.EXCEPTION", "Invalid content type.")
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		refuse(w, r, http.StatusBadRequest, "INVALID.INPUT.EXCEPTION", "Invalid field value in the input.")
		return nil, false
	}
	return body, true
}
