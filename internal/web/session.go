package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// cookieName returns the name of the session's cookie. Browsers accept one with
// the __Host- prefix over https only, and never send it to another host. A
// service without https runs on the developer's own machine.
func (s *Web) cookieName() string {
	if s.https() {
		return "__Host-waybill"
	}
	return "waybill"
}

func (s *Web) https() bool { return strings.HasPrefix(s.BaseURL, "https://") }

// remember gives the browser its session.
func (v *visit) remember(in member.SignedIn) {
	http.SetCookie(v.w, &http.Cookie{
		Name:     v.cookieName(),
		Value:    in.Token,
		Path:     "/",
		Expires:  in.Expires,
		HttpOnly: true,
		Secure:   v.https(),
		SameSite: http.SameSiteLaxMode,
	})
}

// forget deletes the session's cookie.
func (v *visit) forget() {
	http.SetCookie(v.w, &http.Cookie{
		Name:     v.cookieName(),
		Path:     "/",
		MaxAge:   -1,
		HttpOnly: true,
		Secure:   v.https(),
		SameSite: http.SameSiteLaxMode,
	})
}

// keep stores a value in a cookie for one step of signing in; "" deletes it.
func (v *visit) keep(name, value string) {
	cookie := &http.Cookie{
		Name:     v.cookieName() + "-" + name,
		Value:    value,
		Path:     "/",
		MaxAge:   int((10 * time.Minute).Seconds()),
		HttpOnly: true,
		Secure:   v.https(),
		SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(v.w, cookie)
}

// kept returns a value that keep stored; "" if there is none.
func (v *visit) kept(name string) string {
	cookie, err := v.r.Cookie(v.cookieName() + "-" + name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// from returns where the request comes from.
func (v *visit) from() member.Origin {
	return member.Origin{Addr: httpkit.ClientAddr(v.r, v.TrustedProxies), Agent: v.r.UserAgent()}
}

// signIn identifies the person by the session's cookie, in the account of the
// address, or in the one they used last if the address has none.
func (v *visit) signIn() error {
	cookie, err := v.r.Cookie(v.cookieName())
	if err != nil {
		return ship.Coded(ship.Forbidden, "not_signed_in", "sign in first")
	}

	actor, err := v.authenticate(cookie.Value)
	if err != nil {
		return err
	}
	owner, err := v.Account.Account(v.ctx(), actor.Account)
	if err != nil {
		return err
	}
	v.who = visitor{Actor: actor, Account: owner}
	return nil
}

// authenticate returns who holds the session's token: as a member of the
// account of the address, if it names one.
func (v *visit) authenticate(token string) (member.Actor, error) {
	if !v.rt.isOfAccount() {
		return v.Member.Authenticate(v.ctx(), token, v.from())
	}

	// What is not an id reads as one that no account has. Somebody else's account
	// gets the same answer, so it cannot be found out which ids exist.
	account, _ := ship.ParseAccountID(v.r.PathValue("account"))
	actor, err := v.Member.AuthenticateIn(v.ctx(), token, account, v.from())
	if ship.KindOf(err) == ship.NotFound {
		err = errNoPage
	}
	return actor, err
}

// redirectToSignIn sends people who must sign in, or confirm who they are, to
// the page for it, and reports whether it did. A form that was sent is held on
// that page, so it can be sent again afterwards.
func redirectToSignIn(v *visit, err error) bool {
	// A request that changes something cannot be repeated by a link: the person
	// returns to the page that the form was on.
	back := v.r.URL.RequestURI()
	if v.r.Method != http.MethodGet {
		back = v.r.Referer()
		if referer, err := url.Parse(back); err == nil {
			back = referer.RequestURI()
		}
	}
	back = ownPath(back)

	var to string
	switch ship.CodeOf(err) {
	case "not_signed_in":
		v.forget()
		to = "/app/login"
		form := loginForm{
			To:       back,
			Held:     v.hold(false),
			Passkeys: v.Member.PasskeysPossible(),
			OIDC:     v.Member.OIDCPossible(),
		}
		if form.Held != "" && v.show(http.StatusForbidden, loginPage(v.frame("Sign in", ""), form)) == nil {
			return true
		}

	case "step_up_required":
		to = "/app/confirm"
		form := loginForm{To: back, Held: v.hold(true), Passkeys: v.Member.PasskeysPossible()}
		if form.Held != "" && v.askToConfirm(http.StatusForbidden, form, nil) == nil {
			return true
		}

	default:
		return false
	}

	if back != "" && back != "/app" && back != "/" {
		to += "?to=" + url.QueryEscape(back)
	}
	_ = v.redirect(to, "")
	return true
}

// ownPath returns the path if it is one of the dashboard's own pages, else "":
// a sign-in must never redirect to another site, nor back to itself.
func ownPath(path string) string {
	address, err := url.Parse(path)
	if err != nil || address.Host != "" || address.Scheme != "" {
		return ""
	}

	// Browsers read a backslash as a slash and drop control characters, so what
	// looks like a path can lead to another host.
	if strings.ContainsAny(path, "\\\r\n\t") || !strings.HasPrefix(path, "/app") || strings.HasPrefix(path, "//") {
		return ""
	}

	if strings.HasPrefix(path, "/app/login") || strings.HasPrefix(path, "/app/confirm") || strings.HasPrefix(path, "/app/logout") {
		return ""
	}
	return path
}
