package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// How often terminals of one network may begin to sign in: one every three
// seconds, and twenty at once.
const (
	deviceEvery = 3 * time.Second
	deviceBurst = 20
)

// Bounds of the forms of the device flow, in bytes.
const (
	oauthForm   = 16 << 10
	maxOAuthTag = 200
)

// deviceGrant is the grant_type of RFC 8628.
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// deviceAnswer is the answer of RFC 8628, section 3.2.
type deviceAnswer struct {
	DeviceCode              string `json:"device_code"`
	UserCode                string `json:"user_code"`
	VerificationURI         string `json:"verification_uri"`
	VerificationURIComplete string `json:"verification_uri_complete"`
	ExpiresIn               int    `json:"expires_in"`
	Interval                int    `json:"interval"`
}

// tokenAnswer is the answer of RFC 6749, section 5.1, and what a terminal shows about
// its key.
type tokenAnswer struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int    `json:"expires_in,omitempty"`
	Scope       string `json:"scope"`
	KeyID       string `json:"key_id"`
	KeyName     string `json:"key_name"`
	AccountID   string `json:"account_id"`
	AccountName string `json:"account_name"`
	Livemode    bool   `json:"livemode"`
}

// oauthError is the error of RFC 6749, section 5.2. Clients of the standard read no
// other.
type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description,omitempty"`
}

// startDevice handles POST /oauth/device: a terminal asks for a code that a person
// approves in the dashboard. The mode is part of the scope: "live", or else test. In an
// installation with several databases, the query names the account: it leads to the
// cell that has the person.
func (s *server) startDevice(w http.ResponseWriter, r *http.Request) {
	if err := s.devices.Admit(w.Header(), httpkit.ClientNetwork(r, s.TrustedProxies)); err != nil {
		failOAuth(w, http.StatusTooManyRequests, "temporarily_unavailable", "too many terminals of this network begin to sign in: wait a moment")
		return
	}
	if !s.readOAuthForm(w, r) {
		return
	}

	chosen := r.URL.Query().Get("account")
	if _, ok := ship.ParseAccountID(chosen); chosen != "" && !ok {
		failOAuth(w, http.StatusBadRequest, "invalid_request", "account must be the id of an account, which begins with acct_")
		return
	}

	live := strings.Contains(" "+r.PostFormValue("scope")+" ", " live ")
	code, device, err := s.Account.StartDevice(r.Context(), account.NewDevice{
		Name: r.PostFormValue("client_name"),
		Addr: httpkit.ClientAddr(r, s.TrustedProxies),
		Live: live,
	})
	switch {
	case ship.KindOf(err) == ship.Invalid:
		failOAuth(w, http.StatusBadRequest, "invalid_request", "client_name must be a short text without control characters")
		return
	case err != nil:
		httpkit.Fail(w, r, err)
		return
	}

	page := s.BaseURL + "/app"
	if chosen != "" {
		page += "/" + chosen
	}
	if live {
		page += "/live/device"
	} else {
		page += "/test/device"
	}
	writeOAuth(w, http.StatusOK, deviceAnswer{
		DeviceCode:              code,
		UserCode:                device.UserCode,
		VerificationURI:         page,
		VerificationURIComplete: page + "?code=" + device.UserCode,
		ExpiresIn:               int(account.DeviceLife.Seconds()),
		Interval:                int(account.DeviceInterval.Seconds()),
	})
}

// redeemDevice handles POST /oauth/token: a terminal asks whether it was approved,
// and gets its key once it was.
func (s *server) redeemDevice(w http.ResponseWriter, r *http.Request) {
	if err := s.limiter.Admit(w.Header(), "oauth "+httpkit.ClientNetwork(r, s.TrustedProxies)); err != nil {
		failOAuth(w, http.StatusTooManyRequests, "temporarily_unavailable", "too many requests: wait a moment")
		return
	}
	if !s.readOAuthForm(w, r) {
		return
	}
	if r.PostFormValue("grant_type") != deviceGrant {
		failOAuth(w, http.StatusBadRequest, "unsupported_grant_type", "grant_type must be "+deviceGrant)
		return
	}

	agent := strings.ToValidUTF8(r.UserAgent(), "")
	agent = agent[:min(len(agent), maxOAuthTag)]
	state, made, err := s.Account.RedeemDevice(r.Context(), r.PostFormValue("device_code"), httpkit.ClientAddr(r, s.TrustedProxies), strings.ToValidUTF8(agent, ""))
	switch {
	case err != nil:
		httpkit.Fail(w, r, err)
		return
	case state != account.DeviceSignedIn:
		failOAuth(w, http.StatusBadRequest, string(state), deviceWords[state])
		return
	}

	key := made.APIKey
	answer := tokenAnswer{
		AccessToken: string(made.Key),
		TokenType:   "Bearer",
		Scope:       strings.Join(key.Scopes, " "),
		KeyID:       string(key.ID),
		KeyName:     key.Name,
		AccountID:   string(made.Account.ID),
		AccountName: made.Account.Name,
		Livemode:    key.Tenant.Livemode,
	}
	if !key.ExpiresAt.IsZero() {
		answer.ExpiresIn = int(time.Until(key.ExpiresAt).Seconds())
	}
	writeOAuth(w, http.StatusOK, answer)
}

// deviceWords say what the codes of RFC 8628 mean here.
var deviceWords = map[account.DeviceState]string{
	account.DevicePending: "nobody has approved the terminal yet",
	account.DeviceTooFast: "ask less often",
	account.DeviceDenied:  "the sign-in was denied",
	account.DeviceExpired: "nobody approved the terminal in time",
	account.DeviceUnknown: "the device code is not known, or was already used",
}

// revokeToken handles POST /oauth/revoke (RFC 7009): whoever has a key may end it. A
// key that is not known is answered in the same way.
func (s *server) revokeToken(w http.ResponseWriter, r *http.Request) {
	if err := s.limiter.Admit(w.Header(), "oauth "+httpkit.ClientNetwork(r, s.TrustedProxies)); err != nil {
		failOAuth(w, http.StatusTooManyRequests, "temporarily_unavailable", "too many requests: wait a moment")
		return
	}
	if !s.readOAuthForm(w, r) {
		return
	}

	caller, err := s.Account.Authenticate(r.Context(), r.PostFormValue("token"), httpkit.ClientAddr(r, s.TrustedProxies))
	if err == nil {
		err = s.Account.Revoke(s.withAudit(caller, r), caller.Key)
	}
	switch {
	case ship.CodeOf(err) == "ip_not_allowed":
		// The key goes on working in its networks, and its holder must know.
		failOAuth(w, http.StatusForbidden, "access_denied", "the key is not revoked: it may not be used from this IP address. Revoke it in the dashboard")
		return
	case err != nil && ship.KindOf(err) != ship.Forbidden:
		httpkit.Fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// readOAuthForm reads the form of a request; it answers and returns false for one
// that is too large or is no form. OAuth has forms, not JSON.
func (s *server) readOAuthForm(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, oauthForm)
	if err := r.ParseForm(); err != nil || len(r.PostForm) == 0 {
		failOAuth(w, http.StatusBadRequest, "invalid_request", "send a form (application/x-www-form-urlencoded) of at most "+strconv.Itoa(oauthForm)+" bytes")
		return false
	}
	return true
}

func failOAuth(w http.ResponseWriter, status int, code, description string) {
	writeOAuth(w, status, oauthError{Error: code, Description: description})
}

func writeOAuth(w http.ResponseWriter, status int, answer any) {
	out, err := jsonReply(status, answer)
	if err != nil {
		out = reply{status: http.StatusInternalServerError}
	}
	out.write(w)
}
