package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Carriers' codes: how they were interpreted, corrections, and codes without a meaning.

// notSimulated selects parcels whose codes are a carrier's: the sandbox has codes
// of its own. The purchase is read row by row; NOT EXISTS would be
// planned as a hash of all shipments.
const notSimulated = `(st.livemode OR coalesce((
  SELECT s.purchase->>'simulated' FROM shipments s
  WHERE s.account_id = st.account_id AND s.livemode = st.livemode AND s.id = st.id), '') <> 'true')`

// sqlParcelsSince walks along the primary key, so that each page costs what its
// rows cost, however few of them are the carrier's.
const sqlParcelsSince = `
SELECT st.account_id, st.livemode, st.id, st.carrier = @carrier AND ` + notSimulated + `
FROM shipment_states st
WHERE st.id >= @since AND (st.account_id, st.livemode, st.id) > (@account, @livemode, @id)
ORDER BY st.account_id, st.livemode, st.id LIMIT @limit`

// ParcelsSince returns the next page of a carrier's parcels made since, behind
// the one named by after, and the last parcel that it looked at; that is the
// zero one at the end. Simulated parcels are left out.
func (s *Store) ParcelsSince(ctx context.Context, carrier string, since time.Time, after ship.Subject, limit int) (parcels []ship.Subject, last ship.Subject, err error) {
	seen := 0
	var isCarriers *bool // NULL if the parcel has no carrier
	err = selectEach(ctx, s.sys, append(subjectTargets(&last), &isCarriers), func() error {
		seen++
		if value(isCarriers) {
			parcels = append(parcels, last)
		}
		return nil
	}, sqlParcelsSince, tenantArgs(after.Tenant, after.ID, pgx.NamedArgs{
		"carrier": carrier,
		"since":   ship.RawIDAt(since),
		"limit":   limit,
	}))
	if err != nil {
		return nil, ship.Subject{}, fmt.Errorf("read parcels: %w", err)
	}

	if seen < limit {
		last = ship.Subject{}
	}
	return parcels, last, nil
}

const sqlMeanings = `
SELECT t.account_id, t.livemode, t.subject_id, t.code, t.status::text, t.reason, t.notified, count(*)
FROM ` + subjectKeys + `
JOIN tracking_events t ON t.account_id = k.account_id AND t.livemode = k.livemode AND t.subject_id = k.id
GROUP BY t.account_id, t.livemode, t.subject_id, t.code, t.status, t.reason, t.notified`

// A StoredMeaning is how a parcel's events of one code were interpreted.
type StoredMeaning struct {
	Subject ship.Subject
	Scan    ship.Scan // Code, Status, Reason and Notified alone
	Events  int
}

// StoredMeanings returns how the events of the parcels were interpreted when they
// arrived.
func (s *Store) StoredMeanings(ctx context.Context, parcels []ship.Subject) ([]StoredMeaning, error) {
	list, err := selectList(ctx, s.sys, scanMeaning, sqlMeanings, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read code meanings: %w", err)
	}
	return list, nil
}

func scanMeaning(r pgx.CollectableRow) (StoredMeaning, error) {
	var meaning StoredMeaning
	var status, reason *string
	err := r.Scan(
		&meaning.Subject.Tenant.Account, &meaning.Subject.Tenant.Livemode, &meaning.Subject.ID,
		&meaning.Scan.Code, &status, &reason, &meaning.Scan.Notified, &meaning.Events,
	)

	meaning.Scan.Status = ship.Status(value(status))
	meaning.Scan.Reason = value(reason)
	return meaning, err
}

const sqlCorrectScans = `
UPDATE tracking_events t SET status = v.status::tracking_status, reason = v.reason, notified = v.notified
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @pieces::int[], @codes::text[], @times::timestamptz[],
  @statuses::text[], @reasons::text[], @notified::boolean[])
  AS v (account_id, livemode, subject_id, piece, code, occurred_at, status, reason, notified)
WHERE t.account_id = v.account_id AND t.livemode = v.livemode AND t.subject_id = v.subject_id
  AND t.piece = v.piece AND t.code = v.code AND t.occurred_at = v.occurred_at`

// Correct writes changes whose scans are all stored already and get another
// meaning. The tracking states must be locked.
func (s *Store) Correct(ctx context.Context, changes []Change) error {
	scans := columns{}
	withoutScans := slices.Clone(changes)
	for i, change := range changes {
		for _, scan := range change.Scans {
			scans.addMeaning(change.State.Subject, scan.Scan)
		}
		withoutScans[i].Scans = nil
	}
	if len(scans) == 0 {
		return nil
	}

	if _, err := s.tx.Exec(ctx, sqlCorrectScans, scans.args()); err != nil {
		return fmt.Errorf("correct scans: %w", explain(err))
	}
	return s.Apply(ctx, withoutScans)
}

func (c columns) addMeaning(subject ship.Subject, scan ship.Scan) {
	c.addTenant(subject.Tenant)
	c.add("ids", subject.ID)
	c.add("pieces", scan.Piece)
	c.add("codes", scan.Code)
	c.add("times", scan.At.Truncate(time.Second))
	c.add("statuses", null(string(scan.Status)))
	c.add("reasons", null(scan.Reason))
	c.add("notified", scan.Notified)
}

const sqlBoughtOver = `
SELECT s.account_id, s.livemode, s.id, s.purchase->>'connection'
FROM ` + subjectKeys + ` JOIN shipments s USING (account_id, livemode, id)`

// BoughtOver returns the connections over which the parcels were bought; parcels
// that were bought without one are left out.
func (s *Store) BoughtOver(ctx context.Context, parcels []ship.Subject) (map[ship.Subject]ship.ConnectionID, error) {
	connections := map[ship.Subject]ship.ConnectionID{}
	var parcel ship.Subject
	var connection *string
	err := selectEach(ctx, s.sys, append(subjectTargets(&parcel), &connection), func() error {
		if value(connection) != "" {
			connections[parcel] = ship.ConnectionID(*connection)
		}
		return nil
	}, sqlBoughtOver, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read connections of parcels: %w", err)
	}
	return connections, nil
}

// sqlUnmapped reads the few events that tracking_events_unmapped lists.
const sqlUnmapped = `
SELECT st.carrier, t.code, count(*), count(DISTINCT t.subject_id),
  max(t.occurred_at), (array_agg(t.description ORDER BY t.occurred_at DESC))[1]
FROM tracking_events t
JOIN shipment_states st ON st.account_id = t.account_id AND st.livemode = t.livemode AND st.id = t.subject_id
WHERE t.reason = 'unmapped' AND t.subject_id >= $1 AND ` + notSimulated + `
GROUP BY st.carrier, t.code
ORDER BY max(t.occurred_at) DESC, st.carrier, t.code LIMIT $2`

// An Unmapped is a code that no status table knew when a carrier reported it.
type Unmapped struct {
	Carrier, Code   string
	Events, Parcels int
	NewestAt        time.Time
	Description     string // of the newest
}

// Unmapped lists codes of parcels made since that have no meaning, the one last
// reported first.
func (s *Store) Unmapped(ctx context.Context, since time.Time, limit int) ([]Unmapped, error) {
	list, err := selectList(ctx, s.sys, scanUnmapped, sqlUnmapped, ship.RawIDAt(since), limit)
	if err != nil {
		return nil, fmt.Errorf("list unmapped codes: %w", err)
	}
	return list, nil
}

func scanUnmapped(r pgx.CollectableRow) (Unmapped, error) {
	var code Unmapped
	var carrier *string
	err := r.Scan(&carrier, &code.Code, &code.Events, &code.Parcels, &code.NewestAt, &code.Description)
	code.Carrier = value(carrier)
	code.NewestAt = code.NewestAt.UTC()
	return code, err
}

// sqlUnmappedOf is sqlUnmapped for one tenant's newest parcels.
const sqlUnmappedOf = `
SELECT st.carrier, t.code, count(*), count(DISTINCT t.subject_id),
  max(t.occurred_at), (array_agg(t.description ORDER BY t.occurred_at DESC))[1]
FROM (
  SELECT t.account_id, t.livemode, t.subject_id, t.code, t.occurred_at, t.description
  FROM tracking_events t WHERE ` + unmappedScans + `
  ORDER BY t.subject_id DESC LIMIT 1000
) t
JOIN shipment_states st ON st.account_id = t.account_id AND st.livemode = t.livemode AND st.id = t.subject_id
GROUP BY st.carrier, t.code
ORDER BY max(t.occurred_at) DESC, st.carrier, t.code LIMIT $4`

// UnmappedOf lists the codes of the tenant's parcels made since that have no
// meaning, simulated ones too, the one last reported first.
func (s *Store) UnmappedOf(ctx context.Context, t ship.Tenant, since time.Time, limit int) ([]Unmapped, error) {
	list, err := queryList(ctx, s, t, scanUnmapped, sqlUnmappedOf,
		t.Account, t.Livemode, ship.RawIDAt(since), limit)
	if err != nil {
		return nil, fmt.Errorf("list unmapped codes: %w", err)
	}
	return list, nil
}
