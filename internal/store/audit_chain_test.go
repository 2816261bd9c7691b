package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// newAccount returns an account that audit entries can belong to.
func (f *fixture) newAccount(t *testing.T) ship.AccountID {
	t.Helper()
	id := ship.NewAccountID(7, now())
	if err := f.SaveAccount(t.Context(), ship.Account{ID: id, Name: "A", Units: ship.DefaultUnits, Currency: "USD"}, ""); err != nil {
		t.Fatal(err)
	}
	return id
}

func (f *fixture) addEntries(t *testing.T, account ship.AccountID, n int) {
	t.Helper()
	for i := range n {
		err := f.InSystemTx(t.Context(), func(tx *store.Store) error {
			return tx.AddAudit(t.Context(), store.AuditEntry{Account: account, Who: "operator", Action: "test.done", Target: fmt.Sprint(i), Details: map[string]string{"b": "2", "a": "<1>"}})
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// chain chains everything that is pending.
func (f *fixture) chain(t *testing.T) {
	t.Helper()
	for {
		n, err := f.ChainAudit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

func (f *fixture) verify(t *testing.T) store.AuditVerification {
	t.Helper()
	found, err := f.VerifyAudit(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestATamperedAuditLogIsFound does as the tables' owner what nobody should.
func TestATamperedAuditLogIsFound(t *testing.T) {
	t.Parallel()
	third := `(SELECT entry_id FROM audit_chain WHERE number = 3)`
	for name, attack := range map[string]struct {
		sql    string
		number int64
		reason string
	}{
		"changed":                 {`UPDATE audit_log SET target = 'other' WHERE id = ` + third, 3, "does not match its hash"},
		"changed details":         {`UPDATE audit_log SET details = '{"a":"1"}' WHERE id = ` + third, 3, "does not match its hash"},
		"changed address":         {`UPDATE audit_log SET remote_address = '10.0.0.1' WHERE id = ` + third, 3, "does not match its hash"},
		"removed":                 {`DELETE FROM audit_log WHERE id = ` + third, 3, "the entry was removed"},
		"removed with its hash":   {`WITH gone AS (DELETE FROM audit_chain WHERE number = 3 RETURNING entry_id) DELETE FROM audit_log WHERE id IN (SELECT entry_id FROM gone)`, 3, "entries were removed"},
		"removed at the start":    {`WITH gone AS (DELETE FROM audit_chain WHERE number = 1 RETURNING entry_id) DELETE FROM audit_log WHERE id IN (SELECT entry_id FROM gone)`, 1, "entries were removed"},
		"hash removed at the end": {`DELETE FROM audit_chain WHERE number = 5`, 0, "not in the chain"},
		"swapped": {`UPDATE audit_log l SET target = o.target FROM audit_log o, audit_chain a, audit_chain b
			WHERE a.number IN (3, 4) AND b.number = 7 - a.number AND l.id = a.entry_id AND o.id = b.entry_id`, 3, "changed, or moved"},
		"swapped in the chain": {`UPDATE audit_chain SET number = CASE number WHEN 3 THEN -4 ELSE -3 END WHERE number IN (3, 4); UPDATE audit_chain SET number = -number WHERE number < 0`, 3, "changed, or moved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			other := f.newAccount(t)
			f.addEntries(t, other, 2)
			f.chain(t)
			account := f.newAccount(t)
			f.addEntries(t, account, 5)
			f.chain(t)
			if found := f.verify(t); len(found.Breaks) != 0 || found.Entries < 7 || found.Pending != 0 {
				t.Fatalf("before: %+v", found)
			}

			// The other account has entries 1 and 2 too; they are left alone.
			raw := account.Raw()
			sql := strings.NewReplacer(
				"FROM audit_chain WHERE number", fmt.Sprintf("FROM audit_chain WHERE account_id = '%x' AND number", raw[:]),
				"WHERE a.number", fmt.Sprintf("WHERE a.account_id = '%x' AND b.account_id = a.account_id AND a.number", raw[:]),
				"END WHERE number", fmt.Sprintf("END WHERE account_id = '%x' AND number", raw[:]),
			).Replace(attack.sql)
			if _, err := f.owner.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
			found := f.verify(t)
			if len(found.Breaks) != 1 || found.Breaks[0].Account != account || found.Breaks[0].Number != attack.number || !strings.Contains(found.Breaks[0].Reason, attack.reason) {
				t.Errorf("found %+v, want number %d: %s", found.Breaks, attack.number, attack.reason)
			}
		})
	}
}

// TestConcurrentWritersStayAChain has writers of several accounts at once, also
// in transactions that write to two of them in either order, and two copies that
// chain.
func TestConcurrentWritersStayAChain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	accounts := []ship.AccountID{f.newAccount(t), f.newAccount(t)}
	before := f.verify(t).Pending

	const writers, each = 8, 20
	var writing, chaining sync.WaitGroup
	done := make(chan struct{})
	for i := range writers {
		writing.Go(func() {
			for range each {
				err := f.InSystemTx(t.Context(), func(tx *store.Store) error {
					for j := range accounts {
						if err := tx.AddAudit(t.Context(), store.AuditEntry{Account: accounts[(i+j)%2], Who: "operator", Action: "test.done"}); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		chaining.Go(func() {
			for {
				if _, err := f.ChainAudit(t.Context()); err != nil {
					t.Error(err)
				}
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	writing.Wait()
	close(done)
	chaining.Wait()
	f.chain(t)

	found := f.verify(t)
	if len(found.Breaks) != 0 || found.Pending != 0 || found.Entries != before+2*writers*each {
		t.Errorf("after %d entries: %+v", before+2*writers*each, found)
	}
}

// TestAPrunedAuditLogIsStillVerified drops old entries with a plain owner's
// rights, and tampers with the rest.
func TestAPrunedAuditLogIsStillVerified(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	account := f.newAccount(t)
	f.addEntries(t, account, 4)
	f.chain(t)
	time.Sleep(20 * time.Millisecond)
	border := time.Now()
	time.Sleep(20 * time.Millisecond)
	f.addEntries(t, account, 3)
	f.chain(t)
	all := f.verify(t).Entries

	dropped, err := store.PruneAudit(t.Context(), f.url, border)
	if err != nil || int(dropped) != all-3 {
		t.Fatalf("dropped %d of %d, %v", dropped, all, err)
	}
	if found := f.verify(t); len(found.Breaks) != 0 || found.Entries != 3 {
		t.Errorf("the rest: %+v", found)
	}
	f.addEntries(t, account, 1)
	f.chain(t)
	if found := f.verify(t); len(found.Breaks) != 0 || found.Entries != 4 {
		t.Errorf("with one more: %+v", found)
	}
	if _, err := f.owner.Exec(t.Context(), `DELETE FROM audit_anchors`); err != nil {
		t.Fatal(err)
	}
	if found := f.verify(t); len(found.Breaks) != 1 {
		t.Errorf("without the anchor: %+v", found)
	}
	if _, err := store.PruneAudit(t.Context(), storetest.ServingURL(t, f.url), border); err == nil || !strings.Contains(err.Error(), "MIGRATE_DATABASE_URL") {
		t.Errorf("pruned by the login that serves: %v", err)
	}
}

func TestAStreamContinuesWhereItWas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	account := f.newAccount(t)
	f.addEntries(t, account, 5)
	f.chain(t)
	first, err := f.StreamedAudit(t.Context(), "siem", 3)
	if err != nil || len(first) != 3 {
		t.Fatal(first, err)
	}
	again, err := f.StreamedAudit(t.Context(), "siem", 3)
	if err != nil || again[0].ID != first[0].ID {
		t.Errorf("before the position is saved: %v, %v", again, err)
	}
	if err := f.SaveStream(t.Context(), "siem", first[2].Position); err != nil {
		t.Fatal(err)
	}
	rest, err := f.StreamedAudit(t.Context(), "siem", 10)
	if err != nil || len(rest) == 0 || rest[0].Position <= first[2].Position {
		t.Errorf("the rest: %v, %v", rest, err)
	}
	if other, err := f.StreamedAudit(t.Context(), "other", 3); err != nil || other[0].ID != first[0].ID {
		t.Errorf("another stream: %v, %v", other, err)
	}

	// What a stream has received cannot be cut off unnoticed.
	if err := f.SaveStream(t.Context(), "siem", rest[len(rest)-1].Position); err != nil {
		t.Fatal(err)
	}
	if _, err := f.owner.Exec(t.Context(), `WITH gone AS (DELETE FROM audit_chain WHERE position = (SELECT max(position) FROM audit_chain) RETURNING entry_id) DELETE FROM audit_log WHERE id IN (SELECT entry_id FROM gone)`); err != nil {
		t.Fatal(err)
	}
	if found := f.verify(t); len(found.Breaks) != 1 || !strings.Contains(found.Breaks[0].Reason, "the stream siem") {
		t.Errorf("without the newest entry: %+v", found)
	}
}
