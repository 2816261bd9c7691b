package member

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member/oidctest"
	"github.com/waybillhq/waybill/internal/ship"
)

func user(sub, email string) map[string]any {
	return map[string]any{"sub": sub, "email": email, "email_verified": true, "name": "Name of " + sub}
}

// through signs in with the provider as the user.
func (f *fixture) through(t *testing.T, p *oidctest.Provider, user map[string]any) (SignedIn, error) {
	t.Helper()
	start, err := f.BeginOIDC(t.Context(), "/app/test/shipments")
	if err != nil {
		t.Fatal(err)
	}
	state, code := authorize(t, p, start.URL, user)
	return f.FinishOIDC(t.Context(), FinishOIDCInput{Token: start.Token, State: state, Code: code, From: here})
}

func newOIDCFixture(t *testing.T) (*fixture, *oidctest.Provider) {
	t.Helper()
	p := oidctest.New(t)
	return newFixtureWith(t, settingsOf(p)), p
}

func TestAnInvitedPersonJoinsByTheProviderAndIsKnownByItsSubject(t *testing.T) {
	t.Parallel()
	f, p := newOIDCFixture(t)
	ada := f.setUp(t)
	_, err := f.through(t, p, user("bob-1", "bob@example.com"))
	wantCode(t, err, "not_a_member")
	if _, _, err := f.Invite(t.Context(), ada, InviteInput{Email: "bob@example.com", Role: Shipper}); err != nil {
		t.Fatal(err)
	}
	unverified := user("bob-1", "bob@example.com")
	unverified["email_verified"] = "false"
	_, err = f.through(t, p, unverified)
	wantCode(t, err, "not_a_member")
	in, err := f.through(t, p, user("bob-1", "Bob@Example.com"))
	if err != nil || in.Return != "/app/test/shipments" {
		t.Fatalf("%+v: %v", in, err)
	}
	bob := f.as(t, in.Token)
	if bob.Role != Shipper || bob.Person.Email != "bob@example.com" || bob.Person.Name != "Name of bob-1" {
		t.Errorf("bob is %+v", bob)
	}
	if list, err := f.Invitations(t.Context(), ada); err != nil || len(list) != 0 {
		t.Errorf("the invitation is still open: %v, %v", list, err)
	}
	in, err = f.through(t, p, user("bob-1", "robert@example.com")) // the subject counts
	if err != nil || f.as(t, in.Token).Person.ID != bob.Person.ID {
		t.Errorf("the same subject is somebody else: %v", err)
	}
	_, err = f.through(t, p, user("bob-2", "bob@example.com")) // and not the e-mail
	wantCode(t, err, "oidc_not_linked")
}

func TestNobodyWithAPasswordIsConnectedUnasked(t *testing.T) {
	t.Parallel()
	f, p := newOIDCFixture(t)
	f.setUp(t)
	in, err := f.signIn(t, "ada@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.through(t, p, user("ada-1", "ada@example.com"))
	wantCode(t, err, "oidc_not_linked")
	ada := f.as(t, in.Token)
	start, err := f.BeginOIDCLink(t.Context(), ada, "/app/me")
	if err != nil {
		t.Fatal(err)
	}
	state, code := authorize(t, p, start.URL, user("ada-1", "other@example.com"))
	finish := FinishOIDCInput{Token: start.Token, State: state, Code: code, From: here}
	_, err = f.FinishOIDC(t.Context(), finish)
	wantCode(t, err, "not_signed_in") // the browser of somebody else
	finish.From.Token = in.Token
	out, err := f.FinishOIDC(t.Context(), finish)
	if err != nil || out.Token != "" || out.Return != "/app/me" {
		t.Fatalf("%+v: %v", out, err)
	}
	again, err := f.through(t, p, user("ada-1", "other@example.com"))
	if err != nil || f.as(t, again.Token).Person.ID != ada.Person.ID {
		t.Errorf("connected: %v", err)
	}
	if prof, err := f.Profile(t.Context(), ada); err != nil || prof.Identities != 1 {
		t.Errorf("profile %+v: %v", prof, err)
	}
}

func TestAPersonAddedByTheOperatorSignsInByTheProvider(t *testing.T) {
	t.Parallel()
	f, p := newOIDCFixture(t)
	ada := f.setUp(t)
	if _, err := f.AddMember(t.Context(), Operator(ada.Account), AddMemberInput{Email: "eve@example.com", Role: Developer}); err != nil {
		t.Fatal(err)
	}
	in, err := f.through(t, p, user("eve-1", "eve@example.com"))
	if err != nil || f.as(t, in.Token).Role != Developer {
		t.Errorf("%v", err)
	}
}

func TestTheProvidersAnswerIsChecked(t *testing.T) {
	t.Parallel()
	f, p := newOIDCFixture(t)
	ada := f.setUp(t)
	if _, _, err := f.Invite(t.Context(), ada, InviteInput{Email: "bob@example.com", Role: Viewer}); err != nil {
		t.Fatal(err)
	}
	set := func(name string, v any) func() {
		return func() { p.Twist = func(c map[string]any) { c[name] = v } }
	}
	for name, change := range map[string]func(){
		"another nonce":    set("nonce", "x"),
		"no nonce":         set("nonce", ""),
		"another audience": set("aud", "somebody-else"),
		"two audiences":    set("aud", []string{oidctest.ClientID, "somebody-else"}),
		"another issuer":   set("iss", "https://evil.example.com"),
		"an old token":     set("exp", time.Now().Add(-time.Minute).Unix()),
		"nobody":           set("sub", ""),
		"another key":      func() { p.Signs = newAuthenticator(t).key },
		"no id token": func() {
			p.Raw = func(w http.ResponseWriter) {
				oidctest.Answer(w, map[string]string{"access_token": "x", "token_type": "Bearer"})
			}
		},
		"a refusal": func() { p.Raw = func(w http.ResponseWriter) { http.Error(w, "no", http.StatusBadRequest) } },
	} {
		p.Twist, p.Raw, p.Signs = nil, nil, p.Key
		change()
		if _, err := f.through(t, p, user("bob-1", "bob@example.com")); ship.CodeOf(err) != "oidc_refused" {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.Twist, p.Raw, p.Signs = nil, nil, p.Key
	var notified atomic.Int32 // somebody else, who is told nothing
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { notified.Add(1) }))
	defer evil.Close()
	for name, raw := range map[string]func(http.ResponseWriter){
		"broken": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"huge": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"` + strings.Repeat("x", 2*oidcMaxBody)))
		},
		"moved": func(w http.ResponseWriter) {
			w.Header().Set("Location", evil.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	} {
		p.Raw = raw
		if _, err := f.through(t, p, user("bob-1", "bob@example.com")); err == nil || notified.Load() > 0 || f.count(t, "SELECT count(*) FROM identities") > 0 {
			t.Errorf("%s: %v, and %d requests elsewhere", name, err, notified.Load())
		}
	}
}

func TestAnAnswerOfTheProviderBelongsToOneBrowserAndOneSignIn(t *testing.T) {
	t.Parallel()
	f, p := newOIDCFixture(t)
	ada := f.setUp(t)
	if _, err := f.AddMember(t.Context(), Operator(ada.Account), AddMemberInput{Email: "eve@example.com", Role: Developer}); err != nil {
		t.Fatal(err)
	}
	mine, err := f.BeginOIDC(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := f.BeginOIDC(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	state, code := authorize(t, p, mine.URL, user("eve-1", "eve@example.com"))
	for _, in := range []FinishOIDCInput{
		{Token: theirs.Token, State: state, Code: code}, {Token: mine.Token, State: "", Code: code}, {Token: mine.Token, State: state, Code: "guess"},
	} {
		_, err := f.FinishOIDC(t.Context(), in)
		wantCode(t, err, "oidc_refused")
	}
	_, err = f.FinishOIDC(t.Context(), FinishOIDCInput{State: state, Code: code})
	wantCode(t, err, "expired")
	finish := FinishOIDCInput{Token: mine.Token, State: state, Code: code, From: here}
	if _, err := f.FinishOIDC(t.Context(), finish); err != nil {
		t.Fatal(err)
	}
	_, err = f.FinishOIDC(t.Context(), finish)
	wantCode(t, err, "expired")
}

func TestTheProviderStepsUpIfItAsksAnew(t *testing.T) {
	t.Parallel()
	f, p := newOIDCFixture(t)
	ada := f.setUp(t)
	if _, err := f.AddMember(t.Context(), Operator(ada.Account), AddMemberInput{Email: "eve@example.com", Role: Developer}); err != nil {
		t.Fatal(err)
	}
	in, err := f.through(t, p, user("eve-1", "eve@example.com"))
	if err != nil {
		t.Fatal(err)
	}
	stepUp := func(u map[string]any) (SignedIn, error) {
		start, err := f.BeginOIDCStepUp(t.Context(), f.as(t, in.Token), "/app/keys")
		if err != nil {
			t.Fatal(err)
		}
		state, code := authorize(t, p, start.URL, u)
		if p.Asked.Get("prompt") != "login" || p.Asked.Get("max_age") != "0" {
			t.Errorf("the provider is asked %v", p.Asked)
		}
		from := here
		from.Token = in.Token
		return f.FinishOIDC(t.Context(), FinishOIDCInput{Token: start.Token, State: state, Code: code, From: from})
	}
	long := user("eve-1", "eve@example.com")
	long["auth_time"] = time.Now().Add(-time.Hour).Unix()
	if silent, err := f.through(t, p, long); err != nil || f.as(t, silent.Token).Fresh() {
		t.Errorf("who was asked an hour ago is fresh: %v", err)
	}
	f.pass(freshDuration)
	old := user("eve-1", "eve@example.com")
	old["auth_time"], old["exp"] = f.clock().Add(-time.Hour).Unix(), f.clock().Add(time.Minute).Unix()
	_, err = stepUp(old)
	wantCode(t, err, "oidc_refused")
	now := user("eve-1", "eve@example.com")
	now["auth_time"], now["exp"] = f.clock().Unix(), f.clock().Add(time.Minute).Unix()
	another := user("mallory", "mallory@example.com")
	another["auth_time"], another["exp"] = now["auth_time"], now["exp"]
	_, err = stepUp(another)
	wantCode(t, err, "oidc_refused")
	up, err := stepUp(now)
	if err != nil || up.Return != "/app/keys" || f.as(t, up.Token).Allow(ManageKeys) != nil {
		t.Fatalf("%+v: %v", up, err)
	}
	_, err = f.Authenticate(t.Context(), in.Token, here)
	wantCode(t, err, "not_signed_in")
}

func TestAProviderThatDoesNotAnswerIsToldAsSuch(t *testing.T) {
	t.Parallel()
	f, p := newOIDCFixture(t)
	p.Close()
	_, err := f.BeginOIDC(t.Context(), "")
	wantCode(t, err, "oidc_unavailable")
	if !f.OIDCPossible() || newFixture(t).OIDCPossible() {
		t.Error("it is not known whether there is a provider")
	}
}
