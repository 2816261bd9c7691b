package store_test

import (
	"net/url"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestADatabaseThatCannotNowIsUnavailable: clients may repeat what failed for want of
// disk or memory, and what Postgres ended because this process slept.
func TestADatabaseThatCannotNowIsUnavailable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.owner.Exec(t.Context(), `
CREATE FUNCTION fail_as_named() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'it fails' USING ERRCODE = NEW.name;
END $$;
CREATE TRIGGER fails BEFORE INSERT ON boxes FOR EACH ROW EXECUTE FUNCTION fail_as_named()`)
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]ship.Kind{
		"53100": ship.Unavailable, // disk full
		"53200": ship.Unavailable, // out of memory
		"53300": ship.Unavailable, // too many connections
		"58030": ship.Unavailable, // error of the disk
		"25P03": ship.Unavailable, // idle in a transaction
		"40P01": ship.Unavailable, // deadlock
		"23514": ship.Internal,    // a check of ours
	} {
		box := store.Box{ID: ship.NewBoxID(f.tenant.Shard(), now()), Name: code, Dimensions: ship.Dimensions{Length: 1, Width: 1, Height: 1, Unit: "cm"}}
		if err := f.AddBox(t.Context(), f.tenant, box); ship.KindOf(err) != want {
			t.Errorf("%s is %s, want %s: %v", code, ship.KindOf(err), want, err)
		}
	}
}

// TestARefusedLoginIsUnavailable: while a password is changed, or a login is
// locked, nothing has been done, and the same request may succeed later.
func TestARefusedLoginIsUnavailable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()

	address := storetest.ServingURL(t, f.url)
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	login := parsed.User.Username()
	exec := func(sql string) {
		t.Helper()
		if _, err := f.owner.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}

	serving, err := store.Open(ctx, store.Options{URL: address, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer serving.Close()
	if _, err := serving.Boxes(ctx, f.tenant, 1); err != nil {
		t.Fatal(err)
	}

	exec("ALTER ROLE " + login + " NOLOGIN")
	exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + login + "'")

	// The first statement may meet a session that has just been ended.
	for range 3 {
		_, err = serving.Boxes(ctx, f.tenant, 1)
	}
	if failure := ship.ErrorOf(err); failure.Kind != ship.Unavailable || failure.RetryAfter <= 0 {
		t.Errorf("a refused login is %s, %v", failure.Kind, err)
	}

	exec("ALTER ROLE " + login + " LOGIN")
	if _, err := serving.Boxes(ctx, f.tenant, 1); err != nil {
		t.Errorf("once the login is accepted again: %v", err)
	}
}
