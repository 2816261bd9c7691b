package batch

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/job"
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
	isLate := job.Lateness(ctx, slowestRow)
	var unknown error // of lines that stay as they are; those behind them do not wait for them
	for after := 0; time.Now().Before(until) && !isLate(); {
		rows, err := s.nextRows(ctx, batch, after)
		if err != nil {
			return 0, err
		}
		if len(rows) == 0 && unknown == nil && batch.State == Rating {
			pause, err := s.requote(ctx, batch, reader, until, isLate)
			if pause > 0 || err != nil {
				return pause, err
			}
		}
		if len(rows) == 0 && unknown == nil {
			return s.finish(ctx, t, id, after > 0)
		}
		if len(rows) == 0 {
			break
		}

		failed, err := s.workOnRows(ctx, batch, reader, rows, isLate)
		if err != nil {
			return 0, err
		}
		unknown = errors.Join(unknown, failed)
		for _, row := range rows {
			after = max(after, row.Number)
		}
	}
	return turnPause, unknown
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
// for which the time is too short stay as they are, and so do those whose outcome
// is not known; unknown says why.
func (s *Service) workOnRows(ctx context.Context, batch Batch, reader reader, rows []store.BatchRow, isLate func() bool) (unknown, err error) {
	changed := make([]store.ChangedRow, len(rows))
	failures := make([]error, len(rows))

	var group sync.WaitGroup
	slots := make(chan struct{}, concurrency)
	begun := 0
	for i, row := range rows {
		slots <- struct{}{}
		if isLate() {
			break
		}

		begun++
		group.Go(func() {
			defer func() { <-slots }()
			switch {
			case row.Requote && batch.State == Rating:
				s.requoteRow(ctx, reader, &row)
			case batch.State == Rating:
				s.rateRow(ctx, reader, &row)
			default:
				failures[i] = s.buyRow(ctx, batch, reader, &row)
			}
			changed[i] = store.ChangedRow{BatchRow: row, Was: row.Revision}
		})
	}
	group.Wait()

	from := []string{RowGood, RowRated, RowBad}
	if batch.State == Buying {
		from = []string{RowBuying}
	}

	// The outcomes are recorded even if the job was cancelled. A purchase that
	// is not recorded here is found again under its key.
	_, err = s.Store.SaveBatchRows(context.WithoutCancel(ctx), batch.Tenant, batch.ID, changed[:begun], from...)
	return errors.Join(failures...), err
}

// rateRow asks for the line's rate.
func (s *Service) rateRow(ctx context.Context, reader reader, row *store.BatchRow) {
	request, problems := reader.request(row.Cells)
	if len(problems) > 0 {
		row.State = RowBad
		row.Problems = replaceProblems(row.Problems, problems)
		return
	}

	doubts := s.startAddressCheck(ctx, reader, request)
	quoted, err := s.Quote(ctx, request)
	if err == nil || len(quoted.NotQuoted) > 0 {
		row.NotQuoted = append([]ship.NotQuoted{}, quoted.NotQuoted...)
	}
	switch {
	case err == nil:
		row.State = RowRated
		row.Problems = replaceProblems(row.Problems, append(doubts(), customsDoubts(quoted.Warnings, request.Order)...))
		row.Tries = 0
		row.Rate = &quoted.Rate
		row.Price = quoted.Rate.Price

	case isTransient(err) && row.Tries+1 < maxTries:
		row.Tries++

	default:
		row.State = RowBad
		row.Problems = replaceProblems(row.Problems, problemsOf(err))
		row.Tries = 0
	}
}

// customsReason marks what customs would object to.
const customsReason = "customs"

// customsDoubts are what customs would object to. They do not keep the line from
// being bought.
func customsDoubts(warnings []ship.FieldError, order ship.Order) (list []Problem) {
	for _, warning := range warnings[:min(len(warnings), maxProblems)] {
		list = append(list, Problem{
			Field:   fieldOf(warning.Pointer),
			Detail:  memberPrefix(warning.Pointer, order) + clip(advice(warning), maxDetail),
			IsDoubt: true,
			Reason:  customsReason,
		})
	}
	return list
}

// buyRow buys the line. It returns an error only if the outcome is not known:
// then the line stays, and the same purchase is requested again.
func (s *Service) buyRow(ctx context.Context, batch Batch, reader reader, row *store.BatchRow) error {
	name, former := lineNames(batch, *row)
	request, problems := reader.purchase(batch, *row)
	if len(problems) > 0 {
		return s.failRow(ctx, batch, row, problems)
	}

	// The key alone identifies the purchase: the line changes only with its
	// revision, and what the account adds to it must not make it another
	// purchase. So the fingerprint is that of the key.
	request.Key = name.Key
	request.Fingerprint = name.Fingerprint
	request.FormerName = former
	request.Buyer = batch.BoughtBy
	request.APIKey = batch.APIKey
	request.AcceptDuplicate = acceptedDuplicate(row.Problems)

	shipment, err := s.Purchase(ctx, request)
	switch {
	case err == nil:
		markAsked(row, shipment)
		if batch.ByAPI() {
			row.NotQuoted = notQuotedFor(shipment)
		}

	case ship.CodeOf(err) == "idempotency_in_progress":
		// Another run of the job is buying the line right now.

	case isTransient(err) && row.Tries+1 < maxTries:
		row.Tries++

	case ship.KindOf(err) == ship.Internal || ship.KindOf(err) == ship.Uncertain:
		return err

	default:
		return s.failRow(ctx, batch, row, purchaseProblems(batch, err))
	}
	return nil
}

// lineNames returns the name of a line's purchase, and the one that copies of the
// release before this one give it. A batch that they created keeps their names: the
// carriers' references are derived from them.
func lineNames(batch Batch, row store.BatchRow) (name, former ship.KeyName) {
	number := strconv.Itoa(row.Number)
	revision := strconv.Itoa(row.Revision)

	plain := ship.NameOf("batch-" + string(batch.ID) + "-" + number + "-" + revision)
	if batch.KeyVersion == ship.PlainKeys {
		return plain, ship.KeyName{}
	}
	return ship.NameOf(ship.ServiceKey(ship.KeyOfBatchLine, string(batch.ID), number, revision)), plain
}

// purchase is the purchase of a line. A line of a file costs at most what was
// shown, and is printed as its batch.
func (r reader) purchase(batch Batch, row store.BatchRow) (Request, []Problem) {
	if batch.ByAPI() {
		return r.requestByAPI(row)
	}
	request, problems := r.request(row.Cells)
	request.Limit = row.Price
	request.LimitShown = true
	request.Order.LabelFormat = batch.Format
	return request, problems
}

// failRow marks a line as not bought, unless it was: a process that died after
// the purchase left the line as it was, and by now the same request may be
// refused, because a date has passed or a key was revoked.
func (s *Service) failRow(ctx context.Context, batch Batch, row *store.BatchRow, problems []Problem) error {
	earlier, err := s.boughtUnder(ctx, batch, *row)
	if err != nil {
		return err
	}
	if earlier.ID != "" && earlier.State != ship.StateFailed {
		markAsked(row, earlier)
		return nil
	}

	row.State = RowFailed
	row.Problems = replaceProblems(row.Problems, problems)
	row.Tries = 0
	return nil
}

// boughtUnder returns the shipment that was bought under one of the names of a
// line; one without an id if there is none.
func (s *Service) boughtUnder(ctx context.Context, batch Batch, row store.BatchRow) (ship.Shipment, error) {
	name, former := lineNames(batch, row)
	id, err := s.Store.PurchaseUnder(ctx, batch.Tenant, name, former)
	if err != nil || id == "" {
		return ship.Shipment{}, err
	}

	list, err := s.Store.ShipmentsByID(ctx, batch.Tenant, []ship.ShipmentID{id})
	if err != nil || len(list) == 0 {
		return ship.Shipment{}, err
	}
	return list[0], nil
}

// markAsked records the shipment of a line: bought, or pending until its outcome
// is known.
func markAsked(row *store.BatchRow, shipment ship.Shipment) {
	row.State = RowPending
	row.Problems = nil
	row.Shipment = shipment.ID
	markBought(row, shipment)
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
		return []Problem{{Detail: "an internal error occurred: try the line again", Reason: "internal_error"}}
	}

	reason := ship.CodeOf(err)
	if problems := fieldProblems(refused.Fields, cmp.Or(reason, "validation_failed")); len(problems) > 0 {
		return problems
	}
	if isTransient(err) {
		return []Problem{{
			Detail: "no carrier could be reached, and nothing was bought: try the line again later",
			Reason: cmp.Or(reason, "carrier_unavailable"),
		}}
	}
	return []Problem{{Detail: cmp.Or(refused.Refusal.Message, refused.Message), Reason: reason}}
}

// purchaseProblems are the problems of a line that was not bought.
func purchaseProblems(batch Batch, err error) []Problem {
	switch code := ship.CodeOf(err); {
	case code == "duplicate_order":
		duplicate, _ := errors.AsType[*ship.Error](err)
		existing, _ := duplicate.Details["possibleDuplicateOf"].(string)
		return []Problem{shippedProblem(ship.ShipmentID(existing))}
	case (code == "no_rate" || code == "price_changed") && !batch.ByAPI(): // a person saw its rate
		return []Problem{{Detail: "the offer is no longer available or now costs more: try the line again", Reason: code}}
	}
	return problemsOf(err)
}
