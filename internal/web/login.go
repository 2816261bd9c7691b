package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// loginForm is a sign-in under way.
type loginForm struct {
	To       string // where to go on
	Email    string
	Held     string // a form that goes on afterwards, encrypted
	Code     bool   // the password was right, a code is asked for
	Passkeys bool
	OIDC     bool
	Wrong    problems
}

func (v *visit) loginForm() loginForm {
	return loginForm{To: ownPath(v.r.FormValue("to")), Held: v.r.PostFormValue("held"), Email: v.form("email"), Passkeys: v.Member.PasskeysPossible(), OIDC: v.Member.OIDCPossible()}
}

func (v *visit) showLogin(p loginForm, err error) error {
	status := http.StatusOK
	if err != nil {
		var mendable bool
		if p.Wrong, mendable = problemsOf(err); !mendable {
			return err
		}
		status = http.StatusUnprocessableEntity
		if ship.KindOf(err) == ship.Limited {
			status = http.StatusTooManyRequests
		}
	}
	return v.show(status, loginPage(v.frame("Sign in", ""), p))
}

// login handles GET /app/login.
func (s *Web) login(v *visit) error {
	if needed, err := s.Member.SetupNeeded(v.ctx()); err != nil {
		return err
	} else if needed {
		return v.show(http.StatusOK, unsetPage(v.frame("Welcome", "")))
	}
	return v.showLogin(v.loginForm(), nil)
}

// enter ends a sign-in: with a session, or with the question for a code.
func (v *visit) enter(in member.SignedIn, to string) error {
	if in.Pending != "" {
		v.keep("pending", in.Pending)
		p := v.loginForm()
		p.Code = true
		return v.showLogin(p, nil)
	}
	v.keep("pending", "")
	v.remember(in)
	if v.r.PostFormValue("held") != "" {
		return v.askToResume()
	}
	if to = ownPath(to); to == "" {
		to = "/app"
	}
	return v.redirect(to, "")
}

// askToResume shows a person who signed in again what was not carried out.
// Unlike after a step-up it is not done by itself: the person may be another.
func (v *visit) askToResume() error {
	form, err := v.held()
	if err != nil {
		return v.redirect("/app", "")
	}
	return v.show(http.StatusOK, resumePage(v.frame("Continue", ""), form, v.r.PostFormValue("held")))
}

// passwordLogin handles POST /app/login.
func (s *Web) passwordLogin(v *visit) error {
	p := v.loginForm()
	in, err := s.Member.SignIn(v.ctx(), member.SignInInput{Email: p.Email, Password: v.r.FormValue("password"), From: v.from()})
	if err != nil {
		return v.showLogin(p, err)
	}
	return v.enter(in, p.To)
}

// codeLogin handles POST /app/login/code.
func (s *Web) codeLogin(v *visit) error {
	p := v.loginForm()
	in, err := s.Member.SecondFactor(v.ctx(), member.SecondFactorInput{Pending: v.kept("pending"), Code: v.form("code"), From: v.from()})
	if err != nil {
		p.Code = ship.KindOf(err) != ship.Gone
		return v.showLogin(p, err)
	}
	return v.enter(in, p.To)
}

// beginPasskeyLogin handles POST /app/login/passkey/begin.
func (s *Web) beginPasskeyLogin(v *visit) error {
	c, err := s.Member.BeginPasskeySignIn(v.ctx())
	return v.ceremony(c, err)
}

// ceremony gives the browser what its keys are asked.
func (v *visit) ceremony(c member.Ceremony, err error) error {
	if err != nil {
		return err
	}
	v.keep("ceremony", c.Token)
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Write(c.Options) // the reader may have left
	return nil
}

func (v *visit) passkeyAnswer() member.PasskeyAnswer {
	return member.PasskeyAnswer{Token: v.kept("ceremony"), Response: []byte(v.r.FormValue("credential")), From: v.from()}
}

// passkeyLogin handles POST /app/login/passkey.
func (s *Web) passkeyLogin(v *visit) error {
	p := v.loginForm()
	in, err := s.Member.FinishPasskeySignIn(v.ctx(), v.passkeyAnswer())
	v.keep("ceremony", "")
	if err != nil {
		return v.showLogin(p, err)
	}
	return v.enter(in, p.To)
}

// oidcLogin handles POST /app/login/oidc.
func (s *Web) oidcLogin(v *visit) error {
	p := v.loginForm()
	start, err := s.Member.BeginOIDC(v.ctx(), p.To)
	if err != nil {
		return v.showLogin(p, err)
	}
	v.keep("oidc", start.Token)
	// A form of this page may only lead to this server, so the page itself
	// leads on.
	return v.show(http.StatusOK, leadOnPage(v.frame("Sign in", ""), start.URL))
}

// oidcBack handles GET /app/oidc, where the identity provider sends people.
func (s *Web) oidcBack(v *visit) error {
	in, err := s.Member.FinishOIDC(v.ctx(), member.FinishOIDCInput{Token: v.kept("oidc"), State: v.query("state"), Code: v.query("code"), From: v.from()})
	v.keep("oidc", "")
	if err != nil {
		return v.showLogin(v.loginForm(), err)
	}
	return v.enter(in, in.Return)
}

// logout handles POST /app/logout.
func (s *Web) logout(v *visit) error {
	if err := s.Member.SignOut(v.ctx(), v.who.Actor); err != nil {
		return err
	}
	v.forget()
	return v.redirect("/app/login", "signed-out")
}

// confirm handles GET /app/confirm: a person proves again that it is them.
func (s *Web) confirm(v *visit) error { return v.showConfirm(nil) }

func (v *visit) showConfirm(err error) error {
	return v.askToConfirm(http.StatusOK, v.loginForm(), err)
}

func (v *visit) askToConfirm(status int, p loginForm, err error) error {
	profile, broken := v.Member.Profile(v.ctx(), v.who.Actor)
	if broken != nil {
		return broken
	}
	if err != nil {
		var mendable bool
		if p.Wrong, mendable = problemsOf(err); !mendable {
			return err
		}
		status = http.StatusUnprocessableEntity
	}
	p.Passkeys = p.Passkeys && len(profile.Passkeys) > 0
	return v.show(status, confirmPage(v.frame("Confirm", ""), p, profile))
}

// stepUp handles POST /app/confirm.
func (s *Web) stepUp(v *visit) error {
	in, err := s.Member.StepUp(v.ctx(), v.who.Actor, member.StepUpInput{Password: v.r.FormValue("password"), Code: v.form("code")})
	if err != nil {
		return v.showConfirm(err)
	}
	v.remember(in)
	return v.afterStepUp(in.Token, v.r.FormValue("to"))
}

// passkeyStepUp handles POST /app/confirm/passkey.
func (s *Web) passkeyStepUp(v *visit) error {
	in, err := s.Member.FinishPasskeyStepUp(v.ctx(), v.who.Actor, v.passkeyAnswer())
	v.keep("ceremony", "")
	if err != nil {
		return v.showConfirm(err)
	}
	v.remember(in)
	return v.afterStepUp(in.Token, v.r.FormValue("to"))
}

// beginPasskey handles POST /app/passkey/begin: to add a key, or to step up
// with one.
func (s *Web) beginPasskey(v *visit) error {
	if v.query("for") == "confirm" {
		c, err := s.Member.BeginPasskeyStepUp(v.ctx(), v.who.Actor)
		return v.ceremony(c, err)
	}
	c, err := s.Member.BeginPasskey(v.ctx(), v.who.Actor)
	return v.ceremony(c, err)
}
