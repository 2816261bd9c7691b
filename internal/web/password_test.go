package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
)

func TestNobodyGetsAPasswordThatIsGuessedFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t) // Dana Whitfield of Northwind Supply
	set := func(password string) (status int, page string) {
		w := b.send(member.Owner, b.home+"/you/secrets", form("do", "password", "password", password))
		return w.Code, w.Body.String()
	}

	for _, weak := range []string{"chocolate123", "Butterfly2024!", "qwertyuiop[]", "Northwind2024", "dana.whitfield1", "waybill12345"} {
		if status, page := set(weak); status != http.StatusUnprocessableEntity || !strings.Contains(page, "too easy to guess") {
			t.Errorf("%q: %d", weak, status)
		}
	}
	in, err := b.web.Member.SignIn(b.Context(), member.SignInInput{Email: "dana@example.com", Password: testPassword})
	if err != nil || in.Token == "" {
		t.Errorf("the old password: %v", err)
	}
	if status, page := set("lantern over quiet harbor"); status >= http.StatusBadRequest {
		t.Errorf("a good password: %d\n%s", status, page)
	}
}
