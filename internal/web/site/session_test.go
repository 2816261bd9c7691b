package site

import "testing"

func TestSignInLeadsOnlyToOwnPages(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"//evil.example", "https://evil.example/app", "/\\evil.example", "javascript:alert(1)", "/docs", "/app/login", "/app\r\nX: y", ""} {
		if got := OwnPath(path); got != "" {
			t.Errorf("ownPath(%q) = %q", path, got)
		}
	}
	if got := OwnPath("/app/acct_1/test/keys?done=x"); got == "" {
		t.Error("an own page is refused")
	}
}
