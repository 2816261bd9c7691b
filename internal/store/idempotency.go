package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// An IdempotencyRecord is what an idempotency key remembers.
type IdempotencyRecord struct {
	Fingerprint [32]byte
	Offer       [32]byte        // of a purchase by a rate id: the same whichever rate id names the offer
	Shipment    ship.ShipmentID // of a purchase
	Answer      ship.Answer     // Status 0 while nothing is settled; no Body when it is rendered from the shipment
	LockedUntil time.Time       // of a request that is running
}

const sqlMemory = `
SELECT fingerprint, offer_fingerprint, shipment_id, response_status, response_body, locked_until
FROM idempotency_keys
WHERE account_id = $1 AND livemode = $2 AND key = $3`

// IdempotencyRecord returns what the key remembers; ship.NotFound if nothing.
func (s *Store) IdempotencyRecord(ctx context.Context, t ship.Tenant, key string) (IdempotencyRecord, error) {
	return queryOne(ctx, s, t, scanMemory, sqlMemory, t.Account, t.Livemode, key)
}

// Repeats reports whether the key was used for the same request: also if that one
// named its offer by another rate id.
func (r IdempotencyRecord) Repeats(name ship.KeyName) bool {
	return r.Fingerprint == name.Fingerprint || r.Offer != [32]byte{} && r.Offer == name.Offer
}

func nullFingerprint(hash [32]byte) []byte {
	if hash == [32]byte{} {
		return nil
	}
	return hash[:]
}

// PurchaseUnder returns the shipment of the first of the names that was used for a
// purchase; "" if there is none. A key that another request has used is not the name
// that was asked for: its shipment is somebody else's.
func (s *Store) PurchaseUnder(ctx context.Context, t ship.Tenant, names ...ship.KeyName) (ship.ShipmentID, error) {
	for _, name := range names {
		record, err := s.IdempotencyRecord(ctx, t, name.Key)
		if ship.KindOf(err) == ship.NotFound {
			continue
		}
		if err != nil {
			return "", err
		}
		if record.Shipment != "" && record.Fingerprint == name.Fingerprint {
			return record.Shipment, nil
		}
	}
	return "", nil
}

func scanMemory(r pgx.CollectableRow) (IdempotencyRecord, error) {
	var (
		memory      IdempotencyRecord
		fingerprint []byte
		offer       []byte
		status      *int
		lockedUntil *time.Time
	)
	if err := r.Scan(&fingerprint, &offer, &memory.Shipment, &status, &memory.Answer.Body, &lockedUntil); err != nil {
		return memory, err
	}

	copy(memory.Fingerprint[:], fingerprint)
	copy(memory.Offer[:], offer)
	memory.Answer.Status = value(status)
	memory.LockedUntil = timeOrZero(lockedUntil)
	return memory, nil
}

// sqlTakeKey takes a key that is free, or whose holder is past its time. It
// takes nothing if the key remembers an answer or a purchase.
const sqlTakeKey = `
INSERT INTO idempotency_keys AS k (account_id, livemode, key, fingerprint, locked_until)
VALUES (@account, @livemode, @key, @fingerprint, now() + @hold::interval)
ON CONFLICT (account_id, livemode, key) DO UPDATE SET locked_until = excluded.locked_until
WHERE k.response_status IS NULL AND k.shipment_id IS NULL
  AND k.locked_until < now() AND k.fingerprint = excluded.fingerprint`

// TakeKey takes the key for a request that is about to run, for as long as
// hold. It reports false if the key is taken or remembers something.
func (s *Store) TakeKey(ctx context.Context, t ship.Tenant, key string, fingerprint [32]byte, hold time.Duration) (bool, error) {
	args := tenantArgs(t, nil, pgx.NamedArgs{"key": key, "fingerprint": fingerprint[:], "hold": hold})
	n, err := s.exec(ctx, t, sqlTakeKey, args)
	if err != nil {
		return false, fmt.Errorf("reserve an idempotency key: %w", err)
	}
	return n == 1, nil
}

// sqlKeepAnswer keeps the first answer. A key of a purchase may get one only if
// the purchase failed: the answer of any other is rendered from the shipment.
const sqlKeepAnswer = `
INSERT INTO idempotency_keys AS k (account_id, livemode, key, fingerprint, response_status, response_body)
VALUES (@account, @livemode, @key, @fingerprint, @status, @body)
ON CONFLICT (account_id, livemode, key) DO UPDATE SET
  response_status = excluded.response_status,
  response_body = excluded.response_body,
  locked_until = NULL
WHERE k.response_status IS NULL AND k.fingerprint = excluded.fingerprint
  AND (k.shipment_id IS NULL OR EXISTS (
    SELECT FROM shipment_states st
    WHERE st.account_id = k.account_id AND st.livemode = k.livemode AND st.id = k.shipment_id AND st.state = 'failed'))`

// KeepAnswer makes the key remember the answer, unless it has one or its
// purchase has not failed.
func (s *Store) KeepAnswer(ctx context.Context, t ship.Tenant, key string, fingerprint [32]byte, a ship.Answer) error {
	_, err := s.exec(ctx, t, sqlKeepAnswer, tenantArgs(t, nil, pgx.NamedArgs{
		"key":         key,
		"fingerprint": fingerprint[:],
		"status":      a.Status,
		"body":        a.Body,
	}))
	if err != nil {
		return fmt.Errorf("store a response: %w", err)
	}
	return nil
}

const sqlFreeKey = `
DELETE FROM idempotency_keys
WHERE account_id = @account AND livemode = @livemode AND key = @key
  AND response_status IS NULL AND shipment_id IS NULL`

// FreeKey forgets a key whose request came to nothing.
func (s *Store) FreeKey(ctx context.Context, t ship.Tenant, key string) error {
	if _, err := s.exec(ctx, t, sqlFreeKey, tenantArgs(t, nil, pgx.NamedArgs{"key": key})); err != nil {
		return fmt.Errorf("release an idempotency key: %w", err)
	}
	return nil
}

const sqlUnlockKey = `
UPDATE idempotency_keys SET locked_until = now()
WHERE account_id = @account AND livemode = @livemode AND key = @key
  AND response_status IS NULL AND shipment_id IS NULL`

// UnlockKey lets the same request run again under its key, and no other.
func (s *Store) UnlockKey(ctx context.Context, t ship.Tenant, key string) error {
	if _, err := s.exec(ctx, t, sqlUnlockKey, tenantArgs(t, nil, pgx.NamedArgs{"key": key})); err != nil {
		return fmt.Errorf("unlock an idempotency key: %w", err)
	}
	return nil
}

// How long keys are remembered: those of purchases and batches, and all others.
const (
	purchaseMemory = 400 * 24 * time.Hour
	answerMemory   = 24 * time.Hour
)

const sqlForgetKeys = `
DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
  (SELECT ctid FROM idempotency_keys WHERE shipment_id IS NULL AND batch_id IS NULL AND created_at < @answers LIMIT 2500)
  UNION ALL (SELECT ctid FROM idempotency_keys WHERE created_at < @purchases LIMIT 2500)))`

// DeleteOldIdempotencyKeys deletes a batch of keys past their time, and reports how many.
func (s *Store) DeleteOldIdempotencyKeys(ctx context.Context, now time.Time) (int64, error) {
	tag, err := s.sys.Exec(ctx, sqlForgetKeys, pgx.NamedArgs{
		"purchases": now.Add(-purchaseMemory),
		"answers":   now.Add(-answerMemory),
	})
	if err != nil {
		return 0, fmt.Errorf("delete old idempotency keys: %w", explain(err))
	}
	return tag.RowsAffected(), nil
}

const sqlReleaseKey = `
DELETE FROM idempotency_keys k USING shipment_states st
WHERE k.account_id = @account AND k.livemode = @livemode AND k.key = @key
  AND st.account_id = @account AND st.livemode = @livemode AND st.id = k.shipment_id
  AND st.state NOT IN ('awaiting_approval', 'purchasing', 'uncertain', 'needs_review')`

// ReleaseKey deletes an idempotency key whose purchase is settled.
func (s *Store) ReleaseKey(ctx context.Context, t ship.Tenant, key string) error {
	_, err := s.exec(ctx, t, sqlReleaseKey, tenantArgs(t, nil, pgx.NamedArgs{"key": key}))
	return err
}
