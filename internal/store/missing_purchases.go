package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Missing purchases: what a recovery log has and the database lost in a restore. Their
// accounts buy nothing new until a person has decided about each.

// The states of a missing purchase.
const (
	PurchaseMissing  = "missing"  // nobody has decided; its account is held
	PurchaseHeld     = "held"     // it stays as it is, and its account goes on
	PurchaseAdopting = "adopting" // it is to be recorded
	PurchaseVoiding  = "voiding"  // it is to be recorded as orphaned, and voided
	PurchaseAdopted  = "adopted"  // it is recorded
	PurchaseVoided   = "voided"   // it is recorded as orphaned
	PurchaseNotSold  = "not_sold" // the carrier sold nothing
)

// A MissingPurchase is a purchase that the database lost.
type MissingPurchase struct {
	Tenant      ship.Tenant
	Shipment    ship.ShipmentID
	Attempt     int
	Key         string // that its client named it by; empty for none
	Carrier     string
	Service     string
	Connection  ship.ConnectionID
	Number      string     // empty where the log has the request and not the sale
	Price       ship.Money // zero likewise
	RequestedAt time.Time
	State       string
	Message     string // why the last decision could not be carried out
	DecidedBy   string
	DecidedAt   time.Time
	Entry       []byte // sealed; nil in lists
}

// A LoggedPurchase is an attempt that a recovery log tells of.
type LoggedPurchase struct {
	Tenant   ship.Tenant
	Shipment ship.ShipmentID
	Attempt  int
	IsNamed  bool // the entry names its installation
}

// What the database knows of a logged purchase.
type Knowledge int

// The kinds of knowledge.
const (
	IsKnown     Knowledge = iota
	IsElsewhere           // its shard is in another cell, or it is another installation's
	IsOpen                // it is recorded, and not what became of it
	IsMissing
)

// sqlKnowledge compares attempts with what is recorded. An entry that does not name its
// installation counts only if its account is known.
const sqlKnowledge = `
SELECT k.position, CASE
    WHEN NOT coalesce((SELECT get_bit(c.owned_shards, shard_of(k.account_id)) = 1 FROM cell_state c), true) THEN 1
    WHEN a.shipment_id IS NULL AND NOT k.is_named AND NOT EXISTS (SELECT FROM accounts WHERE id = k.account_id) THEN 1
    WHEN a.shipment_id IS NULL THEN 3
    WHEN st.state IN ('purchasing', 'uncertain', 'needs_review') AND a.outcome IS NULL THEN 2
    WHEN st.state IN ('purchasing', 'uncertain', 'needs_review') AND a.outcome = 'uncertain' THEN 2
    ELSE 0
  END
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @attempts::int[], @named::boolean[])
  WITH ORDINALITY AS k (account_id, livemode, id, attempt, is_named, position)
LEFT JOIN purchase_attempts a ON a.account_id = k.account_id AND a.livemode = k.livemode
  AND a.shipment_id = k.id AND a.attempt = k.attempt
LEFT JOIN shipment_states st ON st.account_id = k.account_id AND st.livemode = k.livemode AND st.id = k.id`

// Knowledge returns what the database knows of each of the purchases.
func (s *Store) Knowledge(ctx context.Context, list []LoggedPurchase) ([]Knowledge, error) {
	subjects := make([]ship.Subject, len(list))
	attempts := make([]int, len(list))
	named := make([]bool, len(list))
	for i, logged := range list {
		subjects[i] = ship.Subject{Tenant: logged.Tenant, ID: logged.Shipment.Raw()}
		attempts[i] = logged.Attempt
		named[i] = logged.IsNamed
	}
	args := subjectArgs(subjects)
	args["attempts"] = attempts
	args["named"] = named

	known := make([]Knowledge, len(list))
	var position, knowledge int
	err := selectEach(ctx, s.sys, []any{&position, &knowledge}, func() error {
		known[position-1] = Knowledge(knowledge)
		return nil
	}, sqlKnowledge, args)
	if err != nil {
		return nil, fmt.Errorf("compare the recovery log: %w", err)
	}
	return known, nil
}

// sqlAddMissing keeps what was decided before. The sale of a purchase of which only the
// request was known is added, and a label that was voided stays so.
const sqlAddMissing = `
INSERT INTO missing_purchases AS m (account_id, livemode, shipment_id, attempt, key, carrier, service, connection_id,
  tracking_number, amount_minor, currency, requested_at, state, encrypted_entry)
VALUES (@account, @livemode, @id, @attempt, @key, @carrier, @service, @connection,
  @number, @minor, @currency, @requested_at, @state, @entry)
ON CONFLICT (account_id, livemode, shipment_id) DO UPDATE SET
  attempt = excluded.attempt,
  carrier = excluded.carrier,
  service = excluded.service,
  connection_id = excluded.connection_id,
  tracking_number = excluded.tracking_number,
  amount_minor = excluded.amount_minor,
  currency = excluded.currency,
  state = CASE WHEN excluded.state = 'voided' THEN 'voided' ELSE m.state END,
  encrypted_entry = excluded.encrypted_entry
WHERE m.state IN ('missing', 'held', 'adopting', 'voiding')
  AND (excluded.state = 'voided' OR m.tracking_number IS NULL AND excluded.tracking_number IS NOT NULL)`

// AddMissing records purchases that the database lost, in one transaction for all.
func (s *Store) AddMissing(ctx context.Context, list []MissingPurchase) error {
	batch := &pgx.Batch{}
	for _, missing := range list {
		var minor *int64
		if missing.Number != "" {
			minor = &missing.Price.Minor
		}
		batch.Queue(sqlAddMissing, tenantArgs(missing.Tenant, missing.Shipment, pgx.NamedArgs{
			"attempt":      missing.Attempt,
			"key":          null(missing.Key),
			"carrier":      missing.Carrier,
			"service":      missing.Service,
			"connection":   null(missing.Connection),
			"number":       null(missing.Number),
			"minor":        minor,
			"currency":     null(missing.Price.Currency),
			"requested_at": missing.RequestedAt,
			"state":        missing.State,
			"entry":        missing.Entry,
		}))
	}
	if err := s.sys.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("record missing purchases: %w", explain(err))
	}
	return nil
}

const missingColumns = `account_id, livemode, shipment_id, attempt, coalesce(key, ''), carrier, service, connection_id,
  coalesce(tracking_number, ''), coalesce(amount_minor, 0), coalesce(currency, ''), requested_at, state,
  coalesce(message, ''), coalesce(decided_by, ''), decided_at`

func scanMissing(r pgx.CollectableRow) (MissingPurchase, error) {
	missing, decidedAt := MissingPurchase{}, (*time.Time)(nil)
	err := r.Scan(append(missing.targets(), &decidedAt)...)
	missing.DecidedAt = timeOrZero(decidedAt)
	return missing, err
}

func (m *MissingPurchase) targets() []any {
	return []any{
		&m.Tenant.Account, &m.Tenant.Livemode, &m.Shipment, &m.Attempt, &m.Key, &m.Carrier, &m.Service, &m.Connection,
		&m.Number, &m.Price.Minor, &m.Price.Currency, &m.RequestedAt, &m.State, &m.Message, &m.DecidedBy,
	}
}

const sqlMissingPurchases = `
SELECT ` + missingColumns + `
FROM missing_purchases
WHERE (@account::uuid IS NULL OR account_id = @account) AND (@all OR state IN ('missing', 'held', 'adopting', 'voiding'))
ORDER BY requested_at, shipment_id
LIMIT @limit`

// MissingPurchases lists what the database lost, of one account or all, the oldest first:
// what is not ended yet, or all of it.
func (s *Store) MissingPurchases(ctx context.Context, account ship.AccountID, all bool, limit int) ([]MissingPurchase, error) {
	list, err := selectList(ctx, s.sys, scanMissing, sqlMissingPurchases, pgx.NamedArgs{"account": null(account), "all": all, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("read missing purchases: %w", err)
	}
	return list, nil
}

const sqlDecidedPurchases = `
SELECT ` + missingColumns + `, encrypted_entry
FROM missing_purchases
WHERE state IN ('adopting', 'voiding') AND (message IS NULL OR decided_at < now() - interval '30 seconds')
ORDER BY decided_at, shipment_id
LIMIT $1`

// DecidedPurchases lists missing purchases whose decision is to be carried out, with
// their entries. One that could not be waits for half a minute.
func (s *Store) DecidedPurchases(ctx context.Context, limit int) ([]MissingPurchase, error) {
	return selectList(ctx, s.sys, scanMissingEntry, sqlDecidedPurchases, limit)
}

func scanMissingEntry(r pgx.CollectableRow) (MissingPurchase, error) {
	missing, decidedAt := MissingPurchase{}, (*time.Time)(nil)
	err := r.Scan(append(missing.targets(), &decidedAt, &missing.Entry)...)
	missing.DecidedAt = timeOrZero(decidedAt)
	return missing, err
}

const sqlMissingUnder = `
SELECT ` + missingColumns + `, encrypted_entry
FROM missing_purchases
WHERE account_id = $1 AND livemode = $2 AND key = $3 AND state IN ('missing', 'held', 'adopting', 'voiding', 'voided')
ORDER BY state = 'voided', shipment_id DESC LIMIT 1`

// MissingUnder returns the purchase of the key that the database lost; ship.NotFound if
// it lost none.
func (s *Store) MissingUnder(ctx context.Context, t ship.Tenant, key string) (MissingPurchase, error) {
	return queryOne(ctx, s, t, scanMissingEntry, sqlMissingUnder, t.Account, t.Livemode, key)
}

// sqlCloseMissing records why nothing could be done only if nobody has decided otherwise
// meanwhile.
const sqlCloseMissing = `
UPDATE missing_purchases SET state = @state, message = @message,
  decided_at = CASE WHEN @message::text IS NULL THEN decided_at ELSE now() END,
  encrypted_entry = CASE WHEN @state IN ('adopted', 'voided', 'not_sold') THEN NULL ELSE encrypted_entry END
WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id AND (@message::text IS NULL OR state = @state)`

// CloseMissing records what became of a missing purchase, or why nothing could be done.
func (s *Store) CloseMissing(ctx context.Context, t ship.Tenant, id ship.ShipmentID, state, message string) error {
	_, err := s.exec(ctx, t, sqlCloseMissing, tenantArgs(t, id, pgx.NamedArgs{"state": state, "message": null(message)}))
	if err != nil {
		return fmt.Errorf("close a missing purchase: %w", err)
	}
	return nil
}

// An Adoption is a purchase that a log has, to be recorded again.
type Adoption struct {
	Shipment   ship.Shipment
	Attempt    Attempt
	References []string     // of the attempts up to this one
	Name       ship.KeyName // its key with the fingerprints of its request
}

// sqlReviveShipment records the purchase as it was before its sale was. What is there
// stays: another attempt of the shipment, or another use of its key.
const sqlReviveShipment = `
WITH revived_key AS (
  INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, offer_fingerprint, shipment_id)
  SELECT @account, @livemode, @key, @fingerprint, @offer_fingerprint, @id WHERE @key::text IS NOT NULL
  ON CONFLICT DO NOTHING
), revived_shipment AS (
  INSERT INTO shipments (id, account_id, livemode, response_version, carrier, duplicate_of_id, request, purchase)
  VALUES (@id, @account, @livemode, @response_version, @carrier, @duplicate_of, @request, @purchase)
  ON CONFLICT DO NOTHING
), revived_state AS (
  INSERT INTO shipment_states AS st (id, account_id, livemode, state, status, sequence, attempt, piece_count, carrier)
  VALUES (@id, @account, @livemode, 'purchasing', 'created', 0, @attempt, @piece_count, @carrier)
  ON CONFLICT (account_id, livemode, id) DO UPDATE SET state = 'purchasing', attempt = @attempt
  WHERE st.attempt < @attempt AND st.state IN ('purchasing', 'uncertain', 'needs_review', 'failed')
), revived_lookup_key AS (
  INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
  VALUES (@account, @livemode, 'o', @order_id, @id)
  ON CONFLICT DO NOTHING
)
INSERT INTO purchase_attempts (shipment_id, account_id, livemode, attempt, reference, carrier, service, connection_id, started_at, ended_at, outcome)
SELECT @id, @account, @livemode, r.attempt, r.reference, @carrier, @service, @connection, @started_at,
  CASE WHEN r.attempt < @attempt THEN @started_at::timestamptz END,
  CASE WHEN r.attempt < @attempt THEN 'declined' END
FROM unnest(@references::text[]) WITH ORDINALITY AS r (reference, attempt)
ON CONFLICT DO NOTHING`

// Revive records a lost purchase as it was before its sale was recorded. It is part of a
// transaction that also records the sale.
func (s *Store) Revive(ctx context.Context, a Adoption) error {
	shipment := a.Shipment
	request, purchase, err := orderJSON(shipment)
	if err != nil {
		return err
	}

	_, err = s.exec(ctx, shipment.Tenant, sqlReviveShipment, tenantArgs(shipment.Tenant, shipment.ID, pgx.NamedArgs{
		"key":               null(a.Name.Key),
		"fingerprint":       a.Name.Fingerprint[:],
		"offer_fingerprint": nullFingerprint(a.Name.Offer),
		"response_version":  shipment.Version,
		"carrier":           a.Attempt.Carrier,
		"duplicate_of":      null(shipment.DuplicateOf),
		"request":           request,
		"purchase":          purchase,
		"attempt":           a.Attempt.Number,
		"piece_count":       len(shipment.Order.Parcels),
		"order_id":          shipment.Order.OrderID,
		"references":        a.References,
		"service":           a.Attempt.Service,
		"connection":        null(a.Attempt.Connection),
		"started_at":        a.Attempt.StartedAt,
	}))
	if err != nil {
		return fmt.Errorf("revive shipment %s: %w", shipment.ID, err)
	}
	return nil
}

// sqlRecordUnlabelled records a sale whose label is lost. It writes nothing of a purchase
// that is not open, or of a label that is orphaned.
const sqlRecordUnlabelled = `
WITH open_purchase AS (
  SELECT FROM shipment_states
  WHERE account_id = @account AND livemode = @livemode AND id = @id AND attempt = @attempt
    AND state IN ('purchasing', 'uncertain', 'needs_review')
    AND NOT EXISTS (
      SELECT FROM orphaned_labels o
      WHERE o.account_id = @account AND o.livemode = @livemode AND o.carrier = @carrier AND o.tracking_number = @tracking_number)
  FOR UPDATE
), new_state AS (
  UPDATE shipment_states SET purchased_at = @purchased_at, carrier = @carrier, tracking_number = @tracking_number
  FROM open_purchase WHERE account_id = @account AND livemode = @livemode AND id = @id
), recorded_shipment AS (
  UPDATE shipments SET carrier = @carrier, purchase = @purchase
  FROM open_purchase WHERE account_id = @account AND livemode = @livemode AND id = @id
), ended_attempt AS (
  UPDATE purchase_attempts SET ended_at = now(), outcome = 'purchased'
  FROM open_purchase WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id AND attempt = @purchased_by
), new_charge AS (
  INSERT INTO charges (shipment_id, account_id, livemode, tracking_number, kind, attempt, carrier, connection_id, amount_minor, currency)
  SELECT @id, @account, @livemode, @tracking_number, 'purchase', @purchased_by, @carrier, @connection, @amount_minor, @currency
  FROM open_purchase
  ON CONFLICT DO NOTHING
)
INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
SELECT @account, @livemode, 't', unnest(@numbers::text[]), @id FROM open_purchase
ON CONFLICT DO NOTHING`

// RecordUnlabelled records a sale whose label is lost, before a person reviews it. It is
// ship.Conflict if the purchase is no longer open.
func (s *Store) RecordUnlabelled(ctx context.Context, shipment ship.Shipment, attempt, boughtBy int) error {
	_, purchase, err := orderJSON(shipment)
	if err != nil {
		return err
	}

	bought := shipment.Purchase
	n, err := s.exec(ctx, shipment.Tenant, sqlRecordUnlabelled, tenantArgs(shipment.Tenant, shipment.ID, pgx.NamedArgs{
		"attempt":         attempt,
		"purchased_by":    boughtBy,
		"purchased_at":    bought.BoughtAt,
		"carrier":         bought.Carrier,
		"connection":      null(bought.Connection),
		"tracking_number": bought.TrackingNumber,
		"numbers":         trackingNumbers(bought),
		"purchase":        purchase,
		"amount_minor":    bought.Price.Minor,
		"currency":        bought.Price.Currency,
	}))
	if err != nil {
		return fmt.Errorf("record shipment %s without its label: %w", shipment.ID, err)
	}
	if n == 0 {
		return ship.Errorf(ship.Conflict, "shipment %s is no longer open", shipment.ID)
	}
	return nil
}

// A HeldAccount is an account that buys nothing new while purchases of it are missing.
type HeldAccount struct {
	Account ship.AccountID
	Name    string
	Missing int
}

const sqlHeldAccounts = `
SELECT m.account_id, coalesce(a.name, ''), count(*)::int
FROM missing_purchases m LEFT JOIN accounts a ON a.id = m.account_id
WHERE m.state = 'missing'
GROUP BY 1, 2 ORDER BY 3 DESC, 1 LIMIT 100`

// HeldAccounts lists the accounts with missing purchases that nobody has decided about,
// those with most first, at most 100.
func (s *Store) HeldAccounts(ctx context.Context) ([]HeldAccount, error) {
	list, err := selectList(ctx, s.sys, scanHeldAccount, sqlHeldAccounts)
	if err != nil {
		return nil, fmt.Errorf("read held accounts: %w", err)
	}
	return list, nil
}

func scanHeldAccount(r pgx.CollectableRow) (HeldAccount, error) {
	var held HeldAccount
	err := r.Scan(&held.Account, &held.Name, &held.Missing)
	return held, err
}

// ErrRestorePending is the cause of a purchase that is not made because the database was
// restored, and it is not known whether it was made before.
var ErrRestorePending = errors.New("the database was restored")

// RestorePending is the error of such a purchase.
func RestorePending(retryAfter time.Duration) error {
	return &ship.Error{
		Kind:       ship.Unavailable,
		Code:       "restore_pending",
		Message:    "the database was restored from a backup, and purchases that it lost are being reviewed; nothing was bought; retry after the number of seconds in Retry-After with the same Idempotency-Key",
		RetryAfter: retryAfter,
		Err:        ErrRestorePending,
	}
}

// heldRetry is after how long a client of a held account should ask again.
const heldRetry = 30 * time.Second

// sqlWhyRefused says why an intent was not recorded: its key is taken, a restore was
// noticed that this process does not know of, or its account is held.
const sqlWhyRefused = `
SELECT EXISTS (SELECT FROM idempotency_keys WHERE account_id = @account AND livemode = @livemode AND key = @key),
  EXISTS (
    SELECT FROM missing_purchases
    WHERE account_id = @account AND livemode = @livemode AND key = @name
      AND state IN ('missing', 'held', 'adopting', 'voiding', 'voided'))`

// whyRefused explains a conflict of an intent. A key whose purchase the database lost
// counts as taken.
func (s *Store) whyRefused(ctx context.Context, t ship.Tenant, key, name string, conflict error) error {
	var isTaken, isMissing bool
	args := tenantArgs(t, nil, pgx.NamedArgs{"key": null(key), "name": null(name)})
	err := s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&isTaken, &isMissing) }, sqlWhyRefused, args)
	switch {
	case err != nil:
		return err
	case isTaken, isMissing:
		return conflict
	}
	return RestorePending(heldRetry)
}

// sqlIsHeld is the condition that every live purchase passes, asked by itself.
const sqlIsHeld = `
SELECT EXISTS (
  SELECT FROM missing_purchases m
  WHERE m.account_id = @account AND m.livemode = @livemode
    AND (m.state = 'missing' OR m.state IN ('held', 'adopting', 'voiding') AND (m.key = @name OR m.shipment_id = @id)))`

// IsHeld reports whether a purchase may not be made because the account has missing
// purchases, or the purchase itself is one.
func (s *Store) IsHeld(ctx context.Context, t ship.Tenant, id ship.ShipmentID, name string) (isHeld bool, err error) {
	if !t.Livemode {
		return false, nil
	}
	args := tenantArgs(t, id, pgx.NamedArgs{"name": null(name)})
	err = s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&isHeld) }, sqlIsHeld, args)
	return isHeld, err
}
