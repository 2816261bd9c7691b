package site

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A HeldForm is a form that was submitted but not carried out: the person must
// sign in first, or the service could not answer. The page that says so holds
// the form in a hidden field, encrypted under the installation's key, and sends
// it back. Nothing that was typed is lost, and no secret is stored: not on the
// server, and not readable in the browser.
type HeldForm struct {
	Path    string     `json:"path"`
	Values  url.Values `json:"values"`
	SentAt  time.Time  `json:"sentAt"`
	Session string     `json:"session,omitempty"` // hash of the session's token; empty for nobody's
}

const (
	heldPlace = "held form" // context that the encryption is bound to
	heldFor   = time.Hour
	maxHeld   = 256 << 10 // bytes of a form; files are not held
)

// ResumePath is where a held form is sent to be carried out.
const ResumePath = "/app/resume"

// Hold encrypts the form that was submitted, bound to the session unless that
// has ended. It returns "" for a request that cannot be repeated: a GET, a part
// of a page, an upload, a step of signing in.
func (v *Visit) Hold(bound bool) string {
	kind, _, _ := mime.ParseMediaType(v.Request.Header.Get("Content-Type"))
	if v.Box == nil || v.rt.Open || v.Request.Method != http.MethodPost || v.IsPart() || kind != "application/x-www-form-urlencoded" {
		return ""
	}
	if err := v.Request.ParseForm(); err != nil {
		return ""
	}

	form := HeldForm{
		Path:    v.Request.URL.RequestURI(),
		Values:  v.Request.PostForm,
		SentAt:  time.Now(),
		Session: v.sessionHash(),
	}
	if v.rt.Path == ResumePath {
		// The request sent a form that was held before. That form is held
		// again, and keeps its original age.
		text, err := v.unseal(v.Request.PostFormValue("held"), heldPlace)
		if err != nil || json.Unmarshal(text, &form) != nil {
			return ""
		}
	}
	if !bound {
		form.Session = "" // after signing in, the person has another session
	}
	return v.sealForm(form)
}

func (v *Visit) sealForm(form HeldForm) string {
	text, err := json.Marshal(form)
	if err != nil || len(text) > maxHeld || !canHold(form.Path) {
		return ""
	}
	return v.seal(text, heldPlace)
}

// canHold reports whether a form of the path can be carried out later. Those of
// signing in and out cannot, and neither can resuming itself.
func canHold(path string) bool {
	return OwnPath(path) != "" && !strings.HasPrefix(path, "/app/passkey") && !strings.HasPrefix(path, ResumePath)
}

// HeldForm returns the form that the page sent back. It is an error if the form
// is too old, was changed, or was submitted in another person's session.
func (v *Visit) HeldForm() (HeldForm, error) {
	// The encryption is authenticated, so a form that was changed in the browser
	// cannot be opened.
	var form HeldForm
	text, err := v.unseal(v.Request.FormValue("held"), heldPlace)
	if err == nil {
		err = json.Unmarshal(text, &form)
	}
	if err != nil || !canHold(form.Path) {
		return form, ship.Errorf(ship.Invalid, "the form can no longer be read; fill it in again. Nothing was changed")
	}

	if time.Since(form.SentAt) > heldFor {
		return form, ship.Errorf(ship.Gone, "the form is more than an hour old; fill it in again. Nothing was changed")
	}
	if form.Session != "" && form.Session != v.sessionHash() {
		return form, ship.Errorf(ship.Forbidden, "the form was sent in another session; fill it in again. Nothing was changed")
	}
	return form, nil
}

// sessionHash identifies the session without revealing its token.
func (v *Visit) sessionHash() string {
	cookie, err := v.Request.Cookie(v.cookieName())
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(cookie.Value))
	return hex.EncodeToString(sum[:16])
}

func (v *Visit) seal(text []byte, place ...string) string {
	return base64.RawURLEncoding.EncodeToString(v.Box.Seal(text, place...))
}

func (v *Visit) unseal(sealed string, place ...string) ([]byte, error) {
	if v.Box == nil {
		return nil, ship.Errorf(ship.Unsupported, "nothing is held here")
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, err
	}
	return v.Box.Open(raw, place...)
}

// Replay carries out a held form as if it had been submitted now, in the session
// of the token, or in the visit's own if the token is empty. It goes through the
// whole router, so that roles and fresh sign-ins are checked again: a held form
// grants nothing.
func (v *Visit) Replay(form HeldForm, token string) error {
	target, err := url.Parse(form.Path)
	if err != nil {
		return err
	}

	body := form.Values.Encode()
	request := v.Request.Clone(v.Context())
	request.URL = target
	request.RequestURI = form.Path
	request.Body = io.NopCloser(strings.NewReader(body))
	request.ContentLength = int64(len(body))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")

	// The clone has the values of the request that sent the held form. Without
	// them the body is parsed anew.
	request.Form = nil
	request.PostForm = nil
	request.MultipartForm = nil

	if token != "" {
		request.Header.Del("Cookie")
		request.AddCookie(&http.Cookie{Name: v.cookieName(), Value: token})
	}

	v.mux.ServeHTTP(v.Writer, request)
	return nil
}

// AfterStepUp continues where the person was interrupted: with the form that
// was held, or with the page they came from.
func (v *Visit) AfterStepUp(token, to string) error {
	if v.Request.FormValue("held") != "" {
		form, err := v.HeldForm() // bound to the old session, whose cookie the request has
		if err != nil {
			return err
		}
		return v.Replay(form, token)
	}

	// The address is part of the request, and must not lead to another site.
	if to = OwnPath(to); to == "" {
		to = "/app"
	}
	return v.Redirect(to, "")
}

// outcome says whether a failed form changed anything.
func (v *Visit) outcome() string {
	switch {
	case v.Request.Method != http.MethodPost:
		return ""
	case !v.admitted:
		return "Nothing was bought or changed."
	case v.rt.Path == PurchasePath:
		return "It is not known whether the label was bought. It is safe to try again: this form buys one label, however often it is sent."
	}
	return "It is not known whether the change was saved. Check before you try again."
}

// KeptSecret returns the name of the field that holds a typed secret,
// encrypted, while its form is corrected.
func KeptSecret(name string) string { return "kept." + name }

// secretPlace returns the context that a kept secret's encryption is bound to:
// its field, and the person. It is not the session, whose token changes with a
// step-up.
func (v *Visit) secretPlace(name string) []string {
	return []string{"held secret", v.Request.URL.Path, name, string(v.Who.Actor.Person.ID)}
}

// Credential returns what was typed into a field of a carrier account: now, or
// before the form was shown again with an error.
func (v *Visit) Credential(name string) string {
	if typed := v.Form(name); typed != "" {
		return typed
	}
	if sealed := v.Request.PostFormValue(KeptSecret(name)); sealed != "" {
		if text, err := v.unseal(sealed, v.secretPlace(name)...); err == nil {
			return string(text)
		}
	}
	return ""
}

// KeepSecret encrypts a typed secret for the page that asks for corrections.
func (v *Visit) KeepSecret(name, value string) string {
	if v.Box == nil || value == "" {
		return ""
	}
	return v.seal([]byte(value), v.secretPlace(name)...)
}
