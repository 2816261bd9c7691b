package store_test

import (
	"context"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// connect gives the tenant a connection. What is sealed in it is sealed by
// nobody: the store does not look.
func (f *fixture) connect(t *testing.T, tenant ship.Tenant, name string) store.Connection {
	t.Helper()
	c := store.Connection{
		ID: ship.NewConnectionID(tenant.Shard(), now()), Tenant: tenant, Carrier: "ups", Name: name,
		WrappedKey: []byte("key of " + name), Credentials: []byte("credentials of " + name), Hint: map[string]string{"account_number": "A1"},
	}
	if err := f.AddConnection(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAConnectionIsStoredAndListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, two := f.connect(t, f.tenant, "One"), f.connect(t, f.tenant, "Two")
	f.connect(t, ship.Tenant{Account: f.tenant.Account, Livemode: true}, "One")
	list, err := f.Connections(t.Context(), f.tenant)
	if err != nil || len(list) != 2 || list[0].ID != one.ID || list[1].ID != two.ID {
		t.Fatalf("%+v, %v", list, err)
	}
	got := list[0]
	if string(got.WrappedKey) != "key of One" || string(got.Credentials) != "credentials of One" || got.Hint["account_number"] != "A1" ||
		!got.Enabled || got.Version != 1 || got.CreatedAt.IsZero() || !got.RemovedAt.IsZero() || !got.CheckedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	if err := f.SetChecked(t.Context(), f.tenant, one.ID, now(), []byte(`[]`)); err != nil {
		t.Fatal(err)
	}
	if c, err := f.FindConnection(t.Context(), one.ID); err != nil || c.Tenant != f.tenant || string(c.CheckResult) != "[]" || c.CheckedAt.IsZero() {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := f.FindConnection(t.Context(), ship.NewConnectionID(7, now())); ship.KindOf(err) != ship.NotFound {
		t.Errorf("one that is not there: %v", err)
	}
}

func TestANameIsTakenOnceAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := f.connect(t, f.tenant, "One")
	again := one
	again.ID = ship.NewConnectionID(7, now())
	if err := f.AddConnection(t.Context(), again); ship.CodeOf(err) != "connection_exists" {
		t.Errorf("twice: %v", err)
	}
	if err := f.RemoveConnection(t.Context(), f.tenant, one.ID); err != nil {
		t.Fatal(err)
	}
	if err := f.AddConnection(t.Context(), again); err != nil {
		t.Errorf("after a removal: %v", err)
	}
	if c, err := f.Connection(t.Context(), f.tenant, one.ID); err != nil || c.RemovedAt.IsZero() || c.Version != 2 {
		t.Errorf("the removed one: %+v, %v", c, err)
	}
	if err := f.RemoveConnection(t.Context(), f.tenant, one.ID); ship.KindOf(err) != ship.NotFound {
		t.Errorf("removed twice: %v", err)
	}
}

func TestAChangeIsGuardedByTheVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.connect(t, f.tenant, "One")
	list, err := f.Connections(t.Context(), f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := list[0], list[0]
	mine.Name, theirs.Name = "Mine", "Theirs"
	if err := f.ChangeConnection(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if err := f.ChangeConnection(t.Context(), theirs); ship.KindOf(err) != ship.Conflict {
		t.Errorf("a second change of the same: %v", err)
	}
	if c, err := f.Connection(t.Context(), f.tenant, mine.ID); err != nil || c.Name != "Mine" || c.Version != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestRewrappingLeavesToOthersWhatTheyChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = 450 // more than two pages
	for i := range n {
		tenant := f.tenant
		tenant.Livemode = i%2 == 0
		f.connect(t, tenant, string(ship.NewEndpointID(7, now())))
	}
	var changed ship.ConnectionID
	stored, err := f.RewrapConnections(t.Context(), func(ctx context.Context, c store.Connection) []byte {
		if changed == "" { // while its key is being wrapped
			changed = c.ID
			c.WrappedKey, c.Credentials = []byte("their key"), []byte("their credentials")
			if err := f.ChangeConnection(ctx, c); err != nil {
				t.Error(err)
			}
			return []byte("ours")
		}
		return append([]byte("new "), c.WrappedKey...)
	})
	if err != nil || stored != n-1 {
		t.Errorf("%d stored, %v", stored, err)
	}
	if c, err := f.FindConnection(t.Context(), changed); err != nil || string(c.WrappedKey) != "their key" {
		t.Errorf("the changed one has %q, %v", c.WrappedKey, err)
	}
	if left := one[int](t, f.owner, "SELECT count(*) FROM connections WHERE left(encode(wrapped_key, 'escape'), 4) <> 'new ' OR version <> 1"); left != 1 {
		t.Errorf("%d are not rewrapped, or count as changed", left)
	}
	stored, err = f.RewrapConnections(t.Context(), func(context.Context, store.Connection) []byte { return nil })
	if err != nil || stored != 0 {
		t.Errorf("with nothing to do: %d, %v", stored, err)
	}
}
