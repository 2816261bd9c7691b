package site

import (
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// keptForm is a form that could not be served, with everything that was typed.
// The person sends it again from the page that says so.
type keptForm struct {
	Title  string
	What   string // what happened, and whether anything was bought
	SignIn string // address where the person signs in first; "" if that is not the reason
	Action string // address that the form is sent to again
	Fields [][2]string
	Status int
	Asked  string // id of the request, for the operator
}

// keepForm answers a form that cannot be served now with a page that holds all
// of it, and reports whether it did. It does so if the session has ended or
// needs a fresh sign-in, and if the database cannot be reached: what a person
// typed must not be lost for such reasons.
//
// A request for a part of a page gets no page: the form is still in the
// browser, and stays there.
func (v *Visit) keepForm(err error) bool {
	if !v.rt.Keeps || !v.mayServeLater(err) {
		return false
	}

	problem := httpkit.From(v.Context()).Problem(err)
	form := keptForm{
		Action: v.Request.URL.RequestURI(),
		Status: problem.Status,
		Asked:  problem.RequestID,
	}
	form.Title, form.What = v.describeOutage(err)
	if after := problem.RetryAfter(); after != "" {
		v.Writer.Header().Set("Retry-After", after)
	}
	if needsSignIn(err) {
		form.Status = http.StatusForbidden
		form.SignIn = "/app/login"
		if ship.CodeOf(err) == "step_up_required" {
			form.SignIn = "/app/confirm"
		}
	}

	// The script shows the problem and swaps nothing, so the form stays on the
	// page as it is.
	if v.IsPart() {
		header := v.Writer.Header()
		header.Set("HX-Reswap", "none")
		header.Set("X-Problem", url.PathEscape(form.What))
		v.Writer.WriteHeader(form.Status)
		return true
	}

	if err := v.Request.ParseForm(); err != nil {
		return false // there is nothing to keep
	}
	for _, name := range slices.Sorted(maps.Keys(v.Request.PostForm)) {
		for _, value := range v.Request.PostForm[name] {
			form.Fields = append(form.Fields, [2]string{name, value})
		}
	}

	// The frame has no counts of what needs attention: they are in the
	// database, which may be out of reach.
	surrounding := Frame{
		Title: form.Title,
		Live:  v.Live,
		Path:  v.Request.URL.Path,
		Base:  v.BaseURL,
	}
	if err := v.Show(form.Status, keptFormPage(surrounding, form)); err != nil {
		v.Log.ErrorContext(v.Context(), "could not show the page of a kept form", "error", err)
	}
	return true
}

func needsSignIn(err error) bool {
	code := ship.CodeOf(err)
	return code == "not_signed_in" || code == "step_up_required"
}

// mayServeLater reports whether the error is not about the form itself, so that
// the same form may be served later.
func (v *Visit) mayServeLater(err error) bool {
	if needsSignIn(err) {
		// A visitor who was never signed in cannot have typed anything here.
		_, missing := v.Request.Cookie(v.cookieName())
		return missing == nil
	}

	switch ship.KindOf(err) {
	case ship.Internal, ship.Unavailable, ship.Uncertain:
		return true
	}

	// The form of a flood without a session is not even read.
	if isOverLimit(err) {
		return v.Who.Actor.Session != ""
	}
	return ship.CodeOf(err) == "idempotency_in_progress"
}

// isOverLimit reports whether there were too many requests.
func isOverLimit(err error) bool { return ship.CodeOf(err) == "rate_limited" }

// describeOutage says what happened and whether anything was bought.
//
// A purchase that was started may have been made. Sent again with the same key
// it is found, and never made twice.
func (v *Visit) describeOutage(err error) (title, what string) {
	switch {
	case needsSignIn(err):
		return "Sign in again", "Your session has ended. Nothing was bought or saved. Sign in again in a new tab, then send the form again: what you typed is kept here."
	case isOverLimit(err):
		return "Too many requests", "This browser has sent too many requests. Nothing was bought or saved. Send the form again in a moment: what you typed is kept here."
	case ship.CodeOf(err) == "idempotency_in_progress":
		return "Still buying", "This label is still being bought. Send the form again in a moment: it finds the label and does not buy a second one."
	case v.admitted && v.rt.Path == PurchasePath:
		return "Purchase not confirmed", "It is not known whether the label was bought, because the service cannot reach its database. Send the form again: it finds what was bought and never buys the same label twice."
	}
	return "Try again", "The service cannot reach its database. Nothing was bought or saved. Send the form again in a moment: what you typed is kept here."
}
