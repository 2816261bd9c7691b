package member

import (
	"encoding/base64"
	"net/netip"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestATokenHas256BitsAndIsStoredHashed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setUp(t)
	in, err := f.signIn(t, "ada@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := base64.RawURLEncoding.DecodeString(in.Token); err != nil || len(b) != 32 {
		t.Errorf("the token has %d bytes: %v", len(b), err)
	}
	hash := hashOf(in.Token)
	if n := f.count(t, "SELECT count(*) FROM sessions WHERE token_hash = $1", hash[:]); n != 1 {
		t.Errorf("%d sessions have the hash", n)
	}
	if n := f.count(t, "SELECT count(*) FROM sessions s WHERE s::text LIKE '%' || $1 || '%'", in.Token); n != 0 {
		t.Error("the token itself is stored")
	}
	for _, token := range []string{"", "x", in.Token + "x", in.Token[1:]} {
		_, err := f.Authenticate(t.Context(), token, here)
		wantCode(t, err, "not_signed_in")
	}
}

func TestSessionsEndWhenIdleAndInAnyCase(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setUp(t)
	in, err := f.signIn(t, "ada@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	end, step := f.clock().Add(sessionLifetime), idleTimeout-time.Minute
	for end.Sub(f.clock()) > step {
		f.pass(step)
		f.as(t, in.Token) // used before it is idle for too long
	}
	f.pass(end.Sub(f.clock()))
	_, err = f.Authenticate(t.Context(), in.Token, here)
	wantCode(t, err, "not_signed_in")

	if in, err = f.signIn(t, "ada@example.com", testPassword); err != nil {
		t.Fatal(err)
	}
	f.pass(idleTimeout + time.Second)
	_, err = f.Authenticate(t.Context(), in.Token, here)
	wantCode(t, err, "not_signed_in")
	if err := f.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.count(t, "SELECT count(*) FROM sessions"); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestASignInEndsTheSessionThatTheBrowserHad(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setUp(t)
	first, err := f.signIn(t, "ada@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	from := here
	from.Token = first.Token
	second, err := f.SignIn(t.Context(), SignInInput{Email: "ada@example.com", Password: testPassword, From: from})
	if err != nil || second.Token == first.Token {
		t.Fatalf("the token stays: %v", err)
	}
	_, err = f.Authenticate(t.Context(), first.Token, here)
	wantCode(t, err, "not_signed_in")
	f.as(t, second.Token)
}

func TestAStepUpChangesTheTokenAndMakesTheSessionFresh(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setUp(t)
	in, err := f.signIn(t, "ada@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.as(t, in.Token).Allow(ManageKeys); err != nil {
		t.Errorf("right after the sign-in: %v", err)
	}
	f.pass(freshDuration)
	ada := f.as(t, in.Token)
	wantCode(t, ada.Allow(ManageKeys), "step_up_required")
	_, err = f.StepUp(t.Context(), ada, StepUpInput{Password: "not the password"})
	wantCode(t, err, "sign_in_failed")
	up, err := f.StepUp(t.Context(), ada, StepUpInput{Password: testPassword})
	if err != nil || !up.Expires.Equal(in.Expires) {
		t.Fatalf("%+v after %+v: %v", up, in, err)
	}
	_, err = f.Authenticate(t.Context(), in.Token, here)
	wantCode(t, err, "not_signed_in")
	if a := f.as(t, up.Token); a.Allow(ManageKeys) != nil || a.Session != ada.Session {
		t.Errorf("after the step-up: %v", a.Allow(ManageKeys))
	}
}

func TestSessionsAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	bob, bobToken := f.joined(t, ada, "bob@example.com", Viewer)
	var tokens []string
	for i := range 3 {
		f.pass(2 * time.Minute)
		from := Origin{Addr: netip.AddrFrom4([4]byte{192, 0, 2, byte(10 + i)}), Agent: "Browser \x00\xff" + string(rune('A'+i))}
		in, err := f.SignIn(t.Context(), SignInInput{Email: "ada@example.com", Password: testPassword, From: from})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, in.Token)
	}
	me := f.as(t, tokens[2])
	list, err := f.Sessions(t.Context(), me)
	if err != nil || len(list) != 4 || !list[0].Current || list[0].From.Agent != "Browser C" || list[0].Method != "password" || list[3].Method != "setup" {
		t.Fatalf("sessions %+v: %v", list, err)
	}
	if err := f.RevokeSession(t.Context(), bob, list[1].ID); ship.KindOf(err) != ship.NotFound {
		t.Errorf("somebody else's session is ended: %v", err)
	}
	if err := f.RevokeSession(t.Context(), me, list[1].ID); err != nil {
		t.Fatal(err)
	}
	_, err = f.Authenticate(t.Context(), tokens[1], here)
	wantCode(t, err, "not_signed_in")
	if n, err := f.RevokeOtherSessions(t.Context(), me); n != 2 || err != nil {
		t.Errorf("%d others end: %v", n, err)
	}
	f.as(t, tokens[2])
	f.as(t, bobToken)
	if n, err := f.RevokeSessionsOf(t.Context(), me, bob.Person.ID); n != 1 || err != nil {
		t.Errorf("%d sessions of a member end: %v", n, err)
	}
	_, err = f.Authenticate(t.Context(), bobToken, here)
	wantCode(t, err, "not_signed_in")
	if err := f.SignOut(t.Context(), me); err != nil {
		t.Fatal(err)
	}
	_, err = f.Authenticate(t.Context(), tokens[2], here)
	wantCode(t, err, "not_signed_in")
}

func TestASessionIsForAllAccountsOfThePerson(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	other := f.newAccount(t, "Other", ada)
	strange := f.newAccount(t, "Strange")
	in, err := f.signIn(t, "ada@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	me := f.as(t, in.Token)
	if list, err := f.Accounts(t.Context(), me); err != nil || len(list) != 2 || me.Account != ada.Account {
		t.Fatalf("accounts %v, the first is %s: %v", list, me.Account, err)
	}

	f.pass(time.Second)
	there, err := f.AuthenticateIn(t.Context(), in.Token, other, here)
	if err != nil || there.Account != other || there.Session != me.Session || f.as(t, in.Token).Account != other {
		t.Errorf("in the other account: %+v: %v", there, err)
	}

	nobodys, _ := ship.ParseAccountID("nothing")
	for _, id := range []ship.AccountID{strange, nobodys, "nothing", ship.NewAccountID(0, f.clock())} {
		f.pass(time.Second)
		_, err := f.AuthenticateIn(t.Context(), in.Token, id, here)
		if ship.KindOf(err) != ship.NotFound || f.as(t, in.Token).Account != other {
			t.Errorf("in %s, which is not theirs: %v", id, err)
		}
	}
	_, err = f.AuthenticateIn(t.Context(), "nobody's", ada.Account, here)
	wantCode(t, err, "not_signed_in")
}

func TestTheRoleIsTheOneInTheAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	bob, token := f.joined(t, ada, "bob@example.com", Viewer)
	if err := f.store.VerifyEmail(t.Context(), bob.Person.ID, f.clock()); err != nil {
		t.Fatal(err)
	}
	other := f.newAccount(t, "Other", bob)

	for account, want := range map[ship.AccountID]Role{ada.Account: Viewer, other: Owner} {
		if a, err := f.AuthenticateIn(t.Context(), token, account, here); err != nil || a.Role != want {
			t.Errorf("in %s: %s, %v; want %s", account, a.Role, err, want)
		}
	}
}

func TestANewPasswordEndsTheOtherSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	in, err := f.signIn(t, "ada@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.SetPassword(t.Context(), ada, "short")
	wantCode(t, err, "validation_failed")
	out, err := f.SetPassword(t.Context(), ada, "another horse and battery")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Authenticate(t.Context(), in.Token, here)
	wantCode(t, err, "not_signed_in")
	me := f.as(t, out.Token)
	_, err = f.signIn(t, "ada@example.com", testPassword)
	wantCode(t, err, "sign_in_failed")
	f.pass(freshDuration)
	_, err = f.SetPassword(t.Context(), f.as(t, out.Token), testPassword)
	wantCode(t, err, "step_up_required")
	if err := f.Rename(t.Context(), me, " Ada Lovelace "); err != nil || f.as(t, out.Token).Person.Name != "Ada Lovelace" {
		t.Errorf("renamed: %v", err)
	}
	if p, err := f.Profile(t.Context(), me); err != nil || !p.HasPassword || p.HasTOTP || p.Name != "Ada Lovelace" {
		t.Errorf("profile %+v: %v", p, err)
	}
}
