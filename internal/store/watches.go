package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Watch is a parcel of a live carrier that is to be asked about.
type Watch struct {
	ship.Subject
	Connection  ship.ConnectionID
	PushedUntil time.Time // until then the carrier tells by itself; zero if it does not
	Due         time.Time // before it was claimed
}

// sqlDueWatches claims parcels that are due by moving their time on: if this
// process dies, they are due again then. They are found in the index alone:
// however much is due of connections that are not asked now, no row of theirs is
// read. What another copy is claiming is skipped, and more is found than is
// claimed, so that something remains. Each row is looked up and locked for
// itself, and changed by its place, because joins would be planned for a tenth
// of the table.
const sqlDueWatches = `
WITH claimed AS MATERIALIZED (
  SELECT array_agg(p.ctid) AS row_ids, array_agg(p.due_at) AS dues FROM (
    SELECT p.ctid, p.due_at FROM (
      SELECT account_id, livemode, subject_id FROM carrier_polls WHERE due_at <= $1 AND connection_id <> ALL ($4::uuid[]) ORDER BY due_at LIMIT 4 * $3::int
    ) d CROSS JOIN LATERAL (
      SELECT ctid, due_at FROM carrier_polls p
      WHERE p.account_id = d.account_id AND p.livemode = d.livemode AND p.subject_id = d.subject_id AND p.due_at <= $1
      LIMIT 1 FOR UPDATE SKIP LOCKED
    ) p LIMIT $3) p
)
UPDATE carrier_polls p SET due_at = $2
FROM claimed, unnest(claimed.row_ids, claimed.dues) AS k (row_id, due_at)
WHERE p.ctid = k.row_id
RETURNING p.account_id, p.livemode, p.subject_id, p.connection_id, p.push_subscribed_until, k.due_at`

// DueWatches claims up to limit parcels that are due at now, but for those of
// the connections to skip; each is due again at again unless it is moved.
func (s *Store) DueWatches(ctx context.Context, now, again time.Time, limit int, skip []ship.ConnectionID) ([]Watch, error) {
	not := make([][16]byte, len(skip))
	for i, c := range skip {
		not[i] = c.Raw()
	}
	rows, err := s.sys.Query(ctx, sqlDueWatches, now, again, limit, not)
	if err != nil {
		return nil, fmt.Errorf("claim watches: %w", explain(err))
	}
	var list []Watch
	err = each(rows, func(r pgx.Rows) error {
		var account, id, connection [16]byte
		var until *time.Time
		var w Watch
		err := r.Scan(&account, &w.Tenant.Livemode, &id, &connection, &until, &w.Due)
		w.Tenant.Account, w.ID, w.Connection, w.PushedUntil = ship.AccountIDOf(account), id, ship.ConnectionIDOf(connection), timeOrZero(until)
		list = append(list, w)
		return err
	})
	return list, explain(err)
}

const sqlMoveWatches = `
UPDATE carrier_polls p SET due_at = k.due_at
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @due::timestamptz[]) AS k (account_id, livemode, id, due_at)
WHERE p.account_id = k.account_id AND p.livemode = k.livemode AND p.subject_id = k.id`

const sqlEndWatches = `
DELETE FROM carrier_polls p USING ` + subjectKeys + `
WHERE p.account_id = k.account_id AND p.livemode = k.livemode AND p.subject_id = k.id`

// MoveWatches sets when the parcels are next asked about; the zero time means
// never again.
func (s *Store) MoveWatches(ctx context.Context, due map[ship.Subject]time.Time) error {
	var moved, ended []ship.Subject
	var times []time.Time
	for p, at := range due {
		if at.IsZero() {
			ended = append(ended, p)
			continue
		}
		moved, times = append(moved, p), append(times, at)
	}
	b := &pgx.Batch{}
	if len(moved) > 0 {
		args := subjectArgs(moved)
		args["due"] = times
		b.Queue(sqlMoveWatches, args)
	}
	if len(ended) > 0 {
		b.Queue(sqlEndWatches, subjectArgs(ended))
	}
	if b.Len() == 0 {
		return nil
	}
	if s.tx != nil {
		return explain(s.tx.SendBatch(ctx, b).Close())
	}
	return explain(s.sys.SendBatch(ctx, b).Close())
}

// sqlWatched reads a purchase only where a parcel has further numbers.
const sqlWatched = `
SELECT st.account_id, st.livemode, st.id, st.carrier, st.tracking_number, s.purchase->'pieces'
FROM ` + subjectKeys + ` JOIN shipment_states st USING (account_id, livemode, id)
LEFT JOIN shipments s ON st.piece_count > 1 AND NOT st.is_tracker AND s.account_id = st.account_id AND s.livemode = st.livemode AND s.id = st.id`

// Watched is what a carrier is asked about: the numbers of a parcel's pieces.
type Watched struct {
	Carrier string
	Numbers []string // by piece
}

// Numbers returns what the parcels are known as at their carriers.
func (s *Store) Numbers(ctx context.Context, parcels []ship.Subject) (map[ship.Subject]Watched, error) {
	query := s.sys.Query
	if s.tx != nil {
		query = s.tx.Query
	}
	rows, err := query(ctx, sqlWatched, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("numbers of parcels: %w", explain(err))
	}
	all := make(map[ship.Subject]Watched, len(parcels))
	err = each(rows, func(r pgx.Rows) error {
		var account, id [16]byte
		var carrier, number *string
		var p ship.Subject
		var w Watched
		if err := r.Scan(&account, &p.Tenant.Livemode, &id, &carrier, &number, &w.Numbers); err != nil {
			return err
		}
		p.Tenant.Account, p.ID = ship.AccountIDOf(account), id
		w.Carrier = value(carrier)
		if len(w.Numbers) == 0 && number != nil {
			w.Numbers = []string{*number}
		}
		all[p] = w
		return nil
	})
	return all, explain(err)
}

const sqlHolders = `
SELECT l.account_id, l.livemode, l.value, l.subject_id
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @numbers::text[]) AS k (account_id, livemode, number)
JOIN lookup_keys l ON l.account_id = k.account_id AND l.livemode = k.livemode AND l.kind = 't' AND l.value = k.number`

// A Named is a tracking number of a tenant.
type Named struct {
	Tenant ship.Tenant
	Number string
}

// Holders are the tenants' parcels of the numbers.
func (s *Store) Holders(ctx context.Context, numbers []Named) (map[Named][]ship.Subject, error) {
	rows, err := s.sys.Query(ctx, sqlHolders, nameArgs(numbers))
	if err != nil {
		return nil, fmt.Errorf("holders of numbers: %w", explain(err))
	}
	all := make(map[Named][]ship.Subject, len(numbers))
	err = each(rows, func(r pgx.Rows) error {
		var account, id [16]byte
		var n Named
		err := r.Scan(&account, &n.Tenant.Livemode, &n.Number, &id)
		n.Tenant.Account = ship.AccountIDOf(account)
		all[n] = append(all[n], ship.Subject{Tenant: n.Tenant, ID: id})
		return err
	})
	return all, explain(err)
}

func nameArgs(numbers []Named) pgx.NamedArgs {
	names := make([]string, len(numbers))
	for i, n := range numbers {
		names[i] = n.Number
	}
	args := tenantsArgs(len(numbers), func(i int) ship.Tenant { return numbers[i].Tenant })
	args["numbers"] = names
	return args
}

// sqlLockHolders locks in the same order as sqlLockJourneys. The lookup keys are found
// first and in their index alone: beside what is locked, their rows would be
// read too.
const sqlLockHolders = `
WITH holders AS MATERIALIZED (
  SELECT l.account_id, l.livemode, l.subject_id AS id, l.value
  FROM unnest(@accounts::uuid[], @livemodes::boolean[], @numbers::text[]) AS k (account_id, livemode, number)
  JOIN lookup_keys l ON l.account_id = k.account_id AND l.livemode = k.livemode AND l.kind = 't' AND l.value = k.number
)
SELECT holders.value, ` + trackColumns + `
FROM holders JOIN shipment_states st USING (account_id, livemode, id)
ORDER BY st.account_id, st.livemode, st.id FOR UPDATE OF st`

// LockHolders locks the rows of the parcels of the numbers until the
// transaction ends, and says which number is whose. Each may be named once.
func (s *Store) LockHolders(ctx context.Context, numbers []Named) ([]ship.Journey, map[Named][]ship.Subject, error) {
	rows, err := s.tx.Query(ctx, sqlLockHolders, nameArgs(numbers))
	if err != nil {
		return nil, nil, fmt.Errorf("lock holders of numbers: %w", explain(err))
	}
	list, of := make([]ship.Journey, 0, len(numbers)), make(map[Named][]ship.Subject, len(numbers))
	var reader journeyReader
	var name string
	err = each(rows, func(r pgx.Rows) error {
		j, err := reader.read(r, &name)
		if last := len(list) - 1; last < 0 || list[last].Subject != j.Subject { // a parcel of several numbers comes as often
			list = append(list, j)
		}
		n := Named{Tenant: j.Tenant, Number: name}
		of[n] = append(of[n], j.Subject)
		return err
	})
	return list, of, explain(err)
}

const sqlWatch = `
INSERT INTO carrier_polls (account_id, livemode, subject_id, connection_id, due_at) VALUES (@account, @livemode, @id, @connection, @due) ON CONFLICT DO NOTHING`

// Watch begins to ask about a parcel.
func (s *Store) Watch(ctx context.Context, p ship.Subject, c ship.ConnectionID, due time.Time) error {
	_, err := s.exec(ctx, p.Tenant, sqlWatch, tenantArgs(p.Tenant, p.ID, pgx.NamedArgs{"connection": [16]byte(c.Raw()), "due": due}))
	return err
}

const sqlUnsubscribed = `
UPDATE carrier_polls SET push_subscribed_until = $3 WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM carrier_polls WHERE connection_id = $1 AND (push_subscribed_until IS NULL OR push_subscribed_until < $2) ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED))
RETURNING account_id, livemode, subject_id`

// Unsubscribed claims parcels of a connection about which the carrier is not
// told to push beyond a moment. They count as subscribed until the given time;
// a process that dies leaves them to be asked about for so long.
func (s *Store) Unsubscribed(ctx context.Context, c ship.ConnectionID, beyond, until time.Time, limit int) ([]ship.Subject, error) {
	rows, err := s.sys.Query(ctx, sqlUnsubscribed, [16]byte(c.Raw()), beyond, until, limit)
	if err != nil {
		return nil, fmt.Errorf("claim subscriptions: %w", explain(err))
	}
	var list []ship.Subject
	err = each(rows, func(r pgx.Rows) error {
		var account, id [16]byte
		var p ship.Subject
		err := r.Scan(&account, &p.Tenant.Livemode, &id)
		p.Tenant.Account, p.ID = ship.AccountIDOf(account), id
		list = append(list, p)
		return err
	})
	return list, explain(err)
}

const sqlSetPushed = `
UPDATE carrier_polls p SET push_subscribed_until = @until FROM ` + subjectKeys + `
WHERE p.account_id = k.account_id AND p.livemode = k.livemode AND p.subject_id = k.id`

// SetPushed notes until when a carrier tells of the parcels by itself; the zero
// time means that it does not.
func (s *Store) SetPushed(ctx context.Context, parcels []ship.Subject, until time.Time) error {
	args := subjectArgs(parcels)
	args["until"] = nullTime(until)
	_, err := s.sys.Exec(ctx, sqlSetPushed, args)
	return explain(err)
}

const sqlWatchedConnections = `SELECT DISTINCT account_id, livemode, connection_id FROM carrier_polls`

// WatchedConnections lists the connections that parcels are asked about over.
func (s *Store) WatchedConnections(ctx context.Context) ([]Watch, error) {
	rows, err := s.sys.Query(ctx, sqlWatchedConnections)
	if err != nil {
		return nil, fmt.Errorf("watched connections: %w", explain(err))
	}
	var list []Watch
	err = each(rows, func(r pgx.Rows) error {
		var account, connection [16]byte
		var w Watch
		err := r.Scan(&account, &w.Tenant.Livemode, &connection)
		w.Tenant.Account, w.Connection = ship.AccountIDOf(account), ship.ConnectionIDOf(connection)
		list = append(list, w)
		return err
	})
	return list, explain(err)
}
