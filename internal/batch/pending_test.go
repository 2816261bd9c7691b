package batch_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
)

// settleShipment does what the queue would.
func (b *bench) settleShipment(id ship.ShipmentID) {
	b.Helper()
	for range 300 {
		again, err := b.shipping.Settle(b.Context(), b.tenant, id)
		b.must(err)
		if again == 0 {
			return
		}
		time.Sleep(min(again, 100*time.Millisecond))
	}
	b.Fatal("the purchase is not settled")
}

func TestALineWithoutAnAnswerIsPendingUntilItIsKnown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"FAULT TIMEOUT AFTER PURCHASE": batch.RowBought, "FAULT TIMEOUT": batch.RowFailed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := b.upload(strings.Replace(orders(3), "1002,Ada Lovelace", "1002,"+name, 1))
			b.work(id)
			b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
			got := b.work(id)
			if got.State != batch.Done || got.Tally.Rows[batch.RowPending] != 1 || got.Tally.Rows[batch.RowBought] != 2 || len(got.Tally.Open) != 1 {
				t.Fatalf("%s %+v", got.State, got.Tally)
			}
			again, err := b.Work(t.Context(), b.tenant, id)
			if err != nil || again < time.Second || again > time.Minute {
				t.Errorf("looks again in %v, %v", again, err)
			}
			if err := b.Discard(t.Context(), b.tenant, id); ship.KindOf(err) != ship.Conflict {
				t.Errorf("discarded: %v", err)
			}
			row, err := b.Row(t.Context(), b.tenant, id, 2)
			b.must(err)
			b.settleShipment(row.Shipment)
			if again, err := b.Work(t.Context(), b.tenant, id); again != 0 || err != nil {
				t.Errorf("after it is settled: again in %v, %v", again, err)
			}
			if row, err = b.Row(t.Context(), b.tenant, id, 2); err != nil || row.State != want || (want == batch.RowFailed) != (len(row.Problems) > 0) {
				t.Errorf("the line is %s, %+v, %v, want %s", row.State, row.Problems, err, want)
			}
			b.expectNoSecondPurchase(id, want)
		})
	}
}

// expectNoSecondPurchase tries again what was not sold: a line that was is not
// among it.
func (b *bench) expectNoSecondPurchase(id ship.BatchID, state string) {
	b.Helper()
	before := b.shipments()
	b.must(b.Retry(b.Context(), b.tenant, id))
	got := b.work(id)
	if rated := got.Tally.Rows[batch.RowRated]; (state == batch.RowFailed) != (rated == 1) {
		b.Errorf("%d lines can be bought again after one that is %s", rated, state)
	}
	if n := b.shipments(); n != before {
		b.Errorf("%d shipments, want %d", n, before)
	}
}

func TestABatchIsForgottenInTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.upload(orders(2))
	b.work(id)
	b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
	b.work(id)
	b.must(b.DeleteOld(t.Context(), time.Now().Add(23*time.Hour)))
	if _, err := b.Batch(t.Context(), b.tenant, id); err != nil {
		t.Errorf("before its time: %v", err)
	}
	b.must(b.DeleteOld(t.Context(), time.Now().Add(25*time.Hour)))
	if _, err := b.Batch(t.Context(), b.tenant, id); ship.KindOf(err) != ship.NotFound {
		t.Errorf("past its time: %v", err)
	}
	if n := b.shipments(); n != 2 {
		t.Errorf("%d shipments are left, want 2", n)
	}
	if again, err := b.Work(t.Context(), b.tenant, id); again != 0 || err != nil {
		t.Errorf("its job: %v, %v", again, err)
	}
}

func TestNoLineIsBegunThatItsJobCannotEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const lines = 24
	id := b.upload(orders(lines))
	b.work(id)
	b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
	b.lose = func(int64) bool {
		time.Sleep(1500 * time.Millisecond)
		return false
	}

	// A job that has less time than the slowest line takes begins some all the same.
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if again, err := b.Work(short, b.tenant, id); err != nil || again == 0 || b.shipments() == 0 || b.shipments() >= lines {
		t.Errorf("%d shipments, again in %v, %v", b.shipments(), again, err)
	}
	long, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := b.Work(long, b.tenant, id); err != nil || b.shipments() != lines {
		t.Errorf("%d shipments, %v", b.shipments(), err)
	}
}

// TestLinesDoNotWaitForThoseWithoutAnOutcome has the first lines, more than are read
// at once, fail on our own side whenever they are bought.
func TestLinesDoNotWaitForThoseWithoutAnOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const broken, lines = 30, 40
	id := b.upload(orders(lines))
	b.work(id)
	b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
	b.fails = func(r batch.Request) error {
		if n, err := strconv.Atoi(r.Order.OrderID); err != nil || n <= 1000+broken {
			return errors.New("the disk is full")
		}
		return nil
	}
	if again, err := b.Work(t.Context(), b.tenant, id); err == nil || again == 0 {
		t.Errorf("again in %v, %v", again, err)
	}
	got, err := b.Batch(t.Context(), b.tenant, id)
	b.must(err)
	if got.Tally.Rows[batch.RowBought] != lines-broken || got.Tally.Rows[batch.RowBuying] != broken {
		t.Errorf("after a turn: %+v", got.Tally.Rows)
	}

	b.fails = nil
	if got := b.work(id); got.State != batch.Done || got.Tally.Rows[batch.RowBought] != lines || b.shipments() != lines {
		t.Errorf("%s with %+v and %d shipments", got.State, got.Tally.Rows, b.shipments())
	}
}
