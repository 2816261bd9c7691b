package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Batch is a file of orders as written down. What its mapping means is for
// package batch to know.
type Batch struct {
	ID      ship.BatchID
	Tenant  ship.Tenant
	Name    string
	MadeBy  string
	State   string
	Header  []string
	Mapping json.RawMessage
	Format  string // that it is going to be printed in: "pdf" or "zpl"
}

// A BatchRow is one line of a batch.
type BatchRow struct {
	Number   int
	State    string
	Revision int
	Tries    int
	Cells    []string
	Wrong    json.RawMessage // nil for nothing
	Rate     *ship.Rate
	Price    ship.Money // of the rate, or what was paid
	Shipment ship.ShipmentID
}

// A BatchTally is how many rows of a batch are in a state, and what those in
// one currency cost.
type BatchTally struct {
	Batch    ship.BatchID
	State    string
	Currency string
	Rows     int
	Minor    int64
}

const sqlAddBatch = `
INSERT INTO batches (account_id, livemode, id, name, created_by, state, header, mapping, label_format)
VALUES (@account, @livemode, @id, @name, @created_by, @state, @header, @mapping,
  coalesce((SELECT label_format FROM batches WHERE account_id = @account AND livemode = @livemode ORDER BY id DESC LIMIT 1), 'pdf'))`

const sqlAddBatchRows = `
INSERT INTO batch_rows (account_id, livemode, batch_id, row_number, state, cells)
SELECT @account, @livemode, @id, n, 'uploaded', cells::jsonb FROM unnest(@rows::text[]) WITH ORDINALITY AS v (cells, n)`

// AddBatch stores a batch with its lines, none of them read yet. It is going to
// be printed as the one before it was: printers stay.
func (s *Store) AddBatch(ctx context.Context, b Batch, lines [][]string) error {
	header, err := json.Marshal(b.Header)
	if err != nil {
		return fmt.Errorf("write the header of a batch: %w", err)
	}
	cells := make([]string, len(lines))
	for i, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("write line %d of a batch: %w", i+1, err)
		}
		cells[i] = string(text)
	}
	return s.changing(ctx, b.Tenant, func(tx *Store) error {
		q := tx.newBatch(b.Tenant)
		q.Queue(sqlAddBatch, tenantArgs(b.Tenant, b.ID.Raw(), pgx.NamedArgs{
			"name":       b.Name,
			"created_by": b.MadeBy,
			"state":      b.State,
			"header":     header,
			"mapping":    b.Mapping,
		}))
		q.Queue(sqlAddBatchRows, tenantArgs(b.Tenant, b.ID.Raw(), pgx.NamedArgs{"rows": cells}))
		if err := tx.send(ctx, q); err != nil {
			return err
		}
		entry := EntryOf(b.Tenant, "batch.uploaded", string(b.ID))
		entry.Details = map[string]string{"file": b.Name}
		return tx.AuditChange(ctx, entry)
	})
}

const batchColumns = `id, name, created_by, state, header, mapping, label_format`

const sqlBatch = `SELECT ` + batchColumns + ` FROM batches WHERE account_id = $1 AND livemode = $2 AND id = $3`

// Batch returns a batch without its lines.
func (s *Store) Batch(ctx context.Context, t ship.Tenant, id ship.BatchID) (b Batch, err error) {
	err = s.queryRow(ctx, t, func(r pgx.Row) (err error) {
		b, err = scanBatch(r, t)
		return err
	}, sqlBatch, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()))
	return b, err
}

func scanBatch(r pgx.Row, t ship.Tenant) (Batch, error) {
	b := Batch{Tenant: t}
	var id [16]byte
	var header []byte
	if err := r.Scan(&id, &b.Name, &b.MadeBy, &b.State, &header, &b.Mapping, &b.Format); err != nil {
		return b, err
	}
	b.ID = ship.BatchIDOf(id)
	if err := json.Unmarshal(header, &b.Header); err != nil {
		return b, fmt.Errorf("read the header of %s: %w", b.ID, err)
	}
	return b, nil
}

const sqlBatches = `
SELECT ` + batchColumns + ` FROM batches
WHERE account_id = $1 AND livemode = $2 AND id < $3 AND ($4::text IS NULL OR state = $4)
ORDER BY id DESC LIMIT $5`

// Batches lists batches, newest first, of a state unless it is empty.
func (s *Store) Batches(ctx context.Context, t ship.Tenant, state string, p ship.Page) (list []Batch, err error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	err = s.queryRows(ctx, t, func(r pgx.Rows) error {
		b, err := scanBatch(r, t)
		list = append(list, b)
		return err
	}, sqlBatches, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(before), null(state), p.Limit)
	return list, err
}

const sqlBatchTallies = `
SELECT batch_id, state, coalesce(currency, ''), count(*), coalesce(sum(amount_minor), 0)::bigint FROM batch_rows
WHERE account_id = $1 AND livemode = $2 AND batch_id = ANY ($3::uuid[]) GROUP BY 1, 2, 3`

// BatchTallies counts the rows of batches by state and currency.
func (s *Store) BatchTallies(ctx context.Context, t ship.Tenant, batches []ship.BatchID) (list []BatchTally, err error) {
	ids := make(uuids, len(batches))
	for i, id := range batches {
		ids[i] = uuid(id.Raw())
	}
	err = s.queryRows(ctx, t, func(r pgx.Rows) error {
		var x BatchTally
		var id [16]byte
		err := r.Scan(&id, &x.State, &x.Currency, &x.Rows, &x.Minor)
		x.Batch = ship.BatchIDOf(id)
		list = append(list, x)
		return err
	}, sqlBatchTallies, [16]byte(t.Account.Raw()), t.Livemode, ids)
	return list, err
}

const sqlMoveBatch = `
UPDATE batches SET state = $4, mapping = coalesce($5::jsonb, mapping)
WHERE account_id = $1 AND livemode = $2 AND id = $3 AND state = ANY ($6::text[])`

// MoveBatch moves a batch from one of the states to another, with another
// mapping unless it is nil. If it is in none of them, that is ship.Conflict.
func (s *Store) MoveBatch(ctx context.Context, t ship.Tenant, id ship.BatchID, to string, mapping json.RawMessage, from ...string) error {
	var m *string
	if mapping != nil {
		text := string(mapping)
		m = &text
	}
	n, err := s.exec(ctx, t, sqlMoveBatch, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()), to, m, from)
	if err == nil && n == 0 {
		return ship.Errorf(ship.Conflict, "the batch is no longer in a state that allows this")
	}
	return err
}

const sqlSetBatchFormat = `UPDATE batches SET label_format = $4 WHERE account_id = $1 AND livemode = $2 AND id = $3`

// SetBatchFormat says what a batch is going to be printed in.
func (s *Store) SetBatchFormat(ctx context.Context, t ship.Tenant, id ship.BatchID, format string) error {
	_, err := s.exec(ctx, t, sqlSetBatchFormat, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()), format)
	return err
}

const sqlDeleteBatch = `
DELETE FROM batches WHERE account_id = $1 AND livemode = $2 AND id = $3 AND state IN ('mapping', 'ready', 'done')
  AND NOT EXISTS (SELECT FROM batch_rows r WHERE r.account_id = $1 AND r.livemode = $2 AND r.batch_id = $3 AND r.state IN ('purchasing', 'pending', 'purchased'))`

// DeleteBatch deletes a batch of which nothing was bought; of any other that is
// ship.Conflict.
func (s *Store) DeleteBatch(ctx context.Context, t ship.Tenant, id ship.BatchID) error {
	n, err := s.change(ctx, t, EntryOf(t, "batch.discarded", string(id)), sqlDeleteBatch, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()))
	if err == nil && n == 0 {
		return ship.Errorf(ship.Conflict, "the batch is busy, or some of it was bought")
	}
	return err
}

const sqlForgetBatches = `
DELETE FROM batches WHERE (account_id, livemode, id) IN (
  SELECT b.account_id, b.livemode, b.id FROM batches b
  WHERE b.id < $1 AND b.state IN ('mapping', 'ready', 'done')
    AND NOT EXISTS (SELECT FROM batch_rows r WHERE r.account_id = b.account_id AND r.livemode = b.livemode AND r.batch_id = b.id AND r.state = 'purchasing')
  ORDER BY b.id LIMIT 10)`

// ForgetBatches deletes a few batches of all tenants that are older than the
// time and not worked on, with their lines, and reports how many. What was
// bought stays.
func (s *Store) ForgetBatches(ctx context.Context, before time.Time) (int64, error) {
	tag, err := s.sys.Exec(ctx, sqlForgetBatches, [16]byte(ship.RawIDAt(before)))
	if err != nil {
		return 0, fmt.Errorf("forget batches: %w", explain(err))
	}
	return tag.RowsAffected(), nil
}
