package member

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func TestSignInTellsNobodyWhoIsKnown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setUp(t)
	in, err := f.signIn(t, " ADA@example.com", testPassword)
	if err != nil || in.Token == "" || in.Pending != "" || !in.Expires.After(f.clock()) {
		t.Fatalf("%+v: %v", in, err)
	}
	_, wrong := f.signIn(t, "ada@example.com", "not the password")
	_, unknown := f.signIn(t, "bob@example.com", "not the password")
	_, odd := f.signIn(t, "no e-mail\x00at all", "")
	for _, err := range []error{wrong, unknown, odd} {
		wantCode(t, err, "sign_in_failed")
		if err.Error() != wrong.Error() {
			t.Errorf("%v is not %v", err, wrong)
		}
	}
}

func TestAPersonIsSlowedDownAlsoByAnotherCopyAndAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setUp(t)
	for _, email := range []string{"ada@example.com", "nobody@example.com"} {
		other := f.another(t, f.store, OIDC{}) // as after a restart
		tried := atOnce(personPace.Free+6, func(i int) error {
			from := Origin{Addr: netip.AddrFrom4([4]byte{198, 51, 100, byte(i)})}
			_, err := other.SignIn(t.Context(), SignInInput{Email: email, Password: "guess", From: from})
			if ship.CodeOf(err) == "sign_in_failed" {
				return nil
			}
			return err
		})
		if tried != personPace.Free+1 {
			t.Errorf("%d guesses at once were tried for %s", tried, email)
		}
		_, err := f.signIn(t, email, testPassword)
		wantCode(t, err, "too_many_attempts")
		if e, _ := errors.AsType[*ship.Error](err); e == nil || e.Kind != ship.Limited || e.RetryAfter < time.Second || e.RetryAfter > personPace.Most {
			t.Errorf("the wait of %s is %+v", email, e)
		}
	}
	f.pass(personPace.Most)
	in, err := f.signIn(t, "ada@example.com", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := f.Audit(t.Context(), f.as(t, in.Token), AuditFilter{Action: "session.started", Limit: 1})
	if err != nil || len(list) != 1 || list[0].Details["failed_before"] != fmt.Sprint(personPace.Free+1) {
		t.Errorf("the record says %+v: %v", list, err)
	}
	if _, err := f.signIn(t, "ada@example.com", testPassword); err != nil {
		t.Errorf("a success does not end the wait: %v", err)
	}
}

func TestAnAddressIsSlowedDownOverAllPeople(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	network := netip.MustParsePrefix("2001:db8:1:2::/64").Addr().As16()
	failed := 0
	for i := range addressPace.Free + 3 {
		network[15] = byte(i) // one subscriber has all of these
		_, err := f.SignIn(t.Context(), SignInInput{Email: fmt.Sprintf("%d@example.com", i), Password: "guess", From: Origin{Addr: netip.AddrFrom16(network)}})
		if ship.CodeOf(err) == "sign_in_failed" {
			failed++
		} else {
			wantCode(t, err, "too_many_attempts")
		}
	}
	if failed != addressPace.Free+1 {
		t.Errorf("%d people were tried from one network", failed)
	}
	if _, err := f.signIn(t, "x@example.com", "guess"); ship.CodeOf(err) != "sign_in_failed" {
		t.Errorf("another address: %v", err)
	}
}

func TestAPasswordStoredCheaplyIsStoredAnewAtSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	weak := cost{memoryKiB: 1024, passes: 1, lanes: 1}
	salt := []byte("0123456789abcdef")
	if err := f.store.SetPasswordHash(t.Context(), ada.Person.ID, phc(weak, salt, derive("an old password", salt, weak)), ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := f.signIn(t, "ada@example.com", "an old password"); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := f.store.Person(t.Context(), ada.Person.ID); err != nil || f.passwords.outdated(p.PasswordHash) {
		t.Errorf("it is still %s: %v", p.PasswordHash, err)
	}
}

func TestAPasswordThatIsChangedMeanwhileBeginsNoSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	p, err := f.store.Person(t.Context(), ada.Person.ID) // as the sign-in has read it
	if err != nil {
		t.Fatal(err)
	}
	begin := func() error {
		_, err := f.startSession(t.Context(), p, sessionStart{method: "password", from: here, prepare: func(tx *store.Store) error { return recheckPassword(t.Context(), tx, p) }})
		return err
	}
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.SetPassword(t.Context(), ada, "another horse and battery"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, begin(), "sign_in_failed")
}

func TestWhoIsNoMemberAnyMoreCannotSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	bob, token := f.joined(t, ada, "bob@example.com", Shipper)
	if err := f.store.VerifyEmail(t.Context(), bob.Person.ID, f.clock()); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(t.Context(), ada, bob.Person.ID); err != nil {
		t.Fatal(err)
	}
	_, err := f.Authenticate(t.Context(), token, here)
	wantCode(t, err, "not_signed_in")
	_, err = f.signIn(t, "bob@example.com", testPassword)
	wantCode(t, err, "not_a_member")
}
