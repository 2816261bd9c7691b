package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// notSimulated keeps to parcels whose codes are a carrier's: those of the
// sandbox are its own. The purchase is read row by row; NOT EXISTS would be
// planned as a hash of all shipments.
const notSimulated = `(st.livemode OR coalesce((
  SELECT s.purchase->>'simulated' FROM shipments s WHERE s.account_id = st.account_id AND s.livemode = st.livemode AND s.id = st.id), '') <> 'true')`

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
	rows, err := s.sys.Query(ctx, sqlParcelsSince, tenantArgs(after.Tenant, after.ID, pgx.NamedArgs{
		"carrier": carrier, "since": [16]byte(ship.RawIDAt(since)), "limit": limit,
	}))
	if err != nil {
		return nil, last, fmt.Errorf("read parcels: %w", explain(err))
	}
	n := 0
	err = each(rows, func(r pgx.Rows) error {
		var account, id [16]byte
		var theirs *bool
		if err := r.Scan(&account, &last.Tenant.Livemode, &id, &theirs); err != nil {
			return err
		}
		n++
		last.Tenant.Account, last.ID = ship.AccountIDOf(account), id
		if theirs != nil && *theirs {
			parcels = append(parcels, last)
		}
		return nil
	})
	if n < limit {
		last = ship.Subject{}
	}
	return parcels, last, explain(err)
}

const sqlMeanings = `
SELECT t.account_id, t.livemode, t.subject_id, t.code, t.status::text, t.reason, t.notified, count(*)
FROM ` + subjectKeys + `
JOIN tracking_events t ON t.account_id = k.account_id AND t.livemode = k.livemode AND t.subject_id = k.id
GROUP BY t.account_id, t.livemode, t.subject_id, t.code, t.status, t.reason, t.notified`

// A Meant is how a parcel's events of one code were read.
type Meant struct {
	Subject ship.Subject
	Scan    ship.Scan // Code, Status, Reason and Told alone
	Events  int
}

// Meanings returns how the events of the parcels were read when they came.
func (s *Store) Meanings(ctx context.Context, parcels []ship.Subject) ([]Meant, error) {
	rows, err := s.sys.Query(ctx, sqlMeanings, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read meanings: %w", explain(err))
	}
	var list []Meant
	err = each(rows, func(r pgx.Rows) error {
		var account, id [16]byte
		var status, reason *string
		var m Meant
		err := r.Scan(&account, &m.Subject.Tenant.Livemode, &id, &m.Scan.Code, &status, &reason, &m.Scan.Told, &m.Events)
		m.Subject.Tenant.Account, m.Subject.ID = ship.AccountIDOf(account), id
		m.Scan.Status, m.Scan.Reason = ship.Status(value(status)), value(reason)
		list = append(list, m)
		return err
	})
	return list, explain(err)
}

const sqlCorrectScans = `
UPDATE tracking_events t SET status = v.status::tracking_status, reason = v.reason, notified = v.notified
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @pieces::int[], @codes::text[], @times::timestamptz[], @statuses::text[],
  @reasons::text[], @notified::boolean[])
  AS v (account_id, livemode, subject_id, piece, code, occurred_at, status, reason, notified)
WHERE t.account_id = v.account_id AND t.livemode = v.livemode AND t.subject_id = v.subject_id
  AND t.piece = v.piece AND t.code = v.code AND t.occurred_at = v.occurred_at`

// Correct writes changes whose scans are all stored already and get another
// meaning. The journeys must be locked.
func (s *Store) Correct(ctx context.Context, changes []Change) error {
	scans, rest := columns{}, slices.Clone(changes)
	for i, c := range changes {
		for _, sc := range c.Scans {
			scans.meaning(c.Journey.Subject, sc.Scan)
		}
		rest[i].Scans = nil
	}
	if len(scans) == 0 {
		return nil
	}
	if _, err := s.tx.Exec(ctx, sqlCorrectScans, scans.args()); err != nil {
		return fmt.Errorf("correct scans: %w", explain(err))
	}
	return s.Apply(ctx, rest)
}

func (c columns) meaning(p ship.Subject, s ship.Scan) {
	c.addTenant(p.Tenant)
	c.add("ids", [16]byte(p.ID))
	c.add("pieces", s.Piece)
	c.add("codes", s.Code)
	c.add("times", s.At.Truncate(time.Second))
	c.add("statuses", null(string(s.Status)))
	c.add("reasons", null(s.Reason))
	c.add("notified", s.Told)
}

const sqlBoughtOver = `
SELECT s.account_id, s.livemode, s.id, s.purchase->>'connection'
FROM ` + subjectKeys + ` JOIN shipments s USING (account_id, livemode, id)`

// BoughtOver returns over which connections the parcels were bought, those that
// were bought over one.
func (s *Store) BoughtOver(ctx context.Context, parcels []ship.Subject) (map[ship.Subject]ship.ConnectionID, error) {
	rows, err := s.sys.Query(ctx, sqlBoughtOver, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read connections of parcels: %w", explain(err))
	}
	all := map[ship.Subject]ship.ConnectionID{}
	err = each(rows, func(r pgx.Rows) error {
		var account, id [16]byte
		var connection *string
		var p ship.Subject
		err := r.Scan(&account, &p.Tenant.Livemode, &id, &connection)
		p.Tenant.Account, p.ID = ship.AccountIDOf(account), id
		if value(connection) != "" {
			all[p] = ship.ConnectionID(*connection)
		}
		return err
	})
	return all, explain(err)
}

// sqlUnmapped reads the few events that tracking_events_unmapped lists.
const sqlUnmapped = `
SELECT st.carrier, t.code, count(*), count(DISTINCT t.subject_id), max(t.occurred_at), (array_agg(t.description ORDER BY t.occurred_at DESC))[1]
FROM tracking_events t JOIN shipment_states st ON st.account_id = t.account_id AND st.livemode = t.livemode AND st.id = t.subject_id
WHERE t.reason = 'unmapped' AND t.subject_id >= $1 AND ` + notSimulated + `
GROUP BY st.carrier, t.code ORDER BY max(t.occurred_at) DESC, st.carrier, t.code LIMIT $2`

// An Unmapped is a code that no status table knew when it was told.
type Unmapped struct {
	Carrier, Code   string
	Events, Parcels int
	NewestAt        time.Time
	Description     string // of the newest
}

// Unmapped lists codes of parcels made since that have no meaning, the one last
// told first.
func (s *Store) Unmapped(ctx context.Context, since time.Time, limit int) ([]Unmapped, error) {
	rows, err := s.sys.Query(ctx, sqlUnmapped, [16]byte(ship.RawIDAt(since)), limit)
	if err != nil {
		return nil, fmt.Errorf("list unmapped codes: %w", explain(err))
	}
	var list []Unmapped
	err = each(rows, func(r pgx.Rows) error {
		u, err := scanUnmapped(r)
		list = append(list, u)
		return err
	})
	return list, explain(err)
}

func scanUnmapped(r pgx.Row) (u Unmapped, err error) {
	var carrier *string
	err = r.Scan(&carrier, &u.Code, &u.Events, &u.Parcels, &u.NewestAt, &u.Description)
	u.Carrier, u.NewestAt = value(carrier), u.NewestAt.UTC()
	return u, err
}

// sqlUnmappedOf is sqlUnmapped for one tenant's newest parcels.
const sqlUnmappedOf = `
SELECT st.carrier, t.code, count(*), count(DISTINCT t.subject_id), max(t.occurred_at), (array_agg(t.description ORDER BY t.occurred_at DESC))[1]
FROM (
  SELECT t.account_id, t.livemode, t.subject_id, t.code, t.occurred_at, t.description
  FROM tracking_events t WHERE ` + unmappedScans + ` ORDER BY t.subject_id DESC LIMIT 1000
) t
JOIN shipment_states st ON st.account_id = t.account_id AND st.livemode = t.livemode AND st.id = t.subject_id
GROUP BY st.carrier, t.code ORDER BY max(t.occurred_at) DESC, st.carrier, t.code LIMIT $4`

// UnmappedOf lists the codes of the tenant's parcels made since that have no
// meaning, simulated ones too, the one last told first.
func (s *Store) UnmappedOf(ctx context.Context, t ship.Tenant, since time.Time, limit int) ([]Unmapped, error) {
	var list []Unmapped
	err := s.queryRows(ctx, t, func(r pgx.Rows) error {
		u, err := scanUnmapped(r)
		list = append(list, u)
		return err
	}, sqlUnmappedOf, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(ship.RawIDAt(since)), limit)
	if err != nil {
		return nil, fmt.Errorf("list unmapped codes: %w", err)
	}
	return list, nil
}
