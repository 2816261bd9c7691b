package member

import (
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

// withPasskey registers a passkey of the actor.
func (f *fixture) withPasskey(t *testing.T, a Actor, name string) *authenticator {
	t.Helper()
	c, err := f.BeginPasskey(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	key := newAuthenticator(t)
	if _, err := f.AddPasskey(t.Context(), a, AddPasskeyInput{Token: c.Token, Response: key.create(t, c), Name: name}); err != nil {
		t.Fatal(err)
	}
	return key
}

// touch signs in with a passkey.
func (f *fixture) touch(t *testing.T, key *authenticator) (SignedIn, error) {
	t.Helper()
	c, err := f.BeginPasskeySignIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f.FinishPasskeySignIn(t.Context(), PasskeyAnswer{Token: c.Token, Response: key.get(t, c), From: here})
}

func TestAPasskeySignsInWithoutACode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	f.withTOTP(t, ada)
	key := f.withPasskey(t, ada, "Phone")
	in, err := f.touch(t, key)
	if err != nil || in.Pending != "" {
		t.Fatalf("%+v: %v", in, err)
	}
	me := f.as(t, in.Token)
	if me.Person.ID != ada.Person.ID || me.Allow(ManageKeys) != nil {
		t.Errorf("signed in as %+v", me)
	}
	p, err := f.Profile(t.Context(), me)
	if err != nil || len(p.Passkeys) != 1 || p.Passkeys[0].Name != "Phone" || p.Passkeys[0].LastUsedAt.IsZero() {
		t.Errorf("profile %+v: %v", p, err)
	}
	if members, err := f.Members(t.Context(), me); err != nil || !members[0].TwoFactor {
		t.Errorf("members %+v: %v", members, err)
	}
}

func TestPasskeysMustVerifyTheirUserAndBeHere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	c, err := f.BeginPasskey(t.Context(), ada)
	if err != nil {
		t.Fatal(err)
	}
	o := ask(t, c).PublicKey
	if o.AuthenticatorSelection.UserVerification != "required" || o.AuthenticatorSelection.ResidentKey != "required" || o.RP.ID != "ship.example.com" {
		t.Errorf("the browser is asked for %+v", o)
	}
	lax := newAuthenticator(t)
	lax.unverified = true
	_, err = f.AddPasskey(t.Context(), ada, AddPasskeyInput{Token: c.Token, Response: lax.create(t, c)})
	wantCode(t, err, "passkey_refused")

	key := f.withPasskey(t, ada, "Key")
	for name, change := range map[string]func(*authenticator){
		"no user verification": func(k *authenticator) { k.unverified = true },
		"another site":         func(k *authenticator) { k.origin = "https://evil.example.com" },
		"another party":        func(k *authenticator) { k.rp = "evil.example.com" },
		"another key":          func(k *authenticator) { k.key = newAuthenticator(t).key },
		"an unknown key":       func(k *authenticator) { k.id = []byte("somebody else's") },
		"another person":       func(k *authenticator) { k.handle = b64.EncodeToString(make([]byte, 16)) },
		"an odd person":        func(k *authenticator) { k.handle = b64.EncodeToString([]byte("x")) },
		"nobody":               func(k *authenticator) { k.handle = "" },
	} {
		bad := *key
		change(&bad)
		if _, err := f.touch(t, &bad); ship.CodeOf(err) != "passkey_refused" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.touch(t, key); err != nil {
		t.Error(err)
	}
}

func TestAnAnswerOfAPasskeyIsGoodOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.withPasskey(t, f.setUp(t), "Key")
	before := f.count(t, "SELECT count(*) FROM auth_flows")
	c, err := f.BeginPasskeySignIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := f.count(t, "SELECT count(*) FROM auth_flows"); n != before {
		t.Error("a stranger who begins writes rows")
	}
	answer := PasskeyAnswer{Token: c.Token, Response: key.get(t, c), From: here}
	if won := atOnce(3, func(int) error {
		_, err := f.FinishPasskeySignIn(t.Context(), answer)
		return err
	}); won != 1 {
		t.Errorf("one answer signs in %d times", won)
	}
	other, err := f.BeginPasskeySignIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer.Token = other.Token
	_, err = f.FinishPasskeySignIn(t.Context(), answer)
	wantCode(t, err, "passkey_refused")
	answer = PasskeyAnswer{Token: other.Token, Response: key.get(t, other)}
	f.pass(ceremonyLifetime)
	_, err = f.FinishPasskeySignIn(t.Context(), answer)
	wantCode(t, err, "expired")
	_, err = f.FinishPasskeySignIn(t.Context(), PasskeyAnswer{Token: "nonsense", Response: answer.Response})
	wantCode(t, err, "expired")
}

func TestACopyOfAPasskeyIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.withPasskey(t, f.setUp(t), "Key")
	for _, tc := range []struct {
		count uint32
		code  string
	}{{5, ""}, {6, ""}, {6, "passkey_refused"}, {4, "passkey_refused"}, {0, "passkey_refused"}, {7, ""}} {
		key.count = tc.count
		_, err := f.touch(t, key)
		wantCode(t, err, tc.code)
	}
	key.count = 8
	var answers [3]PasskeyAnswer
	for i := range answers {
		c, err := f.BeginPasskeySignIn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answers[i] = PasskeyAnswer{Token: c.Token, Response: key.get(t, c), From: here}
	}
	if won := atOnce(len(answers), func(i int) error {
		_, err := f.FinishPasskeySignIn(t.Context(), answers[i])
		return err
	}); won != 1 {
		t.Errorf("%d copies sign in at once", won)
	}
}

func TestAPasskeyStepsUpItsOwnSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	key := f.withPasskey(t, ada, "Key")
	in, err := f.touch(t, key)
	if err != nil {
		t.Fatal(err)
	}
	bob, _ := f.joined(t, ada, "bob@example.com", Owner)
	_, err = f.BeginPasskeyStepUp(t.Context(), bob)
	wantCode(t, err, "no_passkeys")
	f.pass(freshDuration)
	stale := f.as(t, in.Token)
	c, err := f.BeginPasskeyStepUp(t.Context(), stale)
	if err != nil || len(ask(t, c).PublicKey.AllowCredentials) != 1 {
		t.Fatal(err)
	}
	answer := PasskeyAnswer{Token: c.Token, Response: key.get(t, c)}
	_, err = f.FinishPasskeyStepUp(t.Context(), bob, answer)
	wantCode(t, err, "expired")
	_, err = f.FinishPasskeySignIn(t.Context(), answer)
	wantCode(t, err, "expired") // it is for another end
	up, err := f.FinishPasskeyStepUp(t.Context(), stale, answer)
	if err != nil {
		t.Fatal(err)
	}
	if f.as(t, up.Token).Allow(ManageKeys) != nil {
		t.Error("the session is not fresh")
	}
	_, err = f.Authenticate(t.Context(), in.Token, here)
	wantCode(t, err, "not_signed_in")
	_, err = f.FinishPasskeyStepUp(t.Context(), f.as(t, up.Token), answer)
	wantCode(t, err, "expired")
}

func TestTheLastWayInStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	f.withPasskey(t, ada, "One")
	f.withPasskey(t, ada, "Two")
	p, err := f.Profile(t.Context(), ada)
	if err != nil || len(p.Passkeys) != 2 {
		t.Fatal(p, err)
	}
	if _, err := f.owner.Exec(t.Context(), "UPDATE people SET password_hash = NULL"); err != nil {
		t.Fatal(err)
	}
	_, err = f.signIn(t, "ada@example.com", "")
	wantCode(t, err, "sign_in_failed")
	if won := atOnce(2, func(i int) error { return f.RemovePasskey(t.Context(), ada, p.Passkeys[i].ID) }); won != 1 {
		t.Errorf("%d of two passkeys can be removed", won)
	}
	f.pass(freshDuration)
	for _, k := range p.Passkeys {
		wantCode(t, f.RemovePasskey(t.Context(), f.again(ada), k.ID), "step_up_required")
	}
}

func TestPasskeysNeedAnAddressWithAName(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]bool{
		"https://ship.example.com": true, "https://ship.example.com:8443/x": true, "http://localhost:8080": true, "http://127.0.0.1:8080": false, "https://192.0.2.1": false,
		"https://[::1]": false, "http://ship.example.com": false, "": false,
	} {
		w, err := newPasskeys(base)
		if err != nil || (w != nil) != want {
			t.Errorf("%q: %t, %v", base, w != nil, err)
		}
	}
	f := newFixture(t)
	f.passkeys = nil
	_, err := f.BeginPasskeySignIn(t.Context())
	wantCode(t, err, "no_passkeys")
	if f.PasskeysPossible() {
		t.Error("passkeys are possible")
	}
}
