package member

import (
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestTheFirstOwnerNeedsTheLinkOfTheOperator(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if needed, err := f.SetupNeeded(t.Context()); !needed || err != nil {
		t.Fatal(needed, err)
	}
	in := SetupInput{AccountName: "Acme", Email: "ada@example.com", Name: "Ada", Password: testPassword, From: here}
	for _, token := range []string{"", "guess"} {
		in.Token = token
		_, err := f.Setup(t.Context(), in)
		wantCode(t, err, "setup_token_invalid")
	}
	url, err := f.SetupURL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := testBase + "/app/setup?token="; url[:len(want)] != want {
		t.Errorf("the link is %s", url)
	}
	in.Token = tokenOf(url)
	f.pass(setupLifetime + time.Second)
	_, err = f.Setup(t.Context(), in)
	wantCode(t, err, "setup_token_invalid")
	if n := f.count(t, "SELECT count(*) FROM people"); n != 0 {
		t.Errorf("%d people", n)
	}
}

func TestSetupSaysAllThatIsWrongAndKeepsTheLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	url, err := f.SetupURL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Setup(t.Context(), SetupInput{Token: tokenOf(url), Email: "nobody", Password: "short"})
	var pointers []string
	if e, ok := err.(*ship.Error); ok {
		for _, w := range e.Fields {
			pointers = append(pointers, w.Pointer)
		}
	}
	if len(pointers) != 4 {
		t.Errorf("wrong are %v: %v", pointers, err)
	}
	if _, err := f.Setup(t.Context(), SetupInput{Token: tokenOf(url), AccountName: "Acme", Email: "a@example.com", Name: "A", Password: testPassword}); err != nil {
		t.Error(err)
	}
}

func TestOfManyWhoClaimAtOnceOneBecomesTheOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const people = 6
	links := make([]string, people)
	for i := range links {
		var err error
		if links[i], err = f.SetupURL(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	links[1] = links[0] // two browsers with one link
	var mu sync.Mutex
	codes := map[string]int{}
	won := atOnce(people, func(i int) error {
		_, err := f.Setup(t.Context(), SetupInput{Token: tokenOf(links[i]), AccountName: "Acme", Email: string(rune('a'+i)) + "@example.com", Name: "N", Password: testPassword, From: here})
		mu.Lock()
		defer mu.Unlock()
		codes[ship.CodeOf(err)]++
		return err
	})
	if won != 1 || codes["already_set_up"]+codes["setup_token_invalid"] != people-1 {
		t.Errorf("%d claims succeed: %v", won, codes)
	}
	for table, want := range map[string]int{"people": 1, "accounts": 1, "members": 1, "sessions": 1, "auth_flows": 0} {
		if n := f.count(t, "SELECT count(*) FROM "+table); n != want {
			t.Errorf("%d rows in %s, want %d", n, table, want)
		}
	}
	_, err := f.SetupURL(t.Context())
	wantCode(t, err, "already_set_up")
}

func TestTheFirstOwnerOwnsTheAccountsThatCommandsMade(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, second := f.newAccount(t, "One"), f.newAccount(t, "Two")
	ada := f.setUp(t)
	list, err := f.Accounts(t.Context(), ada)
	if err != nil || len(list) != 2 || list[0].Role != Owner || list[1].Role != Owner {
		t.Fatalf("accounts %v: %v", list, err)
	}
	if ada.Account != first && ada.Account != second {
		t.Errorf("the session shows %s", ada.Account)
	}
	if n := f.count(t, "SELECT count(*) FROM audit_log WHERE action = 'account.claimed'"); n != 2 {
		t.Errorf("%d entries", n)
	}
}
