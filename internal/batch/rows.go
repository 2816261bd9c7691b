package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Row is one line of a batch.
type Row struct {
	store.BatchRow
	Problems []Problem
	Doubts   []Problem       // about its address; it can be bought nevertheless
	Warnings []Problem       // what customs would object to; likewise
	Again    ship.ShipmentID // the shipment that the order has already, and that a person accepted
}

// Earlier is the live shipment that the line's order has already, if that keeps
// the line from being bought.
func (r Row) Earlier() ship.ShipmentID {
	for _, problem := range r.Problems {
		if problem.Shipment != "" {
			return problem.Shipment
		}
	}
	return ""
}

// At is the problem with a field of the line, "" if there is none.
func (r Row) At(field string) string {
	for _, problem := range r.Problems {
		if problem.Field == field {
			return problem.Detail
		}
	}
	return ""
}

// CanFix reports whether the line can be changed: nothing was bought for it.
func (r Row) CanFix() bool { return slices.Contains(editableStates, r.State) }

func encodeProblems(problems []Problem) json.RawMessage {
	data, err := json.Marshal(problems)
	if err != nil {
		panic("batch: " + err.Error()) // texts always encode
	}
	return data
}

func rowOf(stored store.BatchRow) (Row, error) {
	row := Row{BatchRow: stored}
	if stored.Problems == nil {
		return row, nil
	}
	if err := json.Unmarshal(stored.Problems, &row.Problems); err != nil {
		return row, fmt.Errorf("read the problems of line %d: %w", stored.Number, err)
	}

	// An accepted duplicate and doubts are stored among the problems, but are none.
	row.Again = acceptedDuplicate(stored.Problems)
	for _, problem := range row.Problems {
		switch {
		case problem.IsDoubt && problem.Reason == customsReason:
			row.Warnings = append(row.Warnings, problem)
		case problem.IsDoubt:
			row.Doubts = append(row.Doubts, problem)
		}
	}
	row.Problems = slices.DeleteFunc(row.Problems, func(w Problem) bool { return w.Accepted || w.IsDoubt })
	return row, nil
}

// Rows lists the lines of a batch behind a number, those in the states if any
// are named, and reports whether there are more.
func (s *Service) Rows(ctx context.Context, t ship.Tenant, id ship.BatchID, after, limit int, states ...string) (list []Row, more bool, err error) {
	// One row more than a page says whether there are more.
	stored, err := s.Store.BatchRows(ctx, t, id, after, limit+1, states...)
	if err != nil {
		return nil, false, err
	}
	more = len(stored) > limit
	if more {
		stored = stored[:limit]
	}

	list = make([]Row, len(stored))
	for i := range stored {
		if list[i], err = rowOf(stored[i]); err != nil {
			return nil, false, err
		}
	}
	return list, more, nil
}

// Row returns one line.
func (s *Service) Row(ctx context.Context, t ship.Tenant, id ship.BatchID, number int) (Row, error) {
	list, _, err := s.Rows(ctx, t, id, number-1, 1)
	if err != nil {
		return Row{}, err
	}
	if len(list) == 0 || list[0].Number != number {
		return Row{}, ship.Coded(ship.NotFound, "batch_row_not_found", "the batch has no such line")
	}
	return list[0], nil
}

// Fix changes values of a line, validates it again and, if it is valid, asks
// for its rate at once. Values of fields without a column are ignored.
func (s *Service) Fix(ctx context.Context, t ship.Tenant, id ship.BatchID, number int, values map[string]string) (Row, error) {
	batch, row, err := s.editableRow(ctx, t, id, number)
	if err != nil {
		return Row{}, err
	}

	row.Cells = batch.ColumnMapping.with(row.Cells, values)
	reader, err := s.newReader(ctx, t, batch.ColumnMapping)
	if err != nil {
		return Row{}, err
	}
	return s.rereadAndRate(ctx, batch, reader, row, "batch.row_changed")
}

// ShipAgain has a line bought although its order has a live shipment: the one
// that the line names now. If somebody ships the order once more before the
// line is bought, the line is refused again.
func (s *Service) ShipAgain(ctx context.Context, t ship.Tenant, id ship.BatchID, number int) (Row, error) {
	batch, row, err := s.editableRow(ctx, t, id, number)
	if err != nil {
		return Row{}, err
	}
	earlier := row.Earlier()
	if earlier == "" {
		return Row{}, ship.Errorf(ship.Conflict, "the order of this line no longer has another shipment")
	}

	reader, err := s.newReader(ctx, t, batch.ColumnMapping)
	if err != nil {
		return Row{}, err
	}
	row.BatchRow.Problems = encodeProblems([]Problem{{Field: "order", Shipment: earlier, Accepted: true}})
	return s.rereadAndRate(ctx, batch, reader, row, "batch.row_changed")
}

// rereadAndRate validates a line that a person changed and, if it is valid,
// asks for its rate at once.
func (s *Service) rereadAndRate(ctx context.Context, batch Batch, reader reader, row Row, action string) (Row, error) {
	changed := []store.ChangedRow{reader.reread(row.BatchRow)}
	if err := s.skipShipped(ctx, batch.Tenant, batch.ColumnMapping, changed); err != nil {
		return Row{}, err
	}
	if changed[0].State == RowGood {
		s.rateRow(ctx, reader, &changed[0].BatchRow)
	}
	return s.saveChange(ctx, batch, action, changed[0])
}

// Skip leaves a line out of the purchase.
func (s *Service) Skip(ctx context.Context, t ship.Tenant, id ship.BatchID, number int) (Row, error) {
	batch, row, err := s.editableRow(ctx, t, id, number)
	if err != nil {
		return Row{}, err
	}

	changed := store.ChangedRow{BatchRow: row.BatchRow, Was: row.Revision}
	changed.State = RowSkipped
	changed.Revision++
	return s.saveChange(ctx, batch, "batch.row_skipped", changed)
}

// editableRow returns a line that can be changed, with its batch.
func (s *Service) editableRow(ctx context.Context, t ship.Tenant, id ship.BatchID, number int) (Batch, Row, error) {
	batch, err := s.Batch(ctx, t, id)
	if err != nil {
		return batch, Row{}, err
	}
	if batch.ByAPI() {
		return batch, Row{}, errByAPI
	}
	row, err := s.Row(ctx, t, id, number)
	if err == nil && (!row.CanFix() || batch.State == Buying) {
		err = errBusy
	}
	return batch, row, err
}

var errBusy = ship.Errorf(ship.Conflict, "the line is being purchased or has been purchased; it can no longer be changed")

// saveChange stores a line that a person changed. A batch that was done is open
// again.
func (s *Service) saveChange(ctx context.Context, batch Batch, action string, changed store.ChangedRow) (Row, error) {
	err := s.Store.InTx(ctx, batch.Tenant, func(tx *store.Store) error {
		// The line may have been claimed for its purchase since it was read:
		// then no row is saved.
		n, err := tx.SaveBatchRows(ctx, batch.Tenant, batch.ID, []store.ChangedRow{changed}, editableStates...)
		if err == nil && n == 0 {
			err = errBusy
		}
		if err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(batch.Tenant, action, string(batch.ID)))
	})
	if err != nil {
		return Row{}, err
	}

	switch changed.State {
	case RowRated:
		err = s.Store.MoveBatch(ctx, batch.Tenant, batch.ID, Ready, nil, Ready, Done)
	case RowGood: // no carrier answered just now
		err = s.Store.InTx(ctx, batch.Tenant, func(tx *store.Store) error {
			return startWork(ctx, tx, batch.Tenant, batch.ID, Rating, Ready, Done)
		})
	}
	if ship.KindOf(err) == ship.Conflict {
		err = nil // the batch is being worked on
	}
	if err != nil {
		return Row{}, err
	}
	return rowOf(changed.BatchRow)
}

// Formats are the label formats of a batch, the default first.
var Formats = []string{"pdf", "zpl"}

// Buy begins to buy every line that has a rate, for at most that rate, with
// labels to be printed in the format. Asked twice, it buys once.
func (s *Service) Buy(ctx context.Context, t ship.Tenant, id ship.BatchID, format string, buyer ship.PersonID) error {
	if !slices.Contains(Formats, format) {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/format", Code: "invalid", Detail: "must be pdf or zpl"}})
	}

	batch, err := s.Batch(ctx, t, id)
	if err != nil {
		return err
	}
	if batch.State != Buying && batch.Tally.Rows[RowRated] == 0 {
		return ship.Errorf(ship.Conflict, "no line of the batch can be purchased: fix at least one first")
	}

	return s.Store.InTx(ctx, t, func(tx *store.Store) error {
		if err := startWork(ctx, tx, t, id, Buying, Ready); err != nil {
			return err
		}
		if err := tx.SetBatchBuyer(ctx, t, id, format, buyer); err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "batch.bought", string(id)))
	})
}

// Retry has the lines that no carrier sold rated again.
func (s *Service) Retry(ctx context.Context, t ship.Tenant, id ship.BatchID) error {
	stored, err := s.Store.Batch(ctx, t, id)
	if err != nil {
		return notFound(err)
	}
	if (Batch{Batch: stored}).ByAPI() {
		return errByAPI
	}
	return s.Store.InTx(ctx, t, func(tx *store.Store) error {
		if err := startWork(ctx, tx, t, id, Rating, Ready, Done); err != nil {
			return err
		}
		if _, err := tx.RetryBatchRows(ctx, t, id); err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "batch.retried", string(id)))
	})
}

// startWork moves a batch to a state in which it is worked on, together with the
// job that does it.
func startWork(ctx context.Context, tx *store.Store, t ship.Tenant, id ship.BatchID, to string, from ...string) error {
	if err := tx.MoveBatch(ctx, t, id, to, nil, from...); err != nil {
		return err
	}
	return tx.Enqueue(ctx, job.WorkBatch{Account: t.Account, Livemode: t.Livemode, Batch: id}, 0)
}
