package member

import (
	"slices"
	"testing"
)

// requireFactor has Ada, who has an authenticator, require a second factor of the
// roles.
func (f *fixture) requireFactor(t *testing.T, ada Actor, roles ...Role) {
	t.Helper()
	if err := f.SetSignInPolicy(t.Context(), ada, SignInPolicy{TwoFactorRoles: roles}); err != nil {
		t.Fatal(err)
	}
}

func TestWhoeverRequiresASecondFactorHasOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	setUp := f.setUp(t)
	in, err := f.signIn(t, "ada@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, f.SetSignInPolicy(t.Context(), setUp, SignInPolicy{TwoFactorRoles: []Role{Viewer}}), "second_factor_required")
	wantCode(t, f.SetSignInPolicy(t.Context(), setUp, SignInPolicy{TwoFactorRoles: []Role{"boss"}}), "validation_failed")

	f.withTOTP(t, f.as(t, in.Token))
	f.requireFactor(t, f.as(t, in.Token), Viewer, Owner, Viewer)
	policy, err := f.SignInPolicy(t.Context(), f.as(t, in.Token))
	if err != nil || !slices.Equal(policy.TwoFactorRoles, []Role{Owner, Viewer}) {
		t.Errorf("the policy is %v: %v", policy, err)
	}
	list, _, err := f.Audit(t.Context(), f.as(t, in.Token), AuditFilter{Action: "sign_in_policy.changed", Limit: 1})
	if err != nil || len(list) != 1 || list[0].Details["two_factor"] != "owner, viewer" || list[0].Details["two_factor_before"] != "none" {
		t.Errorf("the audit log has %+v: %v", list, err)
	}

	// A viewer has no say, and the operator needs no factor.
	bob, _ := f.joined(t, f.as(t, in.Token), "bob@example.com", Viewer)
	wantCode(t, f.SetSignInPolicy(t.Context(), bob, SignInPolicy{}), "not_allowed")
	if err := f.SetSignInPolicy(t.Context(), Operator(bob.Account), SignInPolicy{}); err != nil {
		t.Error(err)
	}
}

// TestAPasswordAloneOpensNothingWhereASecondFactorIsRequired is about somebody
// who knows the password of a person with a passkey.
func TestAPasswordAloneOpensNothingWhereASecondFactorIsRequired(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	bob, token := f.joined(t, ada, "bob@example.com", Shipper)
	if err := f.store.VerifyEmail(t.Context(), bob.Person.ID, f.clock()); err != nil {
		t.Fatal(err)
	}
	other := f.newAccount(t, "Other", bob)
	key := f.withPasskey(t, bob, "phone")
	if !f.as(t, token).SecondFactor {
		t.Error("whoever adds their first passkey has not proved it")
	}
	f.requireFactor(t, Operator(ada.Account), Shipper)

	in, err := f.signIn(t, "bob@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	thief, err := f.AuthenticateIn(t.Context(), in.Token, ada.Account, here)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, thief.Admitted(), "second_factor_required")
	wantCode(t, thief.Allow(ViewShipments), "second_factor_required")
	wantCode(t, f.Recheck(t.Context(), thief, ViewShipments), "second_factor_required")

	// The account that requires nothing is open, and is no way around.
	elsewhere, err := f.AuthenticateIn(t.Context(), in.Token, other, here)
	if err != nil || elsewhere.Admitted() != nil || elsewhere.Allow(ViewShipments) != nil {
		t.Fatalf("the other account: %v", err)
	}
	setup, err := f.BeginTOTP(t.Context(), elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := seedText.DecodeString(setup.Secret)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.ConfirmTOTP(t.Context(), elsewhere, setup.Token, f.codeOf(seed))
	wantCode(t, err, "second_factor_required")
	_, err = f.SetPassword(t.Context(), elsewhere, "another horse and battery")
	wantCode(t, err, "second_factor_required")
	wantCode(t, f.RemovePasskey(t.Context(), elsewhere, mustProfile(t, f, elsewhere).Passkeys[0].ID), "second_factor_required")
	if _, err := f.StepUp(t.Context(), elsewhere, StepUpInput{Password: testPassword}); err != nil {
		t.Fatal(err)
	}
	if n := f.count(t, "SELECT count(*) FROM sessions WHERE second_factor AND id = $1", [16]byte(elsewhere.Session.Raw())); n != 0 {
		t.Error("a password steps up to a second factor")
	}

	// The person themselves has the passkey.
	own, err := f.touch(t, key)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := f.AuthenticateIn(t.Context(), own.Token, ada.Account, here); err != nil || a.Admitted() != nil {
		t.Errorf("with the passkey: %v, %v", err, a.Admitted())
	}
	if err := f.store.DropSecondFactors(t.Context(), bob.Person.ID); err != nil {
		t.Fatal(err)
	}
	a, err := f.AuthenticateIn(t.Context(), own.Token, ada.Account, here)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, a.Admitted(), "second_factor_required")
}

func mustProfile(t *testing.T, f *fixture, a Actor) Profile {
	t.Helper()
	profile, err := f.Profile(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return profile
}
