package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Returns: which shipments bring the parcels of another back. A return has a
// lookup key of kind 'r' whose value is the id of the shipment that is returned.

// sqlLiveReturn finds the newest return that is not failed or voided, other than
// one shipment. States are read where they are kept: the key of a return stays
// when it is voided.
const sqlLiveReturn = `
SELECT l.subject_id FROM lookup_keys l
JOIN shipment_states st ON st.account_id = l.account_id AND st.livemode = l.livemode AND st.id = l.subject_id
WHERE l.account_id = $1 AND l.livemode = $2 AND l.kind = 'r' AND l.value = $3
  AND l.subject_id IS DISTINCT FROM $4::uuid
  AND st.state NOT IN ('failed', 'voided', 'refund_pending')
ORDER BY l.subject_id DESC LIMIT 1`

// LiveReturn returns the newest return of the shipment that is not failed or
// voided, or "" if there is none. It locks nothing: a purchase asks LockReturns.
func (s *Store) LiveReturn(ctx context.Context, t ship.Tenant, returned ship.ShipmentID) (ship.ShipmentID, error) {
	var id ship.ShipmentID
	err := s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&id) },
		sqlLiveReturn, t.Account, t.Livemode, string(returned), nil)
	if ship.KindOf(err) == ship.NotFound {
		return "", nil
	}
	return id, err
}

// LockReturns locks the returns of the shipment until the transaction ends, and
// returns the newest that is not failed or voided, other than the one named, if
// there is one.
func (s *Store) LockReturns(ctx context.Context, t ship.Tenant, returned, other ship.ShipmentID) (ship.ShipmentID, error) {
	// There may be no return to lock yet, so the shipment's id itself is locked.
	lock := uuidText(t.Account.Raw()) + boolText(t.Livemode) + "return" + string(returned)

	var id ship.ShipmentID
	batch := &pgx.Batch{}
	batch.Queue("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", lock)
	batch.Queue(sqlLiveReturn, t.Account, t.Livemode, string(returned), null(other)).
		QueryRow(func(r pgx.Row) error { return r.Scan(&id) })
	err := explain(s.tx.SendBatch(ctx, batch).Close())
	if ship.KindOf(err) == ship.NotFound {
		return "", nil
	}
	return id, err
}

// sqlRecordReturn makes a shipment that was just written the return of another. A
// return is listed under its order and does not hold it, because that would make
// it the order's shipment; for the same reason it is nobody's duplicate.
const sqlRecordReturn = `
WITH new_lookup_key AS (
  INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
  VALUES (@account, @livemode, 'r', @returned, @id)
  ON CONFLICT DO NOTHING
), past_lookup_key AS (
  UPDATE lookup_keys SET kind = 'p'
  WHERE account_id = @account AND livemode = @livemode AND kind = 'o' AND value = @order AND subject_id = @id
)
UPDATE shipments SET duplicate_of_id = NULL
WHERE account_id = @account AND livemode = @livemode AND id = @id AND duplicate_of_id IS NOT NULL`

// RecordReturn records of which shipment this one is a return. It belongs into the
// transaction that records the purchase; doing it again changes nothing.
func (s *Store) RecordReturn(ctx context.Context, shipment ship.Shipment) error {
	_, err := s.exec(ctx, shipment.Tenant, sqlRecordReturn, tenantArgs(shipment.Tenant, shipment.ID, pgx.NamedArgs{
		"returned": string(shipment.Order.ReturnOf),
		"order":    shipment.Order.OrderID,
	}))
	if err != nil {
		return fmt.Errorf("record the return %s: %w", shipment.ID, err)
	}
	return nil
}

// sqlReturns lists the returns of a shipment that clients know of, newest first.
const sqlReturns = `
SELECT l.subject_id FROM lookup_keys l
JOIN shipment_states st ON st.account_id = l.account_id AND st.livemode = l.livemode AND st.id = l.subject_id
WHERE l.account_id = $1 AND l.livemode = $2 AND l.kind = 'r' AND l.value = $3 AND st.sequence > 0
ORDER BY l.subject_id DESC LIMIT 20`

// Returns lists the newest returns of the shipment.
func (s *Store) Returns(ctx context.Context, t ship.Tenant, returned ship.ShipmentID) ([]ship.ShipmentID, error) {
	return queryList(ctx, s, t, pgx.RowTo[ship.ShipmentID], sqlReturns, t.Account, t.Livemode, string(returned))
}
