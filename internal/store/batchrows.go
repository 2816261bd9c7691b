package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

const batchRowColumns = `number, state, revision, tries, cells, wrong, rate, minor, currency, shipment_id`

const sqlBatchRows = `
SELECT ` + batchRowColumns + ` FROM batch_rows
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND number > $4 ORDER BY number LIMIT $5`

const sqlBatchRowsIn = `
SELECT ` + batchRowColumns + ` FROM batch_rows
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND number > $4 AND state = ANY ($6::text[]) ORDER BY number LIMIT $5`

// BatchRows lists the lines of a batch behind a number, those in the states if
// any are named.
func (s *Store) BatchRows(ctx context.Context, t ship.Tenant, id ship.BatchID, after, limit int, states ...string) (list []BatchRow, err error) {
	sql, args := sqlBatchRows, []any{[16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()), after, limit}
	if len(states) > 0 {
		sql, args = sqlBatchRowsIn, append(args, states)
	}
	return s.batchRows(ctx, t, sql, args...)
}

func (s *Store) batchRows(ctx context.Context, t ship.Tenant, sql string, args ...any) (list []BatchRow, err error) {
	err = s.queryRows(ctx, t, func(r pgx.Rows) error {
		row, err := scanBatchRow(r)
		list = append(list, row)
		return err
	}, sql, args...)
	return list, err
}

func scanBatchRow(r pgx.Row) (BatchRow, error) {
	var (
		row         BatchRow
		cells, rate []byte
		minor       *int64
		currency    *string
		shipment    *[16]byte
	)
	if err := r.Scan(&row.Number, &row.State, &row.Revision, &row.Tries, &cells, &row.Wrong, &rate, &minor, &currency, &shipment); err != nil {
		return row, err
	}
	row.Price = ship.Money{Minor: value(minor), Currency: value(currency)}
	if shipment != nil {
		row.Shipment = ship.ShipmentIDOf(*shipment)
	}
	if err := json.Unmarshal(cells, &row.Cells); err != nil {
		return row, fmt.Errorf("read line %d of a batch: %w", row.Number, err)
	}
	if rate != nil {
		row.Rate = new(ship.Rate)
		if err := json.Unmarshal(rate, row.Rate); err != nil {
			return row, fmt.Errorf("read the rate of line %d of a batch: %w", row.Number, err)
		}
	}
	return row, nil
}

const sqlClaimBatchRows = `
UPDATE batch_rows SET state = 'buying'
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND number IN (
  SELECT number FROM batch_rows WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND state IN ('rated', 'buying') AND number > $4
  ORDER BY number LIMIT $5 FOR UPDATE)
RETURNING ` + batchRowColumns

// ClaimBatchRows marks lines behind a number as being bought and returns them:
// nobody can change one until it is known what became of it. Those that were
// marked before are among them.
func (s *Store) ClaimBatchRows(ctx context.Context, t ship.Tenant, id ship.BatchID, after, limit int) ([]BatchRow, error) {
	return s.batchRows(ctx, t, sqlClaimBatchRows, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()), after, limit)
}

const sqlSaveBatchRows = `
UPDATE batch_rows r
SET state = v.state, revision = v.revision, tries = v.tries, cells = v.cells::jsonb, wrong = v.wrong::jsonb, rate = v.rate::jsonb,
    minor = v.minor, currency = v.currency, shipment_id = v.shipment_id
FROM unnest($4::int[], $5::int[], $6::text[], $7::int[], $8::int[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[], $14::uuid[])
  AS v (number, was, state, revision, tries, cells, wrong, rate, minor, currency, shipment_id)
WHERE r.account_id = $1 AND r.livemode = $2 AND r.batch_id = $3 AND r.number = v.number AND r.revision = v.was AND r.state = ANY ($15::text[])`

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
	c := columns{}
	for _, row := range rows {
		cells, err := json.Marshal(row.Cells)
		if err != nil {
			return 0, fmt.Errorf("write line %d of a batch: %w", row.Number, err)
		}
		var rate *string
		if row.Rate != nil {
			text, err := json.Marshal(row.Rate)
			if err != nil {
				return 0, fmt.Errorf("write the rate of line %d of a batch: %w", row.Number, err)
			}
			rate = new(string(text))
		}
		var minor *int64
		if !row.Price.IsZero() {
			minor = &row.Price.Minor
		}
		c.add("number", row.Number)
		c.add("was", row.Was)
		c.add("state", row.State)
		c.add("revision", row.Revision)
		c.add("tries", row.Tries)
		c.add("cells", string(cells))
		c.add("wrong", null(string(row.Wrong)))
		c.add("rate", rate)
		c.add("minor", minor)
		c.add("currency", null(row.Price.Currency))
		c.add("shipment", nullID(row.Shipment.Raw()))
	}
	args := []any{[16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw())}
	for _, name := range []string{"number", "was", "state", "revision", "tries", "cells", "wrong", "rate", "minor", "currency", "shipment"} {
		args = append(args, c[name])
	}
	n, err := s.exec(ctx, t, sqlSaveBatchRows, append(args, from)...)
	return int(n), err
}

const sqlRetryBatchRows = `
UPDATE batch_rows SET state = 'good', revision = revision + 1, tries = 0, wrong = NULL, rate = NULL, minor = NULL, currency = NULL
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND state = 'failed'`

// RetryBatchRows makes the lines that were not bought as if they were just
// read, and reports how many.
func (s *Store) RetryBatchRows(ctx context.Context, t ship.Tenant, id ship.BatchID) (int, error) {
	n, err := s.exec(ctx, t, sqlRetryBatchRows, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()))
	return int(n), err
}

// ShipmentsByID returns the shipments of the ids that are there, in no order.
func (s *Store) ShipmentsByID(ctx context.Context, t ship.Tenant, list []ship.ShipmentID) ([]ship.Shipment, error) {
	ids := make(uuids, len(list))
	for i, id := range list {
		ids[i] = uuid(id.Raw())
	}
	return s.shipmentsByID(ctx, t, ids)
}

const sqlLabels = `SELECT id, format, data FROM labels WHERE account_id = $1 AND livemode = $2 AND id = ANY ($3::uuid[])`

// Labels returns labels as they came from the carriers, by shipment.
func (s *Store) Labels(ctx context.Context, t ship.Tenant, list []ship.ShipmentID) (map[ship.ShipmentID]ship.Label, error) {
	ids := make(uuids, len(list))
	for i, id := range list {
		ids[i] = uuid(id.Raw())
	}
	found := make(map[ship.ShipmentID]ship.Label, len(list))
	err := s.queryRows(ctx, t, func(r pgx.Rows) error {
		var id [16]byte
		var l ship.Label
		err := r.Scan(&id, &l.Format, &l.Data)
		found[ship.ShipmentIDOf(id)] = l
		return err
	}, sqlLabels, [16]byte(t.Account.Raw()), t.Livemode, ids)
	return found, err
}
