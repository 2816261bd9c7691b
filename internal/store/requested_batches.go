package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Batches that came by the API: created with their idempotency key, lines and
// job in one transaction.

// sqlReserveBatchKey waits for a transaction that has the same key, and takes
// nothing if that one commits.
const sqlReserveBatchKey = `
INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, batch_id)
VALUES (@account, @livemode, @key, @fingerprint, @id)
ON CONFLICT (account_id, livemode, key) DO NOTHING`

// ReserveBatchKey takes an idempotency key for a batch, in the transaction that
// creates it: a crash leaves both or neither. Without an id the key is remembered
// for a day, as that of any request. It reports false if the key was used before.
func (s *Store) ReserveBatchKey(ctx context.Context, t ship.Tenant, key string, fingerprint [32]byte, id ship.BatchID) (bool, error) {
	args := tenantArgs(t, null(id), pgx.NamedArgs{"key": key, "fingerprint": fingerprint[:]})
	n, err := s.exec(ctx, t, sqlReserveBatchKey, args)
	if err != nil {
		return false, fmt.Errorf("reserve the idempotency key of a batch: %w", err)
	}
	return n == 1, nil
}

// AddRequestedBatch stores a batch without its lines. It is part of a larger
// change, which records it in the audit log.
func (s *Store) AddRequestedBatch(ctx context.Context, b Batch) error {
	args, err := b.args()
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, b.Tenant, sqlAddBatch, args)
	return err
}

const sqlAddRequestedRows = `
INSERT INTO batch_rows (account_id, livemode, batch_id, row_number, state, cells, request, errors)
SELECT @account, @livemode, @id, v.row_number, v.state, v.cells::jsonb, v.request::jsonb, v.errors::jsonb
FROM unnest(@numbers::int[], @states::text[], @cells::text[], @requests::text[], @errors::text[])
  AS v (row_number, state, cells, request, errors)`

// AddRequestedRows adds lines to a batch.
func (s *Store) AddRequestedRows(ctx context.Context, t ship.Tenant, id ship.BatchID, rows []BatchRow) error {
	list := columns{}
	for _, row := range rows {
		cells, err := json.Marshal(row.Cells)
		if err != nil {
			return fmt.Errorf("write line %d of a batch: %w", row.Number, err)
		}
		list.add("numbers", row.Number)
		list.add("states", row.State)
		list.add("cells", string(cells))
		list.add("requests", null(string(row.Request)))
		list.add("errors", null(string(row.Problems)))
	}

	_, err := s.exec(ctx, t, sqlAddRequestedRows, tenantArgs(t, id, list.args()))
	return err
}

// sqlBatchReviews reads few rows: those that are pending.
const sqlBatchReviews = `
SELECT r.batch_id, count(*)
FROM batch_rows r
JOIN shipment_states st ON st.account_id = r.account_id AND st.livemode = r.livemode AND st.id = r.shipment_id
WHERE r.account_id = $1 AND r.livemode = $2 AND r.batch_id = ANY ($3::uuid[])
  AND r.state = 'pending' AND st.state = 'needs_review'
GROUP BY 1`

// BatchReviews counts the lines of batches whose purchases need review.
func (s *Store) BatchReviews(ctx context.Context, t ship.Tenant, batches []ship.BatchID) (map[ship.BatchID]int, error) {
	type count struct {
		batch ship.BatchID
		lines int
	}
	scan := func(r pgx.CollectableRow) (count, error) {
		var found count
		err := r.Scan(&found.batch, &found.lines)
		return found, err
	}

	list, err := queryList(ctx, s, t, scan, sqlBatchReviews, t.Account, t.Livemode, rawIDs(batches))
	counts := make(map[ship.BatchID]int, len(list))
	for _, found := range list {
		counts[found.batch] = found.lines
	}
	return counts, err
}

const sqlBatchShipments = `
SELECT shipment_id FROM batch_rows
WHERE account_id = $1 AND livemode = $2 AND batch_id = $3 AND state = 'purchased'
ORDER BY row_number LIMIT $4 OFFSET $5`

// BatchShipments lists what was bought for a batch, in the order of its lines.
func (s *Store) BatchShipments(ctx context.Context, t ship.Tenant, id ship.BatchID, limit, offset int) ([]ship.ShipmentID, error) {
	return queryList(ctx, s, t, pgx.RowTo[ship.ShipmentID], sqlBatchShipments, t.Account, t.Livemode, id, limit, offset)
}
