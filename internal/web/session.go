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

// cookieName is that of the session's cookie. Browsers keep one with the
// prefix from every other host, and take it over https alone; a service
// without https is one on this machine.
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
		Name: v.cookieName(), Value: in.Token, Path: "/", Expires: in.Expires, HttpOnly: true, Secure: v.https(), SameSite: http.SameSiteLaxMode,
	})
}

// forget takes it back.
func (v *visit) forget() {
	http.SetCookie(v.w, &http.Cookie{Name: v.cookieName(), Path: "/", MaxAge: -1, HttpOnly: true, Secure: v.https(), SameSite: http.SameSiteLaxMode})
}

// keep puts a value into a cookie of one step of signing in; "" takes it back.
func (v *visit) keep(name, value string) {
	c := &http.Cookie{Name: v.cookieName() + "-" + name, Value: value, Path: "/", MaxAge: int((10 * time.Minute).Seconds()), HttpOnly: true, Secure: v.https(), SameSite: http.SameSiteLaxMode}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(v.w, c)
}

func (v *visit) kept(name string) string {
	c, err := v.r.Cookie(v.cookieName() + "-" + name)
	if err != nil {
		return ""
	}
	return c.Value
}

// from is where the request comes from.
func (v *visit) from() member.Origin {
	return member.Origin{Addr: httpkit.ClientAddr(v.r, v.TrustedProxies), Agent: v.r.UserAgent()}
}

// signIn finds the person behind the cookie.
func (v *visit) signIn() error {
	c, err := v.r.Cookie(v.cookieName())
	if err != nil {
		return ship.Coded(ship.Forbidden, "not_signed_in", "sign in first")
	}
	actor, err := v.Member.Authenticate(v.ctx(), c.Value, v.from())
	if err != nil {
		return err
	}
	acct, err := v.Account.Account(v.ctx(), actor.Account)
	if err != nil {
		return err
	}
	v.who = visitor{Actor: actor, Account: acct}
	return nil
}

// sendElsewhere sends those who must sign in first, or again, to where they
// can, and reports whether it did.
func (v *visit) sendElsewhere(err error) bool {
	back := v.r.URL.RequestURI()
	if v.r.Method != http.MethodGet {
		back = v.r.Referer()
		if u, err := url.Parse(back); err == nil {
			back = u.RequestURI()
		}
	}
	to := ""
	switch ship.CodeOf(err) {
	case "not_signed_in":
		v.forget()
		to = "/app/login"
		p := loginForm{To: ownPath(back), Held: v.hold(false), Passkeys: v.Member.PasskeysPossible(), OIDC: v.Member.OIDCPossible()}
		if p.Held != "" && v.show(http.StatusForbidden, loginPage(v.frame("Sign in", ""), p)) == nil {
			return true
		}
	case "step_up_required":
		to = "/app/confirm"
		p := loginForm{To: ownPath(back), Held: v.hold(true), Passkeys: v.Member.PasskeysPossible()}
		if p.Held != "" && v.askToConfirm(http.StatusForbidden, p, nil) == nil {
			return true
		}
	default:
		return false
	}
	if back = ownPath(back); back != "" && back != "/app" && back != "/" {
		to += "?to=" + url.QueryEscape(back)
	}
	_ = v.redirect(to, "")
	return true
}

// ownPath is the path if it is one of the dashboard's own pages, else "": a
// sign-in never leads anywhere else.
func ownPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" || strings.ContainsAny(path, "\\\r\n\t") || !strings.HasPrefix(path, "/app") || strings.HasPrefix(path, "//") {
		return ""
	}
	if strings.HasPrefix(path, "/app/login") || strings.HasPrefix(path, "/app/confirm") || strings.HasPrefix(path, "/app/logout") {
		return ""
	}
	return path
}
