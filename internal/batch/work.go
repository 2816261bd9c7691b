package batch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	atOnce   = 8                     // lines that carriers are asked about
	chunk    = 24                    // lines between two writes
	turn     = 15 * time.Second      // a job works so long, then lets others
	further  = 10 * time.Millisecond // until its next turn
	patience = 5 * time.Second       // after carriers that did not answer
	maxTries = 3                     // before a person decides
	slowest  = 25 * time.Second      // that a line takes when a carrier does not answer
)

// Work goes on with a batch: it rates or buys lines for a while. What it
// returns beside the error is after how long to go on; zero when it is done.
// It can end anywhere and be called again: a line is bought under a name of
// its own, so it is never bought twice.
func (s *Service) Work(ctx context.Context, t ship.Tenant, id ship.BatchID) (time.Duration, error) {
	b, err := s.Batch(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return 0, nil // it was discarded
	}
	if err != nil {
		return 0, err
	}
	if b.State != Rating && b.State != Buying {
		return s.settle(ctx, b)
	}
	read, err := s.reader(ctx, t, b.Meaning)
	if err != nil {
		return 0, err
	}
	until := time.Now().Add(turn)
	for after := 0; time.Now().Before(until) && !isLate(ctx); {
		rows, err := s.take(ctx, b, after)
		if err != nil {
			return 0, err
		}
		if len(rows) == 0 {
			return s.finish(ctx, t, id, after > 0)
		}
		if err := s.each(ctx, b, read, rows); err != nil {
			return 0, err
		}
		for _, row := range rows {
			after = max(after, row.Number)
		}
	}
	return further, nil
}

// isLate reports whether the job may be cut off before one more line is done.
func isLate(ctx context.Context) bool {
	end, limited := ctx.Deadline()
	return limited && time.Until(end) < slowest
}

// take returns the next lines of the batch to work on.
func (s *Service) take(ctx context.Context, b Batch, after int) ([]store.BatchRow, error) {
	if b.State == Rating {
		return s.Store.BatchRows(ctx, b.Tenant, b.ID, after, chunk, RowGood)
	}
	return s.Store.ClaimBatchRows(ctx, b.Tenant, b.ID, after, chunk)
}

// finish ends the work if no line is left, else it says when to go on.
func (s *Service) finish(ctx context.Context, t ship.Tenant, id ship.BatchID, worked bool) (time.Duration, error) {
	b, err := s.Batch(ctx, t, id)
	if err != nil {
		return 0, missing(err)
	}
	if b.Tally.Waiting(b.State) > 0 {
		if worked {
			return patience, nil
		}
		return further, nil
	}
	to := Ready
	if b.State == Buying || b.Tally.Rows[RowRated] == 0 && b.Tally.Rows[RowBought]+b.Tally.Rows[RowPending] > 0 {
		to = Done
	}
	err = s.Store.MoveBatch(ctx, t, id, to, nil, b.State)
	if err != nil && ship.KindOf(err) != ship.Conflict {
		return 0, err
	}
	return s.settle(ctx, b)
}

// each works on lines, some at once, and writes down what became of them. Those
// for which the time is too short stay as they are.
func (s *Service) each(ctx context.Context, b Batch, read reader, rows []store.BatchRow) error {
	changed := make([]store.ChangedRow, len(rows))
	faults := make([]error, len(rows))
	var busy sync.WaitGroup
	free := make(chan struct{}, atOnce)
	begun := 0
	for i, row := range rows {
		free <- struct{}{}
		if isLate(ctx) {
			break
		}
		begun++
		busy.Go(func() {
			defer func() { <-free }()
			if b.State == Rating {
				s.rateRow(ctx, read, &row)
			} else {
				faults[i] = s.buyRow(ctx, b, read, &row)
			}
			changed[i] = store.ChangedRow{BatchRow: row, Was: row.Revision}
		})
	}
	busy.Wait()
	from := RowGood
	if b.State == Buying {
		from = RowBuying
	}
	// A purchase that is not written down is found again under its name.
	_, err := s.Store.SaveBatchRows(context.WithoutCancel(ctx), b.Tenant, b.ID, changed[:begun], from)
	return errors.Join(append(faults, err)...)
}

// rateRow asks for the line's rate.
func (s *Service) rateRow(ctx context.Context, read reader, row *store.BatchRow) {
	in, wrong := read.request(row.Cells)
	if len(wrong) > 0 {
		row.State, row.Wrong = RowBad, rewrite(row.Wrong, wrong)
		return
	}
	rate, err := s.Quote(ctx, in)
	switch {
	case err == nil:
		row.State, row.Wrong, row.Tries, row.Rate, row.Price = RowRated, rewrite(row.Wrong, nil), 0, &rate, rate.Price
	case isPassing(err) && row.Tries+1 < maxTries:
		row.Tries++
	default:
		row.State, row.Wrong, row.Tries = RowBad, rewrite(row.Wrong, reasons(err)), 0
	}
}

// buyRow buys the line. It returns an error only where nobody knows what
// became of it: then the line stays, and the same purchase is asked for again.
func (s *Service) buyRow(ctx context.Context, b Batch, read reader, row *store.BatchRow) error {
	in, wrong := read.request(row.Cells)
	if len(wrong) > 0 {
		row.State, row.Wrong = RowFailed, rewrite(row.Wrong, wrong)
		return nil
	}
	// The name says it all: what stands in the line changes only with its
	// revision, and what the account adds to it must not make it another.
	in.Key = fmt.Sprintf("batch-%s-%d-%d", b.ID, row.Number, row.Revision)
	in.Fingerprint, in.Limit, in.Order.LabelFormat = sha256.Sum256([]byte(in.Key)), row.Price, b.Format
	in.AcceptDuplicate = acceptedDuplicate(row.Wrong)
	sh, err := s.Purchase(ctx, in)
	switch {
	case err == nil:
		row.State, row.Wrong, row.Shipment = RowPending, nil, sh.ID
		sold(row, sh)
	case ship.CodeOf(err) == "idempotency_in_progress":
	case isPassing(err) && row.Tries+1 < maxTries:
		row.Tries++
	case ship.KindOf(err) == ship.Internal || ship.KindOf(err) == ship.Uncertain:
		return err
	default:
		row.State, row.Wrong, row.Tries = RowFailed, rewrite(row.Wrong, refusal(err)), 0
	}
	return nil
}

// isPassing reports whether the same may work in a moment.
func isPassing(err error) bool {
	kind := ship.KindOf(err)
	return kind == ship.Unavailable || kind == ship.Limited
}

// reasons are what stands at a line that a carrier or a rule refused.
func reasons(err error) []Wrong {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return []Wrong{{Detail: "something went wrong here: try the line again"}}
	}
	var list []Wrong
	for _, f := range e.Fields {
		list = append(list, Wrong{Field: fieldOf(f.Pointer), Detail: advice(f)})
	}
	switch {
	case len(list) > 0:
		return list
	case isPassing(err):
		return []Wrong{{Detail: "no carrier could be asked, and nothing was bought: try the line again later"}}
	}
	return []Wrong{{Detail: cmp.Or(e.Refusal.Message, e.Message)}}
}

// refusal is why a line with a rate was not bought.
func refusal(err error) []Wrong {
	switch ship.CodeOf(err) {
	case "duplicate_order":
		e, _ := errors.AsType[*ship.Error](err)
		existing, _ := e.Details["possibleDuplicateOf"].(string)
		return []Wrong{shippedBefore(ship.ShipmentID(existing))}
	case "no_rate", "price_changed":
		return []Wrong{{Detail: "the offer that was shown is gone, or costs more now: try the line again"}}
	}
	return reasons(err)
}
