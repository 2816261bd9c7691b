package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

const trackColumns = `st.account_id, st.livemode, st.id, st.is_tracker, st.attempt, st.piece_count,
  st.carrier, st.tracking_number, st.purchased_at, st.last_event_at, ` + trackingStateColumns

// sqlFind finds the parcels of a number, newest first. Numbers are reused, and
// two carriers may use the same one.
const sqlFind = `
SELECT ` + trackColumns + `
FROM (
  SELECT subject_id FROM lookup_keys
  WHERE account_id = $1 AND livemode = $2 AND kind = 't' AND value = $3
  ORDER BY subject_id DESC LIMIT 8
) l
JOIN shipment_states st ON st.account_id = $1 AND st.livemode = $2 AND st.id = l.subject_id
ORDER BY st.id DESC`

// sqlFindScans reads the scans of the newest parcel of a number, in the same
// round trip as sqlFind: nearly always that is the one.
const sqlFindScans = `
SELECT ` + scanColumns + ` FROM tracking_events t
WHERE t.account_id = $1 AND t.livemode = $2
  AND t.subject_id = (
    SELECT subject_id FROM lookup_keys
    WHERE account_id = $1 AND livemode = $2 AND kind = 't' AND value = $3
    ORDER BY subject_id DESC LIMIT 1)`

// Find returns the parcel of a tracking number, and its scans. If there are
// several it is the newest shipment, else the newest followed parcel. A carrier
// narrows the choice.
func (s *Store) Find(ctx context.Context, t ship.Tenant, number, carrier string) (ship.TrackingState, []ship.Scan, error) {
	account := t.Account
	var found []ship.TrackingState
	var scans []ship.Scan // of the first that is found
	batch := s.newBatch(t)
	batch.Queue(sqlFind, account, t.Livemode, number).Query(collectInto(&found, scanTrackingState))
	batch.Queue(sqlFindScans, account, t.Livemode, number).Query(collectInto(&scans, scanScan))
	if err := s.send(ctx, batch); err != nil {
		return ship.TrackingState{}, nil, fmt.Errorf("find a parcel: %w", err)
	}

	// The newest comes first. A shipment is preferred to a followed parcel.
	best := -1
	for i, trackingState := range found {
		if carrier != "" && trackingState.Carrier != carrier {
			continue
		}
		if best < 0 || found[best].Followed && !trackingState.Followed {
			best = i
		}
	}

	// Only the scans of the first were read with it.
	switch best {
	case -1:
		return ship.TrackingState{}, nil, ship.Errorf(ship.NotFound, "no such parcel")
	case 0:
		return found[0], append(found[0].OwnScans(), scans...), nil
	}
	return s.TrackingState(ctx, t, found[best].ID)
}

func scanScan(r pgx.CollectableRow) (ship.Scan, error) {
	var row scanRow
	err := r.Scan(row.targets()...)
	return row.read(), err
}

const sqlTrackingState = `
SELECT ` + trackColumns + ` FROM shipment_states st
WHERE st.account_id = $1 AND st.livemode = $2 AND st.id = $3`

const sqlTrackingStateScans = `
SELECT ` + scanColumns + ` FROM tracking_events t
WHERE t.account_id = $1 AND t.livemode = $2 AND t.subject_id = $3`

// TrackingState returns a parcel by its id, and its scans.
func (s *Store) TrackingState(ctx context.Context, t ship.Tenant, id ship.RawID) (ship.TrackingState, []ship.Scan, error) {
	var trackingState ship.TrackingState
	var scans []ship.Scan
	batch := s.newBatch(t)
	batch.Queue(sqlTrackingState, t.Account, t.Livemode, id).Query(collectOneInto(&trackingState, scanTrackingState))
	batch.Queue(sqlTrackingStateScans, t.Account, t.Livemode, id).Query(collectInto(&scans, scanScan))
	if err := s.send(ctx, batch); err != nil {
		return ship.TrackingState{}, nil, fmt.Errorf("read a parcel: %w", err)
	}
	return trackingState, append(trackingState.OwnScans(), scans...), nil
}

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
