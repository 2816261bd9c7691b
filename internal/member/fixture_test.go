package member

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

const (
	testBase = "https://ship.example.com"
	// testPassword is everybody's.
	testPassword = "correct horse battery"
)

// fixture is a service on a database of its own, and a clock that is set.
type fixture struct {
	*Service
	url   string
	owner *pgx.Conn

	mu sync.Mutex
	at time.Time
}

func newFixture(t *testing.T) *fixture { return newFixtureWith(t, OIDC{}) }

func newFixtureWith(t *testing.T, o OIDC) *fixture {
	t.Helper()
	url := storetest.URL(t)
	st, err := store.Open(context.Background(), store.Options{URL: url, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	f := &fixture{url: url, owner: storetest.Conn(t, url), at: time.Now()}
	f.Service = f.another(t, st, o)
	return f
}

// another is a further copy of the service on the same database.
func (f *fixture) another(t *testing.T, st *store.Store, o OIDC) *Service {
	t.Helper()
	box, err := seal.New([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Store: st, Box: box, BaseURL: testBase + "/", OIDC: o, CheapHashes: true})
	if err != nil {
		t.Fatal(err)
	}
	s.now = f.clock
	return s
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

// pass lets time go by.
func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = f.at.Add(d)
}

var here = Origin{Addr: netip.MustParseAddr("192.0.2.1"), Agent: "Test/1.0"}

// setUp claims the installation for Ada.
func (f *fixture) setUp(t *testing.T) Actor {
	t.Helper()
	url, err := f.SetupURL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in, err := f.Setup(t.Context(), SetupInput{Token: tokenOf(url), AccountName: "Acme", Email: "Ada@Example.com ", Name: "Ada", Password: testPassword, From: here})
	if err != nil {
		t.Fatal(err)
	}
	return f.as(t, in.Token)
}

// tokenOf is the secret at the end of a link.
func tokenOf(url string) string { return url[strings.LastIndexAny(url, "/=")+1:] }

// as is whoever has the token.
func (f *fixture) as(t *testing.T, token string) Actor {
	t.Helper()
	a, err := f.Authenticate(t.Context(), token, here)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// again is the actor as they are now.
func (f *fixture) again(a Actor) Actor {
	a.now = f.clock()
	return a
}

// joined makes a new member by invitation.
func (f *fixture) joined(t *testing.T, by Actor, email string, role Role) (Actor, string) {
	t.Helper()
	f.pass(time.Second) // joins after those who are there
	_, link, err := f.Invite(t.Context(), by, InviteInput{Email: email, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	in, err := f.Accept(t.Context(), AcceptInput{Token: tokenOf(link), Name: "Name of " + email, Password: testPassword, From: here})
	if err != nil {
		t.Fatal(err)
	}
	return f.as(t, in.Token), in.Token
}

// newAccount is a further account, of which the actor is an owner too.
func (f *fixture) newAccount(t *testing.T, name string, owners ...Actor) ship.AccountID {
	t.Helper()
	a := ship.Account{ID: ship.NewAccountID(7, time.Now()), Name: name, Units: ship.DefaultUnits, Currency: "USD"}
	if err := f.store.SaveAccount(t.Context(), a, "account.made"); err != nil {
		t.Fatal(err)
	}
	for _, o := range owners {
		if err := f.store.AddMember(t.Context(), a.ID, o.Person.ID, string(Owner), f.clock()); err != nil {
			t.Fatal(err)
		}
	}
	return a.ID
}

// signIn is by password, from a place of its own.
func (f *fixture) signIn(t *testing.T, email, password string) (SignedIn, error) {
	t.Helper()
	return f.SignIn(t.Context(), SignInInput{Email: email, Password: password, From: here})
}

// count asks the database.
func (f *fixture) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	if err := f.owner.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// wantCode fails unless err has the code.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if ship.CodeOf(err) != code {
		t.Errorf("err = %v with code %q, want %q", err, ship.CodeOf(err), code)
	}
}

// atOnce runs fn n times at once, and counts how many end without an error.
func atOnce(n int, fn func(i int) error) (succeeded int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		wg.Go(func() {
			if fn(i) == nil {
				mu.Lock()
				defer mu.Unlock()
				succeeded++
			}
		})
	}
	wg.Wait()
	return succeeded
}
