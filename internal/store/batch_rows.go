package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The lines of a batch: read, claimed for a purchase, and saved.

const batchRowColumns = `row_number, state, revision, attempts, cells, errors, rate, amount_minor, currency, shipment_id, not_quoted, requote`

const sqlBatchRows = `
SELECT ` + batchRowColumns + ` FROM batch_rows
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND row_number > $4
ORDER BY row_number LIMIT $5`

const sqlBatchRowsIn = `
SELECT ` + batchRowColumns + ` FROM batch_rows
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND row_number > $4 AND state = ANY ($6::text[])
ORDER BY row_number LIMIT $5`

// BatchRows lists the lines of a batch after a number, those in the states if
// any are named.
func (s *Store) BatchRows(ctx context.Context, t ship.Tenant, id ship.BatchID, after, limit int, states ...string) ([]BatchRow, error) {
	args := []any{t.Account, t.Livemode, id, after, limit}
	if len(states) > 0 {
		return queryList(ctx, s, t, scanBatchRow, sqlBatchRowsIn, append(args, states)...)
	}
	return queryList(ctx, s, t, scanBatchRow, sqlBatchRows, args...)
}

func scanBatchRow(r pgx.CollectableRow) (BatchRow, error) { return readBatchRow(r) }

// scanClaimedRow reads a row with its request.
func scanClaimedRow(r pgx.CollectableRow) (BatchRow, error) {
	var request json.RawMessage
	row, err := readBatchRow(r, &request)
	row.Request = request
	return row, err
}

// readBatchRow reads batchRowColumns, and what follows them into further.
func readBatchRow(r pgx.CollectableRow, further ...any) (BatchRow, error) {
	var (
		row         BatchRow
		cells, rate []byte
		notQuoted   []byte
		minor       *int64
		currency    *string
	)
	err := r.Scan(append([]any{
		&row.Number, &row.State, &row.Revision, &row.Tries, &cells,
		&row.Problems, &rate, &minor, &currency, &row.Shipment,
		&notQuoted, &row.Requote,
	}, further...)...)
	if err != nil {
		return row, err
	}

	row.Price = ship.Money{Minor: value(minor), Currency: value(currency)}

	if err := json.Unmarshal(cells, &row.Cells); err != nil {
		return row, fmt.Errorf("read line %d of a batch: %w", row.Number, err)
	}
	if notQuoted != nil {
		if err := json.Unmarshal(notQuoted, &row.NotQuoted); err != nil {
			return row, fmt.Errorf("read who did not quote line %d of a batch: %w", row.Number, err)
		}
	}
	if rate != nil {
		row.Rate = new(ship.Rate)
		if err := json.Unmarshal(rate, row.Rate); err != nil {
			return row, fmt.Errorf("read the rate of line %d of a batch: %w", row.Number, err)
		}
	}
	return row, nil
}

// sqlClaimBatchRows also claims lines that are marked already: a process that
// died left them so. The lines are chosen once, in a statement of their own: a
// plan that ran the choice again for each line would skip those that it has
// updated, and claim the whole batch.
const sqlClaimBatchRows = `
WITH next_rows AS MATERIALIZED (
  SELECT row_number AS number FROM batch_rows
  WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND state IN ('rated', 'purchasing') AND row_number > $4
  ORDER BY row_number LIMIT $5 FOR UPDATE)
UPDATE batch_rows SET state = 'purchasing' FROM next_rows
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND row_number = next_rows.number
RETURNING ` + batchRowColumns + `, request`

// ClaimBatchRows marks lines after a number as being bought and returns them:
// nobody can change one until the outcome of its purchase is known. Those that
// were marked before are among them. Only here they have their requests: nothing
// else needs what may be much.
func (s *Store) ClaimBatchRows(ctx context.Context, t ship.Tenant, id ship.BatchID, after, limit int) ([]BatchRow, error) {
	return queryList(ctx, s, t, scanClaimedRow, sqlClaimBatchRows,
		t.Account, t.Livemode, id, after, limit)
}

// sqlSaveBatchRows leaves out rows that somebody else has changed: those with
// another revision than was read, or in a state that is not expected.
const sqlSaveBatchRows = `
UPDATE batch_rows r SET
  state = v.state,
  revision = v.revision,
  attempts = v.attempts,
  cells = v.cells::jsonb,
  errors = v.errors::jsonb,
  rate = v.rate::jsonb,
  amount_minor = v.amount_minor,
  currency = v.currency,
  shipment_id = v.shipment_id,
  not_quoted = v.not_quoted::jsonb,
  requote = v.requote
FROM unnest(@numbers::int[], @read_revisions::int[], @states::text[], @revisions::int[], @attempts::int[],
  @cells::text[], @errors::text[], @rates::text[], @amounts::bigint[], @currencies::text[], @shipments::uuid[], @not_quoted::text[], @requotes::boolean[])
  AS v (row_number, read_revision, state, revision, attempts, cells, errors, rate, amount_minor, currency, shipment_id, not_quoted, requote)
WHERE r.account_id = @account AND r.livemode = @livemode AND r.batch_id = @id AND r.row_number = v.row_number
  AND r.revision = v.read_revision AND r.state = ANY (@from::text[])`

// A ChangedRow is a line as it should be, and the revision that it was made
// from.
type ChangedRow struct {
	BatchRow
	Was int
}

// SaveBatchRows writes lines that are still in one of the states and of the
// revision that they were read with, and reports how many those were.
func (s *Store) SaveBatchRows(ctx context.Context, t ship.Tenant, id ship.BatchID, rows []ChangedRow, from ...string) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}

	list := columns{}
	for _, row := range rows {
		if err := list.addBatchRow(row); err != nil {
			return 0, err
		}
	}

	args := tenantArgs(t, id, list.args())
	args["from"] = from
	n, err := s.exec(ctx, t, sqlSaveBatchRows, args)
	return int(n), err
}

func (c columns) addBatchRow(row ChangedRow) error {
	cells, err := json.Marshal(row.Cells)
	if err != nil {
		return fmt.Errorf("write line %d of a batch: %w", row.Number, err)
	}

	var rate *string
	if row.Rate != nil {
		text, err := json.Marshal(row.Rate)
		if err != nil {
			return fmt.Errorf("write the rate of line %d of a batch: %w", row.Number, err)
		}
		rate = new(string(text))
	}

	var notQuoted *string
	if row.NotQuoted != nil {
		text, err := json.Marshal(row.NotQuoted)
		if err != nil {
			return fmt.Errorf("write who did not quote line %d of a batch: %w", row.Number, err)
		}
		notQuoted = new(string(text))
	}

	// A price of zero in some currency is a price; only no amount at all is NULL.
	var minor *int64
	if !row.Price.IsZero() {
		minor = &row.Price.Minor
	}

	c.add("numbers", row.Number)
	c.add("read_revisions", row.Was)
	c.add("states", row.State)
	c.add("revisions", row.Revision)
	c.add("attempts", row.Tries)
	c.add("cells", string(cells))
	c.add("errors", null(string(row.Problems)))
	c.add("rates", rate)
	c.add("amounts", minor)
	c.add("currencies", null(row.Price.Currency))
	c.add("shipments", null(row.Shipment))
	c.add("not_quoted", notQuoted)
	c.add("requotes", row.Requote)
	return nil
}

// sqlRetryBatchRows keeps of a line's errors the ones that a person accepted.
const sqlRetryBatchRows = `
UPDATE batch_rows SET
  state = 'valid',
  revision = revision + 1,
  attempts = 0,
  errors = nullif(jsonb_path_query_array(coalesce(errors, '[]'), '$[*] ? (@.accepted == true)'), '[]'),
  rate = NULL,
  amount_minor = NULL,
  currency = NULL,
  not_quoted = NULL,
  requote = false
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND state = 'failed'
  AND NOT jsonb_path_exists(coalesce(errors, '[]'), '$[*] ? (exists (@.shipment) && !(@.accepted == true))')`

// RetryBatchRows resets the lines that failed to how they were when just read,
// and reports how many. A line whose order has a shipment already is left alone
// unless a person accepted that shipment; what was accepted stays accepted.
func (s *Store) RetryBatchRows(ctx context.Context, t ship.Tenant, id ship.BatchID) (int, error) {
	n, err := s.exec(ctx, t, sqlRetryBatchRows, t.Account, t.Livemode, id)
	return int(n), err
}
