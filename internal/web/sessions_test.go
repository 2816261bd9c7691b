package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
)

func TestASignInEndsTheSessionThatTheBrowserHad(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shared := b.browser()
	if !shared.signIn("dana@example.com", testPassword) {
		t.Fatal("the first sign-in fails")
	}
	stolen := shared.another()
	if w := stolen.open(b.home, nil); w.Code != http.StatusOK {
		t.Fatalf("the first session: %d", w.Code)
	}

	// A sign-in that fails ends nothing.
	if shared.signIn("viewer@example.com", "not their password") || stolen.open(b.home, nil).Code != http.StatusOK {
		t.Error("a wrong password ends the session")
	}

	if !shared.signIn("viewer@example.com", testPassword) {
		t.Fatal("the second sign-in fails")
	}
	if w := stolen.open(b.home, nil); w.Code != http.StatusSeeOther {
		t.Errorf("the first session after the second sign-in: %d", w.Code)
	}
	if w := shared.open(b.home, nil); w.Code != http.StatusOK {
		t.Errorf("the second session: %d", w.Code)
	}
}

// TestAPersonEndsTheirOwnSessions: one of them, then all others. Somebody else's
// session cannot be ended.
func TestAPersonEndsTheirOwnSessions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	here, there, third := b.browser(), b.browser(), b.browser()
	for _, browser := range []*browser{here, there, third} {
		if !browser.signIn("viewer@example.com", testPassword) {
			t.Fatal("the sign-in fails")
		}
	}
	sessionOf := func(browser *browser) string {
		t.Helper()
		actor, err := b.web.Member.Authenticate(t.Context(), browser.cookies[sessionCookie], member.Origin{})
		b.must(err)
		return string(actor.Session)
	}
	isOpen := func(browser *browser) bool { return browser.another().open(b.home, nil).Code == http.StatusOK }

	page := here.open(b.home+"/you", nil).Body.String()
	for _, want := range []string{"This session", "Last seen", "since", "Sign out all others", sessionOf(there)} {
		if !strings.Contains(page, want) {
			t.Errorf("the profile does not show %q", want)
		}
	}
	owner, err := b.web.Member.Authenticate(t.Context(), b.tokens[member.Owner], member.Origin{})
	b.must(err)
	if w := here.open(b.home+"/you", form("do", "end-session", "session", string(owner.Session))); w.Code != http.StatusNotFound {
		t.Errorf("the session of somebody else: %d", w.Code)
	}
	if w := here.open(b.home+"/you", form("do", "end-session", "session", sessionOf(there))); w.Code != http.StatusSeeOther || isOpen(there) || !isOpen(third) {
		t.Errorf("one session is ended: %d", w.Code)
	}
	if w := here.open(b.home+"/you", form("do", "end-others")); w.Code != http.StatusSeeOther || isOpen(third) || !isOpen(here) {
		t.Errorf("all others are ended: %d", w.Code)
	}
	if w := b.send(member.Owner, b.home, nil); w.Code != http.StatusOK {
		t.Errorf("the owner's session: %d", w.Code)
	}
}

func TestAPersonWithAPasswordConnectsTheIdentityProvider(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	provider := b.withProvider()
	dana := map[string]any{"sub": "d-1", "email": "dana@example.com", "email_verified": true}
	if code := b.browser().singleSignOn(provider, dana); code == http.StatusSeeOther {
		t.Fatal("a provider that was never connected signs in somebody with a password")
	}

	own := b.browser()
	if !own.signIn("dana@example.com", testPassword) {
		t.Fatal("the password does not sign in")
	}
	if code := own.visitProvider(provider, b.home+"/you/oidc", dana); code != http.StatusSeeOther {
		t.Fatalf("connect: %d", code)
	}
	if page := own.open(b.home+"/you", nil); page.Code != http.StatusOK || !strings.Contains(page.Body.String(), "identity provider is connected") {
		t.Errorf("the profile after connecting: %d %s", page.Code, page.Body)
	}
	if code := b.browser().singleSignOn(provider, dana); code != http.StatusSeeOther {
		t.Errorf("a provider that is connected: %d", code)
	}
}
