package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Creation: a shipment that is bought already, in one statement.

// BodyVersion is the version of the bodies that new events are shown with.
const BodyVersion = 1

// Creation is a shipment that is bought already, with everything that is stored
// of it.
type Creation struct {
	Shipment       ship.Shipment // its sequence counts the events
	Label          ship.Label
	Events         [2]ship.Event // created, label generated
	IdempotencyKey string        // empty when the client gave none
	Fingerprint    [32]byte
	PollAt         time.Time // of the carrier; zero for never
}

// sqlCreate writes a complete purchase in one statement, because that is half
// the work of doing it in parts. Nothing is written when the idempotency key is
// taken; then no row comes back. Arguments are numbered: rewriting named ones
// costs time at every purchase.
const sqlCreate = `
WITH reserved_key AS (
  INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, shipment_id, response_status)
  SELECT $2, $3, $4, $5, $1, 201 WHERE $4::text IS NOT NULL
  ON CONFLICT DO NOTHING RETURNING 1
), permitted AS (
  SELECT FROM reserved_key UNION ALL SELECT WHERE $4::text IS NULL
), new_shipment AS (
  INSERT INTO shipments (id, account_id, livemode, response_version, carrier, duplicate_of_id, request, purchase)
  SELECT $1, $2, $3, $6, $7, (
    SELECT subject_id FROM lookup_keys
    WHERE account_id = $2 AND livemode = $3 AND kind = 'o' AND value = $8
    ORDER BY subject_id DESC LIMIT 1
  ), $9, $10 FROM permitted
  RETURNING duplicate_of_id
), new_state AS (
  INSERT INTO shipment_states (id, account_id, livemode, state, status, sequence, piece_count, purchased_at, last_event_at,
    estimated_delivery_at, estimate_source, carrier, tracking_number)
  SELECT $1, $2, $3, 'purchased', 'label_generated', 2, $11, $12, $12,
    $13, $14, $7, $15 FROM permitted
), new_label AS (
  INSERT INTO labels (shipment_id, account_id, livemode, format, data)
  SELECT $1, $2, $3, $16, $17 FROM permitted
), new_lookup_keys AS (
  INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
  SELECT $2, $3, 'o', $8, $1 FROM permitted
  UNION ALL SELECT $2, $3, 't', unnest($18::text[]), $1 FROM permitted
), first_poll AS (
  INSERT INTO sandbox_polls (subject_id, account_id, livemode, due_at)
  SELECT $1, $2, $3, $19 FROM permitted WHERE $19::timestamptz IS NOT NULL
), new_events AS (
  INSERT INTO events (id, account_id, livemode, subject_id, kind, sequence, body_version, snapshot)
  SELECT $20::uuid, $2, $3, $1, 'shipment.created'::event_kind, 1, $24::smallint, $21::json FROM permitted
  UNION ALL SELECT $22, $2, $3, $1, 'label.generated', 2, $24, $23 FROM permitted
)
SELECT duplicate_of_id FROM new_shipment`

// Create stores a shipment that was bought, and reports the newest earlier
// shipment of the same order. It is ship.Conflict when the idempotency key is
// taken.
func (s *Store) Create(ctx context.Context, c Creation) (duplicateOf ship.ShipmentID, err error) {
	shipment := c.Shipment
	request, purchase, err := orderJSON(shipment)
	if err != nil {
		return "", err
	}
	snapshots, err := c.snapshotJSON()
	if err != nil {
		return "", err
	}

	args := []any{
		shipment.ID,                            // $1
		shipment.Tenant.Account,                // $2
		shipment.Tenant.Livemode,               // $3
		null(c.IdempotencyKey),                 // $4
		c.Fingerprint[:],                       // $5
		ship.AnswerVersion,                     // $6
		shipment.Purchase.Carrier,              // $7
		shipment.Order.OrderID,                 // $8
		request,                                // $9
		purchase,                               // $10
		len(shipment.Order.Parcels),            // $11
		shipment.Purchase.BoughtAt,             // $12
		nullTime(shipment.Progress.EstimateAt), // $13
		null(shipment.Progress.EstimateSource), // $14
		shipment.Purchase.TrackingNumber,       // $15
		c.Label.Format,                         // $16
		c.Label.Data,                           // $17
		trackingNumbers(shipment.Purchase),     // $18
		nullTime(c.PollAt),                     // $19
		c.Events[0].ID,                         // $20
		snapshots[0],                           // $21
		c.Events[1].ID,                         // $22
		snapshots[1],                           // $23
		BodyVersion,                            // $24
	}

	w := &write{tenant: shipment.Tenant, order: writeOrder(shipment.Tenant, c.IdempotencyKey)}
	w.queue = func(b *batch) { b.Queue(sqlCreate, args...).QueryRow(w.row(&duplicateOf)) }
	err = s.write(ctx, s.creations, w)
	// No row came back: nothing was written.
	if ship.KindOf(err) == ship.NotFound {
		return "", ship.Errorf(ship.Conflict, "the idempotency key is already in use")
	}
	if err != nil {
		return "", fmt.Errorf("create shipment %s: %w", shipment.ID, err)
	}
	return duplicateOf, nil
}

// snapshotJSON returns the snapshots of the two events as stored.
func (c Creation) snapshotJSON() (snapshots [2][]byte, err error) {
	for i, event := range c.Events {
		if snapshots[i], err = json.Marshal(event.Snapshot); err != nil {
			return snapshots, fmt.Errorf("encode a snapshot: %w", err)
		}
	}
	return snapshots, nil
}

// orderJSON returns the order and the purchase as stored.
func orderJSON(shipment ship.Shipment) (request, purchase []byte, err error) {
	if request, err = json.Marshal(shipment.Order); err != nil {
		return nil, nil, fmt.Errorf("encode the order: %w", err)
	}
	if purchase, err = json.Marshal(shipment.Purchase); err != nil {
		return nil, nil, fmt.Errorf("encode the purchase: %w", err)
	}
	return request, purchase, nil
}

// trackingNumbers returns all numbers under which the purchase can be found.
func trackingNumbers(purchase ship.Purchase) []string {
	list := []string{purchase.TrackingNumber}
	for _, number := range purchase.Pieces {
		if number != purchase.TrackingNumber {
			list = append(list, number)
		}
	}
	return list
}
