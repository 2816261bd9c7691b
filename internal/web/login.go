package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// loginForm is a sign-in that is in progress.
type loginForm struct {
	To       string // page to continue with
	Email    string
	Held     string // a form to continue with, encrypted
	Code     bool   // the password was correct, and a code is asked for
	Passkeys bool
	OIDC     bool
	Wrong    problems
}

func (v *visit) loginForm() loginForm {
	return loginForm{
		To:       ownPath(v.r.FormValue("to")),
		Held:     v.r.PostFormValue("held"),
		Email:    v.form("email"),
		Passkeys: v.Member.PasskeysPossible(),
		OIDC:     v.Member.OIDCPossible(),
	}
}

// showLogin answers with the sign-in page, and with err if that can be shown
// there.
func (v *visit) showLogin(page loginForm, err error) error {
	if err == nil {
		return v.show(http.StatusOK, loginPage(v.frame("Sign in", ""), page))
	}

	invalid, fixable := problemsOf(err)
	if !fixable {
		return err
	}
	page.Wrong = invalid
	status := http.StatusUnprocessableEntity
	if ship.KindOf(err) == ship.Limited {
		status = http.StatusTooManyRequests
	}
	return v.show(status, loginPage(v.frame("Sign in", ""), page))
}

// login handles GET /app/login.
func (s *Web) login(v *visit) error {
	needed, err := s.Member.SetupNeeded(v.ctx())
	if err != nil {
		return err
	}
	if needed {
		return v.show(http.StatusOK, unsetPage(v.frame("Welcome", "")))
	}
	return v.showLogin(v.loginForm(), nil)
}

// enter completes a sign-in with a session, or continues it by asking for a
// code.
func (v *visit) enter(signedIn member.SignedIn, to string) error {
	if signedIn.Pending != "" {
		v.keep("pending", signedIn.Pending)
		page := v.loginForm()
		page.Code = true
		return v.showLogin(page, nil)
	}

	v.keep("pending", "")
	v.remember(signedIn)
	if v.r.PostFormValue("held") != "" {
		return v.askToResume()
	}

	// The address is part of the request, and must not lead to another site.
	if to = ownPath(to); to == "" {
		to = "/app"
	}
	return v.redirect(to, "")
}

// askToResume shows a person who signed in again the form that was not carried
// out. Unlike after a step-up it is not carried out without asking: another
// person may have signed in.
func (v *visit) askToResume() error {
	form, err := v.held()
	if err != nil {
		return v.redirect("/app", "")
	}
	return v.show(http.StatusOK, resumePage(v.frame("Continue", ""), form, v.r.PostFormValue("held")))
}

// passwordLogin handles POST /app/login.
func (s *Web) passwordLogin(v *visit) error {
	page := v.loginForm()
	signedIn, err := s.Member.SignIn(v.ctx(), member.SignInInput{
		Email:    page.Email,
		Password: v.r.FormValue("password"),
		From:     v.from(),
	})
	if err != nil {
		return v.showLogin(page, err)
	}
	return v.enter(signedIn, page.To)
}

// codeLogin handles POST /app/login/code.
func (s *Web) codeLogin(v *visit) error {
	page := v.loginForm()
	signedIn, err := s.Member.SecondFactor(v.ctx(), member.SecondFactorInput{
		Pending: v.kept("pending"),
		Code:    v.form("code"),
		From:    v.from(),
	})
	if err != nil {
		// If the sign-in is gone, it starts again with the password.
		page.Code = ship.KindOf(err) != ship.Gone
		return v.showLogin(page, err)
	}
	return v.enter(signedIn, page.To)
}

// beginPasskeyLogin handles POST /app/login/passkey/begin.
func (s *Web) beginPasskeyLogin(v *visit) error {
	ceremony, err := s.Member.BeginPasskeySignIn(v.ctx())
	return v.ceremony(ceremony, err)
}

// ceremony sends the browser the challenge for its passkeys.
func (v *visit) ceremony(ceremony member.Ceremony, err error) error {
	if err != nil {
		return err
	}
	v.keep("ceremony", ceremony.Token)
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Write(ceremony.Options) // the reader may have left
	return nil
}

func (v *visit) passkeyAnswer() member.PasskeyAnswer {
	return member.PasskeyAnswer{
		Token:    v.kept("ceremony"),
		Response: []byte(v.r.FormValue("credential")),
		From:     v.from(),
	}
}

// passkeyLogin handles POST /app/login/passkey.
func (s *Web) passkeyLogin(v *visit) error {
	page := v.loginForm()
	signedIn, err := s.Member.FinishPasskeySignIn(v.ctx(), v.passkeyAnswer())
	v.keep("ceremony", "") // a challenge is answered once, correctly or not
	if err != nil {
		return v.showLogin(page, err)
	}
	return v.enter(signedIn, page.To)
}

// oidcLogin handles POST /app/login/oidc.
func (s *Web) oidcLogin(v *visit) error {
	page := v.loginForm()
	start, err := s.Member.BeginOIDC(v.ctx(), page.To)
	if err != nil {
		return v.showLogin(page, err)
	}
	v.keep("oidc", start.Token)

	// The page's policy lets a form lead to this server only, so the answer is
	// a page that leads on to the identity provider, not a redirect.
	return v.show(http.StatusOK, leadOnPage(v.frame("Sign in", ""), start.URL))
}

// oidcBack handles GET /app/oidc, where the identity provider sends people.
func (s *Web) oidcBack(v *visit) error {
	signedIn, err := s.Member.FinishOIDC(v.ctx(), member.FinishOIDCInput{
		Token: v.kept("oidc"),
		State: v.query("state"),
		Code:  v.query("code"),
		From:  v.from(),
	})
	v.keep("oidc", "")
	if err != nil {
		return v.showLogin(v.loginForm(), err)
	}
	return v.enter(signedIn, signedIn.Return)
}

// logout handles POST /app/logout.
func (s *Web) logout(v *visit) error {
	if err := s.Member.SignOut(v.ctx(), v.who.Actor); err != nil {
		return err
	}
	v.forget()
	return v.redirect("/app/login", "signed-out")
}

// confirm handles GET /app/confirm: a person proves their identity again.
func (s *Web) confirm(v *visit) error { return v.showConfirm(nil) }

func (v *visit) showConfirm(err error) error {
	return v.askToConfirm(http.StatusOK, v.loginForm(), err)
}

// askToConfirm answers with the page that asks for a password, a code or a
// passkey, and with err if that can be shown there.
func (v *visit) askToConfirm(status int, page loginForm, err error) error {
	profile, profileErr := v.Member.Profile(v.ctx(), v.who.Actor)
	if profileErr != nil {
		return profileErr
	}

	if err != nil {
		invalid, fixable := problemsOf(err)
		if !fixable {
			return err
		}
		page.Wrong = invalid
		status = http.StatusUnprocessableEntity
	}

	page.Passkeys = page.Passkeys && len(profile.Passkeys) > 0
	return v.show(status, confirmPage(v.frame("Confirm", ""), page, profile))
}

// stepUp handles POST /app/confirm.
func (s *Web) stepUp(v *visit) error {
	signedIn, err := s.Member.StepUp(v.ctx(), v.who.Actor, member.StepUpInput{
		Password: v.r.FormValue("password"),
		Code:     v.form("code"),
	})
	if err != nil {
		return v.showConfirm(err)
	}
	v.remember(signedIn)
	return v.afterStepUp(signedIn.Token, v.r.FormValue("to"))
}

// passkeyStepUp handles POST /app/confirm/passkey.
func (s *Web) passkeyStepUp(v *visit) error {
	signedIn, err := s.Member.FinishPasskeyStepUp(v.ctx(), v.who.Actor, v.passkeyAnswer())
	v.keep("ceremony", "") // a challenge is answered once, correctly or not
	if err != nil {
		return v.showConfirm(err)
	}
	v.remember(signedIn)
	return v.afterStepUp(signedIn.Token, v.r.FormValue("to"))
}

// beginPasskey handles POST /app/passkey/begin: to add a passkey, or to step up
// with one.
func (s *Web) beginPasskey(v *visit) error {
	if v.query("for") == "confirm" {
		ceremony, err := s.Member.BeginPasskeyStepUp(v.ctx(), v.who.Actor)
		return v.ceremony(ceremony, err)
	}
	ceremony, err := s.Member.BeginPasskey(v.ctx(), v.who.Actor)
	return v.ceremony(ceremony, err)
}
