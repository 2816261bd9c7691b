package site

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
func (s *Dashboard) cookieName() string {
	if s.https() {
		return "__Host-waybill"
	}
	return "waybill"
}

func (s *Dashboard) https() bool { return strings.HasPrefix(s.BaseURL, "https://") }

// Remember gives the browser its session.
func (v *Visit) Remember(in member.SignedIn) {
	http.SetCookie(v.Writer, &http.Cookie{
		Name:     v.cookieName(),
		Value:    in.Token,
		Path:     "/",
		Expires:  in.Expires,
		HttpOnly: true,
		Secure:   v.https(),
		SameSite: http.SameSiteLaxMode,
	})
}

// Forget deletes the session's cookie.
func (v *Visit) Forget() {
	http.SetCookie(v.Writer, &http.Cookie{
		Name:     v.cookieName(),
		Path:     "/",
		MaxAge:   -1,
		HttpOnly: true,
		Secure:   v.https(),
		SameSite: http.SameSiteLaxMode,
	})
}

// Keep stores a value in a cookie for one step of signing in; "" deletes it.
func (v *Visit) Keep(name, value string) {
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
	http.SetCookie(v.Writer, cookie)
}

// Kept returns a value that Keep stored; "" if there is none.
func (v *Visit) Kept(name string) string {
	cookie, err := v.Request.Cookie(v.cookieName() + "-" + name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// From returns the client's address and user agent, and the token of the
// session that the browser has.
func (v *Visit) From() member.Origin {
	from := member.Origin{Addr: httpkit.ClientAddr(v.Request, v.TrustedProxies), Agent: v.Request.UserAgent()}
	if cookie, err := v.Request.Cookie(v.cookieName()); err == nil {
		from.Token = cookie.Value
	}
	return from
}

// SignIn identifies the person by the session's cookie, in the account of the
// address, or in the one they used last if the address has none.
func (v *Visit) SignIn() error {
	cookie, err := v.Request.Cookie(v.cookieName())
	if err != nil {
		return ship.Coded(ship.Forbidden, "not_signed_in", "sign in first")
	}

	actor, err := v.authenticate(cookie.Value)
	if err != nil {
		return err
	}
	owner, err := v.Account.AccountIn(v.Context(), ship.Tenant{Account: actor.Account, Livemode: v.Live})
	if err != nil {
		return err
	}
	v.Who = Visitor{Actor: actor, Account: owner}
	return nil
}

// authenticate returns who holds the session's token: as a member of the
// account of the address, if it names one.
func (v *Visit) authenticate(token string) (member.Actor, error) {
	if !v.rt.isOfAccount() {
		return v.Member.Authenticate(v.Context(), token, v.From())
	}

	// An invalid ID is treated like one that no account has. Another person's
	// account gets the same answer, so nobody can find out which IDs exist.
	account, _ := ship.ParseAccountID(v.Request.PathValue("account"))
	authenticate := v.Member.AuthenticateIn
	if v.rt.Path == livePath {
		authenticate = v.Member.AuthenticateUnused // the page connects by itself
	}
	actor, err := authenticate(v.Context(), token, account, v.From())
	if ship.KindOf(err) == ship.NotFound {
		err = ErrNoPage
	}
	return actor, err
}

// OwnPath returns the path if it is one of the dashboard's own pages, else "":
// a sign-in must never redirect to another site, nor back to itself.
func OwnPath(path string) string {
	address, err := url.Parse(path)
	if err != nil || address.Host != "" || address.Scheme != "" {
		return ""
	}

	// Browsers read a backslash as a slash and drop control characters, so what
	// looks like a path can lead to another host.
	if strings.ContainsAny(path, "\\\r\n\t") || !strings.HasPrefix(path, "/app") || strings.HasPrefix(path, "//") {
		return ""
	}

	for _, page := range []string{"/app/login", "/app/confirm", "/app/logout", "/app/second-factor", "/app/single-sign-on"} {
		if strings.HasPrefix(path, page) {
			return ""
		}
	}
	return path
}
