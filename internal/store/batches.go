package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Batch is a file of orders as stored. What its mapping means is for package
// batch to know.
type Batch struct {
	ID      ship.BatchID
	Tenant  ship.Tenant
	Name    string
	MadeBy  string
	State   string
	Header  []string
	Mapping json.RawMessage
	Format  string // that it is going to be printed in: "pdf" or "zpl"

	BoughtBy ship.PersonID // who had its lines purchased; empty before
	APIKey   ship.KeyID    // that buys it, if it came by the API; empty for a file

	// KeyVersion is how the purchases of its lines are named. AddBatch sets it.
	KeyVersion int
}

// A BatchRow is one line of a batch.
type BatchRow struct {
	Number   int
	State    string
	Revision int
	Tries    int
	Cells    []string
	Request  json.RawMessage // of a line that came by the API; read only by ClaimBatchRows
	Problems json.RawMessage // nil for nothing
	Rate     *ship.Rate
	Price    ship.Money // of the rate, or what was paid
	Shipment ship.ShipmentID

	NotQuoted []ship.NotQuoted // carriers that gave no rate; nil if none was asked
	Requote   bool             // it waits to be quoted again
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

// sqlAddBatch takes the label format of the tenant's newest batch.
const sqlAddBatch = `
INSERT INTO batches (account_id, livemode, id, name, created_by, state, header, mapping, api_key_id, key_version, label_format)
VALUES (@account, @livemode, @id, @name, @created_by, @state, @header, @mapping, @api_key, @key_version,
  coalesce((
    SELECT label_format FROM batches
    WHERE account_id = @account AND livemode = @livemode
    ORDER BY id DESC LIMIT 1), 'pdf'))`

const sqlAddBatchRows = `
INSERT INTO batch_rows (account_id, livemode, batch_id, row_number, state, cells)
SELECT @account, @livemode, @id, n, 'uploaded', cells::jsonb
FROM unnest(@rows::text[]) WITH ORDINALITY AS v (cells, n)`

// AddBatch stores a batch with its lines, none of them read yet. It will be
// printed in the format of the batch before it, because printers stay the same.
func (s *Store) AddBatch(ctx context.Context, b Batch, lines [][]string) error {
	args, err := b.args()
	if err != nil {
		return err
	}

	size := 0
	cells := make([]string, len(lines))
	for i, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("write line %d of a batch: %w", i+1, err)
		}
		cells[i] = string(text)
		size += len(text)
	}

	return s.changing(ctx, b.Tenant, func(tx *Store) error {
		statements := tx.newBatch(b.Tenant)
		statements.Queue(sqlAddBatch, args)
		statements.Queue(sqlAddBatchRows, tenantArgs(b.Tenant, b.ID, pgx.NamedArgs{"rows": cells}))
		if err := tx.send(ctx, statements); err != nil {
			return err
		}

		entry := EntryOf(b.Tenant, "batch.uploaded", string(b.ID))
		entry.Details = map[string]string{"file": b.Name}
		if err := tx.AuditChange(ctx, entry); err != nil {
			return err
		}
		return tx.CountStored(ctx, b.Tenant, size)
	})
}

// args are the arguments of sqlAddBatch.
func (b Batch) args() (pgx.NamedArgs, error) {
	header, err := json.Marshal(b.Header)
	if err != nil {
		return nil, fmt.Errorf("write the header of a batch: %w", err)
	}
	return tenantArgs(b.Tenant, b.ID, pgx.NamedArgs{
		"name":       b.Name,
		"created_by": b.MadeBy,
		"state":      b.State,
		"header":     header,
		"mapping":    b.Mapping,
		"api_key":    null(b.APIKey),
		// Every new batch has the present names.
		"key_version": ship.ServiceKeys,
	}), nil
}

const batchColumns = `id, name, created_by, state, header, mapping, label_format, bought_by, api_key_id, key_version`

const sqlBatch = `SELECT ` + batchColumns + ` FROM batches WHERE account_id = $1 AND livemode = $2 AND id = $3`

// Batch returns a batch without its lines.
func (s *Store) Batch(ctx context.Context, t ship.Tenant, id ship.BatchID) (Batch, error) {
	return queryOne(ctx, s, t, batchScanner(t), sqlBatch, t.Account, t.Livemode, id)
}

// batchScanner returns a function that reads batches of the tenant.
func batchScanner(t ship.Tenant) pgx.RowToFunc[Batch] {
	return func(r pgx.CollectableRow) (Batch, error) {
		found := Batch{Tenant: t}
		var header []byte
		var buyer *ship.PersonID
		var key *ship.KeyID
		err := r.Scan(&found.ID, &found.Name, &found.MadeBy, &found.State, &header, &found.Mapping, &found.Format, &buyer, &key, &found.KeyVersion)
		if err != nil {
			return found, err
		}
		found.BoughtBy = value(buyer)
		found.APIKey = value(key)

		if err := json.Unmarshal(header, &found.Header); err != nil {
			return found, fmt.Errorf("read the header of %s: %w", found.ID, err)
		}
		return found, nil
	}
}

const sqlBatches = `
SELECT ` + batchColumns + ` FROM batches
WHERE account_id = $1 AND livemode = $2 AND id < $3 AND ($4::text IS NULL OR state = $4)
ORDER BY id DESC LIMIT $5`

// Batches lists batches, newest first, of a state unless it is empty.
func (s *Store) Batches(ctx context.Context, t ship.Tenant, state string, p ship.Page) ([]Batch, error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	return queryList(ctx, s, t, batchScanner(t), sqlBatches,
		t.Account, t.Livemode, before, null(state), p.Limit)
}

const sqlBatchTallies = `
SELECT batch_id, state, coalesce(currency, ''), count(*), coalesce(sum(amount_minor), 0)::bigint
FROM batch_rows
WHERE account_id = $1 AND livemode = $2 AND batch_id = ANY ($3::uuid[])
GROUP BY 1, 2, 3`

// BatchTallies counts the rows of batches by state and currency.
func (s *Store) BatchTallies(ctx context.Context, t ship.Tenant, batches []ship.BatchID) ([]BatchTally, error) {
	return queryList(ctx, s, t, scanBatchTally, sqlBatchTallies, t.Account, t.Livemode, rawIDs(batches))
}

func scanBatchTally(r pgx.CollectableRow) (BatchTally, error) {
	var tally BatchTally
	err := r.Scan(&tally.Batch, &tally.State, &tally.Currency, &tally.Rows, &tally.Minor)
	return tally, err
}

const sqlMoveBatch = `
UPDATE batches SET state = $4, mapping = coalesce($5::jsonb, mapping)
WHERE account_id = $1 AND livemode = $2 AND id = $3 AND state = ANY ($6::text[])`

// MoveBatch moves a batch from one of the states to another, with another
// mapping unless it is nil. If it is in none of them, that is ship.Conflict.
func (s *Store) MoveBatch(ctx context.Context, t ship.Tenant, id ship.BatchID, to string, mapping json.RawMessage, from ...string) error {
	var newMapping *string // nil keeps the one it has
	if mapping != nil {
		newMapping = new(string(mapping))
	}

	n, err := s.exec(ctx, t, sqlMoveBatch, t.Account, t.Livemode, id, to, newMapping, from)
	if err == nil && n == 0 {
		return ship.Errorf(ship.Conflict, "the batch is no longer in a state that allows this")
	}
	return err
}

const sqlSetBatchBuyer = `
UPDATE batches SET label_format = $4, bought_by = $5
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// SetBatchBuyer sets the format that a batch will be printed in, and who has it
// bought; nobody for no limit.
func (s *Store) SetBatchBuyer(ctx context.Context, t ship.Tenant, id ship.BatchID, format string, buyer ship.PersonID) error {
	_, err := s.exec(ctx, t, sqlSetBatchBuyer, t.Account, t.Livemode, id, format, null(buyer))
	return err
}

// sqlDeleteBatch deletes nothing while a job works on the batch, or when any of
// its lines was bought or may have been.
const sqlDeleteBatch = `
DELETE FROM batches
WHERE account_id = $1 AND livemode = $2 AND id = $3 AND state IN ('mapping', 'ready', 'done')
  AND NOT EXISTS (
    SELECT FROM batch_rows r
    WHERE r.account_id = $1 AND r.livemode = $2 AND r.batch_id = $3
      AND r.state IN ('purchasing', 'pending', 'purchased'))`

// DeleteBatch deletes a batch of which nothing was bought; of any other that is
// ship.Conflict.
func (s *Store) DeleteBatch(ctx context.Context, t ship.Tenant, id ship.BatchID) error {
	entry := EntryOf(t, "batch.discarded", string(id))
	n, err := s.change(ctx, t, entry, sqlDeleteBatch, t.Account, t.Livemode, id)
	if err == nil && n == 0 {
		return ship.Errorf(ship.Conflict, "the batch is being processed, or some of its labels were bought")
	}
	return err
}

// sqlForgetBatches deletes a few at a time, because their lines go with them.
const sqlForgetBatches = `
DELETE FROM batches WHERE (account_id, livemode, id) IN (
  SELECT b.account_id, b.livemode, b.id FROM batches b
  WHERE b.id < $1 AND b.state IN ('mapping', 'ready', 'done')
    AND NOT EXISTS (
      SELECT FROM batch_rows r
      WHERE r.account_id = b.account_id AND r.livemode = b.livemode AND r.batch_id = b.id AND r.state = 'purchasing')
  ORDER BY b.id LIMIT 10)`

// DeleteOldBatches deletes a few batches of all tenants that are older than the
// time and not worked on, with their lines, and reports how many. What was
// bought stays.
func (s *Store) DeleteOldBatches(ctx context.Context, before time.Time) (int64, error) {
	tag, err := s.sys.Exec(ctx, sqlForgetBatches, ship.RawIDAt(before))
	if err != nil {
		return 0, fmt.Errorf("delete old batches: %w", explain(err))
	}
	return tag.RowsAffected(), nil
}
