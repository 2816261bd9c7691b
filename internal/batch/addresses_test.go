package batch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
)

// verdicts answers as a carrier does that knows the streets of a town.
func verdicts(ctx context.Context, address ship.Address) (ship.AddressCheck, error) {
	check := ship.AddressCheck{Verdict: ship.AddressValid, Address: address}
	corrected := address
	switch {
	case strings.HasPrefix(address.Address1, "2 "):
		check.Verdict = ship.AddressCorrected
		check.Address.Address1 = "2 Maine St"
		check.Address.Zip = "78702"
	case strings.HasPrefix(address.Address1, "3 "):
		check.Verdict = ship.AddressAmbiguous
		corrected.Address1 = "3 Main St N"
		check.Candidates = []ship.Address{corrected, corrected}
	case strings.HasPrefix(address.Address1, "4 "):
		check.Verdict = ship.AddressInvalid
	case strings.HasPrefix(address.Address1, "5 "):
		<-ctx.Done()
		return check, ctx.Err()
	case strings.HasPrefix(address.Address1, "6 "):
		return check, errors.New("the carrier cannot be reached")
	case strings.HasPrefix(address.Address1, "7 "):
		check.Verdict = ship.AddressCorrected
		check.Address.Address2 = "Suite 7" // the file has no column for it
	case strings.HasPrefix(address.Address1, "8 "):
		check.Verdict = ship.AddressCorrected
		check.Address.City = "Boston"
	}
	return check, nil
}

// TestDoubtfulAddressesAreShownBeforeTheyAreBought checks what people see of the
// carriers' verdicts, and that no verdict and no silence stops a line.
func TestDoubtfulAddressesAreShownBeforeTheyAreBought(t *testing.T) {
	b := newBench(t)
	b.check = verdicts
	begin := time.Now()
	id := b.upload(orders(8))
	if got := b.work(id); got.Tally.Rows[batch.RowRated] != 8 {
		t.Fatalf("the lines are %v, want 8 that can be bought", got.Tally.Rows)
	}
	if waited := time.Since(begin); waited > 5*time.Second {
		t.Errorf("a carrier that does not answer delayed the batch by %s", waited)
	}

	doubtful, err := b.Doubtful(b.Context(), b.tenant, id)
	b.must(err)
	want := map[int]string{
		2: "the carrier suggests 2 Maine St, Austin, TX 78702",
		3: "the carrier knows several addresses like this: 3 Main St N, Austin, TX 78701; 3 Main St N, Austin, TX 78701",
		4: "the carrier does not know this address",
		7: "the carrier suggests 7 Main St, Suite 7, Austin, TX 78701",
		8: "the carrier suggests 8 Main St, Boston, TX 78701",
	}
	if len(doubtful) != len(want) {
		t.Errorf("%d lines are doubtful, want %d", len(doubtful), len(want))
	}
	for _, row := range doubtful {
		if got := row.Doubts[0].Detail; got != want[row.Number] || len(row.Problems) > 0 {
			t.Errorf("line %d: %q and the problems %v, want %q", row.Number, got, row.Problems, want[row.Number])
		}
		if has := row.Suggested() != nil; has != (row.Number == 2 || row.Number == 8) {
			t.Errorf("line %d offers a suggestion: %t", row.Number, has)
		}
	}
}

func TestSuggestedAddressesAreUsed(t *testing.T) {
	b := newBench(t)
	b.check = verdicts
	id := b.upload(orders(8))
	b.work(id)

	// The fixed line has another address, which the carrier knows.
	b.check = nil
	row, err := b.UseSuggestion(b.Context(), b.tenant, id, 2)
	b.must(err)
	if row.State != batch.RowRated || len(row.Doubts) > 0 || row.Cells[2] != "2 Maine St" || row.Cells[5] != "78702" {
		t.Errorf("the line is %s with %v and the doubts %v", row.State, row.Cells, row.Doubts)
	}
	if _, err := b.UseSuggestion(b.Context(), b.tenant, id, 2); ship.KindOf(err) != ship.Conflict {
		t.Errorf("a second time: %v, want a conflict", err)
	}

	b.must(b.UseSuggestions(b.Context(), b.tenant, id))
	b.work(id)
	row, err = b.Row(b.Context(), b.tenant, id, 8)
	b.must(err)
	if row.State != batch.RowRated || row.Cells[3] != "Boston" || len(row.Doubts) > 0 {
		t.Errorf("the line is %s with %v and the doubts %v", row.State, row.Cells, row.Doubts)
	}
	if err := b.UseSuggestions(b.Context(), b.tenant, id); ship.KindOf(err) != ship.Conflict {
		t.Errorf("without suggestions: %v, want a conflict", err)
	}

	// Lines that stay doubtful are bought all the same.
	b.must(b.Buy(b.Context(), b.tenant, id, "pdf", ""))
	if got := b.work(id); got.Tally.Rows[batch.RowBought] != 8 {
		t.Errorf("the lines are %v, want 8 that are bought", got.Tally.Rows)
	}
}
