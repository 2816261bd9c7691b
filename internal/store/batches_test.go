package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func (f *fixture) addBatch(t *testing.T, rows int) ship.BatchID {
	t.Helper()
	return f.addOldBatch(t, rows, 0, "ready")
}

func (f *fixture) addOldBatch(t *testing.T, rows int, age time.Duration, state string) ship.BatchID {
	t.Helper()
	b := store.Batch{ID: ship.NewBatchID(7, now().Add(-age)), Tenant: f.tenant, Name: "orders.csv", State: state, Header: []string{"order"}, Mapping: []byte("{}")}
	lines := make([][]string, rows)
	for i := range lines {
		lines[i] = []string{fmt.Sprint(i), strings.Repeat("x", 200)}
	}
	if err := f.AddBatch(t.Context(), b, lines); err != nil {
		t.Fatal(err)
	}
	return b.ID
}

func TestALineIsWrittenOnlyAsItWasRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.addBatch(t, 3)
	rows, err := f.BatchRows(t.Context(), f.tenant, id, 0, 10)
	if err != nil || len(rows) != 3 || rows[2].Cells[0] != "2" {
		t.Fatal(rows, err)
	}
	save := func(was int, from string) int {
		row := rows[0]
		row.State, row.Revision, row.Price = "rated", was+1, ship.Money{Minor: 5, Currency: "USD"}
		n, err := f.SaveBatchRows(t.Context(), f.tenant, id, []store.ChangedRow{{BatchRow: row, Was: was}}, from)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if save(7, "uploaded") != 0 || save(0, "invalid") != 0 || save(0, "uploaded") != 1 || save(0, "uploaded") != 0 {
		t.Error("a line was written over another's change")
	}
	claimed, err := f.ClaimBatchRows(t.Context(), f.tenant, id, 0, 10)
	if err != nil || len(claimed) != 1 || claimed[0].State != "purchasing" || claimed[0].Revision != 1 {
		t.Fatalf("claimed %+v %v", claimed, err)
	}
	if again, err := f.ClaimBatchRows(t.Context(), f.tenant, id, 0, 10); err != nil || len(again) != 1 {
		t.Errorf("claimed again %+v %v", again, err)
	}
	if err := f.DeleteBatch(t.Context(), f.tenant, id); ship.KindOf(err) != ship.Conflict {
		t.Errorf("deleted while it is bought: %v", err)
	}
	other := newTenant()
	if list, err := f.BatchRows(t.Context(), other, id, 0, 10); err != nil || len(list) != 0 {
		t.Errorf("another tenant sees %v %v", list, err)
	}
}

// A job claims as many lines as it asks for, and not the whole batch.
func TestLinesAreClaimedAFewAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.addBatch(t, 60)
	if _, err := f.owner.Exec(t.Context(), "UPDATE batch_rows SET state = 'rated'"); err != nil {
		t.Fatal(err)
	}
	claimed, err := f.ClaimBatchRows(t.Context(), f.tenant, id, 0, 24)
	if err != nil || len(claimed) != 24 || one[int](t, f.owner, "SELECT count(*) FROM batch_rows WHERE state = 'purchasing'") != 24 {
		t.Errorf("%d lines are claimed, %v", len(claimed), err)
	}
}

func TestBatchesAreReadByTheirIndexes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var id ship.BatchID
	for range 30 {
		id = f.addBatch(t, 500)
	}
	if _, err := f.owner.Exec(t.Context(), "ANALYZE batches, batch_rows"); err != nil {
		t.Fatal(err)
	}
	account, batch := quoted(f.tenant.Account.Raw()), quoted(id.Raw())
	for name, args := range map[string][]string{
		"sqlBatchRows":      {account, "false", batch, "100", "51"},
		"sqlBatchRowsIn":    {account, "false", batch, "100", "51", "'{unread}'"},
		"sqlBatchTallies":   {account, "false", "ARRAY[" + batch + "]::uuid[]"},
		"sqlClaimBatchRows": {account, "false", batch, "0", "24"},
	} {
		planOf(t, f.owner, "waybill_sys", name, args...).walk(func(n node) {
			if n.Relation == "batch_rows" && n.Type == "Seq Scan" {
				t.Errorf("%s reads all lines of all batches: %+v", name, n)
			}
		})
	}
}

func TestABatchPastItsTimeIsForgottenWithItsLines(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const year = 365 * 24 * time.Hour
	busy, young := f.addOldBatch(t, 1, year, "purchasing"), f.addBatch(t, 1)
	for range 12 { // more than one statement takes
		f.addOldBatch(t, 3, year, "done")
	}
	deleted := int64(0)
	for {
		n, err := f.DeleteOldBatches(t.Context(), now().Add(-year/2))
		if err != nil {
			t.Fatal(err)
		}
		if deleted += n; n == 0 {
			break
		}
	}
	list, err := f.Batches(t.Context(), f.tenant, "", ship.Page{Limit: 100})
	if err != nil || deleted != 12 || len(list) != 2 || list[0].ID != young || list[1].ID != busy {
		t.Errorf("%d deleted, left are %+v, %v", deleted, list, err)
	}
	if n := one[int](t, f.owner, "SELECT count(*) FROM batch_rows"); n != 2 {
		t.Errorf("%d lines are left, want 2", n)
	}
}

func TestABatchIsPrintedAsTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	format := func(id ship.BatchID) string {
		b, err := f.Batch(t.Context(), f.tenant, id)
		if err != nil {
			t.Fatal(err)
		}
		return b.Format
	}
	first := f.addBatch(t, 1)
	if got := format(first); got != "pdf" {
		t.Errorf("the first is printed as %q", got)
	}
	if err := f.SetBatchBuyer(t.Context(), f.tenant, first, "zpl", ""); err != nil {
		t.Fatal(err)
	}
	if got := format(f.addBatch(t, 1)); got != "zpl" {
		t.Errorf("the next is printed as %q, want zpl", got)
	}
}
