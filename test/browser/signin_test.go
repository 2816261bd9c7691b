//go:build browser

package browser

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/member/oidctest"
)

// named are the settings of a program at an address with a name: passkeys are
// bound to one.
func named(t *testing.T) []string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return []string{"LISTEN", "127.0.0.1:" + port, "BASE_URL", "http://localhost:" + port}
}

// codeAt is what an authenticator shows for the secret.
func codeAt(secret string, at time.Time) string {
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(strings.ReplaceAll(secret, " ", "")))
	if err != nil {
		return "no secret"
	}
	h := hmac.New(sha1.New, key)
	_ = binary.Write(h, binary.BigEndian, uint64(at.Unix()/30)) // a hash takes it
	sum := h.Sum(nil)
	from := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[from:])&0x7fffffff%1_000_000)
}

// goTo opens a page.
func (s *stage) goTo(path string) step {
	return chromedp.Steps(chromedp.Navigate(s.base+path), until(`document.readyState === "complete"`))
}

var signOut = chromedp.Steps(chromedp.Click(`form[action="/app/logout"] button`), chromedp.WaitVisible(`#f-email`))

func typePassword(email string) step {
	return chromedp.Steps(chromedp.WaitVisible(`#f-email`), chromedp.SetValue(`#f-email`, email), chromedp.SendKeys(`#f-password`, password), chromedp.Submit(`#f-password`))
}

// beside is the same program in another person's browser.
func (s *stage) beside() *stage {
	s.Helper()
	tab, leave := chromedp.NewContext(s.tab, chromedp.WithNewBrowserContext())
	s.Cleanup(leave)
	other := *s
	other.tab = tab
	other.do("open", chromedp.Navigate("about:blank"))
	return &other
}

func TestPeopleSignInAsTheyLike(t *testing.T) {
	t.Parallel()
	s := newStage(t, named(t)...)
	s.firstRun()
	codes := s.authenticator()
	s.passkey()
	s.sessions(codes[0])
	s.stepUp()
	s.invitation()
}

// authenticator adds one, signs in with its code, and returns the recovery
// codes.
func (s *stage) authenticator() []string {
	s.Helper()
	s.do("begin an authenticator", s.goTo("/app/test/you"), chromedp.Click(`button[value=totp]`), chromedp.WaitVisible(`img.qr`))
	secret := s.text(`.copyable code`)
	s.do("a wrong code", chromedp.SendKeys(`#f-code`, "000000"), chromedp.Click(`button[value=totp-confirm]`), until(`document.querySelector("#f-code-note .bad, .notice-bad")`))
	s.do("the right code", chromedp.WaitVisible(`img.qr`), chromedp.SetValue(`#f-code`, codeAt(secret, time.Now())), chromedp.Click(`button[value=totp-confirm]`), sees("Recovery codes"))
	codes := strings.Fields(s.text(`.recovery`))
	if len(codes) < 8 {
		s.Fatalf("recovery codes %v", codes)
	}
	s.do("the password is not enough", signOut, typePassword("dana@example.com"), sees("Two-factor authentication"), s.goTo("/app/test/shipments"), sees("Sign in"))
	s.do("a code signs in", typePassword("dana@example.com"), sees("Two-factor authentication"), chromedp.SendKeys(`#f-code`, "123456"), chromedp.Submit(`#f-code`), chromedp.WaitVisible(`.notice-bad`),
		chromedp.SetValue(`#f-code`, codeAt(secret, time.Now().Add(30*time.Second))), chromedp.Submit(`#f-code`), sees("Overview"))
	return codes
}

// passkey adds one and signs in with it.
func (s *stage) passkey() {
	s.Helper()
	s.do("plug a passkey in", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: "ctap2", Transport: "internal", HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		}})
		return err
	}))
	s.do("add it", s.goTo("/app/test/you"), chromedp.Click(`form[data-passkey-do=create] button`), chromedp.WaitVisible(`button[value=passkey-remove]`))
	s.do("sign in with it", signOut, chromedp.Click(`form[data-passkey-do=get] button`), sees("Overview"), until(`/^\/app\/acct_\w+\/test$/.test(location.pathname)`))
}

// sessions has the person end one in another browser.
func (s *stage) sessions(recovery string) {
	s.Helper()
	other := s.beside()
	other.do("sign in elsewhere with a recovery code", other.goTo("/app/login"), typePassword("dana@example.com"), sees("Two-factor authentication"),
		chromedp.SendKeys(`#f-code`, recovery), chromedp.Submit(`#f-code`), sees("Overview"))
	s.do("end it", s.goTo("/app/test/you"), sees("Active sessions"), chromedp.WaitVisible(`button[value=end-session]`), chromedp.Click(`button[value=end-session]`), chromedp.WaitNotPresent(`button[value=end-session]`))
	other.do("it is ended", other.goTo("/app/test/shipments"), sees("Sign in"), chromedp.WaitVisible(`#f-password`))
}

// stepUp makes the sign-in an old one: what is dangerous asks again.
func (s *stage) stepUp() {
	s.Helper()
	db, err := pgx.Connect(s.Context(), s.data)
	s.must(err)
	_, err = db.Exec(s.Context(), `UPDATE sessions SET authenticated_at = authenticated_at - interval '1 hour'`)
	s.must(err)
	s.must(db.Close(s.Context()))
	s.do("an old sign-in is asked again", s.goTo("/app/test/members"), chromedp.SendKeys(`#f-email`, "vera@example.com"), chromedp.Submit(`#f-email`), sees("Confirm your identity"))
	s.do("a passkey confirms", chromedp.Click(`form[data-passkey-do=get] button`), sees("Invitation link"))
}

// invitation has somebody join by a link, who then may look and no more.
func (s *stage) invitation() {
	s.Helper()
	s.do("invite", s.goTo("/app/test/members"), chromedp.SetValue(`#f-email`, "vera@example.com"), chromedp.SetValue(`#f-role`, "viewer"), chromedp.Submit(`#f-email`), sees("Invitation link"))
	link := s.text(`.secret pre`)
	other := s.beside()
	other.do("join", chromedp.Navigate(link), sees("Join Northwind"), chromedp.SendKeys(`#f-name`, "Vera"), chromedp.SendKeys(`#f-password`, password), chromedp.Submit(`#f-password`), sees("Overview"))
	other.do("a viewer buys nothing", other.goTo("/app/test/shipments"), until(`!document.querySelector('a[href$="/shipments/new"]')`), other.goTo("/app/test/shipments/new"), sees("403"))
	other.do("the link is used up", chromedp.Navigate(link), until(`document.querySelector(".empty") || document.body.innerText.includes("Sign in")`))
	s.do("the owner sees them", s.goTo("/app/test/members"), sees("Vera"))
}

func TestSomebodyJoinsByTheirIdentityProvider(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	p.User = map[string]any{"sub": "42", "email": "olga@example.com", "email_verified": true, "name": "Olga Ivanova"}
	s := newStage(t, append(named(t), "OIDC_ISSUER", p.URL, "OIDC_CLIENT_ID", oidctest.ClientID, "OIDC_CLIENT_SECRET", oidctest.ClientSecret)...)
	s.firstRun()
	other := s.beside()
	other.do("a stranger stays out", other.goTo("/app/login"), chromedp.Click(`form[action="/app/login/oidc"] button`), chromedp.WaitVisible(`.notice-bad, .empty`))
	s.do("invite", s.goTo("/app/test/members"), chromedp.SendKeys(`#f-email`, "olga@example.com"), chromedp.SetValue(`#f-role`, "shipper"), chromedp.Submit(`#f-email`), sees("Invitation link"))
	other.do("single sign-on", other.goTo("/app/login"), chromedp.Click(`form[action="/app/login/oidc"] button`), sees("Olga Ivanova"), until(`/^\/app\/acct_\w+\/test$/.test(location.pathname)`))
	other.do("and again", signOut, chromedp.Click(`form[action="/app/login/oidc"] button`), sees("Olga Ivanova"))
}
