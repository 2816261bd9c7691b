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
	concurrency = 8                     // lines that carriers are asked about at once
	chunkSize   = 24                    // lines between two writes
	turnTime    = 15 * time.Second      // how long a job works before it lets others
	turnPause   = 10 * time.Millisecond // until its next turn
	retryDelay  = 5 * time.Second       // after carriers that did not answer
	maxTries    = 3                     // before a person decides
	slowestRow  = 25 * time.Second      // that a line takes when a carrier does not answer
)

// Work continues with a batch: it rates or buys lines for a while. What it
// returns beside the error is after how long to continue; zero when it is done.
// It can end anywhere and be called again: a line is bought under an idempotency
// key of its own, so it is never bought twice.
func (s *Service) Work(ctx context.Context, t ship.Tenant, id ship.BatchID) (time.Duration, error) {
	batch, err := s.Batch(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return 0, nil // it was discarded
	}
	if err != nil {
		return 0, err
	}
	if batch.State != Rating && batch.State != Buying {
		return s.settle(ctx, batch)
	}

	reader, err := s.newReader(ctx, t, batch.ColumnMapping)
	if err != nil {
		return 0, err
	}

	until := time.Now().Add(turnTime)
	for after := 0; time.Now().Before(until) && !isLate(ctx); {
		rows, err := s.nextRows(ctx, batch, after)
		if err != nil {
			return 0, err
		}
		if len(rows) == 0 {
			return s.finish(ctx, t, id, after > 0)
		}

		if err := s.workOnRows(ctx, batch, reader, rows); err != nil {
			return 0, err
		}
		for _, row := range rows {
			after = max(after, row.Number)
		}
	}
	return turnPause, nil
}

// isLate reports whether the job may be cut off before one more line is done.
func isLate(ctx context.Context) bool {
	end, limited := ctx.Deadline()
	return limited && time.Until(end) < slowestRow
}

// nextRows returns the next lines of the batch to work on.
func (s *Service) nextRows(ctx context.Context, batch Batch, after int) ([]store.BatchRow, error) {
	if batch.State == Rating {
		return s.Store.BatchRows(ctx, batch.Tenant, batch.ID, after, chunkSize, RowGood)
	}
	return s.Store.ClaimBatchRows(ctx, batch.Tenant, batch.ID, after, chunkSize)
}

// finish ends the work if no line is left, else it returns when to continue.
// worked says whether this turn has worked on lines.
func (s *Service) finish(ctx context.Context, t ship.Tenant, id ship.BatchID, worked bool) (time.Duration, error) {
	batch, err := s.Batch(ctx, t, id)
	if err != nil {
		return 0, notFound(err)
	}

	// Lines that are left after a turn have carriers that did not answer.
	if batch.Tally.Waiting(batch.State) > 0 {
		if worked {
			return retryDelay, nil
		}
		return turnPause, nil
	}

	// A retry that rated no line leaves nothing to buy: the batch is done again.
	to := Ready
	rows := batch.Tally.Rows
	if batch.State == Buying || rows[RowRated] == 0 && rows[RowBought]+rows[RowPending] > 0 {
		to = Done
	}

	// A conflict means that somebody else has moved the batch on.
	err = s.Store.MoveBatch(ctx, t, id, to, nil, batch.State)
	if err != nil && ship.KindOf(err) != ship.Conflict {
		return 0, err
	}
	return s.settle(ctx, batch)
}

// workOnRows rates or buys lines, some at once, and records the outcomes. Those
// for which the time is too short stay as they are.
func (s *Service) workOnRows(ctx context.Context, batch Batch, reader reader, rows []store.BatchRow) error {
	changed := make([]store.ChangedRow, len(rows))
	failures := make([]error, len(rows))

	var group sync.WaitGroup
	slots := make(chan struct{}, concurrency)
	begun := 0
	for i, row := range rows {
		slots <- struct{}{}
		if isLate(ctx) {
			break
		}

		begun++
		group.Go(func() {
			defer func() { <-slots }()
			if batch.State == Rating {
				s.rateRow(ctx, reader, &row)
			} else {
				failures[i] = s.buyRow(ctx, batch, reader, &row)
			}
			changed[i] = store.ChangedRow{BatchRow: row, Was: row.Revision}
		})
	}
	group.Wait()

	from := RowGood
	if batch.State == Buying {
		from = RowBuying
	}

	// The outcomes are recorded even if the job was cancelled. A purchase that
	// is not recorded here is found again under its key.
	_, err := s.Store.SaveBatchRows(context.WithoutCancel(ctx), batch.Tenant, batch.ID, changed[:begun], from)
	return errors.Join(append(failures, err)...)
}

// rateRow asks for the line's rate.
func (s *Service) rateRow(ctx context.Context, reader reader, row *store.BatchRow) {
	request, problems := reader.request(row.Cells)
	if len(problems) > 0 {
		row.State = RowBad
		row.Problems = replaceProblems(row.Problems, problems)
		return
	}

	rate, err := s.Quote(ctx, request)
	switch {
	case err == nil:
		row.State = RowRated
		row.Problems = replaceProblems(row.Problems, nil)
		row.Tries = 0
		row.Rate = &rate
		row.Price = rate.Price

	case isTransient(err) && row.Tries+1 < maxTries:
		row.Tries++

	default:
		row.State = RowBad
		row.Problems = replaceProblems(row.Problems, problemsOf(err))
		row.Tries = 0
	}
}

// buyRow buys the line. It returns an error only if the outcome is not known:
// then the line stays, and the same purchase is requested again.
func (s *Service) buyRow(ctx context.Context, batch Batch, reader reader, row *store.BatchRow) error {
	request, problems := reader.request(row.Cells)
	if len(problems) > 0 {
		row.State = RowFailed
		row.Problems = replaceProblems(row.Problems, problems)
		return nil
	}

	// The key alone identifies the purchase: the line changes only with its
	// revision, and what the account adds to it must not make it another
	// purchase. So the fingerprint is that of the key.
	request.Key = fmt.Sprintf("batch-%s-%d-%d", batch.ID, row.Number, row.Revision)
	request.Fingerprint = sha256.Sum256([]byte(request.Key))
	request.Limit = row.Price
	request.Buyer = batch.BoughtBy
	request.Order.LabelFormat = batch.Format
	request.AcceptDuplicate = acceptedDuplicate(row.Problems)

	shipment, err := s.Purchase(ctx, request)
	switch {
	case err == nil:
		row.State = RowPending
		row.Problems = nil
		row.Shipment = shipment.ID
		markBought(row, shipment)

	case ship.CodeOf(err) == "idempotency_in_progress":
		// Another run of the job is buying the line right now.

	case isTransient(err) && row.Tries+1 < maxTries:
		row.Tries++

	case ship.KindOf(err) == ship.Internal || ship.KindOf(err) == ship.Uncertain:
		return err

	default:
		row.State = RowFailed
		row.Problems = replaceProblems(row.Problems, purchaseProblems(err))
		row.Tries = 0
	}
	return nil
}

// isTransient reports whether the same request may succeed in a moment.
func isTransient(err error) bool {
	kind := ship.KindOf(err)
	return kind == ship.Unavailable || kind == ship.Limited
}

// problemsOf are the problems of a line that a carrier or a rule refused.
func problemsOf(err error) []Problem {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return []Problem{{Detail: "an internal error occurred: try the line again"}}
	}

	var problems []Problem
	for _, e := range refused.Fields {
		problems = append(problems, Problem{Field: fieldOf(e.Pointer), Detail: advice(e)})
	}
	switch {
	case len(problems) > 0:
		return problems
	case isTransient(err):
		return []Problem{{Detail: "no carrier could be reached, and nothing was bought: try the line again later"}}
	}
	return []Problem{{Detail: cmp.Or(refused.Refusal.Message, refused.Message)}}
}

// purchaseProblems are the problems of a line with a rate that was not bought.
func purchaseProblems(err error) []Problem {
	switch ship.CodeOf(err) {
	case "duplicate_order":
		duplicate, _ := errors.AsType[*ship.Error](err)
		existing, _ := duplicate.Details["possibleDuplicateOf"].(string)
		return []Problem{shippedProblem(ship.ShipmentID(existing))}
	case "no_rate", "price_changed":
		return []Problem{{Detail: "the offer is no longer available or now costs more: try the line again"}}
	}
	return problemsOf(err)
}
