package store_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// The pushes that wait are none at one moment and a flood at the next. What was
// planned when there were none must not read them all for each that is heard.
func TestPushesAreFoundByTheirKeysHoweverFewThereWere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, err := store.Open(t.Context(), store.Options{URL: f.url, Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	connection := ship.NewConnectionID(7, now())
	hear := func(pushes int) {
		var list []store.Push
		var ids []ship.Subject
		for range pushes {
			p := store.Push{ID: ship.NewRawID(7, now()), Tenant: f.tenant, Connection: connection, Body: []byte("{}")}
			list, ids = append(list, p), append(ids, ship.Subject{Tenant: f.tenant, ID: p.ID})
		}
		if _, err := s.AddPushes(t.Context(), list, now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := s.PostponePushes(t.Context(), ids, now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		if due, err := s.DuePushes(t.Context(), now(), now().Add(time.Hour), pushes); err != nil || len(due) != pushes {
			t.Fatalf("%d of %d pushes are due, %v", len(due), pushes, err)
		}
		err := s.InSystemTx(t.Context(), func(tx *store.Store) error {
			if err := tx.KeysOnly(t.Context()); err != nil {
				return err
			}
			return tx.DeletePushes(t.Context(), ids)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.owner.Exec(t.Context(), "VACUUM ANALYZE pending_pushes"); err != nil {
		t.Fatal(err)
	}
	for range 12 { // then a plan is kept
		hear(1)
	}
	_, err = f.owner.Exec(t.Context(), `INSERT INTO pending_pushes (account_id, livemode, push_id, due_at, body_bytes)
		SELECT gen_random_uuid(), true, gen_random_uuid(), now() + interval '1 hour', 1 FROM generate_series(1, 20000)`)
	if err != nil {
		t.Fatal(err)
	}
	hear(100)
	s.Close() // it tells then what it did
	for deadline := time.Now().Add(20 * time.Second); one[int](t, f.owner, "SELECT n_tup_del FROM pg_stat_user_tables WHERE relname = 'pending_pushes'") < 112; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("Postgres does not say what was done")
		}
	}
	if read := one[int](t, f.owner, "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'pending_pushes'"); read > 1000 {
		t.Errorf("%d rows were read to hear a hundred pushes", read)
	}
}
