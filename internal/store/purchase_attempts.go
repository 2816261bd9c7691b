package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// An Attempt is one request to a carrier to sell a label.
type Attempt struct {
	Number     int
	Reference  string
	Carrier    string
	Connection ship.ConnectionID // empty for a simulated carrier
	Service    string
	StartedAt  time.Time
	ResentAt   time.Time // when it was last sent again; zero if it never was
	EndedAt    time.Time // zero while open
	Outcome    string    // one of package purchase's; empty while open
	Code       string
	Message    string
}

const sqlAttempts = `
SELECT attempt, reference, carrier, service, connection_id, started_at, resent_at, ended_at, outcome, error_code, error_message
FROM purchase_attempts
WHERE account_id = $1 AND livemode = $2 AND shipment_id = $3
ORDER BY attempt`

// Attempts lists the attempts of a purchase, first to last.
func (s *Store) Attempts(ctx context.Context, t ship.Tenant, id ship.ShipmentID) ([]Attempt, error) {
	return queryList(ctx, s, t, scanPurchaseAttempt, sqlAttempts, t.Account, t.Livemode, id)
}

func scanPurchaseAttempt(r pgx.CollectableRow) (Attempt, error) {
	var (
		attempt                Attempt
		resentAt, endedAt      *time.Time
		outcome, code, message *string
	)
	err := r.Scan(
		&attempt.Number, &attempt.Reference, &attempt.Carrier, &attempt.Service, &attempt.Connection,
		&attempt.StartedAt, &resentAt, &endedAt, &outcome, &code, &message,
	)

	attempt.ResentAt = timeOrZero(resentAt)
	attempt.EndedAt = timeOrZero(endedAt)
	attempt.Outcome = value(outcome)
	attempt.Code = value(code)
	attempt.Message = value(message)
	return attempt, err
}

const sqlLastAttempts = `
SELECT DISTINCT ON (shipment_id) shipment_id, attempt, carrier, outcome, error_code, error_message
FROM purchase_attempts
WHERE account_id = $1 AND livemode = $2 AND shipment_id = ANY ($3)
ORDER BY shipment_id, attempt DESC`

// LastAttempts returns the last attempt of each purchase, without its
// reference and times.
func (s *Store) LastAttempts(ctx context.Context, t ship.Tenant, shipments []ship.ShipmentID) (map[ship.ShipmentID]Attempt, error) {
	last := map[ship.ShipmentID]Attempt{}
	var id ship.ShipmentID
	var attempt Attempt
	var outcome, code, message *string
	targets := []any{&id, &attempt.Number, &attempt.Carrier, &outcome, &code, &message}
	err := s.queryEach(ctx, t, targets, func() error {
		attempt.Outcome = value(outcome)
		attempt.Code = value(code)
		attempt.Message = value(message)
		last[id] = attempt
		return nil
	}, sqlLastAttempts, t.Account, t.Livemode, rawIDs(shipments))
	return last, err
}

// sqlAgain records the attempt after the last, if the last is known not to have
// bought anything; otherwise it writes nothing. A purchase that had failed gets
// its claim to the order back, unless the client was notified of the failure, which is
// final then.
const sqlAgain = `
WITH reopened AS (
  UPDATE shipment_states SET state = 'purchasing', attempt = attempt + 1, carrier = @carrier
  WHERE account_id = @account AND livemode = @livemode AND id = @id AND attempt = @attempt - 1
    AND (state IN ('purchasing', 'uncertain') OR state = 'failed' AND sequence = 0)
    AND EXISTS (
      SELECT FROM purchase_attempts a
      WHERE a.account_id = @account AND a.livemode = @livemode AND a.shipment_id = @id AND a.attempt = @attempt - 1
        AND a.outcome IN ('declined', 'not_sent', 'not_found', 'orphaned'))
    AND NOT EXISTS ( -- a restore may have lost a later attempt
      SELECT FROM missing_purchases m
      WHERE m.account_id = @account AND m.livemode = @livemode
        AND (m.state = 'missing' OR m.shipment_id = @id AND m.state IN ('held', 'adopting', 'voiding')))
  RETURNING 1
), changed_shipment AS (
  UPDATE shipments SET carrier = @carrier, purchase = @purchase
  FROM reopened WHERE account_id = @account AND livemode = @livemode AND id = @id
), restored_lookup_key AS (
  UPDATE lookup_keys SET kind = 'o'
  FROM reopened WHERE account_id = @account AND livemode = @livemode AND kind = 'p' AND value = @order AND subject_id = @id
), noted_change AS (
  INSERT INTO shipment_changes (account_id, livemode, shipment_id)
  SELECT @account, @livemode, @id FROM reopened
)
INSERT INTO purchase_attempts (shipment_id, account_id, livemode, attempt, reference, carrier, service, connection_id,
  api_key_id, reserved_minor)
SELECT @id, @account, @livemode, @attempt, @reference, @carrier, @service, @connection,
  a.api_key_id, a.reserved_minor
FROM reopened, purchase_attempts a
WHERE a.account_id = @account AND a.livemode = @livemode AND a.shipment_id = @id AND a.attempt = @attempt - 1`

// Again records a further attempt before the carrier is called again, with the
// purchase that it is to buy. It is ship.Conflict if the attempt before it is not the
// last, may have bought something, or has failed for good, or a restore of the database
// holds the account.
func (s *Store) Again(ctx context.Context, shipment ship.Shipment, a Attempt) error {
	_, purchase, err := orderJSON(shipment)
	if err != nil {
		return err
	}

	n, err := s.exec(ctx, shipment.Tenant, sqlAgain, tenantArgs(shipment.Tenant, shipment.ID, pgx.NamedArgs{
		"attempt":    a.Number,
		"reference":  a.Reference,
		"carrier":    a.Carrier,
		"service":    a.Service,
		"connection": null(a.Connection),
		"purchase":   purchase,
		"order":      shipment.Order.OrderID,
	}))
	if err != nil {
		return fmt.Errorf("attempt %d of %s: %w", a.Number, shipment.ID, err)
	}
	// Buying again is safe only after an attempt that certainly bought nothing.
	if n == 0 {
		return ship.Errorf(ship.Conflict, "shipment %s cannot be bought again while an attempt may have succeeded", shipment.ID)
	}
	return nil
}

// sqlEndAttempt does not change an outcome that is final. Only an attempt that
// the carrier did not know may still turn out to have sold an orphaned label.
const sqlEndAttempt = `
UPDATE purchase_attempts SET ended_at = now(), outcome = @outcome, error_code = @code, error_message = @message
WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id AND attempt = @attempt
  AND (outcome IS NULL OR NOT @if_unrecorded AND outcome = 'uncertain' OR @outcome = 'orphaned' AND outcome = 'not_found')`

// EndAttempt records the outcome of an attempt. If it may only be recorded where
// there is none yet, and there is one, it is ship.Conflict.
func (s *Store) EndAttempt(ctx context.Context, t ship.Tenant, id ship.ShipmentID, a Attempt, ifUnrecorded bool) error {
	n, err := s.exec(ctx, t, sqlEndAttempt, tenantArgs(t, id, pgx.NamedArgs{
		"attempt":       a.Number,
		"outcome":       a.Outcome,
		"code":          null(a.Code),
		"message":       null(a.Message),
		"if_unrecorded": ifUnrecorded,
	}))
	if err == nil && n == 0 && ifUnrecorded {
		return ship.Errorf(ship.Conflict, "attempt %d of %s was looked up meanwhile", a.Number, id)
	}
	return err
}

// sqlResend locks the state first: an attempt that is sent again must be the last of
// an open purchase.
const sqlResend = `
WITH open_purchase AS (
  SELECT FROM shipment_states
  WHERE account_id = @account AND livemode = @livemode AND id = @id AND attempt = @attempt
    AND state IN ('purchasing', 'uncertain')
  FOR UPDATE
)
UPDATE purchase_attempts SET resent_at = now(), outcome = 'uncertain', ended_at = coalesce(ended_at, now())
FROM open_purchase
WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id AND attempt = @attempt
  AND (outcome IS NULL OR outcome = 'uncertain')`

// Resend records that an attempt is about to be sent again as the same purchase. It is
// ship.Conflict if it is not the last one, or its outcome is known.
func (s *Store) Resend(ctx context.Context, t ship.Tenant, id ship.ShipmentID, attempt int) error {
	n, err := s.exec(ctx, t, sqlResend, tenantArgs(t, id, pgx.NamedArgs{"attempt": attempt}))
	if err != nil {
		return fmt.Errorf("repeat attempt %d of %s: %w", attempt, id, err)
	}
	if n == 0 {
		return ship.Errorf(ship.Conflict, "attempt %d of %s is no longer open", attempt, id)
	}
	return nil
}

// An UncertainPurchase is a purchase with attempts that may yet turn out to have
// bought something.
type UncertainPurchase struct {
	Tenant   ship.Tenant
	Shipment ship.ShipmentID
}

const sqlUncertainPurchases = `
SELECT DISTINCT shipment_id, account_id, livemode
FROM purchase_attempts
WHERE outcome IN ('uncertain', 'not_found') AND shipment_id >= $1 AND shipment_id > $2
ORDER BY shipment_id LIMIT 500`

// UncertainPurchases lists purchases since a time, after one of them, that have attempts
// whose outcome is uncertain.
func (s *Store) UncertainPurchases(ctx context.Context, since time.Time, after ship.ShipmentID) ([]UncertainPurchase, error) {
	list, err := selectList(ctx, s.sys, scanUncertain, sqlUncertainPurchases, ship.RawIDAt(since), after)
	if err != nil {
		return nil, fmt.Errorf("read uncertain attempts: %w", err)
	}
	return list, nil
}

func scanUncertain(r pgx.CollectableRow) (UncertainPurchase, error) {
	var uncertain UncertainPurchase
	err := r.Scan(&uncertain.Shipment, &uncertain.Tenant.Account, &uncertain.Tenant.Livemode)
	return uncertain, err
}
