// Package amazonshipping emulates Amazon Shipping: the token service of Login with
// Amazon, and the part of the Shipping API v2 that quotes, sells, cancels and
// tracks shipments within the United States, over real HTTP. It shares no code
// with the service, and tests compare the service's records with its ledger.
//
// Like the real API, it sells quotes, which end after ten minutes, recognizes a
// repeated purchase by its idempotency key as long as the quote lives, takes only
// documents that the rate offers, and has no search by reference. Requests with
// members that Amazon's model does not have are refused: Amazon does not document
// whether it ignores them.
package amazonshipping

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// What the emulator accepts.
const (
	ClientID     = "amzn1.application-oa2-client.emulated"
	ClientSecret = "emulated-amazon-secret"
	RefreshToken = "Atzr-emulated-refresh-token"
	BusinessID   = "AmazonShipping_US"
	CarrierID    = "AMZN_US"
)

// amazon is the emulated carrier.
type amazon struct {
	*emulator.Server
	settings atomic.Pointer[settings]

	mu     sync.Mutex
	quotes map[string]*quoted // by their token
}

// settings are how this Amazon differs from the usual one. They are not faults.
type settings struct {
	// QuoteLife is how long a quote can be bought; 0 means ten minutes.
	QuoteLife emulator.Duration `json:"quoteLife,omitzero"`
	// Surcharge is added to every price, in cents: prices change between a quote
	// and the purchase.
	Surcharge int `json:"surcharge,omitempty"`
	// NoForms closes collection forms to the account.
	NoForms bool `json:"noForms,omitempty"`
	// NoRole makes the app lack the role for shipping.
	NoRole bool `json:"noRole,omitempty"`
	// Withdrawn makes the authorization of the app end.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// New returns an emulator that records its sales in l.
func New(l *emulator.Ledger) *emulator.Server {
	a := &amazon{Server: emulator.New("amazon_shipping", l), quotes: map[string]*quoted{}}
	a.settings.Store(&settings{})
	a.Failure = failure

	a.Handle("PUT /_emulator/settings", false, func(w http.ResponseWriter, r *http.Request) {
		emulator.Change(w, r, func(next settings) error {
			a.settings.Store(&next)
			return nil
		})
	})
	a.Handle("POST /auth/o2/token", false, a.issueToken)
	a.route("PUT /shipping/v2/unmanifestedShipments", a.unmanifested)
	a.route("POST /shipping/v2/shipments/rates", a.rates)
	a.route("POST /shipping/v2/shipments", a.purchase)
	a.route("PUT /shipping/v2/shipments/{id}/cancel", a.cancel)
	a.route("GET /shipping/v2/tracking", a.track)
	return a.Server
}

// route adds a path that needs a token.
func (a *amazon) route(pattern string, handler http.HandlerFunc) {
	a.Handle(pattern, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amzn-Ratelimit-Limit", "80.0")
		w.Header().Set("X-Amzn-Requestid", "emulated-request")
		switch {
		case !a.TokenGood(r.Header.Get("X-Amz-Access-Token")):
			a.Fail(w, http.StatusUnauthorized)
		case r.Header.Get("User-Agent") == "":
			refuse(w, http.StatusBadRequest, "InvalidRequest", "The user agent is missing")
		case a.settings.Load().NoRole:
			a.Fail(w, http.StatusForbidden)
		default:
			handler(w, r)
		}
	})
}

// issueToken answers POST /auth/o2/token.
func (a *amazon) issueToken(w http.ResponseWriter, r *http.Request) {
	isClient := r.FormValue("client_id") == ClientID && r.FormValue("client_secret") == ClientSecret
	switch {
	case r.FormValue("grant_type") != "refresh_token":
		reply(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
	case !isClient:
		reply(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client", "error_description": "Client authentication failed"})
	case r.FormValue("refresh_token") != RefreshToken || a.settings.Load().Withdrawn:
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "The request has an invalid grant parameter : refresh_token"})
	default:
		token, life := a.NewToken()
		reply(w, http.StatusOK, map[string]any{
			"access_token":  token,
			"refresh_token": RefreshToken,
			"token_type":    "bearer",
			"expires_in":    int(life / time.Second),
		})
	}
}

// unmanifested answers PUT /shipping/v2/unmanifestedShipments: none wait.
func (a *amazon) unmanifested(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Clients []struct {
			Type string `json:"clientReferenceType"`
			ID   string `json:"clientReferenceId"`
		} `json:"clientReferenceDetails"`
	}
	if a.settings.Load().NoForms {
		a.Fail(w, http.StatusForbidden)
		return
	}
	if err := decode(r.Body, &in); err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequest", err.Error())
		return
	}
	reply(w, http.StatusOK, map[string]any{"unmanifestedCarrierInformationList": []any{}})
}

// codes are Amazon's own for a status.
var codes = map[int]string{
	400: "InvalidRequest",
	401: "Unauthorized",
	403: "Unauthorized",
	404: "NotFound",
	429: "QuotaExceeded",
	500: "InternalFailure",
	503: "ServiceUnavailable",
}

// failure returns Amazon's response body for a status that the faults selected.
func failure(status int) (contentType string, body []byte) {
	return "application/json", encode(problem(codes[status], http.StatusText(status), ""))
}

func problem(code, message, details string) map[string]any {
	return map[string]any{"errors": []map[string]string{{"code": code, "message": message, "details": details}}}
}

func refuse(w http.ResponseWriter, status int, code, details string) {
	reply(w, status, problem(code, "Request is missing or has invalid parameters", details))
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body))
}

// decode reads a request with no other members than those of the model.
func decode(body io.Reader, into any) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}

	// The decoder takes names in any letter case, and Amazon only its own: its
	// OpenAPI file requires them as they are.
	var given any
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	return checkNames(given, reflect.TypeOf(into))
}

// checkNames requires that the members of a value are written as the fields of
// a type are.
func checkNames(given any, kind reflect.Type) error {
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		if list, isList := given.([]any); isList && kind.Kind() == reflect.Slice {
			for _, element := range list {
				if err := checkNames(element, kind.Elem()); err != nil {
					return err
				}
			}
			return nil
		}
		kind = kind.Elem()
	}
	object, isObject := given.(map[string]any)
	if !isObject || kind.Kind() != reflect.Struct {
		return nil
	}

	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(kind) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = field.Type
	}
	for name, value := range object {
		field, isKnown := fields[name]
		if !isKnown {
			return fmt.Errorf("unknown member %s", name)
		}
		if err := checkNames(value, field); err != nil {
			return err
		}
	}
	return nil
}

// encode encodes what the package itself made, which never fails.
func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return body
}
