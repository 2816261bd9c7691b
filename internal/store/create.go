package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// BodyVersion is the version of the bodies that new rows are shown with.
const BodyVersion = 1

// Creation is a shipment that is bought already, with all that is stored of
// it.
type Creation struct {
	Shipment       ship.Shipment // its sequence counts the events
	Label          ship.Label
	Events         [2]ship.Event // created, label generated
	IdempotencyKey string        // empty when the client gave none
	Fingerprint    [32]byte
	PollAt         time.Time // zero: nobody asks the carrier
}

// sqlCreate writes a whole purchase in one statement, because that is half the
// work of doing it in parts. Nothing is written when the idempotency key is
// taken; then no row comes back.
const sqlCreate = `
WITH k AS (
  INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, shipment_id, status)
  SELECT $2, $3, $4, $5, $1, 201 WHERE $4::text IS NOT NULL
  ON CONFLICT DO NOTHING RETURNING 1
), ok AS (
  SELECT FROM k UNION ALL SELECT WHERE $4::text IS NULL
), s AS (
  INSERT INTO shipments (id, account_id, livemode, version, carrier, duplicate_of, ordered, deal)
  SELECT $1, $2, $3, $6, $7, (
    SELECT id FROM names WHERE account_id = $2 AND livemode = $3 AND kind = 'o' AND name = $8 ORDER BY id DESC LIMIT 1
  ), $9, $10 FROM ok
  RETURNING duplicate_of
), j AS (
  INSERT INTO journeys (id, account_id, livemode, state, status, sequence, pieces, bought_at, newest_at, estimate_at, estimate_source, carrier, number)
  SELECT $1, $2, $3, 'purchased', 'label_generated', 2, $11, $12, $12, $13, $14, $7, $15 FROM ok
), l AS (
  INSERT INTO labels (id, account_id, livemode, format, data) SELECT $1, $2, $3, $16, $17 FROM ok
), n AS (
  INSERT INTO names (account_id, livemode, kind, name, id)
  SELECT $2, $3, 'o', $8, $1 FROM ok UNION ALL SELECT $2, $3, 't', unnest($18::text[]), $1 FROM ok
), p AS (
  INSERT INTO polls (id, account_id, livemode, due_at) SELECT $1, $2, $3, $19 FROM ok WHERE $19::timestamptz IS NOT NULL
), e AS (
  INSERT INTO events (id, account_id, livemode, subject, kind, sequence, version, snapshot)
  SELECT $20::uuid, $2, $3, $1, 'shipment.created'::event_kind, 1, $6, $21::json FROM ok
  UNION ALL SELECT $22, $2, $3, $1, 'label.generated', 2, $6, $23 FROM ok
)
SELECT duplicate_of FROM s`

// Create stores a shipment that was bought, and reports the newest earlier
// shipment of the same order. It is ship.Conflict when the idempotency key is
// taken.
func (s *Store) Create(ctx context.Context, c Creation) (duplicateOf ship.ShipmentID, err error) {
	sh := c.Shipment
	ordered, deal, err := orderJSON(sh)
	if err != nil {
		return "", err
	}
	var snapshots [2][]byte
	for i, e := range c.Events {
		if snapshots[i], err = json.Marshal(e.Snapshot); err != nil {
			return "", fmt.Errorf("write a snapshot: %w", err)
		}
	}
	var duplicate *[16]byte
	err = s.queryRow(ctx, sh.Tenant, func(r pgx.Row) error { return r.Scan(&duplicate) }, sqlCreate,
		[16]byte(sh.ID.Raw()), [16]byte(sh.Tenant.Account.Raw()), sh.Tenant.Livemode, null(c.IdempotencyKey), c.Fingerprint[:],
		BodyVersion, sh.Deal.Carrier, sh.Order.OrderID, ordered, deal,
		len(sh.Order.Parcels), sh.Deal.BoughtAt, nullTime(sh.Progress.EstimateAt), null(sh.Progress.EstimateSource), sh.Deal.TrackingNumber,
		c.Label.Format, c.Label.Data, numbers(sh.Deal), nullTime(c.PollAt),
		[16]byte(c.Events[0].ID.Raw()), snapshots[0], [16]byte(c.Events[1].ID.Raw()), snapshots[1])
	if ship.KindOf(err) == ship.NotFound {
		return "", ship.Errorf(ship.Conflict, "the idempotency key is taken")
	}
	if err != nil {
		return "", fmt.Errorf("create shipment %s: %w", sh.ID, err)
	}
	if duplicate != nil {
		duplicateOf = ship.ShipmentIDOf(*duplicate)
	}
	return duplicateOf, nil
}

// orderJSON is the order and the deal as stored.
func orderJSON(sh ship.Shipment) (ordered, deal []byte, err error) {
	if ordered, err = json.Marshal(sh.Order); err != nil {
		return nil, nil, fmt.Errorf("write the order: %w", err)
	}
	if deal, err = json.Marshal(sh.Deal); err != nil {
		return nil, nil, fmt.Errorf("write the deal: %w", err)
	}
	return ordered, deal, nil
}

// numbers are all tracking numbers under which the deal can be found.
func numbers(d ship.Deal) []string {
	list := []string{d.TrackingNumber}
	for _, n := range d.Pieces {
		if n != d.TrackingNumber {
			list = append(list, n)
		}
	}
	return list
}
