package web

import (
	"net/http"
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
