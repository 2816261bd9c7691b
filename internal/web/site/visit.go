package site

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// A Visit is one request of a person for a page.
type Visit struct {
	*Dashboard
	Writer  http.ResponseWriter
	Request *http.Request
	Who     Visitor // empty for people who are not signed in
	Live    bool    // the address is of live mode
	rt      Route

	admitted bool // the person may do this; an action that fails now may have taken effect
}

// Tenant returns whose data the page shows.
func (v *Visit) Tenant() ship.Tenant { return ship.Tenant{Account: v.Who.Account.ID, Livemode: v.Live} }

// Context returns the context of the request.
func (v *Visit) Context() context.Context { return v.Request.Context() }

// Mode returns the mode in addresses: "test" or "live".
func (v *Visit) Mode() string {
	if v.Live {
		return "live"
	}
	return "test"
}

// To returns the address of a page in the visit's account and mode.
func (v *Visit) To(parts ...string) string { return ModePath(v.Who.Account.ID, v.Live, parts...) }

// ModePath returns the address of a page in an account and a mode. The account
// is part of it, so a form goes to the account whose page it is on, whatever
// other tabs of the browser show.
func ModePath(account ship.AccountID, live bool, parts ...string) string {
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

// IsPart reports whether only a part of a page is requested, which the script
// swaps in. When the browser goes back in its history, htmx needs the whole
// page.
func (v *Visit) IsPart() bool {
	return v.Request.Header.Get("HX-Request") == "true" && v.Request.Header.Get("HX-History-Restore-Request") != "true"
}

// Form returns a value of the form, trimmed.
func (v *Visit) Form(name string) string { return strings.TrimSpace(v.Request.FormValue(name)) }

// Query returns a value of the address's query, trimmed.
func (v *Visit) Query(name string) string { return strings.TrimSpace(v.Request.URL.Query().Get(name)) }

// Policy is the Content-Security-Policy of pages: they load and run only what
// this server sends.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"

// secure sets the headers of pages; httpkit.Secure has set those of every answer.
func secure(header http.Header) {
	header.Set("Content-Security-Policy", Policy)
	header.Set("Referrer-Policy", "same-origin")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
}

// Show answers with a page, or a part of one.
func (v *Visit) Show(status int, page templ.Component) error {
	// The page is rendered first, so an error can still be answered with a
	// status of its own.
	var body strings.Builder
	if err := page.Render(v.Context(), &body); err != nil {
		return err
	}

	v.Writer.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.send(status, body.String())
	return nil
}

// Redirect sends the person to another page; done names the toast that confirms
// what was done.
func (v *Visit) Redirect(path, done string) error {
	if done != "" {
		path += "?done=" + url.QueryEscape(done)
	}

	// htmx would follow a plain redirect and swap the whole page into a part.
	if v.IsPart() {
		v.Writer.Header().Set("HX-Redirect", path)
		v.Writer.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(v.Writer, v.Request, path, http.StatusSeeOther)
	return nil
}

// ErrNoPage says that there is no page at the address.
var ErrNoPage = ship.Errorf(ship.NotFound, "this page does not exist")

// fail shows what went wrong, in the frame if the person is signed in.
func (v *Visit) fail(err error) {
	problem := httpkit.From(v.Context()).Problem(err)
	if problem.Status == http.StatusUnauthorized {
		problem.Status = http.StatusForbidden
	}

	// A part that failed leaves the page as it is; the script shows the reason.
	if v.IsPart() {
		header := v.Writer.Header()
		header.Set("HX-Reswap", "none")
		header.Set("X-Problem", url.PathEscape(parts.Sentence(problem.Detail)))
	}

	if after := problem.RetryAfter(); after != "" {
		v.Writer.Header().Set("Retry-After", after)
	}
	page := failure{Problem: problem, Outcome: v.outcome()}
	if problem.Status >= http.StatusInternalServerError {
		page.Held = v.Hold(true)
	}
	if err := v.Show(problem.Status, problemPage(v.Frame("Something went wrong", ""), page)); err != nil {
		v.Log.ErrorContext(v.Context(), "problem page", "error", err)
	}
}

// A failure is what a page says about a request that failed.
type failure struct {
	*httpkit.Problem
	Outcome string // whether anything was changed; empty if nothing was to be
	Held    string // the form, to send it again
}

// Problems are the errors of an input: a message for all of it, and messages of
// fields by pointer.
type Problems struct {
	All    string
	Fields map[string]string
}

// At returns the message of the field; "" if it has none.
func (p Problems) At(pointer string) string { return p.Fields[pointer] }

// ProblemsOf returns the messages of an error that the person can fix; ok is
// false for others.
func ProblemsOf(err error) (found Problems, ok bool) {
	coded, ok := errors.AsType[*ship.Error](err)
	if !ok || coded.Kind == ship.Internal {
		return found, false
	}

	found.Fields = map[string]string{}
	for _, field := range coded.Fields {
		text := field.Detail
		if field.Suggestion != "" {
			text = strings.TrimSuffix(text, ".") + "; did you mean " + field.Suggestion + "?"
		}
		found.Fields[field.Pointer] = parts.Sentence(text)
	}

	// The carrier's own words follow ours.
	found.All = parts.Sentence(coded.Message)
	if coded.Refusal.Message != "" {
		found.All += " " + parts.Sentence(coded.Refusal.Message)
	}
	if coded.Code == "validation_failed" && len(coded.Fields) > 0 {
		found.All = "Check the marked fields."
	}
	return found, true
}

// FormStatus returns the status of a form that is shown again with err. If the
// person has to wait, it is 429, and the answer says for how long; otherwise it
// is 422.
func (v *Visit) FormStatus(err error) int {
	if ship.KindOf(err) != ship.Limited {
		return http.StatusUnprocessableEntity
	}

	problem := httpkit.From(v.Context()).Problem(err)
	v.Writer.Header().Set("Retry-After", problem.RetryAfter())
	return problem.Status
}

// Audited returns the context for one change by another service, whose
// transaction then writes the audit entry, too. A service that creates
// something fills in the target itself.
func (v *Visit) Audited(action, target string, details map[string]string) context.Context {
	return member.Audited(v.Context(), v.Who.Actor, member.Entry{
		Action:  action,
		Target:  target,
		Mode:    v.Mode(),
		Details: details,
	})
}

// Record writes purchases and voids to the audit log afterwards: no transaction
// is open while a carrier is called. The action cannot be undone, and the
// shipment itself shows it, so an entry that cannot be written is logged for
// the operator and does not fail the request.
func (v *Visit) Record(action, target string, details map[string]string) {
	err := v.Member.Record(v.Context(), v.Who.Actor, member.Entry{
		Action:  action,
		Target:  target,
		Mode:    v.Mode(),
		Details: details,
	})
	if err != nil {
		v.Log.ErrorContext(v.Context(), "audit log", "action", action, "target", target, "error", err)
	}
}
