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
	who  visitor // empty for people who are not signed in
	live bool    // the address is of live mode
	rt   route

	admitted bool // the person may do this; an action that fails now may have taken effect
}

// tenant returns whose data the page shows.
func (v *visit) tenant() ship.Tenant { return ship.Tenant{Account: v.who.Account.ID, Livemode: v.live} }

func (v *visit) ctx() context.Context { return v.r.Context() }

func (v *visit) mode() string {
	if v.live {
		return "live"
	}
	return "test"
}

// to returns the address of a page in the visit's account and mode.
func (v *visit) to(parts ...string) string { return modePath(v.who.Account.ID, v.live, parts...) }

// modePath returns the address of a page in an account and a mode. The account
// is part of it, so a form goes to the account whose page it is on, whatever
// other tabs of the browser show.
func modePath(account ship.AccountID, live bool, parts ...string) string {
	path := "/app/" + string(account)
	if live {
		path += "/live"
	} else {
		path += "/test"
	}
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// isPart reports whether only a part of a page is requested, which the script
// swaps in. When the browser goes back in its history, htmx needs the whole
// page.
func (v *visit) isPart() bool {
	return v.r.Header.Get("HX-Request") == "true" && v.r.Header.Get("HX-History-Restore-Request") != "true"
}

// form returns a value of the form, trimmed.
func (v *visit) form(name string) string { return strings.TrimSpace(v.r.FormValue(name)) }

// query returns a value of the address's query, trimmed.
func (v *visit) query(name string) string { return strings.TrimSpace(v.r.URL.Query().Get(name)) }

// policy is the Content-Security-Policy of pages: they load and run only what
// this server sends.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"

func secure(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	header.Set("Cache-Control", "no-store")
}

// show answers with a page, or a part of one.
func (v *visit) show(status int, page templ.Component) error {
	// The page is rendered first, so an error can still be answered with a
	// status of its own.
	var body strings.Builder
	if err := page.Render(v.ctx(), &body); err != nil {
		return err
	}

	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.send(status, body.String())
	return nil
}

// redirect sends the person to another page; done names the toast that confirms
// what was done.
func (v *visit) redirect(path, done string) error {
	if done != "" {
		path += "?done=" + url.QueryEscape(done)
	}

	// htmx would follow a plain redirect and swap the whole page into a part.
	if v.isPart() {
		v.w.Header().Set("HX-Redirect", path)
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}

var errNoPage = ship.Errorf(ship.NotFound, "this page does not exist")

// fail shows what went wrong, in the frame if the person is signed in.
func (v *visit) fail(err error) {
	problem := httpkit.From(v.ctx()).Problem(err)
	if problem.Status == http.StatusUnauthorized {
		problem.Status = http.StatusForbidden
	}

	// A part that failed leaves the page as it is; the script shows the reason.
	if v.isPart() {
		header := v.w.Header()
		header.Set("HX-Reswap", "none")
		header.Set("X-Problem", url.PathEscape(sentence(problem.Detail)))
	}

	page := failure{Problem: problem, Outcome: v.outcome()}
	if problem.Status >= http.StatusInternalServerError {
		page.Held = v.hold(true)
	}
	if err := v.show(problem.Status, problemPage(v.frame("Something went wrong", ""), page)); err != nil {
		v.Log.ErrorContext(v.ctx(), "problem page", "error", err)
	}
}

// A failure is what a page says about a request that failed.
type failure struct {
	*httpkit.Problem
	Outcome string // whether anything was changed; empty if nothing was to be
	Held    string // the form, to send it again
}

// noPage answers for addresses that do not exist. Recipients of parcels are not
// shown that there is a dashboard.
func noPage(v *visit) error {
	if strings.HasPrefix(v.r.URL.Path, "/track") {
		return v.noParcel(http.StatusNotFound, "missing")
	}
	return errNoPage
}

// problems are the errors of an input: a message for all of it, and messages of
// fields by pointer.
type problems struct {
	All    string
	Fields map[string]string
}

// At returns the message of the field; "" if it has none.
func (p problems) At(pointer string) string { return p.Fields[pointer] }

// problemsOf returns the messages of an error that the person can fix; ok is
// false for others.
func problemsOf(err error) (found problems, ok bool) {
	coded, ok := errors.AsType[*ship.Error](err)
	if !ok || coded.Kind == ship.Internal {
		return found, false
	}

	found.Fields = map[string]string{}
	for _, field := range coded.Fields {
		text := field.Detail
		if field.Suggestion != "" {
			text += "; did you mean " + field.Suggestion + "?"
		}
		found.Fields[field.Pointer] = sentence(text)
	}

	// The carrier's own words follow ours.
	found.All = sentence(coded.Message)
	if coded.Refusal.Message != "" {
		found.All += " " + sentence(coded.Refusal.Message)
	}
	if coded.Code == "validation_failed" && len(coded.Fields) > 0 {
		found.All = "Check the marked fields."
	}
	return found, true
}
