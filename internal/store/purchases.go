package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Purchases: recorded before the carrier is called, moved, and settled; and which
// shipment holds an order.

// intendTemplate records purchases before the carrier is called. Nothing is
// written of a purchase whose idempotency key is taken; then no row of it comes
// back.
//
// Nor is anything written of a live purchase while a restore of the database may have lost
// it: the account has missing purchases, the name is that of one, or the process does not
// know of the restore yet.
const intendTemplate = `
released AS (
  SELECT * FROM input
  WHERE NOT @livemode OR @restore_number >= (SELECT r.number FROM restore_state r)
    AND NOT EXISTS (
      SELECT FROM missing_purchases m
      WHERE m.account_id = @account AND m.livemode = @livemode AND m.state = 'missing')
    AND NOT EXISTS (
      SELECT FROM missing_purchases m
      WHERE m.account_id = @account AND m.livemode = @livemode AND m.key = @name
        AND m.state IN ('held', 'adopting', 'voiding', 'voided'))
), reserved_key AS (
  INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, offer_fingerprint, shipment_id)
  SELECT @account, @livemode, @key, @fingerprint, @offer_fingerprint, @id FROM released WHERE @key IS NOT NULL
  ON CONFLICT DO NOTHING RETURNING shipment_id
), permitted AS (
  SELECT * FROM released WHERE @key IS NULL OR @id IN (SELECT shipment_id FROM reserved_key)
), new_shipment AS (
  INSERT INTO shipments (id, account_id, livemode, response_version, carrier, duplicate_of_id, request, purchase)
  SELECT @id, @account, @livemode, @response_version, @carrier, (
    SELECT subject_id FROM lookup_keys
    WHERE account_id = @account AND livemode = @livemode AND kind = 'o' AND value = @order_id
    ORDER BY subject_id DESC LIMIT 1
  ), @request, @purchase FROM permitted
  RETURNING id, duplicate_of_id
), new_state AS (
  INSERT INTO shipment_states (id, account_id, livemode, state, status, sequence, piece_count, carrier)
  SELECT @id, @account, @livemode, 'purchasing', 'created', 0, @piece_count, @carrier FROM permitted
), new_lookup_key AS (
  INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
  SELECT @account, @livemode, 'o', @order_id, @id FROM permitted
), first_attempt AS (
  INSERT INTO purchase_attempts (shipment_id, account_id, livemode, attempt, reference, carrier, service, connection_id)
  SELECT @id, @account, @livemode, 1, @reference, @carrier, @service, @connection_id FROM permitted
)
SELECT id, duplicate_of_id FROM new_shipment`

var intendStatement = compileInsert(intendTemplate,
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
	"reference text",
	"service text",
	"connection_id uuid",
	"name text",
	"restore_number integer")

// Intend records the purchase of the shipment, with its first attempt. It is
// ship.Conflict when the idempotency key is taken, and restore_pending while a restore of
// the database holds the account.
func (s *Store) Intend(ctx context.Context, shipment ship.Shipment, a Attempt, name ship.KeyName) (duplicateOf ship.ShipmentID, err error) {
	request, purchase, err := orderJSON(shipment)
	if err != nil {
		return "", err
	}

	duplicateOf, err = s.insert(ctx, s.intents, &insertion{
		tenant:    shipment.Tenant,
		statement: intendStatement,
		id:        shipment.ID,
		key:       name.Key,
		row: intendStatement.row(pgx.NamedArgs{
			"id":                shipment.ID,
			"key":               null(name.Key),
			"fingerprint":       name.Fingerprint[:],
			"offer_fingerprint": nullFingerprint(name.Offer),
			"response_version":  ship.AnswerVersion,
			"order_id":          shipment.Order.OrderID,
			"request":           request,
			"piece_count":       len(shipment.Order.Parcels),
			"carrier":           shipment.Purchase.Carrier,
			"purchase":          purchase,
			"reference":         a.Reference,
			"service":           a.Service,
			"connection_id":     null(a.Connection),
			"name":              null(shipment.Purchase.Key),
			"restore_number":    s.restoreNumber.Load(),
		}),
	})
	if shipment.Tenant.Livemode && ship.KindOf(err) == ship.Conflict {
		err = s.whyRefused(ctx, shipment.Tenant, name.Key, shipment.Purchase.Key, err)
	}
	if err != nil {
		return "", fmt.Errorf("record the purchase of shipment %s: %w", shipment.ID, err)
	}
	return duplicateOf, nil
}

// sqlMove changes the state of a shipment that nobody else has moved. It notes
// the change for the roll-up, because no event does.
const sqlMove = `
WITH moved AS (
  UPDATE shipment_states SET
    state = @to::text::purchase_state,
    voided_at = CASE WHEN @to IN ('voided', 'refund_pending') THEN coalesce(voided_at, now()) END
  WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = @from::text::purchase_state
  RETURNING 1
)
INSERT INTO shipment_changes (account_id, livemode, shipment_id)
SELECT @account, @livemode, @id FROM moved`

// Move moves the shipment to another state, if the life of a purchase allows it
// and nobody has moved it meanwhile.
func (s *Store) Move(ctx context.Context, shipment ship.Shipment, to ship.State) error {
	if !shipment.State.CanBecome(to) {
		return ship.Errorf(ship.Conflict, "a shipment in state %s cannot become %s", shipment.State, to)
	}

	args := tenantArgs(shipment.Tenant, shipment.ID, pgx.NamedArgs{"from": string(shipment.State), "to": string(to)})
	n, err := s.exec(ctx, shipment.Tenant, sqlMove, args)
	if err != nil {
		return fmt.Errorf("move shipment %s: %w", shipment.ID, err)
	}
	if n == 0 {
		return ship.Errorf(ship.Conflict, "shipment %s is no longer %s", shipment.ID, shipment.State)
	}
	return nil
}

// sqlLockPurchase lets one transaction at a time decide whether a label is the
// shipment's or orphaned. It is a statement of its own: the one after it sees
// what was decided before.
const sqlLockPurchase = `
SELECT FROM shipment_states
WHERE account_id = $1 AND livemode = $2 AND id = $3 FOR UPDATE`

// sqlSettle turns an open purchase into a bought one, all at once. It writes
// nothing and returns no row if the purchase was settled meanwhile, this attempt
// is no longer the last, or the label is orphaned.
//
// In a group it also writes nothing if the shipment has events. The log is in
// the order of transaction numbers, and the group may have got its number before
// the transaction that wrote these events: its own would come before them.
const sqlSettle = `
WITH open_purchase AS (
  SELECT sequence FROM shipment_states
  WHERE account_id = @account AND livemode = @livemode AND id = @id AND attempt = @attempt
    AND state IN ('purchasing', 'uncertain', 'needs_review')
    AND (sequence = 0 OR NOT @is_grouped)
    AND NOT EXISTS (
      SELECT FROM orphaned_labels o
      WHERE o.account_id = @account AND o.livemode = @livemode AND o.carrier = @carrier AND o.tracking_number = @tracking_number)
  FOR UPDATE
), new_state AS (
  UPDATE shipment_states st SET
    state = 'purchased',
    status = 'label_generated',
    reason = NULL,
    piece_statuses = NULL,
    sequence = open_purchase.sequence + CASE open_purchase.sequence WHEN 0 THEN 2 ELSE 1 END,
    purchased_at = @purchased_at,
    last_event_at = greatest(st.last_event_at, @purchased_at),
    estimated_delivery_at = @estimated_delivery_at,
    estimate_source = @estimate_source,
    carrier = @carrier,
    tracking_number = @tracking_number
  FROM open_purchase WHERE account_id = @account AND livemode = @livemode AND id = @id
  RETURNING st.sequence
), settled_shipment AS (
  UPDATE shipments SET carrier = @carrier, purchase = @purchase
  FROM open_purchase WHERE account_id = @account AND livemode = @livemode AND id = @id
), ended_attempt AS (
  UPDATE purchase_attempts SET
    ended_at = now(),
    outcome = 'purchased',
    reserved_minor = CASE WHEN api_key_id IS NOT NULL THEN coalesce(@amount_minor, reserved_minor) END
  FROM open_purchase WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id AND attempt = @purchased_by
), new_charge AS (
  INSERT INTO charges (shipment_id, account_id, livemode, tracking_number, kind, attempt, carrier, connection_id, amount_minor, currency)
  SELECT @id, @account, @livemode, @tracking_number, 'purchase', @purchased_by, @carrier, @connection, @amount_minor, @currency
  FROM open_purchase WHERE @amount_minor::bigint IS NOT NULL
), new_label AS (
  INSERT INTO labels (shipment_id, account_id, livemode, format, data)
  SELECT @id, @account, @livemode, @label_format, @label FROM open_purchase
), new_lookup_keys AS (
  INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
  SELECT @account, @livemode, 't', unnest(@numbers::text[]), @id FROM open_purchase
), first_sandbox_poll AS (
  INSERT INTO sandbox_polls (subject_id, account_id, livemode, due_at)
  SELECT @id, @account, @livemode, @poll_at
  FROM open_purchase WHERE @poll_at::timestamptz IS NOT NULL AND @connection::uuid IS NULL
), first_carrier_poll AS (
  INSERT INTO carrier_polls (subject_id, account_id, livemode, connection_id, due_at)
  SELECT @id, @account, @livemode, @connection, @poll_at
  FROM open_purchase WHERE @poll_at::timestamptz IS NOT NULL AND @connection::uuid IS NOT NULL
), new_events AS (
  INSERT INTO events (id, account_id, livemode, subject_id, kind, sequence, body_version, snapshot)
  SELECT @created_event::uuid, @account, @livemode, @id, 'shipment.created'::event_kind, 1, @body_version::smallint, @created_snapshot::json
  FROM open_purchase WHERE open_purchase.sequence = 0
  UNION ALL
  SELECT @label_event, @account, @livemode, @id, 'label.generated', (SELECT sequence FROM new_state), @body_version, @label_snapshot
  FROM open_purchase
), answered_key AS (
  UPDATE idempotency_keys SET response_status = 201
  FROM open_purchase WHERE account_id = @account AND livemode = @livemode AND key = @key::text AND open_purchase.sequence = 0
)
SELECT sequence FROM new_state`

var settleStatement = compileNamed(sqlSettle)

// Settlement is the outcome of an open purchase: it was bought.
type Settlement struct {
	Creation
	Attempt   int // must still be the last
	BoughtBy  int // the attempt that bought it
	Documents []ship.Document
}

// Settle stores what an open purchase bought. It is ship.Conflict if the
// purchase is no longer open, or this attempt is not its last.
func (s *Store) Settle(ctx context.Context, c Settlement) (sequence int, err error) {
	shipment := c.Shipment
	_, purchase, err := orderJSON(shipment)
	if err != nil {
		return 0, err
	}
	snapshots, err := c.snapshotJSON()
	if err != nil {
		return 0, err
	}

	var minor *int64 // a simulated carrier charges nothing
	if !shipment.Purchase.Simulated {
		minor = &shipment.Purchase.Price.Minor
	}
	args := tenantArgs(shipment.Tenant, shipment.ID, pgx.NamedArgs{
		"attempt":               c.Attempt,
		"purchased_by":          c.BoughtBy,
		"purchased_at":          shipment.Purchase.BoughtAt,
		"estimated_delivery_at": nullTime(shipment.Progress.EstimateAt),
		"estimate_source":       null(shipment.Progress.EstimateSource),
		"carrier":               shipment.Purchase.Carrier,
		"connection":            null(shipment.Purchase.Connection),
		"tracking_number":       shipment.Purchase.TrackingNumber,
		"numbers":               trackingNumbers(shipment.Purchase),
		"purchase":              purchase,
		"amount_minor":          minor,
		"currency":              shipment.Purchase.Price.Currency,
		"label_format":          c.Label.Format,
		"label":                 c.Label.Data,
		"poll_at":               nullTime(c.PollAt),
		"body_version":          BodyVersion,
		"created_event":         c.Events[0].ID,
		"created_snapshot":      snapshots[0],
		"label_event":           c.Events[1].ID,
		"label_snapshot":        snapshots[1],
		"key":                   null(c.IdempotencyKey),
	})

	// The lock comes first, as in RecordOrphan: a label is either the shipment's or
	// orphaned, and whoever comes second must see the decision of the first.
	w := &settling{tenant: shipment.Tenant, id: shipment.ID}
	w.queue = func(b *batch) {
		args["is_grouped"] = w.isGrouped
		values := settleStatement.args(args)
		b.Queue(sqlLockPurchase, shipment.Tenant.Account, shipment.Tenant.Livemode, shipment.ID)
		b.Queue(settleStatement.text, values...).QueryRow(w.row(&sequence))
		for i, document := range c.Documents {
			b.Queue(sqlAddDocument, tenantArgs(shipment.Tenant, shipment.ID, pgx.NamedArgs{
				"purchased_by": c.BoughtBy,
				"position":     i,
				"type":         document.Type,
				"format":       document.Format,
				"data":         document.Data,
			}))
		}
	}
	if err := s.settle(ctx, w); err != nil {
		return 0, fmt.Errorf("settle shipment %s: %w", shipment.ID, err)
	}
	return sequence, nil
}

// sqlAddDocument adds a document of the sale that was settled just before it in
// the same transaction. A statement that settles nothing is no error to
// Postgres, so the documents of a sale that came too late are kept out here.
const sqlAddDocument = `
INSERT INTO documents (shipment_id, account_id, livemode, position, type, format, data)
SELECT @id, @account, @livemode, @position, @type, @format, @data
WHERE EXISTS (
  SELECT FROM purchase_attempts
  WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id AND attempt = @purchased_by AND outcome = 'purchased'
)
ON CONFLICT DO NOTHING`

const sqlOrder = `
SELECT subject_id FROM lookup_keys
WHERE account_id = $1 AND livemode = $2 AND kind = 'o' AND value = $3
ORDER BY subject_id DESC LIMIT 1`

// LockOrder locks the order until the transaction ends, and returns its newest
// shipment that is not failed or voided, if there is one.
func (s *Store) LockOrder(ctx context.Context, t ship.Tenant, order string) (ship.ShipmentID, error) {
	// There may be no row to lock yet, so the order's name itself is locked.
	lock := uuidText(t.Account.Raw()) + boolText(t.Livemode) + order

	var id ship.ShipmentID
	batch := &pgx.Batch{}
	batch.Queue("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", lock)
	batch.Queue(sqlOrder, t.Account, t.Livemode, order).QueryRow(func(r pgx.Row) error { return r.Scan(&id) })
	err := explain(s.tx.SendBatch(ctx, batch).Close())
	if ship.KindOf(err) == ship.NotFound {
		return "", nil
	}
	return id, err
}

// sqlPastOrder keeps the lookup key under kind 'p': the shipment is still listed
// under its order, but no longer holds it.
const sqlPastOrder = `
WITH past_lookup_key AS (
  UPDATE lookup_keys SET kind = 'p'
  WHERE account_id = @account AND livemode = @livemode AND kind = 'o' AND value = @order AND subject_id = @id
), old_carrier_poll AS (
  DELETE FROM carrier_polls WHERE account_id = @account AND livemode = @livemode AND subject_id = @id
)
DELETE FROM sandbox_polls WHERE account_id = @account AND livemode = @livemode AND subject_id = @id`

// PastOrder ends the shipment's claim to its order: it was not bought, or is
// voided. The carrier is no longer polled for it.
func (s *Store) PastOrder(ctx context.Context, shipment ship.Shipment) error {
	args := tenantArgs(shipment.Tenant, shipment.ID, pgx.NamedArgs{"order": shipment.Order.OrderID})
	_, err := s.exec(ctx, shipment.Tenant, sqlPastOrder, args)
	return err
}

// OpenParcel is a purchase or void that waits for an outcome.
type OpenParcel struct {
	ship.Subject
	State ship.State
}

const sqlOpen = `
SELECT account_id, livemode, id, state::text
FROM shipment_states
WHERE state IN ('purchasing', 'uncertain', 'voiding') AND id > $1 AND id < $2
ORDER BY id LIMIT $3`

// openPage is how many open purchases are read at once.
const openPage = 1000

// OpenPurchases calls each with the purchases and voids that wait for an
// outcome and began between the two times, oldest first, page by page.
func (s *Store) OpenPurchases(ctx context.Context, from, before time.Time, each func([]OpenParcel) error) error {
	after := ship.RawIDAt(from)
	for {
		page, err := selectList(ctx, s.sys, scanOpenParcel, sqlOpen, after, ship.RawIDAt(before), openPage)
		if err != nil {
			return fmt.Errorf("open purchases: %w", err)
		}
		if len(page) == 0 {
			return nil
		}

		if err := each(page); err != nil {
			return err
		}
		after = page[len(page)-1].ID
	}
}

func scanOpenParcel(r pgx.CollectableRow) (OpenParcel, error) {
	var open OpenParcel
	err := r.Scan(&open.Tenant.Account, &open.Tenant.Livemode, &open.ID, &open.State)
	return open, err
}

// sqlLiveOrders finds the newest live shipment of each order.
const sqlLiveOrders = `
SELECT DISTINCT ON (value) value, subject_id FROM lookup_keys
WHERE account_id = $1 AND livemode = $2 AND kind = 'o' AND value = ANY ($3::text[])
ORDER BY value, subject_id DESC`

// LiveOrders returns, of the orders, those that have a shipment which is not
// failed or voided, each with its newest. It locks nothing: a purchase asks
// LockOrder.
func (s *Store) LiveOrders(ctx context.Context, t ship.Tenant, orders []string) (map[string]ship.ShipmentID, error) {
	found := make(map[string]ship.ShipmentID)
	var order string
	var id ship.ShipmentID
	err := s.queryEach(ctx, t, []any{&order, &id}, func() error {
		found[order] = id
		return nil
	}, sqlLiveOrders, t.Account, t.Livemode, orders)
	return found, err
}
