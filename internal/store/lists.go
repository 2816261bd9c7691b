package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

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

	words []string // of the recipient
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

// Shipments lists shipments. The page's last id is that of the page before,
// whatever the order.
func (s *Store) Shipments(ctx context.Context, t ship.Tenant, f ShipmentFilter, p ship.Page) ([]ship.Shipment, error) {
	if f.OrderID != "" {
		f.Order = ShipmentOrder{}
		return s.shipmentList(ctx, t, sqlShipmentsOfOrder, append(f.args(t, p), f.OrderID)...)
	}
	f.words = Words(f.Recipient)
	if len(f.words) > 0 {
		f.Order = ShipmentOrder{}
	}
	tail, ready, err := s.tail(ctx, t)
	if err != nil {
		return nil, err
	}
	if !ready && len(f.words) == 0 && !f.Order.Due {
		// What was there before the facts is still being read into them.
		return s.shipmentList(ctx, t, pick(f.Order, sqlShipments, sqlShipmentsUp), f.args(t, p)...)
	}
	ids, err := s.factIDs(ctx, t, f, p, tail)
	if err != nil {
		return nil, err
	}
	list, err := s.shipmentsByID(ctx, t, append(ids, f.within(p, tail)...))
	return f.page(list, p), err
}

func (f ShipmentFilter) args(t ship.Tenant, p ship.Page) []any {
	from, before := f.bounds(p)
	return []any{[16]byte(t.Account.Raw()), t.Livemode, [16]byte(from), [16]byte(before), null(string(f.Status)), null(f.Carrier), p.Limit}
}

// bounds are the ids between which the page lies: at or above the first, below
// the second.
func (f ShipmentFilter) bounds(p ship.Page) (from, before ship.RawID) {
	switch {
	case f.Order.Due:
		return idBounds(f.From, f.Before, ship.RawID{})
	case !f.Order.First:
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

func pick(o ShipmentOrder, down, up string) string {
	if o.First {
		return up
	}
	return down
}

// within are those of the ids that lie in the page's bounds.
func (f ShipmentFilter) within(p ship.Page, ids uuids) (list uuids) {
	from, before := f.bounds(p)
	for _, id := range ids {
		if string(id[:]) >= string(from[:]) && string(id[:]) < string(before[:]) {
			list = append(list, id)
		}
	}
	return list
}

// page is what the filter wants of the shipments, in its order.
func (f ShipmentFilter) page(list []ship.Shipment, p ship.Page) []ship.Shipment {
	list = slices.DeleteFunc(list, func(sh ship.Shipment) bool { return !f.wants(sh) || f.Order.Due && !f.isBehind(sh, p) })
	slices.SortFunc(list, func(a, b ship.Shipment) int {
		c := strings.Compare(string(a.ID), string(b.ID))
		if f.Order.Due {
			c = cmp.Or(dueAt(a.Progress.EstimateAt).Compare(dueAt(b.Progress.EstimateAt)), c)
		}
		if !f.Order.First {
			return -c
		}
		return c
	})
	return list[:min(len(list), p.Limit)]
}

// wants reports whether the shipment, as it is now, is one that is listed.
func (f ShipmentFilter) wants(sh ship.Shipment) bool {
	if sh.Sequence == 0 || f.Status != "" && sh.Progress.Status != f.Status || f.Carrier != "" && sh.Deal.Carrier != f.Carrier {
		return false
	}
	to := Words(sh.Order.Destination.Name + " " + sh.Order.Destination.Company)
	for _, w := range f.words {
		if !slices.ContainsFunc(to, func(word string) bool { return strings.HasPrefix(word, w) }) {
			return false
		}
	}
	return true
}

// isBehind reports whether the shipment is behind the page before, in a list
// by estimate.
func (f ShipmentFilter) isBehind(sh ship.Shipment, p ship.Page) bool {
	if p.Before.IsZero() {
		return true
	}
	last := ship.ShipmentIDOf(p.Before)
	c := cmp.Or(dueAt(sh.Progress.EstimateAt).Compare(dueAt(f.DueAt)), strings.Compare(string(sh.ID), string(last)))
	return c > 0 == f.Order.First && c != 0
}

// dueAt is the estimate; none is behind all.
func dueAt(estimate time.Time) time.Time {
	if estimate.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return estimate
}
