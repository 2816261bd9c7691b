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
	Wrong []Wrong
	Again ship.ShipmentID // the shipment that the order has already, and that a person accepted
}

// Earlier is the live shipment that the line's order has already, if that keeps
// the line from being bought.
func (r Row) Earlier() ship.ShipmentID {
	for _, w := range r.Wrong {
		if w.Shipment != "" {
			return w.Shipment
		}
	}
	return ""
}

// At is what is wrong with a field of the line, "" if nothing is.
func (r Row) At(field string) string {
	for _, w := range r.Wrong {
		if w.Field == field {
			return w.Detail
		}
	}
	return ""
}

// MayMend reports whether the line can be changed: nothing was bought for it.
func (r Row) MayMend() bool { return slices.Contains(mendable, r.State) }

func encode(wrong []Wrong) json.RawMessage {
	data, err := json.Marshal(wrong)
	if err != nil {
		panic("batch: " + err.Error()) // texts always encode
	}
	return data
}

func rowOf(stored store.BatchRow) (Row, error) {
	r := Row{BatchRow: stored}
	if stored.Wrong == nil {
		return r, nil
	}
	if err := json.Unmarshal(stored.Wrong, &r.Wrong); err != nil {
		return r, fmt.Errorf("read what is wrong with line %d: %w", stored.Number, err)
	}
	r.Again = acceptedDuplicate(stored.Wrong)
	r.Wrong = slices.DeleteFunc(r.Wrong, func(w Wrong) bool { return w.Accepted })
	return r, nil
}

// Rows lists the lines of a batch behind a number, those in the states if any
// are named, and reports whether there are more.
func (s *Service) Rows(ctx context.Context, t ship.Tenant, id ship.BatchID, after, limit int, states ...string) (list []Row, more bool, err error) {
	stored, err := s.Store.BatchRows(ctx, t, id, after, limit+1, states...)
	if err != nil {
		return nil, false, err
	}
	if more = len(stored) > limit; more {
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

// Mend changes values of a line, checks it again and, if it is good, asks for
// its rate at once. Values of fields without a column are ignored.
func (s *Service) Mend(ctx context.Context, t ship.Tenant, id ship.BatchID, number int, values map[string]string) (Row, error) {
	b, row, err := s.mendable(ctx, t, id, number)
	if err != nil {
		return Row{}, err
	}
	cells := slices.Clone(row.Cells)
	for i, name := range b.Meaning.Columns {
		if v, given := values[name]; given && name != "" {
			cells[i] = v
		}
	}
	row.Cells = cells
	read, err := s.reader(ctx, t, b.Meaning)
	if err != nil {
		return Row{}, err
	}
	return s.readAgain(ctx, b, read, row, "batch.row_changed")
}

// ShipAgain has a line bought although its order has a live shipment: the one
// that the line names now. If somebody ships the order once more before the
// line is bought, the line is refused again.
func (s *Service) ShipAgain(ctx context.Context, t ship.Tenant, id ship.BatchID, number int) (Row, error) {
	b, row, err := s.mendable(ctx, t, id, number)
	if err != nil {
		return Row{}, err
	}
	earlier := row.Earlier()
	if earlier == "" {
		return Row{}, ship.Errorf(ship.Conflict, "the order of the line has no other shipment any more")
	}
	read, err := s.reader(ctx, t, b.Meaning)
	if err != nil {
		return Row{}, err
	}
	row.BatchRow.Wrong = encode([]Wrong{{Field: "order", Shipment: earlier, Accepted: true}})
	return s.readAgain(ctx, b, read, row, "batch.row_changed")
}

// readAgain checks a line that a person changed and, if it is good, asks for
// its rate at once.
func (s *Service) readAgain(ctx context.Context, b Batch, read reader, row Row, action string) (Row, error) {
	changed := []store.ChangedRow{read.again(row.BatchRow)}
	if err := s.recognize(ctx, b.Tenant, b.Meaning, changed); err != nil {
		return Row{}, err
	}
	if changed[0].State == RowGood {
		s.rateRow(ctx, read, &changed[0].BatchRow)
	}
	return s.change(ctx, b, action, changed[0])
}

// Skip leaves a line out of the purchase.
func (s *Service) Skip(ctx context.Context, t ship.Tenant, id ship.BatchID, number int) (Row, error) {
	b, row, err := s.mendable(ctx, t, id, number)
	if err != nil {
		return Row{}, err
	}
	changed := store.ChangedRow{BatchRow: row.BatchRow, Was: row.Revision}
	changed.State = RowSkipped
	changed.Revision++
	return s.change(ctx, b, "batch.row_skipped", changed)
}

func (s *Service) mendable(ctx context.Context, t ship.Tenant, id ship.BatchID, number int) (Batch, Row, error) {
	b, err := s.Batch(ctx, t, id)
	if err != nil {
		return b, Row{}, err
	}
	row, err := s.Row(ctx, t, id, number)
	if err == nil && (!row.MayMend() || b.State == Buying) {
		err = errBusy
	}
	return b, row, err
}

var errBusy = ship.Errorf(ship.Conflict, "the line is being bought, or was; it cannot be changed any more")

// change writes a line that a person changed. What was finished is open again.
func (s *Service) change(ctx context.Context, b Batch, action string, changed store.ChangedRow) (Row, error) {
	err := s.Store.InTx(ctx, b.Tenant, func(tx *store.Store) error {
		n, err := tx.SaveBatchRows(ctx, b.Tenant, b.ID, []store.ChangedRow{changed}, mendable...)
		if err == nil && n == 0 {
			err = errBusy
		}
		if err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(b.Tenant, action, string(b.ID)))
	})
	if err != nil {
		return Row{}, err
	}
	switch changed.State {
	case RowRated:
		err = s.Store.MoveBatch(ctx, b.Tenant, b.ID, Ready, nil, Ready, Done)
	case RowGood: // no carrier answered just now
		err = s.Store.InTx(ctx, b.Tenant, func(tx *store.Store) error { return work(ctx, tx, b.Tenant, b.ID, Rating, Ready, Done) })
	}
	if ship.KindOf(err) == ship.Conflict {
		err = nil // it is being worked on
	}
	if err != nil {
		return Row{}, err
	}
	return rowOf(changed.BatchRow)
}

// Formats are what a batch can be printed in, the usual one first.
var Formats = []string{"pdf", "zpl"}

// Buy begins to buy every line that has a rate, for at most that rate, with
// labels to be printed in the format. Asked twice, it buys once.
func (s *Service) Buy(ctx context.Context, t ship.Tenant, id ship.BatchID, format string) error {
	if !slices.Contains(Formats, format) {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/format", Code: "invalid", Detail: "choose pdf or zpl"}})
	}
	b, err := s.Batch(ctx, t, id)
	if err != nil {
		return err
	}
	if b.State != Buying && b.Tally.Rows[RowRated] == 0 {
		return ship.Errorf(ship.Conflict, "no line of the batch can be bought: mend one first")
	}
	return s.Store.InTx(ctx, t, func(tx *store.Store) error {
		if err := work(ctx, tx, t, id, Buying, Ready); err != nil {
			return err
		}
		if err := tx.SetBatchFormat(ctx, t, id, format); err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "batch.bought", string(id)))
	})
}

// Retry has the lines that nobody sold rated again.
func (s *Service) Retry(ctx context.Context, t ship.Tenant, id ship.BatchID) error {
	if _, err := s.Store.Batch(ctx, t, id); err != nil {
		return missing(err)
	}
	return s.Store.InTx(ctx, t, func(tx *store.Store) error {
		if err := work(ctx, tx, t, id, Rating, Ready, Done); err != nil {
			return err
		}
		if _, err := tx.RetryBatchRows(ctx, t, id); err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "batch.retried", string(id)))
	})
}

// work moves a batch to where it is worked on, with the job that does it.
func work(ctx context.Context, tx *store.Store, t ship.Tenant, id ship.BatchID, to string, from ...string) error {
	if err := tx.MoveBatch(ctx, t, id, to, nil, from...); err != nil {
		return err
	}
	return tx.Enqueue(ctx, job.WorkBatch{Account: t.Account, Livemode: t.Livemode, Batch: id}, 0)
}
