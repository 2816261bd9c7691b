package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// keptForm is a form that could not be served, with all that was typed: the
// person sends it again from the page that says so.
type keptForm struct {
	Title  string
	What   string // happened, and whether anything was bought
	SignIn string // where the person signs in first; "" if that is not the reason
	Action string // where the form is sent again
	Fields [][2]string
	Status int
	Asked  string // the request, for the operator
}

// keepForm answers a form that cannot be served just now with a page that has
// all of it, and reports whether it did. That is so when the session has ended
// or needs a fresh sign-in, and when the database cannot be reached: what a
// person typed must not be lost for that.
//
// A part of a page stays where it is, and what was typed with it.
func (v *visit) keepForm(err error) bool {
	if !v.rt.keeps || !v.isLost(err) {
		return false
	}
	p := httpkit.From(v.ctx()).Problem(err)
	form := keptForm{Action: v.r.URL.RequestURI(), Status: p.Status, Asked: p.RequestID}
	form.Title, form.What = v.lostWords(err)
	if needsSignIn(err) {
		form.Status = http.StatusForbidden
		form.SignIn = "/app/login"
		if ship.CodeOf(err) == "step_up_required" {
			form.SignIn = "/app/confirm"
		}
	}

	if v.isPart() {
		h := v.w.Header()
		h.Set("HX-Reswap", "none")
		h.Set("X-Problem", url.PathEscape(form.What))
		v.w.WriteHeader(form.Status)
		return true
	}

	if err := v.r.ParseForm(); err != nil {
		return false // there is nothing to keep
	}
	for _, name := range slices.Sorted(maps.Keys(v.r.PostForm)) {
		for _, value := range v.r.PostForm[name] {
			form.Fields = append(form.Fields, [2]string{name, value})
		}
	}
	f := frame{Title: form.Title, Live: v.live, Path: v.r.URL.Path, Base: v.BaseURL}
	if err := v.show(form.Status, keptFormPage(f, form)); err != nil {
		v.Log.ErrorContext(v.ctx(), "page of a kept form", "error", err)
	}
	return true
}

func needsSignIn(err error) bool {
	code := ship.CodeOf(err)
	return code == "not_signed_in" || code == "step_up_required"
}

// isLost reports whether the error says nothing of the form itself: the same
// form may be served later. Somebody who never was signed in has typed nothing
// here.
func (v *visit) isLost(err error) bool {
	if needsSignIn(err) {
		_, missing := v.r.Cookie(v.cookieName())
		return missing == nil
	}
	switch ship.KindOf(err) {
	case ship.Internal, ship.Unavailable, ship.Uncertain:
		return true
	}
	return ship.CodeOf(err) == "idempotency_in_progress"
}

// lostWords say what happened and whether anything was bought.
//
// A purchase that was begun may have been made. Sent again under the same name
// it is found, and never made twice.
func (v *visit) lostWords(err error) (title, what string) {
	switch {
	case needsSignIn(err):
		return "Sign in again", "Your session has ended. Nothing was bought or saved. Sign in in a new tab, then send the form again: what you typed is kept here."
	case ship.CodeOf(err) == "idempotency_in_progress":
		return "Still buying", "This label is still being bought. Send the form again in a moment: it finds the label, and buys no second one."
	case v.admitted && v.r.URL.Path == v.to("shipments"):
		return "Not certain", "It is not certain whether the label was bought, because the service cannot reach its database. Send the form again: it finds what was bought, and never buys the same label twice."
	}
	return "Try again", "The service cannot reach its database. Nothing was bought or saved. Send the form again in a moment: what you typed is kept here."
}
