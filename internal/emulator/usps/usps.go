// Package usps is an emulator of the v3 APIs of the United States Postal
// Service: OAuth, payment authorization, shipping options, domestic,
// return and international labels with reprint and cancellation by number or by
// idempotency key, addresses, pickups, SCAN forms, post offices and lockers,
// tracking, and pushes to subscribers. It refuses what the carrier refuses, and
// shares no code with the service.
package usps

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// The credentials that the emulator accepts.
const (
	ClientID     = "emulated-consumer-key"
	ClientSecret = "emulated-consumer-secret"
	CRID         = "12345678"
	MID          = "903456789"
	ManifestMID  = "903456780"
	Account      = "1000000042"
)

// Reprints is how often a label is printed again.
const Reprints = 3

// service is the carrier behind the server.
type service struct {
	*emulator.Server
	pushes *pushes

	mu       sync.Mutex
	selling  map[string]bool // idempotency keys under way
	reprints map[string]int  // by tracking number
	tags     map[string]tag  // of pickups, by confirmation number
}

// New returns an emulator that continues with the ledger.
func New(ledger *emulator.Ledger) *emulator.Server {
	s := &service{
		Server:   emulator.New("usps", ledger),
		selling:  map[string]bool{},
		reprints: map[string]int{},
		tags:     map[string]tag{},
	}
	s.Failure = s.failure
	s.LookupDelay = time.Minute

	s.Handle("POST /oauth2/v3/token", false, s.token)
	s.Handle("POST /payments/v3/payment-authorization", true, s.authorize)
	s.Handle("GET /payments/v3/payment-account/{number}", true, s.account)
	s.Handle("POST /shipments/v3/options/search", true, s.options)
	for _, api := range []labelAPI{domestic, international} {
		s.Handle("POST "+api.path+"/"+api.label, true, s.create(api))
		s.Handle("DELETE "+api.path+"/"+api.label, true, s.cancel(api))
		s.Handle("DELETE "+api.path+"/"+api.label+"/{number}", true, s.cancel(api))
		s.Handle("POST "+api.path+"/"+api.label+"-reprint", true, s.reprint(api))
		s.Handle("POST "+api.path+"/"+api.label+"-reprint/{number}", true, s.reprint(api))
	}
	s.Handle("POST "+returns.path+"/"+returns.label, true, s.create(returns))
	s.Handle("GET /addresses/v3/address", true, s.address)
	s.Handle("POST "+pickupPath, true, s.bookPickup)
	s.Handle("GET "+pickupPath+"/{number}", true, s.showPickup)
	s.Handle("DELETE "+pickupPath+"/{number}", true, s.cancelPickup)
	s.Handle("POST "+formPath, true, s.closeForm)
	s.Handle("GET "+locationAPI+"/post-office-locations", true, s.postOffices)
	s.Handle("GET "+locationAPI+"/parcel-locker-locations", true, s.lockers)
	s.Handle("GET /tracking/v3/tracking/{number}", true, s.track)
	s.Handle("POST /tracking/v3r2/tracking", true, s.trackMany)
	s.Handle("POST "+subscriptions, true, s.subscribe)
	s.Handle("GET "+subscriptions, true, s.subscribed)
	s.Handle("GET "+subscriptions+"/{id}", true, s.subscription)
	s.Handle("DELETE "+subscriptions+"/{id}", true, s.unsubscribe)

	// The pushes begin with what is in the ledger, so they come last.
	s.pushes = newPushes(s)
	return s.Server
}

// labelAPI is one of the ways to buy labels.
type labelAPI struct {
	path, label string
	abroad      bool
	created     int // status of a sale
	isReturn    bool
}

var (
	domestic      = labelAPI{"/labels/v3", "label", false, http.StatusOK, false}
	international = labelAPI{"/international-labels/v3", "international-label", true, http.StatusCreated, false}
	returns       = labelAPI{"/labels/v3", "return-label", false, http.StatusOK, true}
)

// A problem is why a request is refused.
type problem struct{ code, parameter, detail string }

// failure returns the carrier's body for a status, or that of the gateway in
// front of it.
func (s *service) failure(status int) (string, []byte) {
	if s.Faults().Gateway {
		return "application/json", gatewayBody(status)
	}
	return failure(status)
}

// gatewayBody returns the error of the gateway, for requests that never reach
// the APIs.
func gatewayBody(status int) []byte {
	code := "messaging.runtime.Failure"
	switch status {
	case http.StatusUnauthorized:
		code = "keymanagement.service.invalid_access_token"
	case http.StatusTooManyRequests:
		code = "policies.ratelimit.QuotaViolation"
	}

	body, _ := json.Marshal(map[string]any{ // only strings: it cannot fail
		"fault": map[string]any{
			"faultstring": "Refused by the gateway: " + http.StatusText(status),
			"detail":      map[string]any{"errorcode": code},
		},
	})
	return body
}

func failure(status int) (string, []byte) {
	p := problem{}
	switch status {
	case http.StatusBadRequest:
		p = problem{"010005", "toAddress", "Address Not Found"}
	case http.StatusUnauthorized:
		p = problem{"", "", "The access token is expired or invalid."}
	case http.StatusTooManyRequests:
		p = problem{"", "", "Too many requests have been received."}
	}
	return "application/json", errorBody("/labels/v3", status, p)
}

func errorBody(api string, status int, p problem) []byte {
	item := map[string]any{"status": strconv.Itoa(status), "title": http.StatusText(status), "detail": p.detail}
	if p.code != "" {
		item["code"] = p.code
	}
	if p.parameter != "" {
		item["source"] = map[string]any{"parameter": p.parameter}
	}

	body, _ := json.Marshal(map[string]any{ // only strings: it cannot fail
		"apiVersion": api,
		"error":      map[string]any{"code": strconv.Itoa(status), "message": http.StatusText(status), "errors": []any{item}},
	})
	return body
}

func refuse(w http.ResponseWriter, api string, p problem) {
	send(w, http.StatusBadRequest, errorBody(api, http.StatusBadRequest, p))
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func reply(w http.ResponseWriter, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, http.StatusOK, body)
}

// read decodes a request. Unknown members are refused where the carrier refuses
// them: at the top level, if members lists the known ones.
func read(r *http.Request, into any, members ...string) (raw []byte, p problem) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return nil, problem{"", "body", "OASValidation: " + err.Error()}
	}
	if member := emulator.MiscasedMember(raw, into); member != "" {
		return nil, problem{"", member, "OASValidation: " + member + " is not a member; names are case-sensitive"}
	}

	var top map[string]json.RawMessage
	if len(members) == 0 || json.Unmarshal(raw, &top) != nil {
		return raw, problem{}
	}
	for name := range top {
		if !slices.Contains(members, name) {
			return nil, problem{"", name, "OASValidation: " + name + " is not allowed"}
		}
	}
	return raw, problem{}
}

// token is the OAuth endpoint. It takes JSON and forms.
func (s *service) token(w http.ResponseWriter, r *http.Request) {
	var in struct {
		GrantType    string `json:"grant_type"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		Scope        string `json:"scope"`
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		in.GrantType = r.PostFormValue("grant_type")
		in.ClientID = r.PostFormValue("client_id")
		in.ClientSecret = r.PostFormValue("client_secret")
	} else if _, p := read(r, &in); p.detail != "" {
		send(w, http.StatusBadRequest, []byte(`{"error":"invalid_request","error_description":"The body is not valid."}`))
		return
	}

	switch {
	case in.GrantType != "client_credentials":
		send(w, http.StatusBadRequest, []byte(`{"error":"unsupported_grant_type","error_description":"The grant type is not supported."}`))
	case in.ClientID != ClientID || in.ClientSecret != ClientSecret:
		send(w, http.StatusUnauthorized, []byte(`{"error":"invalid_client","error_description":"The client credentials are not valid."}`))
	default:
		token, life := s.NewToken()
		reply(w, map[string]any{
			"access_token": token,
			"token_type":   "Bearer",
			"expires_in":   strconv.Itoa(max(int(life.Seconds()), 1)),
			"status":       "approved",
			"scope":        "addresses prices international-prices shipments locations payments labels international-labels pickup scan-forms tracking subscriptions-tracking",
		})
	}
}

// paymentMark distinguishes a payment authorization from an access token.
const paymentMark = "payment."

type role struct {
	RoleName      string `json:"roleName"`
	CRID          string `json:"CRID"`
	MID           string `json:"MID,omitempty"`
	ManifestMID   string `json:"manifestMID,omitempty"`
	AccountType   string `json:"accountType,omitempty"`
	AccountNumber string `json:"accountNumber,omitempty"`
}

func (s *service) authorize(w http.ResponseWriter, r *http.Request) {
	const api = "/payments/v3"
	var in struct {
		Roles []role `json:"roles"`
	}
	if _, p := read(r, &in); p.detail != "" {
		refuse(w, api, p)
		return
	}

	switch fault := s.Faults().Account; fault {
	case "":
	case "not_enrolled":
		// The real carrier answers this with 200, an explanation and no token.
		reply(w, map[string]any{"body": "CRID isn't enrolled in USPS Ship Outbound", "roles": in.Roles})
		return
	default:
		refuse(w, api, problem{fault, "roles", "The account cannot be used"})
		return
	}

	seen := map[string]bool{}
	for _, part := range in.Roles {
		if p := part.check(seen[part.RoleName]); p.detail != "" {
			refuse(w, api, p)
			return
		}
		seen[part.RoleName] = true
	}

	switch {
	case !seen["PAYER"]:
		refuse(w, api, problem{"160228", "roles", "PAYER is required"})
	case !seen["LABEL_OWNER"]:
		refuse(w, api, problem{"160229", "roles", "LABEL_OWNER is required"})
	default:
		token, _ := s.NewToken()
		reply(w, map[string]any{"paymentAuthorizationToken": paymentMark + token, "roles": in.Roles})
	}
}

func (r role) check(again bool) problem {
	switch {
	case again:
		return problem{"160227", "roles", "no duplicate roles allowed"}
	case r.CRID == "":
		return problem{"160218", "roles", r.RoleName + " requires CRID"}
	case r.CRID != CRID:
		return problem{"160302", "roles", "Must be enrolled in USPS Ship Outbound in order to create labels"}
	case !slices.Contains([]string{"PAYER", "LABEL_OWNER", "RATE_HOLDER"}, r.RoleName):
		return problem{"", "roles", "OASValidation: roleName is not valid"}
	case r.RoleName != "LABEL_OWNER" && r.AccountType != "EPS":
		return problem{"160220", "roles", r.RoleName + " requires accountType of PERMIT or EPS"}
	case r.RoleName != "LABEL_OWNER" && r.AccountNumber != Account:
		return problem{"100001", "roles", "Could not find an EPS Account with number: " + r.AccountNumber + "."}
	case r.RoleName == "LABEL_OWNER" && r.MID != MID:
		return problem{"160221", "roles", "LABEL_OWNER requires MID"}
	case r.RoleName == "LABEL_OWNER" && r.ManifestMID != ManifestMID && r.ManifestMID != MID:
		return problem{"160222", "roles", "LABEL_OWNER requires manifestMID"}
	}
	return problem{}
}

// isPaid reports whether a request carries a valid payment authorization.
func (s *service) isPaid(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("X-Payment-Authorization-Token"), paymentMark)
	return ok && s.TokenGood(token)
}

func (s *service) account(w http.ResponseWriter, r *http.Request) {
	switch number := r.PathValue("number"); {
	case r.URL.Query().Get("accountType") != "EPS":
		refuse(w, "/payments/v3", problem{"160223", "accountType", "accountType is required"})
	case number != Account:
		refuse(w, "/payments/v3", problem{"100001", "account-number", "Could not find an EPS Account with number: " + number + "."})
	default:
		reply(w, map[string]any{"accountType": "EPS", "accountNumber": number, "nonProfitStatus": false})
	}
}
