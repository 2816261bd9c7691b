package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Tracking states and scans: found by number or id, and locked for an update.

const trackingStateColumns = `st.state::text, st.status::text, st.reason, st.sequence, st.piece_statuses::text[],
  st.estimated_delivery_at, st.estimate_source, st.checked_at`

// trackingStateRow is what trackingStateColumns select.
type trackingStateRow struct {
	state          *string
	status         string
	reason         *string
	sequence       int
	pieces         []string
	estimateAt     *time.Time
	estimateSource *string
	checkedAt      *time.Time
}

func (r *trackingStateRow) targets() []any {
	return []any{
		&r.state,
		&r.status,
		&r.reason,
		&r.sequence,
		&r.pieces,
		&r.estimateAt,
		&r.estimateSource,
		&r.checkedAt,
	}
}

func (r *trackingStateRow) progress() ship.Progress {
	return ship.Progress{
		Status:         ship.Status(r.status),
		Reason:         value(r.reason),
		Pieces:         fromStrings[ship.Status](r.pieces),
		EstimateAt:     timeOrZero(r.estimateAt),
		EstimateSource: value(r.estimateSource),
		CheckedAt:      timeOrZero(r.checkedAt),
	}
}

const trackColumns = `st.account_id, st.livemode, st.id, st.is_tracker, st.attempt, st.piece_count,
  st.carrier, st.tracking_number, st.purchased_at, st.last_event_at, st.erased_at IS NOT NULL, ` + trackingStateColumns

// sqlFind finds the parcels of a number in a range of ids, newest first. Numbers
// are reused, and two carriers may use the same one. The first column tells of a
// followed parcel whether the number also has parcels before the range: a shipment
// among them would be preferred.
//
// The range is an argument of its own although the ids follow from the number.
// Postgres knows arguments before the statement starts, and then opens only the
// partitions of the range.
const sqlFind = `
SELECT st.is_tracker AND EXISTS (
    SELECT FROM lookup_keys
    WHERE account_id = $1 AND livemode = $2 AND kind = 't' AND value = $3 AND subject_id < $4
  ), ` + trackColumns + `
FROM (
  SELECT subject_id FROM lookup_keys
  WHERE account_id = $1 AND livemode = $2 AND kind = 't' AND value = $3
  ORDER BY subject_id DESC LIMIT 8
) l
JOIN shipment_states st ON st.account_id = $1 AND st.livemode = $2 AND st.id = l.subject_id
  AND st.id >= $4 AND st.id < $5
ORDER BY st.id DESC`

// sqlFindScans reads the scans of the newest parcel of a number, in the same
// round trip as sqlFind: nearly always that is the one.
const sqlFindScans = `
SELECT ` + scanColumns + ` FROM tracking_events t
WHERE t.account_id = $1 AND t.livemode = $2
  AND t.subject_id = (
    SELECT subject_id FROM lookup_keys
    WHERE account_id = $1 AND livemode = $2 AND kind = 't' AND value = $3
    ORDER BY subject_id DESC LIMIT 1)
  AND t.subject_id >= $4 AND t.subject_id < $5`

// Find returns the parcel of a tracking number, and its scans. If there are
// several it is the newest shipment, else the newest followed parcel. A carrier
// narrows the choice.
func (s *Store) Find(ctx context.Context, t ship.Tenant, number, carrier string) (ship.TrackingState, []ship.Scan, error) {
	l := &lookup{tenant: t, number: number}
	if err := s.lookups.Do(ctx, l); err != nil {
		return ship.TrackingState{}, nil, fmt.Errorf("find a parcel: %w", err)
	}

	best := l.best(carrier)
	if best < 0 || l.hasOlder && l.found[best].Followed {
		if err := s.lookUpAll(ctx, l); err != nil {
			return ship.TrackingState{}, nil, fmt.Errorf("find an old parcel: %w", err)
		}
		best = l.best(carrier)
	}

	// Only the scans of the first were read with it.
	switch best {
	case -1:
		return ship.TrackingState{}, nil, ship.Errorf(ship.NotFound, "no such parcel")
	case 0:
		return l.found[0], append(l.found[0].OwnScans(), l.scans...), nil
	}
	return s.TrackingState(ctx, t, l.found[best].ID)
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
	batch := s.newHotBatch(t)
	batch.Queue(sqlTrackingState, t.Account, t.Livemode, id).Query(collectOneInto(&trackingState, scanTrackingState))
	batch.Queue(sqlTrackingStateScans, t.Account, t.Livemode, id).Query(collectInto(&scans, scanScan))
	if err := s.send(ctx, batch); err != nil {
		return ship.TrackingState{}, nil, fmt.Errorf("read a parcel: %w", err)
	}
	return trackingState, append(trackingState.OwnScans(), scans...), nil
}

// sqlLockTrackingStates locks in the order of ids, so that batches that overlap
// cannot deadlock.
const sqlLockTrackingStates = `
SELECT ` + trackColumns + `
FROM ` + subjectKeys + ` JOIN shipment_states st USING (account_id, livemode, id)
ORDER BY st.account_id, st.livemode, st.id FOR UPDATE OF st`

const sqlTrackingStates = `
SELECT ` + trackColumns + `
FROM ` + subjectKeys + ` JOIN shipment_states st USING (account_id, livemode, id)`

// TrackingStates returns the tracking states of the parcels, of any tenants.
func (s *Store) TrackingStates(ctx context.Context, parcels []ship.Subject) ([]ship.TrackingState, error) {
	list, err := selectList(ctx, s.sys, scanTrackingState, sqlTrackingStates, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read tracking states: %w", err)
	}
	return list, nil
}

// LockTrackingStates locks the tracking states of the parcels until the transaction
// ends. Each may be named once. Parcels that are not there are left out.
func (s *Store) LockTrackingStates(ctx context.Context, parcels []ship.Subject) ([]ship.TrackingState, error) {
	var list []ship.TrackingState
	var reader trackingStateReader
	err := selectEach(ctx, s.tx, reader.targets(), func() error {
		list = append(list, reader.value())
		return nil
	}, sqlLockTrackingStates, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("lock tracking states: %w", err)
	}
	return list, nil
}

func scanTrackingState(r pgx.CollectableRow) (ship.TrackingState, error) {
	var reader trackingStateReader
	err := r.Scan(reader.targets()...)
	return reader.value(), err
}

// A trackingStateReader reads rows of tracking states. Reading many with one reader
// saves making the scan targets anew for each.
type trackingStateReader struct {
	subject          subjectReader
	carrier, number  *string
	boughtAt, newest *time.Time
	row              trackingStateRow
	trackingState    ship.TrackingState
}

// targets returns where trackColumns are read to. Further columns come before
// them.
func (x *trackingStateReader) targets(further ...any) []any {
	own := []any{
		&x.trackingState.Followed, &x.trackingState.Attempt, &x.trackingState.Pieces,
		&x.carrier, &x.number, &x.boughtAt, &x.newest, &x.trackingState.IsErased,
	}
	return slices.Concat(further, x.subject.targets(), own, x.row.targets())
}

// value returns the tracking state of the row that was read.
func (x *trackingStateReader) value() ship.TrackingState {
	x.trackingState.Subject = x.subject.read()
	x.trackingState.State = ship.State(value(x.row.state))
	x.trackingState.Progress = x.row.progress()
	x.trackingState.Sequence = x.row.sequence
	x.trackingState.Carrier = value(x.carrier)
	x.trackingState.Number = value(x.number)
	x.trackingState.BoughtAt = timeOrZero(x.boughtAt)
	x.trackingState.NewestAt = timeOrZero(x.newest)
	return x.trackingState
}

const scanColumns = `t.piece, t.code, t.occurred_at, t.status::text, t.reason, t.description, t.location, t.timezone_unknown, t.notified`

const sqlScans = `
SELECT t.account_id, t.livemode, t.subject_id, ` + scanColumns + `
FROM ` + subjectKeys + `
JOIN tracking_events t ON t.account_id = k.account_id AND t.livemode = k.livemode AND t.subject_id = k.id`

// Scans returns all tracking events of the parcels, including those that follow
// from their tracking states and are not stored.
func (s *Store) Scans(ctx context.Context, trackingStates []ship.TrackingState) (map[ship.Subject][]ship.Scan, error) {
	parcels := make([]ship.Subject, len(trackingStates))
	scans := make(map[ship.Subject][]ship.Scan, len(trackingStates))
	for i, trackingState := range trackingStates {
		parcels[i] = trackingState.Subject
		scans[trackingState.Subject] = trackingState.OwnScans()
	}

	var reader subjectReader
	var row scanRow
	targets := append(reader.targets(), row.targets()...)
	err := selectEach(ctx, s.tx, targets, func() error {
		subject := reader.read()
		scans[subject] = append(scans[subject], row.read())
		return nil
	}, sqlScans, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read scans: %w", err)
	}
	return scans, nil
}

// scanRow is what scanColumns select.
type scanRow struct {
	scan                     ship.Scan
	status, reason, location *string
}

func (r *scanRow) targets() []any {
	return []any{
		&r.scan.Piece,
		&r.scan.Code,
		&r.scan.At,
		&r.status,
		&r.reason,
		&r.scan.Description,
		&r.location,
		&r.scan.ZoneUnknown,
		&r.scan.Notified,
	}
}

func (r *scanRow) read() ship.Scan {
	r.scan.At = r.scan.At.UTC()
	r.scan.Status = ship.Status(value(r.status))
	r.scan.Reason = value(r.reason)
	r.scan.Location = value(r.location)
	return r.scan
}
