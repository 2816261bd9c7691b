package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The daily limits of API keys and of people in the dashboard. Both are spenders,
// whose id is in the column api_key_id.

// sqlSpent adds up what a spender's purchases that were first asked for on a day
// cost, or may cost, but for one of them. Those that are known to have bought nothing
// do not count; the price of a voided label counts until the day is over.
const sqlSpent = `
SELECT coalesce(sum(reserved_minor), 0)::bigint FROM purchase_attempts
WHERE account_id = $1 AND livemode = $2 AND api_key_id = $3 AND shipment_id >= $4 AND shipment_id < $5
  AND shipment_id IS DISTINCT FROM $6
  AND (outcome IS NULL OR outcome IN ('uncertain', 'purchased'))`

// Spent returns what the spender's purchases of the day that the time is in, in UTC,
// cost, but for those of one shipment; empty for all.
//
// A purchase counts for the day of its shipment, whenever it is repeated or approved:
// the sum of each day stays within the limit, and with it that of all days.
func (s *Store) Spent(ctx context.Context, t ship.Tenant, spender ship.RawID, at time.Time, but ship.ShipmentID) (minor int64, err error) {
	day := at.UTC().Truncate(24 * time.Hour)
	from, below := idBounds(day, day.Add(24*time.Hour), ship.RawID{})
	return queryOne(ctx, s, t, pgx.RowTo[int64], sqlSpent, t.Account, t.Livemode, uuidText(spender), from, below, null(but))
}

// LockSpending lets one purchase of the spender at a time check its limit, until
// the transaction ends, and returns what the others of its day cost.
func (s *Store) LockSpending(ctx context.Context, t ship.Tenant, spender ship.RawID, shipment ship.Shipment) (minor int64, err error) {
	// A sum has no row to lock, so the spender's id is locked.
	if _, err := s.tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 3))", uuidText(spender)); err != nil {
		return 0, explain(err)
	}
	return s.Spent(ctx, t, spender, shipment.CreatedAt(), shipment.ID)
}

const sqlReserve = `
UPDATE purchase_attempts SET api_key_id = @spender, reserved_minor = @minor
WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id AND attempt = @attempt`

// Reserve records what an attempt, and those after it, may cost the spender.
func (s *Store) Reserve(ctx context.Context, t ship.Tenant, id ship.ShipmentID, attempt int, spender ship.RawID, minor int64) error {
	args := tenantArgs(t, id, pgx.NamedArgs{"attempt": attempt, "spender": uuidText(spender), "minor": minor})
	_, err := s.exec(ctx, t, sqlReserve, args)
	return err
}
