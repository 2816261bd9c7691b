package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Trackers: parcels that were not bought here and are followed.

// sqlFollow begins to follow a number, unless the tenant does already: then it
// writes nothing, and returns the tracker that is there.
const sqlFollow = `
WITH existing AS (
  SELECT st.id
  FROM lookup_keys l
  JOIN shipment_states st ON st.account_id = @account AND st.livemode = @livemode AND st.id = l.subject_id
  WHERE l.account_id = @account AND l.livemode = @livemode AND l.kind = 't' AND l.value = @number
    AND st.is_tracker AND st.carrier = @carrier
  LIMIT 1
), new_tracker AS (
  INSERT INTO shipment_states (id, account_id, livemode, is_tracker, status, sequence, carrier, tracking_number)
  SELECT @id, @account, @livemode, true, 'created', 0, @carrier, @number
  WHERE NOT EXISTS (SELECT FROM existing)
  RETURNING id
), new_lookup_keys AS (
  INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
  SELECT @account::uuid, @livemode::boolean, 't'::"char", @number::text, id FROM new_tracker
  UNION ALL SELECT @account, @livemode, 'f', '', id FROM new_tracker
  UNION ALL SELECT @account, @livemode, 'k', @key, id FROM new_tracker
)
SELECT id, true FROM new_tracker UNION ALL SELECT id, false FROM existing`

// Follow begins to follow a number of a carrier for the holder of a key. It
// reports the parcel's id and whether it is new.
func (s *Store) Follow(ctx context.Context, t ship.Tenant, key ship.KeyID, id ship.TrackerID, number, carrier string) (ship.TrackerID, bool, error) {
	args := tenantArgs(t, id, pgx.NamedArgs{"number": number, "carrier": carrier, "key": string(key)})
	var tracker ship.TrackerID
	var isNew bool
	err := s.InTx(ctx, t, func(tx *Store) error {
		// Two requests at the same time must not both find nothing.
		if _, err := tx.tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", uuidText(t.Account.Raw())+number); err != nil {
			return err
		}
		return tx.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&tracker, &isNew) }, sqlFollow, args)
	})
	if err != nil {
		return "", false, fmt.Errorf("create a tracker: %w", err)
	}
	return tracker, isNew, nil
}

const sqlFollowedSince = `
SELECT count(*) FROM lookup_keys
WHERE account_id = $1 AND livemode = $2 AND kind = 'k' AND value = $4 AND subject_id >= $3`

// FollowedSince counts the parcels that the key began to follow since, including
// those that are no longer followed.
func (s *Store) FollowedSince(ctx context.Context, t ship.Tenant, key ship.KeyID, since time.Time) (int, error) {
	return queryOne(ctx, s, t, pgx.RowTo[int], sqlFollowedSince, t.Account, t.Livemode, ship.RawIDAt(since), string(key))
}

const sqlFollowed = `
SELECT ` + trackColumns + `
FROM (
  SELECT subject_id FROM lookup_keys
  WHERE account_id = $1 AND livemode = $2 AND kind = 'f' AND value = '' AND subject_id < $3
  ORDER BY subject_id DESC LIMIT $4
) l
JOIN shipment_states st ON st.account_id = $1 AND st.livemode = $2 AND st.id = l.subject_id
ORDER BY st.id DESC`

// Followed lists the followed parcels, newest first.
func (s *Store) Followed(ctx context.Context, t ship.Tenant, p ship.Page) ([]ship.TrackingState, error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	return queryList(ctx, s, t, scanTrackingState, sqlFollowed, t.Account, t.Livemode, before, p.Limit)
}

// sqlUnfollow deletes nothing and counts 0 if there is no such tracker. The
// lookup key of the API key stays, because it counts towards the key's limit.
const sqlUnfollow = `
WITH tracker AS (
  DELETE FROM shipment_states
  WHERE account_id = $1 AND livemode = $2 AND id = $3 AND is_tracker
  RETURNING tracking_number
), old_lookup_keys AS (
  DELETE FROM lookup_keys USING tracker
  WHERE account_id = $1 AND livemode = $2 AND subject_id = $3
    AND (kind = 't' AND value = tracker.tracking_number OR kind = 'f' AND value = '')
), old_sandbox_poll AS (
  DELETE FROM sandbox_polls USING tracker WHERE account_id = $1 AND livemode = $2 AND subject_id = $3
), old_carrier_poll AS (
  DELETE FROM carrier_polls USING tracker WHERE account_id = $1 AND livemode = $2 AND subject_id = $3
), old_events AS (
  DELETE FROM tracking_events USING tracker WHERE account_id = $1 AND livemode = $2 AND subject_id = $3
)
SELECT count(*) FROM tracker`

// Unfollow forgets a followed parcel; ship.NotFound if there is none.
func (s *Store) Unfollow(ctx context.Context, t ship.Tenant, id ship.TrackerID) error {
	n, err := queryOne(ctx, s, t, pgx.RowTo[int], sqlUnfollow, t.Account, t.Livemode, id)
	if err != nil {
		return fmt.Errorf("delete tracker %s: %w", id, err)
	}
	if n == 0 {
		return ship.Errorf(ship.NotFound, "no such tracker")
	}
	return nil
}
