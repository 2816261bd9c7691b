package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// A visit is one request of a person for a page.
type visit struct {
	*Web
	w    http.ResponseWriter
	r    *http.Request
	who  visitor // empty for those who are not signed in
	live bool    // the address says so
	rt   route

	admitted bool // the person may do this; what fails now may have been done
}

// tenant is whose data the page shows.
func (v *visit) tenant() ship.Tenant { return ship.Tenant{Account: v.who.Account.ID, Livemode: v.live} }

func (v *visit) ctx() context.Context { return v.r.Context() }

func (v *visit) mode() string {
	if v.live {
		return "live"
	}
	return "test"
}

// to is the address of a page in the visit's mode.
func (v *visit) to(parts ...string) string { return modePath(v.live, parts...) }

func modePath(live bool, parts ...string) string {
	mode := "test"
	if live {
		mode = "live"
	}
	path := "/app/" + mode
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// isPart reports whether only a part of a page is asked for: the script swaps
// it in.
func (v *visit) isPart() bool {
	return v.r.Header.Get("HX-Request") == "true" && v.r.Header.Get("HX-History-Restore-Request") != "true"
}

// form is a value that was sent, trimmed.
func (v *visit) form(name string) string { return strings.TrimSpace(v.r.FormValue(name)) }

// query is a value of the address.
func (v *visit) query(name string) string { return strings.TrimSpace(v.r.URL.Query().Get(name)) }

// policy is what a page may do: nothing but show what this server sends.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"

func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// show answers with a page, or a part of one.
func (v *visit) show(status int, c templ.Component) error {
	var b strings.Builder
	if err := c.Render(v.ctx(), &b); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.send(status, b.String())
	return nil
}

// redirect sends the person on; done names the toast that says what was done.
func (v *visit) redirect(path, done string) error {
	if done != "" {
		path += "?done=" + url.QueryEscape(done)
	}
	if v.isPart() {
		v.w.Header().Set("HX-Redirect", path)
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}

var errNoPage = ship.Errorf(ship.NotFound, "there is no such page")

// fail shows what went wrong, in the frame if the person is signed in.
func (v *visit) fail(err error) {
	p := httpkit.From(v.ctx()).Problem(err)
	if p.Status == http.StatusUnauthorized {
		p.Status = http.StatusForbidden
	}
	h := v.w.Header()
	if v.isPart() {
		h.Set("HX-Reswap", "none")
		h.Set("X-Problem", url.PathEscape(sentence(p.Detail)))
	}
	page := failure{Problem: p, Outcome: v.outcome()}
	if p.Status >= http.StatusInternalServerError {
		page.Held = v.hold(true)
	}
	if err := v.show(p.Status, problemPage(v.frame("Something went wrong", ""), page)); err != nil {
		v.Log.ErrorContext(v.ctx(), "problem page", "error", err)
	}
}

// A failure is what a page says of a request that failed.
type failure struct {
	*httpkit.Problem
	Outcome string // whether anything was changed; empty if nothing was to be
	Held    string // the form, to send it again
}

// noPage answers for addresses that nothing is at. Recipients of parcels are
// not shown that there is a dashboard.
func (s *Web) noPage(v *visit) error {
	if strings.HasPrefix(v.r.URL.Path, "/track") {
		return v.noParcel(http.StatusNotFound, "missing")
	}
	return errNoPage
}

// problems are the field errors of err by pointer, and what it says as a whole.
type problems struct {
	All    string
	Fields map[string]string
}

// At is what is wrong with the field, "" if nothing is.
func (p problems) At(pointer string) string { return p.Fields[pointer] }

// problemsOf splits an error that the person can mend; ok is false for others.
func problemsOf(err error) (p problems, ok bool) {
	e, is := errors.AsType[*ship.Error](err)
	if !is || e.Kind == ship.Internal {
		return p, false
	}
	p.Fields = map[string]string{}
	for _, f := range e.Fields {
		text := f.Detail
		if f.Suggestion != "" {
			text += "; did you mean " + f.Suggestion + "?"
		}
		p.Fields[f.Pointer] = sentence(text)
	}
	p.All = sentence(e.Message)
	if e.Refusal.Message != "" {
		p.All += " " + sentence(e.Refusal.Message)
	}
	if e.Code == "validation_failed" && len(e.Fields) > 0 {
		p.All = "Check the marked fields."
	}
	return p, true
}
