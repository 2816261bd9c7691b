package member

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member/oidctest"
	"github.com/waybillhq/waybill/internal/ship"
)

const victim = "victim@corp.example"

// A squatter signs in under the victim's address, which they have not proved to
// be theirs, in every way there is.
type squatter struct {
	Actor
	token string
	key   *authenticator
	seed  []byte
}

// squat has an owner accept their own invitation of the victim.
func (f *fixture) squat(t *testing.T, p *oidctest.Provider, by Actor) squatter {
	t.Helper()
	actor, token := f.joined(t, by, victim, Owner)
	s := squatter{Actor: actor, token: token, key: f.withPasskey(t, actor, "Spare")}

	start, err := f.BeginOIDCLink(t.Context(), actor, "")
	if err != nil {
		t.Fatal(err)
	}
	state, code := authorize(t, p, start.URL, user("thief-1", "thief@example.com"))
	from := here
	from.Token = token
	if _, err := f.FinishOIDC(t.Context(), FinishOIDCInput{Token: start.Token, State: state, Code: code, From: from}); err != nil {
		t.Fatal(err)
	}
	s.seed, _ = f.withTOTP(t, actor)
	return s
}

// wantShutOut fails if the squatter gets in by what they had set.
func (f *fixture) wantShutOut(t *testing.T, p *oidctest.Provider, s squatter) {
	t.Helper()
	if _, err := f.Authenticate(t.Context(), s.token, here); ship.CodeOf(err) != "not_signed_in" {
		t.Errorf("their session goes on: %v", err)
	}
	if _, err := f.signIn(t, victim, testPassword); ship.CodeOf(err) != "sign_in_failed" {
		t.Errorf("their password: %v", err)
	}
	if _, err := f.touch(t, s.key); ship.CodeOf(err) != "passkey_refused" {
		t.Errorf("their passkey: %v", err)
	}
	if _, err := f.through(t, p, user("thief-1", "thief@example.com")); ship.CodeOf(err) != "not_a_member" {
		t.Errorf("their identity: %v", err)
	}

	// A request of theirs that was under way when they were shut out.
	late := f.again(s.Actor)
	late.FreshUntil = f.clock().Add(freshDuration)
	if _, err := f.SetPassword(t.Context(), late, "another of their passwords"); ship.CodeOf(err) != "not_signed_in" {
		t.Errorf("a late password: %v", err)
	}
	if setup, err := f.BeginTOTP(t.Context(), late); err != nil {
		t.Error(err)
	} else if _, err := f.ConfirmTOTP(t.Context(), late, setup.Token, setup.codeNow(t, f)); ship.CodeOf(err) != "not_signed_in" {
		t.Errorf("a late authenticator: %v", err)
	}
}

// codeNow returns the code of an authenticator that is being set up.
func (s TOTPSetup) codeNow(t *testing.T, f *fixture) string {
	t.Helper()
	seed, err := seedText.DecodeString(s.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return f.codeOf(seed)
}

var mailedLink = regexp.MustCompile(testBase + `/app/\S+`)

func TestWhoeverProvesAnAddressDropsWhatWasSetBefore(t *testing.T) {
	t.Parallel()
	const password = "set by the victim themselves"

	type scene struct {
		*fixture
		*oidctest.Provider
		squatter squatter
		other    ship.AccountID
		mails    []string
	}
	for name, prove := range map[string]func(*testing.T, *scene) error{
		"reset link of the operator": func(t *testing.T, s *scene) error {
			link, err := s.ResetURL(t.Context(), Operator(""), victim, false)
			if err != nil {
				return err
			}
			return s.Reset(t.Context(), ResetInput{Token: tokenOf(link), Password: password, From: here})
		},
		"member added by the operator": func(t *testing.T, s *scene) error {
			link, err := s.AddMember(t.Context(), Operator(s.other), AddMemberInput{Email: victim, Role: Owner})
			if err != nil {
				return err
			}
			s.wantShutOut(t, s.Provider, s.squatter)
			return s.Reset(t.Context(), ResetInput{Token: tokenOf(link), Password: password, From: here})
		},
		"invitation of the operator": func(t *testing.T, s *scene) error {
			_, link, err := s.Invite(t.Context(), Operator(s.other), InviteInput{Email: victim, Role: Viewer})
			if err != nil {
				return err
			}
			_, err = s.Accept(t.Context(), AcceptInput{Token: tokenOf(link), Name: "Victoria", Password: password, From: here})
			return err
		},
		"mailed link": func(t *testing.T, s *scene) error {
			if err := s.SendVerification(t.Context(), s.squatter.Actor); err != nil {
				return err
			}
			return s.Reset(t.Context(), ResetInput{Token: tokenOf(mailedLink.FindString(s.mails[0])), Password: password, From: here})
		},
		"identity provider": func(t *testing.T, s *scene) error {
			_, err := s.through(t, s.Provider, user("victim-1", victim))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, p := newOIDCFixture(t)
			ada := f.setUp(t)
			s := &scene{fixture: f, Provider: p, other: f.newAccount(t, "Other")}
			s.squatter = f.squat(t, p, ada)
			f.mail = func(_ context.Context, _ []string, _, text string) error {
				s.mails = append(s.mails, text)
				return nil
			}

			if err := prove(t, s); err != nil {
				t.Fatal(err)
			}
			f.wantShutOut(t, p, s.squatter)
			if n := f.count(t, "SELECT count(*) FROM people WHERE email = $1 AND email_verified_at IS NOT NULL AND encrypted_totp_seed IS NULL", victim); n != 1 {
				t.Error("the address is not verified, or the authenticator is still theirs")
			}
			if n := f.count(t, "SELECT count(*) FROM passkeys") + f.count(t, "SELECT count(*) FROM recovery_codes"); n != 0 {
				t.Errorf("%d passkeys and recovery codes are left", n)
			}

			// The victim is now the person, and a member where they were one.
			if name == "identity provider" {
				return
			}
			in, err := f.signIn(t, victim, password)
			if err != nil || in.Token == "" {
				t.Fatalf("the victim signs in: %+v, %v", in, err)
			}
			if list, err := f.Accounts(t.Context(), f.as(t, in.Token)); err != nil || len(list) == 0 || list[0].Account != ada.Account {
				t.Errorf("their accounts are %v: %v", list, err)
			}
		})
	}
}

func TestAnUnverifiedPersonJoinsNothingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	other := f.newAccount(t, "Other", ada)
	elsewhere, err := f.AuthenticateIn(t.Context(), f.signedIn(t, "ada@example.com"), other, here)
	if err != nil {
		t.Fatal(err)
	}
	bob, _ := f.joined(t, ada, "bob@example.com", Owner)
	_, link, err := f.Invite(t.Context(), elsewhere, InviteInput{Email: "bob@example.com", Role: Viewer})
	if err != nil {
		t.Fatal(err)
	}

	if i, err := f.InvitationOf(t.Context(), tokenOf(link)); err != nil || i.HasPerson || !i.NeedsProof {
		t.Errorf("the invitation is %+v: %v", i, err)
	}
	_, err = f.AcceptAs(t.Context(), bob, tokenOf(link))
	wantCode(t, err, "email_unverified")
	_, err = f.Accept(t.Context(), AcceptInput{Token: tokenOf(link), Name: "Bob", Password: testPassword, From: here})
	wantCode(t, err, "email_unverified")

	// The rule is in the statement that adds members, whoever runs it.
	wantCode(t, f.store.AddMember(t.Context(), other, bob.Person.ID, string(Viewer), f.clock()), "email_unverified")
	if n := f.count(t, "SELECT count(*) FROM members m JOIN people p ON p.id = m.person_id WHERE p.email = 'bob@example.com'"); n != 1 {
		t.Errorf("bob is a member of %d accounts", n)
	}
}

func TestAnUnverifiedPersonGoesWithTheirMembership(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	other := f.newAccount(t, "Other")
	bob, token := f.joined(t, ada, "bob@example.com", Owner)
	f.withTOTP(t, bob)
	f.withPasskey(t, bob, "Phone")
	if err := f.Remove(t.Context(), ada, bob.Person.ID); err != nil {
		t.Fatal(err)
	}
	_, err := f.Authenticate(t.Context(), token, here)
	wantCode(t, err, "not_signed_in")

	// The operator of another account adds the address: it is a new person's.
	link, err := f.AddMember(t.Context(), Operator(other), AddMemberInput{Email: "bob@example.com", Role: Owner})
	if err != nil || link == "" {
		t.Fatal(link, err)
	}
	_, err = f.signIn(t, "bob@example.com", testPassword)
	wantCode(t, err, "sign_in_failed")

	// And the account can invite somebody again whom it has removed.
	eve, _ := f.joined(t, ada, "eve@example.com", Viewer)
	if err := f.Remove(t.Context(), ada, eve.Person.ID); err != nil {
		t.Fatal(err)
	}
	f.joined(t, ada, "eve@example.com", Shipper)
}

func TestTheOperatorsOneLinkIsEnough(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.newAccount(t, "First")
	second := f.newAccount(t, "Second")
	add := func(account ship.AccountID) string {
		t.Helper()
		link, err := f.AddMember(t.Context(), Operator(account), AddMemberInput{Email: "eve@example.com", Role: Owner})
		if err != nil {
			t.Fatal(err)
		}
		return link
	}

	// Whoever is added twice before the first sign-in uses the second link.
	add(first)
	if err := f.Reset(t.Context(), ResetInput{Token: tokenOf(add(second)), Password: testPassword, From: here}); err != nil {
		t.Fatal(err)
	}
	eve := f.as(t, f.signedIn(t, "eve@example.com"))
	if list, err := f.Accounts(t.Context(), eve); err != nil || len(list) != 2 {
		t.Errorf("accounts %v: %v", list, err)
	}

	// From then on no link is needed, and the session goes on.
	if link := add(f.newAccount(t, "Third")); link != "" {
		t.Errorf("a verified person is given the link %s", link)
	}
	if list, err := f.Accounts(t.Context(), eve); err != nil || len(list) != 3 {
		t.Errorf("accounts %v: %v", list, err)
	}
}

// signedIn signs in by password and returns the token of the session.
func (f *fixture) signedIn(t *testing.T, email string) string {
	t.Helper()
	in, err := f.signIn(t, email, testPassword)
	if err != nil {
		t.Fatal(err)
	}
	return in.Token
}

func TestAResetRemovesEveryOtherWayIn(t *testing.T) {
	t.Parallel()
	f, p := newOIDCFixture(t)
	ada := f.setUp(t)
	key := f.withPasskey(t, ada, "Stolen")
	token := f.signedIn(t, "ada@example.com")
	me := f.as(t, token)
	start, err := f.BeginOIDCLink(t.Context(), me, "")
	if err != nil {
		t.Fatal(err)
	}
	state, code := authorize(t, p, start.URL, user("ada-1", "ada@example.com"))
	from := here
	from.Token = token
	if _, err := f.FinishOIDC(t.Context(), FinishOIDCInput{Token: start.Token, State: state, Code: code, From: from}); err != nil {
		t.Fatal(err)
	}
	seed, _ := f.withTOTP(t, me)
	waiting := f.pending(t)

	link, err := f.ResetURL(t.Context(), Operator(""), "ada@example.com", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Reset(t.Context(), ResetInput{Token: tokenOf(link), Password: "a password after the theft", From: here}); err != nil {
		t.Fatal(err)
	}

	_, err = f.Authenticate(t.Context(), token, here)
	wantCode(t, err, "not_signed_in")
	_, err = f.signIn(t, "ada@example.com", testPassword)
	wantCode(t, err, "sign_in_failed")
	_, err = f.touch(t, key)
	wantCode(t, err, "passkey_refused")
	_, err = f.through(t, p, user("ada-1", "ada@example.com"))
	wantCode(t, err, "oidc_not_linked")
	f.pass(totpStep * time.Second)
	_, err = f.SecondFactor(t.Context(), SecondFactorInput{Pending: waiting, Code: f.codeOf(seed), From: here})
	wantCode(t, err, "expired")

	// The authenticator of somebody whose address is proved is still asked for:
	// a link that was intercepted is not enough.
	in, err := f.signIn(t, "ada@example.com", "a password after the theft")
	if err != nil || in.Pending == "" {
		t.Errorf("without a code: %+v, %v", in, err)
	}
}

func TestAnAccountSendsAFewMailsOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sent := 0
	f.mail = func(context.Context, []string, string, string) error { sent++; return nil }
	ada := f.setUp(t)
	var err error
	for range 60 {
		if _, _, err = f.Invite(t.Context(), ada, InviteInput{Email: "bob@example.com", Role: Viewer}); err != nil {
			break
		}
	}
	wantCode(t, err, "too_many_mails")
	if sent > 31 {
		t.Errorf("%d mails were sent at once", sent)
	}
}
