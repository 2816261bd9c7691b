// Package signin has the pages by which people get in: signing in, setting up
// the installation, accepting an invitation, resetting a password, and
// confirming who they are before a sensitive action.
package signin

import (
	"net/http"
	"net/url"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// loginForm is a sign-in that is in progress.
type loginForm struct {
	To       string // page to continue with
	Email    string
	Held     string // a form to continue with, encrypted
	Code     bool   // the password was correct, and a code is asked for
	Passkeys bool
	OIDC     bool
	Wrong    site.Problems
}

func readLoginForm(v *site.Visit) loginForm {
	return loginForm{
		To:       site.OwnPath(v.Request.FormValue("to")),
		Held:     v.Request.PostFormValue("held"),
		Email:    v.Form("email"),
		Passkeys: v.Member.PasskeysPossible(),
		OIDC:     v.Member.OIDCPossible(),
	}
}

// showLogin answers with the sign-in page, and with err if that can be shown
// there.
func showLogin(v *site.Visit, page loginForm, err error) error {
	if err == nil {
		return v.Show(http.StatusOK, loginPage(v.Frame("Sign in", ""), page))
	}

	invalid, fixable := site.ProblemsOf(err)
	if !fixable {
		return err
	}
	page.Wrong = invalid
	return v.Show(v.FormStatus(err), loginPage(v.Frame("Sign in", ""), page))
}

// getLogin handles GET /app/login.
func getLogin(v *site.Visit) error {
	needed, err := v.Member.SetupNeeded(v.Context())
	if err != nil {
		return err
	}
	if needed {
		return v.Show(http.StatusOK, unsetPage(v.Frame("Welcome", "")))
	}
	return showLogin(v, readLoginForm(v), nil)
}

// enter completes a sign-in with a session, or continues it by asking for a
// code.
func enter(v *site.Visit, signedIn member.SignedIn, to string) error {
	if signedIn.Pending != "" {
		v.Keep("pending", signedIn.Pending)
		page := readLoginForm(v)
		page.Code = true
		return showLogin(v, page, nil)
	}

	v.Keep("pending", "")
	v.Remember(signedIn)
	if v.Request.PostFormValue("held") != "" {
		return askToResume(v)
	}

	// The invitation that they were on the way to is accepted and used up.
	if signedIn.Joined {
		return v.Redirect("/app", "joined")
	}

	// The address is part of the request, and must not lead to another site.
	if to = site.OwnPath(to); to == "" {
		to = "/app"
	}
	return v.Redirect(to, "")
}

// askToResume shows a person who signed in again the form that was not carried
// out. Unlike after a step-up it is not carried out without asking: another
// person may have signed in.
func askToResume(v *site.Visit) error {
	form, err := v.HeldForm()
	if err != nil {
		return v.Redirect("/app", "")
	}
	return v.Show(http.StatusOK, resumePage(v.Frame("Continue", ""), form, v.Request.PostFormValue("held")))
}

// signInWithPassword handles POST /app/login.
func signInWithPassword(v *site.Visit) error {
	page := readLoginForm(v)
	signedIn, err := v.Member.SignIn(v.Context(), member.SignInInput{
		Email:    page.Email,
		Password: v.Request.FormValue("password"),
		From:     v.From(),
	})
	if err != nil {
		return showLogin(v, page, err)
	}
	return enter(v, signedIn, page.To)
}

// signInWithCode handles POST /app/login/code.
func signInWithCode(v *site.Visit) error {
	page := readLoginForm(v)
	signedIn, err := v.Member.SecondFactor(v.Context(), member.SecondFactorInput{
		Pending: v.Kept("pending"),
		Code:    v.Form("code"),
		From:    v.From(),
	})
	if err != nil {
		// If the sign-in is gone, it starts again with the password.
		page.Code = ship.KindOf(err) != ship.Gone
		return showLogin(v, page, err)
	}
	return enter(v, signedIn, page.To)
}

// beginPasskeyLogin handles POST /app/login/passkey/begin.
func beginPasskeyLogin(v *site.Visit) error {
	ceremony, err := v.Member.BeginPasskeySignIn(v.Context())
	return sendCeremony(v, ceremony, err)
}

// sendCeremony sends the browser the challenge for its passkeys.
func sendCeremony(v *site.Visit, ceremony member.Ceremony, err error) error {
	if err != nil {
		return err
	}
	v.Keep("ceremony", ceremony.Token)
	v.Writer.Header().Set("Content-Type", "application/json")
	v.Writer.Write(ceremony.Options) // the client may have disconnected
	return nil
}

func passkeyAnswer(v *site.Visit) member.PasskeyAnswer {
	return member.PasskeyAnswer{
		Token:    v.Kept("ceremony"),
		Response: []byte(v.Request.FormValue("credential")),
		From:     v.From(),
	}
}

// signInWithPasskey handles POST /app/login/passkey.
func signInWithPasskey(v *site.Visit) error {
	page := readLoginForm(v)
	signedIn, err := v.Member.FinishPasskeySignIn(v.Context(), passkeyAnswer(v))
	v.Keep("ceremony", "") // a challenge is answered once, correctly or not
	if err != nil {
		return showLogin(v, page, err)
	}
	return enter(v, signedIn, page.To)
}

// beginOIDC handles POST /app/login/oidc.
func beginOIDC(v *site.Visit) error {
	page := readLoginForm(v)
	start, err := v.Member.BeginOIDC(v.Context(), page.To)
	if err != nil {
		return showLogin(v, page, err)
	}
	v.Keep("oidc", start.Token)

	// The page's policy lets a form lead to this server only, so the answer is
	// a page that leads on to the identity provider, not a redirect.
	return v.Show(http.StatusOK, leadOnPage(v.Frame("Sign in", ""), start.URL))
}

// finishOIDC handles GET /app/oidc, where the identity provider sends people.
func finishOIDC(v *site.Visit) error {
	signedIn, err := v.Member.FinishOIDC(v.Context(), member.FinishOIDCInput{
		Token: v.Kept("oidc"),
		State: v.Query("state"),
		Code:  v.Query("code"),
		From:  v.From(),
	})
	v.Keep("oidc", "")
	if err != nil {
		return showLogin(v, readLoginForm(v), err)
	}

	// Whoever connected the provider was signed in, and stays so.
	if signedIn.Token == "" {
		return v.Redirect(signedIn.Return, "connected")
	}
	return enter(v, signedIn, signedIn.Return)
}

// linkOIDC handles POST /app/{account}/{mode}/you/oidc: it connects the person
// with the identity provider.
func linkOIDC(v *site.Visit) error {
	start, err := v.Member.BeginOIDCLink(v.Context(), v.Who.Actor, v.To("you"))
	if err != nil {
		return err
	}
	v.Keep("oidc", start.Token)
	return v.Show(http.StatusOK, leadOnPage(v.Frame("Single sign-on", ""), start.URL))
}

// signOut handles POST /app/logout.
func signOut(v *site.Visit) error {
	if err := v.Member.SignOut(v.Context(), v.Who.Actor); err != nil {
		return err
	}
	v.Forget()
	return v.Redirect("/app/login", "signed-out")
}

// getConfirm handles GET /app/confirm: a person proves their identity again.
func getConfirm(v *site.Visit) error { return showConfirm(v, nil) }

func showConfirm(v *site.Visit, err error) error {
	return askToConfirm(v, http.StatusOK, readLoginForm(v), err)
}

// askToConfirm answers with the page that asks for a password, a code or a
// passkey, and with err if that can be shown there.
func askToConfirm(v *site.Visit, status int, page loginForm, err error) error {
	profile, profileErr := v.Member.Profile(v.Context(), v.Who.Actor)
	if profileErr != nil {
		return profileErr
	}

	if err != nil {
		invalid, fixable := site.ProblemsOf(err)
		if !fixable {
			return err
		}
		page.Wrong = invalid
		status = v.FormStatus(err)
	}

	page.Passkeys = page.Passkeys && len(profile.Passkeys) > 0
	return v.Show(status, confirmPage(v.Frame("Confirm", ""), page, profile))
}

// stepUp handles POST /app/confirm.
func stepUp(v *site.Visit) error {
	signedIn, err := v.Member.StepUp(v.Context(), v.Who.Actor, member.StepUpInput{
		Password: v.Request.FormValue("password"),
		Code:     v.Form("code"),
	})
	if err != nil {
		return showConfirm(v, err)
	}
	v.Remember(signedIn)
	return v.AfterStepUp(signedIn.Token, v.Request.FormValue("to"))
}

// stepUpWithPasskey handles POST /app/confirm/passkey.
func stepUpWithPasskey(v *site.Visit) error {
	signedIn, err := v.Member.FinishPasskeyStepUp(v.Context(), v.Who.Actor, passkeyAnswer(v))
	v.Keep("ceremony", "") // a challenge is answered once, correctly or not
	if err != nil {
		return showConfirm(v, err)
	}
	v.Remember(signedIn)
	return v.AfterStepUp(signedIn.Token, v.Request.FormValue("to"))
}

// beginPasskey handles POST /app/passkey/begin: to add a passkey, or to step up
// with one.
func beginPasskey(v *site.Visit) error {
	if v.Query("for") == "confirm" {
		ceremony, err := v.Member.BeginPasskeyStepUp(v.Context(), v.Who.Actor)
		return sendCeremony(v, ceremony, err)
	}
	ceremony, err := v.Member.BeginPasskey(v.Context(), v.Who.Actor)
	return sendCeremony(v, ceremony, err)
}

// confirmWithCode returns the address of the page that asks for the password and a
// code, and leads on to a page.
func confirmWithCode(to string) string {
	if to == "" {
		return "/app/confirm"
	}
	return "/app/confirm?to=" + url.QueryEscape(to)
}

// Redirect sends people who must sign in, confirm who they are, or prove a second
// factor, to the page for it, and reports whether it did. A form that was sent is held on
// that page, so it can be sent again afterwards.
func Redirect(v *site.Visit, err error) bool {
	// A request that changes something cannot be repeated by a link: the person
	// returns to the page that the form was on.
	back := v.Request.URL.RequestURI()
	if v.Request.Method != http.MethodGet {
		back = v.Request.Referer()
		if referer, err := url.Parse(back); err == nil {
			back = referer.RequestURI()
		}
	}
	back = site.OwnPath(back)

	var to string
	switch ship.CodeOf(err) {
	case "not_signed_in":
		v.Forget()
		to = "/app/login"
		form := loginForm{
			To:       back,
			Held:     v.Hold(false),
			Passkeys: v.Member.PasskeysPossible(),
			OIDC:     v.Member.OIDCPossible(),
		}
		if form.Held != "" && v.Show(http.StatusForbidden, loginPage(v.Frame("Sign in", ""), form)) == nil {
			return true
		}

	case "step_up_required":
		to = "/app/confirm"
		form := loginForm{To: back, Held: v.Hold(true), Passkeys: v.Member.PasskeysPossible()}
		if form.Held != "" && askToConfirm(v, http.StatusForbidden, form, nil) == nil {
			return true
		}

	case "second_factor_required":
		to = secondFactorPath

	case "sso_required":
		to = singleSignOnPath

	default:
		return false
	}

	if back != "" && back != "/app" && back != "/" {
		to += "?to=" + url.QueryEscape(back)
	}
	_ = v.Redirect(to, "")
	return true
}

// resume handles POST /app/resume: it carries out a held form.
func resume(v *site.Visit) error {
	form, err := v.HeldForm()
	if err != nil {
		return err
	}
	return v.Replay(form, "")
}
