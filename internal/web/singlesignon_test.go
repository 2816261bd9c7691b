package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/member/oidctest"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// withProviderAndMail has the dashboard sign people in with an identity provider,
// and send mail.
func (b *bench) withProviderAndMail() (*oidctest.Provider, *mailbox) {
	b.Helper()
	provider := oidctest.New(b)
	mail := &mailbox{texts: map[string][]string{}}
	b.withMembers(func(c *member.Config) {
		c.Mail = mail.send
		c.OIDC = member.OIDC{
			Issuer:       provider.URL,
			ClientID:     oidctest.ClientID,
			ClientSecret: oidctest.ClientSecret,
			Transport:    provider.Client().Transport,
		}
	})
	return provider, mail
}

// received waits for the first message to the address.
func (m *mailbox) received(to string) string {
	for range 500 {
		m.mu.Lock()
		texts := m.texts[to]
		m.mu.Unlock()
		if len(texts) > 0 {
			return texts[0]
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ""
}

func TestSingleSignOnCanBeRequired(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	provider, mail := b.withProviderAndMail()
	who := func(role member.Role) member.Actor {
		t.Helper()
		actor, err := b.web.Member.AuthenticateIn(t.Context(), b.tokens[role], b.owner.ID, member.Origin{})
		b.must(err)
		return actor
	}
	dana, vera := who(member.Owner), who(member.Viewer)
	save := func(pairs ...string) (int, string) {
		t.Helper()
		w := b.send(member.Owner, b.home+"/members/sign-in", form(pairs...), "Referer", testBase+b.home+"/members")
		return w.Code, w.Header().Get("Location") + w.Body.String()
	}

	// Without somebody who can get in when the provider does not work, it cannot
	// be required; nor with an owner who has no second factor.
	for _, pairs := range [][]string{
		{"sso", "on"},
		{"sso", "on", "breakGlass", string(vera.Person.ID)},
		{"sso", "on", "breakGlass", string(dana.Person.ID)},
	} {
		if code, page := save(pairs...); code != http.StatusUnprocessableEntity || !strings.Contains(page, "Break-glass owners:") {
			t.Errorf("%v: %d %s", pairs, code, page)
		}
	}
	b.setUpFactor(member.Owner, b.home)
	if code, page := save("sso", "on", "breakGlass", string(dana.Person.ID)); code != http.StatusSeeOther || !strings.HasSuffix(page, "done=saved") {
		t.Fatalf("require single sign-on: %d %s", code, page)
	}

	// Open sessions and new ones with a password do not reach the account.
	password := b.browser()
	password.open("/app/login", form("email", "viewer@example.com", "password", testPassword))
	for _, rt := range table(b.web.Config) {
		if rt.Open || !strings.HasPrefix(rt.Path, "/app/{account}/{mode}") {
			continue
		}
		var filled url.Values
		if rt.Method == http.MethodPost {
			filled = form("do", "nothing")
		}
		w := password.open(row{route: rt.Method + " " + rt.Path}.path(b.owner.ID, nil), filled)
		if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/app/single-sign-on") {
			t.Errorf("%s %s answers %d, to %s", rt.Method, rt.Path, w.Code, to)
		}
	}
	if w := b.send(member.Developer, b.home, nil); w.Code != http.StatusSeeOther {
		t.Errorf("the open session of a developer: %d", w.Code)
	}

	// They do reach the person's other account.
	other := b.account("Elsewhere")
	b.must(b.store.VerifyEmail(t.Context(), vera.Person.ID, time.Now()))
	b.must(b.store.AddMember(t.Context(), other.ID, vera.Person.ID, string(member.Viewer), time.Now()))
	if w := password.open(site.ModePath(other.ID, false), nil); w.Code != http.StatusOK {
		t.Errorf("the other account: %d", w.Code)
	}

	// The provider must know the person by their own address.
	mallory := map[string]any{"sub": "m-1", "email": "mallory@example.com", "email_verified": true}
	if code := password.visitProvider(provider, "/app/single-sign-on", mallory); code == http.StatusSeeOther {
		t.Error("somebody else's identity is connected")
	}
	own := map[string]any{"sub": "v-1", "email": "viewer@example.com", "email_verified": true}
	if code := password.visitProvider(provider, "/app/single-sign-on", own); code != http.StatusSeeOther {
		t.Fatalf("connect: %d", code)
	}
	signedIn := b.browser()
	if code := signedIn.singleSignOn(provider, own); code != http.StatusSeeOther || signedIn.open(b.home, nil).Code != http.StatusOK {
		t.Errorf("single sign-on: %d", code)
	}
	if w := password.open(b.home, nil); w.Code != http.StatusSeeOther {
		t.Errorf("the session with the password, after connecting: %d", w.Code)
	}

	// The break-glass owner gets in; it is recorded once a session, and mailed.
	for range 2 {
		if w := b.send(member.Owner, b.home, nil); w.Code != http.StatusOK {
			t.Fatalf("the break-glass owner: %d", w.Code)
		}
	}
	var jobs int
	b.must(b.store.System().QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE kind = 'notify_break_glass'").Scan(&jobs))
	if jobs != 1 {
		t.Errorf("%d jobs notify the owners, want 1", jobs)
	}
	b.must(b.web.Member.NotifyBreakGlass(t.Context(), b.owner.ID, dana.Person.ID))
	if text := mail.received("dana@example.com"); !strings.Contains(text, "without single sign-on") || !strings.Contains(text, "Dana Whitfield") {
		t.Errorf("the owners got %q", text)
	}
	entries, _, err := b.web.Member.Audit(t.Context(), who(member.Owner), member.AuditFilter{Action: "session.break_glass", Limit: 10})
	if err != nil || len(entries) != 1 || entries[0].Details["email"] != "dana@example.com" {
		t.Errorf("the audit log has %+v: %v", entries, err)
	}

	// The only break-glass owner stays one.
	b.must(b.web.Member.SetRole(t.Context(), who(member.Owner), vera.Person.ID, member.Owner))
	if err := b.web.Member.SetRole(t.Context(), who(member.Owner), dana.Person.ID, member.Viewer); ship.CodeOf(err) != "last_break_glass" {
		t.Errorf("the only break-glass owner is demoted: %v", err)
	}
	if code, page := save(); code != http.StatusSeeOther || !strings.HasSuffix(page, "done=saved") {
		t.Fatalf("require nothing: %d %s", code, page)
	}
	if w := b.send(member.Developer, b.home, nil); w.Code != http.StatusOK {
		t.Errorf("when nothing is required: %d", w.Code)
	}
}
