package member

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestTheLastOwnerStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	wantCode(t, f.Remove(t.Context(), ada, ada.Person.ID), "last_owner")
	wantCode(t, f.SetRole(t.Context(), ada, ada.Person.ID, Viewer), "last_owner")
	wantCode(t, f.Remove(t.Context(), Operator(ada.Account), ada.Person.ID), "last_owner")
	bob, _ := f.joined(t, ada, "bob@example.com", Owner)
	if won := atOnce(2, func(i int) error { // each removes the other
		if i == 0 {
			return f.Remove(t.Context(), ada, bob.Person.ID)
		}
		return f.SetRole(t.Context(), bob, ada.Person.ID, Viewer)
	}); won != 1 {
		t.Errorf("%d of two owners are removed by each other", won)
	}
	if n := f.count(t, "SELECT count(*) FROM members WHERE role = 'owner'"); n != 1 {
		t.Errorf("%d owners are left", n)
	}
}

func TestWhoIsAnOwnerNoLongerChangesNothingMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	bob, _ := f.joined(t, ada, "bob@example.com", Owner)
	eve, _ := f.joined(t, ada, "eve@example.com", Owner)
	if err := f.SetRole(t.Context(), bob, ada.Person.ID, Viewer); err != nil {
		t.Fatal(err)
	}
	// The request of ada was under way: it was read that she is an owner.
	wantCode(t, f.Remove(t.Context(), ada, bob.Person.ID), "not_allowed")
	_, _, err := f.Invite(t.Context(), ada, InviteInput{Email: "mallory@example.com", Role: Owner})
	wantCode(t, err, "not_allowed")
	if err := f.Remove(t.Context(), bob, ada.Person.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, f.SetRole(t.Context(), ada, eve.Person.ID, Viewer), "not_allowed")
}

func TestOnlyOwnersManageMembersAndOnlyOfTheirAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	other := f.newAccount(t, "Other")
	link, err := f.AddMember(t.Context(), Operator(other), AddMemberInput{Email: "mallory@example.com", Role: Owner})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Reset(t.Context(), ResetInput{Token: tokenOf(link), Password: testPassword}); err != nil {
		t.Fatal(err)
	}
	in, err := f.signIn(t, "mallory@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	mallory := f.as(t, in.Token)
	bob, _ := f.joined(t, ada, "bob@example.com", Shipper)
	made, _, err := f.Invite(t.Context(), ada, InviteInput{Email: "new@example.com", Role: Viewer})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"remove": f.Remove(t.Context(), mallory, bob.Person.ID), "role": f.SetRole(t.Context(), mallory, bob.Person.ID, Owner),
		"revoke": f.RevokeInvitation(t.Context(), mallory, made.ID), "sessions": second(f.RevokeSessionsOf(t.Context(), mallory, bob.Person.ID)),
	} {
		if ship.KindOf(err) != ship.NotFound {
			t.Errorf("an owner of another account may %s: %v", name, err)
		}
	}
	for _, role := range []Role{Developer, Shipper, Viewer} {
		if err := f.SetRole(t.Context(), ada, bob.Person.ID, role); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"remove": f.Remove(t.Context(), bob, ada.Person.ID), "role": f.SetRole(t.Context(), bob, bob.Person.ID, Owner),
			"revoke": f.RevokeInvitation(t.Context(), bob, made.ID), "sessions": second(f.RevokeSessionsOf(t.Context(), bob, ada.Person.ID)),
		} {
			if ship.CodeOf(err) != "not_allowed" {
				t.Errorf("a %s may %s: %v", role, name, err)
			}
		}
		_, _, err := f.Invite(t.Context(), bob, InviteInput{Email: "x@example.com", Role: Owner})
		wantCode(t, err, "not_allowed")
	}
	_, err = f.AddMember(t.Context(), ada, AddMemberInput{Email: "x@example.com", Role: Owner})
	wantCode(t, err, "not_allowed")
	_, err = f.ResetURL(t.Context(), ada, "bob@example.com", false)
	wantCode(t, err, "not_allowed")
	wantCode(t, f.SetRole(t.Context(), ada, bob.Person.ID, "boss"), "validation_failed")
	if list, err := f.Members(t.Context(), ada); err != nil || len(list) != 2 || list[1].Role != Viewer || list[1].Email != "bob@example.com" || list[1].LastSeenAt.IsZero() {
		t.Errorf("members %+v: %v", list, err)
	}
}

func second(_ int, err error) error { return err }

func TestAnInvitationIsGoodOnceAndForAWhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	invite := func(email string) (Invitation, string) {
		made, link, err := f.Invite(t.Context(), ada, InviteInput{Email: email, Role: Shipper})
		if err != nil || !strings.HasPrefix(link, testBase+"/app/invite/") {
			t.Fatal(link, err)
		}
		return made, tokenOf(link)
	}
	accept := func(token string) error {
		_, err := f.Accept(t.Context(), AcceptInput{Token: token, Name: "B", Password: testPassword, From: here})
		return err
	}
	_, token := invite("bob@example.com")
	if i, err := f.InvitationOf(t.Context(), token); err != nil || i.AccountName != "Acme" || i.Email != "bob@example.com" || i.Role != Shipper || i.InvitedBy != "Ada" || i.HasPerson {
		t.Errorf("the invitation is %+v: %v", i, err)
	}
	if won := atOnce(3, func(int) error { return accept(token) }); won != 1 {
		t.Errorf("an invitation is accepted %d times", won)
	}
	wantCode(t, accept(token), "expired")
	_, err := f.InvitationOf(t.Context(), token)
	wantCode(t, err, "expired")
	_, _, err = f.Invite(t.Context(), ada, InviteInput{Email: "bob@example.com", Role: Owner})
	wantCode(t, err, "already_member")

	_, first := invite("eve@example.com")
	made, latest := invite("eve@example.com")
	wantCode(t, accept(first), "expired")
	if err := f.RevokeInvitation(t.Context(), ada, made.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, accept(latest), "expired")
	if err := f.RevokeInvitation(t.Context(), ada, made.ID); ship.KindOf(err) != ship.NotFound {
		t.Errorf("taken back twice: %v", err)
	}
	_, late := invite("eve@example.com")
	f.pass(inviteLifetime)
	wantCode(t, accept(late), "expired")
	if n := f.count(t, "SELECT count(*) FROM people"); n != 2 {
		t.Errorf("%d people", n)
	}
}

func TestWhoSignsInAlreadyAcceptsAsThemselves(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	other := f.newAccount(t, "Other")
	_, link, err := f.Invite(t.Context(), Operator(other), InviteInput{Email: "ADA@example.com", Role: Viewer})
	if err != nil {
		t.Fatal(err)
	}
	token := tokenOf(link)
	if i, err := f.InvitationOf(t.Context(), token); err != nil || !i.HasPerson || i.InvitedBy != "operator" {
		t.Errorf("the invitation is %+v: %v", i, err)
	}
	_, err = f.Accept(t.Context(), AcceptInput{Token: token, Name: "Ada", Password: "the password of a thief"})
	wantCode(t, err, "email_taken")
	bob, _ := f.joined(t, ada, "bob@example.com", Viewer)
	_, err = f.AcceptAs(t.Context(), bob, token)
	wantCode(t, err, "wrong_person")
	if to, err := f.AcceptAs(t.Context(), ada, token); to != other || err != nil {
		t.Fatal(to, err)
	}
	if list, err := f.Accounts(t.Context(), ada); err != nil || len(list) != 2 || list[1].Role != Viewer || list[1].Name != "Other" {
		t.Errorf("accounts %+v: %v", list, err)
	}
}

func TestWhoBelongsToNoAccountJoinsByInvitationAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	link, err := f.AddMember(t.Context(), Operator(ada.Account), AddMemberInput{Email: "eve@example.com", Role: Viewer})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Reset(t.Context(), ResetInput{Token: tokenOf(link), Password: testPassword}); err != nil {
		t.Fatal(err)
	}
	eve := f.as(t, f.signedIn(t, "eve@example.com"))
	if err := f.Remove(t.Context(), ada, eve.Person.ID); err != nil {
		t.Fatal(err)
	}
	_, err = f.signIn(t, "eve@example.com", testPassword)
	wantCode(t, err, "not_a_member")

	if _, _, err := f.Invite(t.Context(), ada, InviteInput{Email: "eve@example.com", Role: Shipper}); err != nil {
		t.Fatal(err)
	}
	in, err := f.signIn(t, "eve@example.com", testPassword)
	if err != nil || !in.Joined || in.Account != ada.Account {
		t.Fatalf("%+v: %v", in, err)
	}
	if again := f.as(t, in.Token); again.Role != Shipper || again.Person.ID != eve.Person.ID {
		t.Errorf("eve is %+v", again)
	}
}

func TestAResetLinkSetsAPasswordOnceAndEndsSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	f.withTOTP(t, ada)
	f.withPasskey(t, ada, "Lost")
	operator := Operator("")
	if _, err := f.ResetURL(t.Context(), operator, "nobody@example.com", false); ship.KindOf(err) != ship.NotFound {
		t.Errorf("nobody: %v", err)
	}
	old, err := f.ResetURL(t.Context(), operator, "ada@example.com", false)
	if err != nil {
		t.Fatal(err)
	}
	link, err := f.ResetURL(t.Context(), operator, "Ada@example.com", true)
	if err != nil || !strings.HasPrefix(link, testBase+"/app/reset/") {
		t.Fatal(link, err)
	}
	_, err = f.ResetOf(t.Context(), tokenOf(old))
	wantCode(t, err, "expired")
	if p, err := f.ResetOf(t.Context(), tokenOf(link)); err != nil || p.Email != "ada@example.com" {
		t.Errorf("the link is of %+v: %v", p, err)
	}
	wantCode(t, f.Reset(t.Context(), ResetInput{Token: tokenOf(link), Password: "short"}), "validation_failed")
	if won := atOnce(2, func(int) error {
		return f.Reset(t.Context(), ResetInput{Token: tokenOf(link), Password: "a password after the loss", From: here})
	}); won != 1 {
		t.Errorf("the link works %d times", won)
	}
	if n := f.count(t, "SELECT count(*) FROM sessions"); n != 0 {
		t.Errorf("%d sessions go on", n)
	}
	if in, err := f.signIn(t, "ada@example.com", "a password after the loss"); err != nil || in.Token == "" {
		t.Errorf("%+v: %v", in, err)
	}
	late, err := f.ResetURL(t.Context(), operator, "ada@example.com", false)
	if err != nil {
		t.Fatal(err)
	}
	f.pass(resetLifetime)
	wantCode(t, f.Reset(t.Context(), ResetInput{Token: tokenOf(late), Password: testPassword}), "expired")
}
