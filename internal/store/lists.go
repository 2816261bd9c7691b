package store

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// ShipmentFilter narrows a list of shipments; empty fields do not.
type ShipmentFilter struct {
	OrderID   string
	Status    ship.Status
	Carrier   string
	Recipient string    // words that the recipient's name or company begins words with
	From      time.Time // created at or after
	Before    time.Time // created before
	Order     ShipmentOrder
	DueAt     time.Time // in a list by estimate: that of the last of the page before; zero if it has none
}

// ShipmentOrder is what a list of shipments is sorted by: the time of their
// creation, or their estimated delivery.
type ShipmentOrder struct {
	Due   bool // by the estimate; those without one are the last. It goes with no filter but the status
	First bool // the oldest first, not the newest
}

// sqlShipments lists what clients were told of, newest first. The bounds on id
// keep the scan inside the partitions that can hold an answer.
const sqlShipments = `
SELECT ` + shipmentColumns + `
FROM shipments s JOIN journeys j ON j.account_id = s.account_id AND j.livemode = s.livemode AND j.id = s.id
WHERE s.account_id = $1 AND s.livemode = $2 AND s.id >= $3 AND s.id < $4
  AND j.sequence > 0
  AND ($5::text IS NULL OR j.status = $5::parcel_status)
  AND ($6::text IS NULL OR s.carrier = $6)
ORDER BY s.id DESC LIMIT $7`

// sqlShipmentsUp is the same, oldest first.
const sqlShipmentsUp = `
SELECT ` + shipmentColumns + `
FROM shipments s JOIN journeys j ON j.account_id = s.account_id AND j.livemode = s.livemode AND j.id = s.id
WHERE s.account_id = $1 AND s.livemode = $2 AND s.id >= $3 AND s.id < $4
  AND j.sequence > 0
  AND ($5::text IS NULL OR j.status = $5::parcel_status)
  AND ($6::text IS NULL OR s.carrier = $6)
ORDER BY s.id LIMIT $7`

const sqlShipmentsOfOrder = `
SELECT ` + shipmentColumns + `
FROM names n
JOIN shipments s ON s.account_id = n.account_id AND s.livemode = n.livemode AND s.id = n.id
JOIN journeys j ON j.account_id = s.account_id AND j.livemode = s.livemode AND j.id = s.id
WHERE n.account_id = $1 AND n.livemode = $2 AND n.id >= $3 AND n.id < $4 AND n.kind IN ('o', 'p') AND n.name = $8
  AND j.sequence > 0
  AND ($5::text IS NULL OR j.status = $5::parcel_status)
  AND ($6::text IS NULL OR s.carrier = $6)
ORDER BY n.id DESC LIMIT $7`

// tail are the tenant's shipments whose facts may be behind: what the log and
// the changes tell since they were last counted. With it, lists and counts are
// exact. It is bounded, for the case that nobody counts.
const tail = `tail AS MATERIALIZED (
  SELECT t.id FROM (
    SELECT e.subject FROM events e
    WHERE e.account_id = $1 AND e.livemode = $2 AND (e.txid, e.id) > ((SELECT cursor_tx FROM roll_up), (SELECT cursor_id FROM roll_up)) AND NOT e.followed
    ORDER BY e.txid DESC, e.id DESC LIMIT 20000
  ) t (id)
  UNION SELECT c.id FROM shipment_changes c WHERE c.account_id = $1 AND c.livemode = $2
)`

const (
	// ofTail and ofFacts are the rows of those ids.
	ofTail  = `FROM tail t JOIN shipments s ON s.account_id = $1 AND s.livemode = $2 AND s.id = t.id JOIN journeys j ON j.account_id = $1 AND j.livemode = $2 AND j.id = t.id AND j.sequence > 0`
	ofFacts = `FROM shipment_facts f JOIN journeys j ON j.account_id = $1 AND j.livemode = $2 AND j.id = f.id WHERE f.account_id = $1 AND f.livemode = $2`
	ofFound = `FROM found JOIN shipments s ON s.account_id = $1 AND s.livemode = $2 AND s.id = found.id JOIN journeys j ON j.account_id = $1 AND j.livemode = $2 AND j.id = found.id`

	// The wanted statuses are read one by one, each in the order of an index.
	// A fact that is behind does not count: its shipment is in the tail.
	byStatus = `
WITH ` + tail + `, found AS (
  SELECT x.id FROM unnest($5::text[]) k (status), LATERAL (
    SELECT f.id ` + ofFacts + ` AND f.status = k.status::parcel_status AND f.id >= $3 AND f.id < $4 AND j.status = f.status AND $6::text IS NULL
    ORDER BY f.id `
	byCarrier = `
WITH ` + tail + `, found AS (
  SELECT x.id FROM unnest($5::text[]) k (status), LATERAL (
    SELECT f.id ` + ofFacts + ` AND f.carrier = $6::text AND f.status = k.status::parcel_status AND f.id >= $3 AND f.id < $4 AND j.status = f.status AND j.carrier = f.carrier
    ORDER BY f.id `
	andTail = ` LIMIT $7) x
  UNION SELECT s.id ` + ofTail + ` WHERE s.id >= $3 AND s.id < $4 AND j.status::text = ANY ($5) AND ($6 IS NULL OR s.carrier = $6)
)
SELECT ` + shipmentColumns + ` ` + ofFound + ` ORDER BY s.id `

	byDue = `
WITH ` + tail + `, found AS (
  SELECT x.id FROM unnest($5::text[]) k (status), LATERAL (
    SELECT f.id ` + ofFacts + ` AND f.status = k.status::parcel_status AND j.status = f.status AND coalesce(j.estimate_at, 'infinity') = f.due_at AND `
	andDueTail = ` LIMIT $6) x
  UNION SELECT s.id ` + ofTail + ` WHERE j.status::text = ANY ($5) AND `
	andDueFound = `
)
SELECT ` + shipmentColumns + ` ` + ofFound + ` ORDER BY coalesce(j.estimate_at, 'infinity') `
)

const (
	sqlShipmentsByStatus    = byStatus + `DESC` + andTail + `DESC LIMIT $7`
	sqlShipmentsByStatusUp  = byStatus + andTail + `LIMIT $7`
	sqlShipmentsByCarrier   = byCarrier + `DESC` + andTail + `DESC LIMIT $7`
	sqlShipmentsByCarrierUp = byCarrier + andTail + `LIMIT $7`
	sqlShipmentsByDue       = byDue + `(f.due_at, f.id) < ($3, $4) ORDER BY f.due_at DESC, f.id DESC` + andDueTail + `(coalesce(j.estimate_at, 'infinity'), s.id) < ($3, $4)` + andDueFound + `DESC, s.id DESC LIMIT $6`
	sqlShipmentsByDueUp     = byDue + `(f.due_at, f.id) > ($3, $4) ORDER BY f.due_at, f.id` + andDueTail + `(coalesce(j.estimate_at, 'infinity'), s.id) > ($3, $4)` + andDueFound + `, s.id LIMIT $6`
)

const sqlRolledUp = `SELECT ready FROM roll_up`

// Shipments lists shipments. The page's last id is that of the page before,
// whatever the order.
func (s *Store) Shipments(ctx context.Context, t ship.Tenant, f ShipmentFilter, p ship.Page) ([]ship.Shipment, error) {
	if words := Words(f.Recipient); len(words) > 0 {
		f.Order = ShipmentOrder{}
		return s.shipmentsTo(ctx, t, words, f, p)
	}
	if f.OrderID != "" {
		f.Order = ShipmentOrder{}
		return s.shipmentList(ctx, t, sqlShipmentsOfOrder, append(f.args(t, p), f.OrderID)...)
	}
	plain := sqlShipments
	if f.Order.First {
		plain = sqlShipmentsUp
	}
	if f.Status == "" && f.Carrier == "" && !f.Order.Due {
		return s.shipmentList(ctx, t, plain, f.args(t, p)...)
	}
	sql, args := f.byFacts(t, p)
	list, ready, err := s.factList(ctx, t, sql, args...)
	if err != nil || ready || f.Order.Due {
		return list, err
	}
	// What was there before the facts is still being read into them.
	return s.shipmentList(ctx, t, plain, f.args(t, p)...)
}

func (f ShipmentFilter) args(t ship.Tenant, p ship.Page) []any {
	from, before := f.bounds(p)
	return []any{[16]byte(t.Account.Raw()), t.Livemode, [16]byte(from), [16]byte(before), null(string(f.Status)), null(f.Carrier), p.Limit}
}

// bounds are the ids between which the page lies: at or above the first, below
// the second.
func (f ShipmentFilter) bounds(p ship.Page) (from, before ship.RawID) {
	if !f.Order.First {
		return idBounds(f.From, f.Before, p.Before)
	}
	from, before = idBounds(f.From, f.Before, ship.RawID{})
	if next := behind(p.Before); !p.Before.IsZero() && string(next[:]) > string(from[:]) {
		from = next
	}
	return from, before
}

// behind is the id behind one.
func behind(id ship.RawID) ship.RawID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id
}

// byFacts is the statement that reads by the facts, with its arguments.
func (f ShipmentFilter) byFacts(t ship.Tenant, p ship.Page) (string, []any) {
	statuses := texts(ship.Statuses)
	if f.Status != "" {
		statuses = []string{string(f.Status)}
	}
	account := [16]byte(t.Account.Raw())
	if f.Order.Due {
		at, last := f.dueBehind(p)
		return pick(f.Order, sqlShipmentsByDue, sqlShipmentsByDueUp), []any{account, t.Livemode, at, [16]byte(last), statuses, p.Limit}
	}
	from, before := f.bounds(p)
	sql := pick(f.Order, sqlShipmentsByStatus, sqlShipmentsByStatusUp)
	if f.Carrier != "" {
		sql = pick(f.Order, sqlShipmentsByCarrier, sqlShipmentsByCarrierUp)
	}
	return sql, []any{account, t.Livemode, [16]byte(from), [16]byte(before), statuses, null(f.Carrier), p.Limit}
}

func pick(o ShipmentOrder, down, up string) string {
	if o.First {
		return up
	}
	return down
}

// dueBehind is where a list by estimate goes on.
func (f ShipmentFilter) dueBehind(p ship.Page) (at any, last ship.RawID) {
	switch {
	case !f.DueAt.IsZero():
		return f.DueAt, p.Before
	case !p.Before.IsZero():
		return "infinity", p.Before
	case f.Order.First:
		return "-infinity", ship.RawID{}
	}
	return "infinity", ship.RawID(slices.Repeat([]byte{math.MaxUint8}, 16))
}

// factList reads shipments by their facts, and reports whether all have some.
func (s *Store) factList(ctx context.Context, t ship.Tenant, sql string, args ...any) (list []ship.Shipment, ready bool, err error) {
	b := s.newBatch(t)
	b.Queue(sqlRolledUp).QueryRow(func(r pgx.Row) error { return r.Scan(&ready) })
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		return each(rows, func(r pgx.Rows) error {
			sh, err := scanShipment(r, t)
			list = append(list, sh)
			return err
		})
	})
	return list, ready, s.send(ctx, b)
}

// sqlShipmentsTo lists shipments by a recipient's word, whole or its beginning,
// newest first. Of a word that is everywhere the newest are looked through. The
// other words are looked for in what was written.
const sqlShipmentsTo = `
WITH ` + tail + `, words AS (
  (SELECT w.id FROM recipient_words w WHERE w.account_id = $1 AND w.livemode = $2 AND w.word = $8 AND w.id >= $3 AND w.id < $4 ORDER BY w.id DESC LIMIT 20000)
  UNION
  (SELECT w.id FROM recipient_words w WHERE w.account_id = $1 AND w.livemode = $2 AND w.word > $8 AND w.word < $9 AND w.id >= $3 AND w.id < $4 LIMIT 20000)
), found AS (
  (SELECT s.id FROM words w
    JOIN shipments s ON s.account_id = $1 AND s.livemode = $2 AND s.id = w.id
    JOIN journeys j ON j.account_id = $1 AND j.livemode = $2 AND j.id = w.id
    WHERE concat(s.ordered -> 'destination' ->> 'name', ' ', s.ordered -> 'destination' ->> 'company') ILIKE ALL ($10::text[])
      AND ($5::text IS NULL OR j.status = $5::parcel_status) AND ($6::text IS NULL OR s.carrier = $6)
    ORDER BY w.id DESC LIMIT $7)
  UNION SELECT s.id ` + ofTail + ` WHERE s.id >= $3 AND s.id < $4
    AND concat(s.ordered -> 'destination' ->> 'name', ' ', s.ordered -> 'destination' ->> 'company') ILIKE ALL ($11::text[])
    AND ($5::text IS NULL OR j.status = $5::parcel_status) AND ($6::text IS NULL OR s.carrier = $6)
)
SELECT ` + shipmentColumns + ` ` + ofFound + ` WHERE j.sequence > 0 ORDER BY s.id DESC LIMIT $7`

var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// shipmentsTo lists the shipments of a recipient, newest first. The longest
// word leads.
func (s *Store) shipmentsTo(ctx context.Context, t ship.Tenant, words []string, f ShipmentFilter, p ship.Page) ([]ship.Shipment, error) {
	word := slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) })
	others, all := []string{}, []string{}
	for _, typed := range strings.Fields(f.Recipient) {
		pattern := "%" + likeEscape.Replace(typed) + "%"
		all = append(all, pattern)
		if !slices.Contains(Words(typed), word) {
			others = append(others, pattern)
		}
	}
	args := append(f.args(t, p), word, word+"\U0010FFFF", others, all)
	return s.shipmentList(ctx, t, sqlShipmentsTo, args...)
}
