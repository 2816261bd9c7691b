package store

import (
	"context"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// sqlTail are the tenant's shipments whose facts may be behind: what the log
// and the changes tell since they were last counted. Lists and counts take
// these from their rows, and are exact. It is bounded, for the case that
// nobody counts.
const sqlTail = `
SELECT t.subject FROM (
  SELECT e.subject FROM events e
  WHERE e.account_id = $1 AND e.livemode = $2 AND e.id >= (SELECT tail_from FROM roll_up)
    AND (e.txid, e.id) > ((SELECT cursor_tx FROM roll_up), (SELECT cursor_id FROM roll_up)) AND NOT e.followed
  ORDER BY e.txid DESC, e.id DESC LIMIT 20000
) t
UNION SELECT c.id FROM shipment_changes c WHERE c.account_id = $1 AND c.livemode = $2`

const sqlRolledUp = `SELECT ready FROM roll_up`

// tail are the shipments whose facts may be behind, and whether the past is
// all counted.
func (s *Store) tail(ctx context.Context, t ship.Tenant) (ids uuids, ready bool, err error) {
	ids = uuids{}
	b := s.newBatch(t)
	b.Queue(sqlPlanOnce)
	b.Queue(sqlRolledUp).QueryRow(func(r pgx.Row) error { return r.Scan(&ready) })
	b.Queue(sqlTail, [16]byte(t.Account.Raw()), t.Livemode).Query(collectIDs(&ids))
	return ids, ready, s.send(ctx, b)
}

func collectIDs(into *uuids) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		return each(rows, func(r pgx.Rows) error {
			var id uuid
			err := r.Scan((*[16]byte)(&id))
			*into = append(*into, id)
			return err
		})
	}
}

// The facts that are listed by: $3 is left out because it is in the tail, $4 is
// how many are wanted, $5 and $6 bound the ids. Each is read in the order of an
// index, one status at a time.
const (
	listedFacts  = `SELECT f.id FROM shipment_facts f WHERE f.account_id = $1 AND f.livemode = $2 AND f.id <> ALL ($3::uuid[])`
	betweenFacts = listedFacts + ` AND f.id >= $5 AND f.id < $6`

	sqlFactIDs            = betweenFacts + ` ORDER BY f.id DESC LIMIT $4`
	sqlFactIDsUp          = betweenFacts + ` ORDER BY f.id LIMIT $4`
	sqlFactIDsOfStatus    = betweenFacts + ` AND f.status = $7 ORDER BY f.id DESC LIMIT $4`
	sqlFactIDsOfStatusUp  = betweenFacts + ` AND f.status = $7 ORDER BY f.id LIMIT $4`
	sqlFactIDsOfCarrier   = betweenFacts + ` AND f.status = $7 AND f.carrier = $8 ORDER BY f.id DESC LIMIT $4`
	sqlFactIDsOfCarrierUp = betweenFacts + ` AND f.status = $7 AND f.carrier = $8 ORDER BY f.id LIMIT $4`
	sqlFactIDsByDue       = listedFacts + ` AND (f.due_at, f.id) < ($5, $6) AND f.status = $7 ORDER BY f.due_at DESC, f.id DESC LIMIT $4`
	sqlFactIDsByDueUp     = listedFacts + ` AND (f.due_at, f.id) > ($5, $6) AND f.status = $7 ORDER BY f.due_at, f.id LIMIT $4`
)

// factIDs are the next shipments that the filter wants by their facts: the page
// is among them.
func (s *Store) factIDs(ctx context.Context, t ship.Tenant, f ShipmentFilter, p ship.Page, tail uuids) (uuids, error) {
	if len(f.words) > 0 {
		return s.factIDsTo(ctx, t, f, p, tail)
	}
	from, before := f.bounds(p)
	args := []any{[16]byte(t.Account.Raw()), t.Livemode, tail, p.Limit, [16]byte(from), [16]byte(before)}
	ids := uuids{}
	b := s.newBatch(t)
	b.Queue(sqlPlanAnew)
	if f.Status == "" && f.Carrier == "" && !f.Order.Due {
		b.Queue(pick(f.Order, sqlFactIDs, sqlFactIDsUp), args...).Query(collectIDs(&ids))
		return ids, s.send(ctx, b)
	}
	statuses := ship.Statuses
	if f.Status != "" {
		statuses = []ship.Status{f.Status}
	}
	for _, status := range statuses {
		sql, args := f.ofStatus(p, append(slices.Clone(args), string(status)))
		b.Queue(sql, args...).Query(collectIDs(&ids))
	}
	return ids, s.send(ctx, b)
}

// ofStatus is the statement that lists one status, and its arguments.
func (f ShipmentFilter) ofStatus(p ship.Page, args []any) (string, []any) {
	switch {
	case f.Order.Due:
		at, last := f.dueBehind(p)
		args[4], args[5] = at, [16]byte(last)
		return pick(f.Order, sqlFactIDsByDue, sqlFactIDsByDueUp), args
	case f.Carrier != "":
		return pick(f.Order, sqlFactIDsOfCarrier, sqlFactIDsOfCarrierUp), append(args, f.Carrier)
	}
	return pick(f.Order, sqlFactIDsOfStatus, sqlFactIDsOfStatusUp), args
}

// sqlPlanAnew has the statements behind it planned for their own values: on one
// table that costs little, and they need different indexes. sqlPlanOnce is for
// those over many partitions, whose planning is dear and which need only one.
const (
	sqlPlanAnew = `SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`
	sqlPlanOnce = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true)`
)

// dueBehind is where a list by estimate goes on.
func (f ShipmentFilter) dueBehind(p ship.Page) (at any, last ship.RawID) {
	switch {
	case !p.Before.IsZero() && f.DueAt.IsZero():
		return "infinity", p.Before
	case !p.Before.IsZero():
		return f.DueAt, p.Before
	case f.Order.First:
		return "-infinity", ship.RawID{}
	}
	return "infinity", ship.RawID(slices.Repeat([]byte{math.MaxUint8}, 16))
}

// manyWords is from how many shipments on a word is everywhere.
const manyWords = 2000

const sqlCountWord = `
SELECT count(*) FROM (
  SELECT FROM recipient_words w WHERE w.account_id = $1 AND w.livemode = $2 AND w.word >= $3 AND w.word < $4 LIMIT 2001) x`

// sqlFactIDsTo goes through the words with a beginning, newest shipments first,
// so deep into each as is said, and looks for what else is wanted in the facts.
const sqlFactIDsTo = `
WITH RECURSIVE words AS (
  (SELECT w.word FROM recipient_words w WHERE w.account_id = $1 AND w.livemode = $2 AND w.word >= $7 AND w.word < $8 ORDER BY w.word LIMIT 1)
  UNION ALL
  SELECT (SELECT w.word FROM recipient_words w WHERE w.account_id = $1 AND w.livemode = $2 AND w.word > p.word AND w.word < $8 ORDER BY w.word LIMIT 1)
  FROM words p WHERE p.word IS NOT NULL
)
SELECT n.id FROM (
  SELECT DISTINCT u.id FROM (SELECT word FROM words WHERE word IS NOT NULL LIMIT 50) k, LATERAL (
    SELECT w.id FROM recipient_words w WHERE w.account_id = $1 AND w.livemode = $2 AND w.word = k.word AND w.id >= $3 AND w.id < $4 ORDER BY w.id DESC LIMIT $12
  ) u WHERE u.id <> ALL ($5::uuid[]) ORDER BY u.id DESC
) n, LATERAL (
  SELECT f.id FROM shipment_facts f
  WHERE f.account_id = $1 AND f.livemode = $2 AND f.id = n.id AND f.recipient LIKE ALL ($9::text[])
    AND ($10::text IS NULL OR f.status = $10) AND ($11::text IS NULL OR f.carrier = $11) LIMIT 1
) f
ORDER BY n.id DESC LIMIT $6`

// wordEnd is behind every word with the beginning.
func wordEnd(word string) string { return word + "\U0010FFFF" }

// factIDsTo are the next shipments to a recipient. The rarest word leads.
func (s *Store) factIDsTo(ctx context.Context, t ship.Tenant, f ShipmentFilter, p ship.Page, tail uuids) (uuids, error) {
	account, counts := [16]byte(t.Account.Raw()), make([]int, len(f.words))
	b := s.newBatch(t)
	b.Queue(sqlPlanAnew)
	patterns := []string{}
	for i, w := range f.words {
		b.Queue(sqlCountWord, account, t.Livemode, w, wordEnd(w)).QueryRow(func(r pgx.Row) error { return r.Scan(&counts[i]) })
		patterns = append(patterns, "% "+w+"%") // words hold nothing that means something here
	}
	if err := s.send(ctx, b); err != nil {
		return nil, err
	}
	lead := slices.Index(counts, slices.Min(counts))
	if counts[lead] > manyWords { // all are everywhere: the longest says most
		for i, w := range f.words {
			if len(w) > len(f.words[lead]) {
				lead = i
			}
		}
	}
	depth := p.Limit + len(tail) // of a word alone, that many are enough
	if len(f.words) > 1 || f.Status != "" || f.Carrier != "" {
		depth = max(depth, manyWords)
	}
	from, before := f.bounds(p)
	ids := uuids{}
	b = s.newBatch(t)
	b.Queue(sqlPlanAnew)
	b.Queue(sqlFactIDsTo, account, t.Livemode, [16]byte(from), [16]byte(before), tail, p.Limit, f.words[lead], wordEnd(f.words[lead]), patterns,
		null(string(f.Status)), null(f.Carrier), depth).Query(collectIDs(&ids))
	return ids, s.send(ctx, b)
}

// sqlShipmentsByID reads shipments by their ids. A bound on the ids would only
// tempt the planner to read all between.
const sqlShipmentsByID = `
SELECT ` + shipmentColumns + `
FROM unnest($3::uuid[]) AS k (id)
JOIN shipments s ON s.account_id = $1 AND s.livemode = $2 AND s.id = k.id
JOIN journeys j ON j.account_id = $1 AND j.livemode = $2 AND j.id = k.id`

// shipmentsByID returns the shipments, in no order.
func (s *Store) shipmentsByID(ctx context.Context, t ship.Tenant, ids uuids) ([]ship.Shipment, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var list []ship.Shipment
	b := s.newBatch(t)
	b.Queue(sqlPlanOnce)
	b.Queue(sqlShipmentsByID, [16]byte(t.Account.Raw()), t.Livemode, ids).Query(func(rows pgx.Rows) error {
		return each(rows, func(r pgx.Rows) error {
			sh, err := scanShipment(r, t)
			list = append(list, sh)
			return err
		})
	})
	return list, s.send(ctx, b)
}
