// Package dhlparcelde emulates DHL Parcel DE: the parts of its APIs that sell,
// show and delete shipments, sell returns, track both, and book pickups, over real HTTP. It
// shares no code with the service, and tests compare the service's records with
// its ledger.
//
// Like the real APIs, it quotes no prices, has a search by reference only in
// tracking, judges each shipment of a request by itself, and answers questions of
// tracking with the HTTP status 200, whatever happened.
package dhlparcelde

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// What the emulator accepts: an app, a user of the business customer portal, and
// a billing number for each product.
const (
	APIKey    = "emulated-dhl-parcel-key"
	APISecret = "emulated-dhl-parcel-secret"
	User      = "emulated-user"
	Password  = "emulated-dhl-parcel-password"
	Profile   = "STANDARD_GRUPPENPROFIL"

	BillingPaket                  = "33333333330102"
	BillingKleinpaket             = "33333333336201"
	BillingPaketInternational     = "33333333335301"
	BillingEuropaket              = "33333333335401"
	BillingWarenpostInternational = "33333333336601"
	BillingPickup                 = "22222222220801"
)

// standIn is the emulated carrier.
type standIn struct{ *emulator.Server }

// New returns an emulator that records its sales in l.
func New(l *emulator.Ledger) *emulator.Server {
	s := standIn{emulator.New("dhl_parcel_de", l)}
	s.Failure = failure
	s.LookupDelay = 60 * time.Minute

	s.Handle("POST /parcel/de/account/auth/ropc/v1/token", false, s.issueToken)
	const shipping = "/parcel/de/shipping/v2"
	s.Handle("GET "+shipping+"/{$}", true, s.version)
	s.Handle("POST "+shipping+"/orders", true, s.order)
	s.Handle("GET "+shipping+"/orders", true, s.show)
	s.Handle("DELETE "+shipping+"/orders", true, s.delete)
	s.Handle("GET "+shipping+"/manifests", true, s.manifest)

	s.Handle("POST /parcel/de/shipping/returns/v1/orders", true, s.orderReturn)

	const pickup = "/parcel/de/transportation/pickup/v3"
	s.Handle("POST "+pickup+"/orders", true, s.bookPickup)
	s.Handle("GET "+pickup+"/orders", true, s.findPickups)
	s.Handle("DELETE "+pickup+"/orders", true, s.cancelPickup)

	s.Handle("GET /parcel/de/tracking/v0/shipments", false, s.track)
	return s.Server
}

// issueToken answers a request for a token by the password grant.
func (s standIn) issueToken(w http.ResponseWriter, r *http.Request) {
	isValid := r.ParseForm() == nil &&
		r.PostForm.Get("grant_type") == "password" &&
		r.PostForm.Get("client_id") == APIKey && r.PostForm.Get("client_secret") == APISecret &&
		r.PostForm.Get("username") == User && r.PostForm.Get("password") == Password
	if !isValid {
		reply(w, http.StatusUnauthorized, map[string]string{"error": "invalid_grant", "error_description": "Invalid user credentials"})
		return
	}

	token, life := s.NewToken()
	reply(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(life.Seconds())})
}

// version answers GET /.
func (s standIn) version(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{
		"amp":     map[string]string{"name": "pp-parcel-shipping-native", "version": "v2.1.13", "rev": "22", "env": "sandbox"},
		"backend": map[string]string{"version": "v2.1.13", "env": "sandbox"},
	})
}

// status is how DHL judges a request, or a shipment of one.
type status struct {
	Title      string `json:"title"`
	StatusCode int    `json:"statusCode"`
	Status     int    `json:"status"`
	Detail     string `json:"detail,omitempty"`
}

func statusOf(code int, detail string) status {
	title := http.StatusText(code)
	if code == http.StatusOK {
		title = "ok"
	}
	return status{Title: title, StatusCode: code, Status: code, Detail: detail}
}

// failure returns DHL's response body for a status that the faults selected.
func failure(code int) (contentType string, body []byte) {
	if code == http.StatusBadRequest {
		refused := item{
			Status:   statusOf(code, "Validation failed."),
			Messages: []message{{Property: "consignee", Text: "The emulator refuses this shipment.", State: "Error"}},
		}
		return problemType, encode(answer{Status: statusOf(code, "Validation failed."), Items: []item{refused}})
	}
	return problemType, encode(statusOf(code, http.StatusText(code)))
}

const problemType = "application/problem+json"

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
