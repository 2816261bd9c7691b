package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

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
	Offer          [32]byte  // the request as it is whichever rate id names the offer; zero for none
	PollAt         time.Time // of the carrier; zero for never
}

// createTemplate writes complete purchases in one statement, because that is
// half the work of doing it in parts. Nothing is written of a purchase whose
// idempotency key is taken; then no row of it comes back.
const createTemplate = `
reserved_key AS (
  INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, offer_fingerprint, shipment_id, response_status)
  SELECT @account, @livemode, @key, @fingerprint, @offer_fingerprint, @id, 201 FROM input WHERE @key IS NOT NULL
  ON CONFLICT DO NOTHING RETURNING shipment_id
), permitted AS (
  SELECT * FROM input WHERE @key IS NULL OR @id IN (SELECT shipment_id FROM reserved_key)
), new_shipment AS (
  INSERT INTO shipments (id, account_id, livemode, response_version, carrier, duplicate_of_id, request, purchase)
  SELECT @id, @account, @livemode, @response_version, @carrier, (
    SELECT subject_id FROM lookup_keys
    WHERE account_id = @account AND livemode = @livemode AND kind = 'o' AND value = @order_id
    ORDER BY subject_id DESC LIMIT 1
  ), @request, @purchase FROM permitted
  RETURNING id, duplicate_of_id
), new_state AS (
  INSERT INTO shipment_states (id, account_id, livemode, state, status, sequence, piece_count, purchased_at, last_event_at,
    estimated_delivery_at, estimate_source, carrier, tracking_number)
  SELECT @id, @account, @livemode, 'purchased', 'label_generated', 2, @piece_count, @purchased_at, @purchased_at,
    @estimated_delivery_at, @estimate_source, @carrier, @tracking_number FROM permitted
), new_label AS (
  INSERT INTO labels (shipment_id, account_id, livemode, format, data)
  SELECT @id, @account, @livemode, @label_format, @label FROM permitted
), new_lookup_keys AS (
  INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
  SELECT @account, @livemode, 'o', @order_id, @id FROM permitted
  UNION ALL SELECT @account, @livemode, 't', json_array_elements_text(@tracking_numbers), @id FROM permitted
), first_poll AS (
  INSERT INTO sandbox_polls (subject_id, account_id, livemode, due_at)
  SELECT @id, @account, @livemode, @poll_at FROM permitted WHERE @poll_at IS NOT NULL
), new_events AS (
  INSERT INTO events (id, account_id, livemode, subject_id, kind, sequence, body_version, snapshot)
  SELECT @created_event, @account, @livemode, @id, 'shipment.created'::event_kind, 1, @body_version, @created_snapshot FROM permitted
  UNION ALL SELECT @label_event, @account, @livemode, @id, 'label.generated', 2, @body_version, @label_snapshot FROM permitted
)
SELECT id, duplicate_of_id FROM new_shipment`

var createStatement = compileInsert(createTemplate,
	"id uuid",
	"key text",
	"fingerprint bytea",
	"offer_fingerprint bytea",
	"response_version smallint",
	"order_id text",
	"request json",
	"piece_count smallint",
	"carrier text",
	"purchase json",
	"purchased_at timestamptz",
	"estimated_delivery_at timestamptz",
	"estimate_source text",
	"tracking_number text",
	"tracking_numbers json",
	"label_format text",
	"label bytea",
	"poll_at timestamptz",
	"created_event uuid",
	"created_snapshot json",
	"label_event uuid",
	"label_snapshot json",
	"body_version smallint")

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

	duplicateOf, err = s.insert(ctx, s.creations, &insertion{
		tenant:    shipment.Tenant,
		statement: createStatement,
		id:        shipment.ID,
		key:       c.IdempotencyKey,
		row: createStatement.row(pgx.NamedArgs{
			"id":                    shipment.ID,
			"key":                   null(c.IdempotencyKey),
			"fingerprint":           c.Fingerprint[:],
			"offer_fingerprint":     nullFingerprint(c.Offer),
			"response_version":      ship.AnswerVersion,
			"order_id":              shipment.Order.OrderID,
			"request":               request,
			"piece_count":           len(shipment.Order.Parcels),
			"carrier":               shipment.Purchase.Carrier,
			"purchase":              purchase,
			"purchased_at":          shipment.Purchase.BoughtAt,
			"estimated_delivery_at": nullTime(shipment.Progress.EstimateAt),
			"estimate_source":       null(shipment.Progress.EstimateSource),
			"tracking_number":       shipment.Purchase.TrackingNumber,
			"tracking_numbers":      trackingNumbers(shipment.Purchase),
			"label_format":          c.Label.Format,
			"label":                 c.Label.Data,
			"poll_at":               nullTime(c.PollAt),
			"created_event":         c.Events[0].ID,
			"created_snapshot":      snapshots[0],
			"label_event":           c.Events[1].ID,
			"label_snapshot":        snapshots[1],
			"body_version":          BodyVersion,
		}),
	})
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
		if !slices.Contains(list, number) { // carriers may give pieces the same number
			list = append(list, number)
		}
	}
	return list
}
