package web

import (
	"net/http"
	"strings"
	"testing"
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
