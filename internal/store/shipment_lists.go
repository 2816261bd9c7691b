package store

import (
	"cmp"
	"context"
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
	States    []ship.State // any of them; by the estimate only those with a live label are listed
	Carrier   string
	Reference string    // the client's own, whole
	Number    string    // a tracking number, whole, as ship.NormalizeTrackingNumber writes it
	Query     string    // a part of an order or tracking number, or words of the recipient
	From      time.Time // created at or after
	Before    time.Time // created before
	Order     ShipmentOrder
	DueAt     time.Time // in a list by estimate: that of the last of the page before; zero if it has none

	search search // of the query
}

// ShipmentOrder is what a list of shipments is sorted by: the time of their
// creation, or their estimated delivery.
type ShipmentOrder struct {
	Due   bool // by the estimate; those without one are the last. It goes with no filter but the status
	First bool // the oldest first, not the newest
}

// shipmentFilters are the conditions that every list of shipments has.
const shipmentFilters = `
  AND st.sequence > 0
  AND (@status::text IS NULL OR st.status = @status::tracking_status)
  AND (@carrier::text IS NULL OR s.carrier = @carrier)
  AND (@states::text[] IS NULL OR coalesce(st.state::text, 'purchasing') = ANY (@states))`

// sqlShipments lists the shipments that clients know of, newest first;
// sqlShipmentsUp lists the oldest first. The bounds on id keep the scan inside the
// partitions that can hold an answer.
const (
	listedShipments = `
SELECT ` + shipmentColumns + `
FROM shipments s
JOIN shipment_states st ON st.account_id = s.account_id AND st.livemode = s.livemode AND st.id = s.id
WHERE s.account_id = @account AND s.livemode = @livemode AND s.id >= @from AND s.id < @before` + shipmentFilters

	sqlShipments   = listedShipments + ` ORDER BY s.id DESC LIMIT @limit`
	sqlShipmentsUp = listedShipments + ` ORDER BY s.id LIMIT @limit`
)

// sqlShipmentsOfOrder also lists shipments that no longer hold their order,
// because they failed or were voided: their key is of kind 'p'.
const sqlShipmentsOfOrder = `
SELECT ` + shipmentColumns + `
FROM lookup_keys l
JOIN shipments s ON s.account_id = l.account_id AND s.livemode = l.livemode AND s.id = l.subject_id
JOIN shipment_states st ON st.account_id = s.account_id AND st.livemode = s.livemode AND st.id = s.id
WHERE l.account_id = @account AND l.livemode = @livemode AND l.subject_id >= @from AND l.subject_id < @before
  AND l.kind IN ('o', 'p') AND l.value = @order` + shipmentFilters + `
ORDER BY l.subject_id DESC LIMIT @limit`

// Shipments lists shipments. The page's last id is that of the page before,
// whatever the order.
func (s *Store) Shipments(ctx context.Context, t ship.Tenant, f ShipmentFilter, p ship.Page) ([]ship.Shipment, error) {
	if f.Query != "" {
		f.search = newSearch(f.Query)
	}
	if f.OrderID != "" {
		f.Order = ShipmentOrder{}
		list, err := s.shipmentList(ctx, t, sqlShipmentsOfOrder, f.args(t, p))
		return slices.DeleteFunc(list, func(shipment ship.Shipment) bool { return !f.wants(shipment) }), err
	}

	if f.isSearch() {
		f.Order = ShipmentOrder{}
	}
	if f.isUnsettled() {
		f.Order.Due = false // nothing is due, and no index has it
	}

	tail, ready, err := s.tail(ctx, t)
	if err != nil {
		return nil, err
	}
	if !ready && !f.isSearch() && !f.Order.Due {
		// Older shipments are still being read into the facts.
		return s.shipmentList(ctx, t, f.Order.pick(sqlShipments, sqlShipmentsUp), f.args(t, p))
	}

	ids, err := s.factIDs(ctx, t, f, p, tail)
	if err != nil {
		return nil, err
	}
	list, err := s.shipmentsByID(ctx, t, append(ids, f.idsInPage(p, tail)...))
	return f.page(list, p), err
}

// isSearch reports whether the list is the result of a search: such a list is
// sorted by creation, newest first.
func (f ShipmentFilter) isSearch() bool { return f.Query != "" || f.Reference != "" || f.Number != "" }

// args returns what the statements of lists take; NULL does not narrow.
func (f ShipmentFilter) args(t ship.Tenant, p ship.Page) pgx.NamedArgs {
	from, before := f.bounds(p)
	due, last := f.dueAfter(p)
	return pgx.NamedArgs{
		"account":   t.Account,
		"livemode":  t.Livemode,
		"from":      from,
		"before":    before,
		"due":       due,
		"last":      last,
		"limit":     p.Limit,
		"order":     f.OrderID,
		"status":    null(string(f.Status)),
		"states":    toStrings(f.States),
		"carrier":   null(f.Carrier),
		"reference": f.Reference,
		"number":    f.Number,
	}
}

// isUnsettled reports whether only shipments without a live label are listed.
func (f ShipmentFilter) isUnsettled() bool {
	return len(f.States) > 0 && !slices.Contains(f.States, ship.StatePurchased)
}

// bounds returns the ids between which the page lies: at or above the first,
// below the second.
func (f ShipmentFilter) bounds(p ship.Page) (from, before ship.RawID) {
	switch {
	case f.Order.Due:
		return idBounds(f.From, f.Before, ship.RawID{})
	case !f.Order.First:
		return idBounds(f.From, f.Before, p.Before)
	}

	from, before = idBounds(f.From, f.Before, ship.RawID{})
	if next := nextID(p.Before); !p.Before.IsZero() && string(next[:]) > string(from[:]) {
		from = next
	}
	return from, before
}

// pick returns the statement of the order: the one that lists the newest first,
// or the oldest.
func (o ShipmentOrder) pick(newestFirst, oldestFirst string) string {
	if o.First {
		return oldestFirst
	}
	return newestFirst
}

// idsInPage returns those of the ids that lie in the page's bounds.
func (f ShipmentFilter) idsInPage(p ship.Page, ids idArray) (list idArray) {
	from, before := f.bounds(p)
	for _, id := range ids {
		if string(id[:]) >= string(from[:]) && string(id[:]) < string(before[:]) {
			list = append(list, id)
		}
	}
	return list
}

// page returns the shipments that the filter wants, in its order.
func (f ShipmentFilter) page(list []ship.Shipment, p ship.Page) []ship.Shipment {
	list = slices.DeleteFunc(list, func(shipment ship.Shipment) bool {
		return !f.wants(shipment) || f.Order.Due && !f.isAfterPage(shipment, p)
	})

	slices.SortFunc(list, func(a, b ship.Shipment) int {
		order := strings.Compare(string(a.ID), string(b.ID))
		if f.Order.Due {
			order = cmp.Or(dueAt(a.Progress.EstimateAt).Compare(dueAt(b.Progress.EstimateAt)), order)
		}
		if !f.Order.First {
			return -order
		}
		return order
	})
	return list[:min(len(list), p.Limit)]
}

// wants reports whether the filter wants the shipment as it is now.
func (f ShipmentFilter) wants(shipment ship.Shipment) bool {
	switch {
	case shipment.Sequence == 0:
		return false // no client knows of it
	case f.Status != "" && shipment.Progress.Status != f.Status:
		return false
	case f.Carrier != "" && shipment.Purchase.Carrier != f.Carrier:
		return false
	case len(f.States) > 0 && !slices.Contains(f.States, shipment.State):
		return false
	case f.Reference != "" && shipment.Order.Reference != f.Reference:
		return false
	case f.Number != "" && !slices.Contains(trackingNumbers(shipment.Purchase), f.Number):
		return false
	}
	return f.Query == "" || f.search.matches(shipment)
}

// isAfterPage reports whether the shipment comes after the page before, in a
// list by estimate.
func (f ShipmentFilter) isAfterPage(shipment ship.Shipment, p ship.Page) bool {
	if p.Before.IsZero() {
		return true
	}

	last := ship.ShipmentIDOf(p.Before)
	order := cmp.Or(
		dueAt(shipment.Progress.EstimateAt).Compare(dueAt(f.DueAt)),
		strings.Compare(string(shipment.ID), string(last)),
	)
	return order > 0 == f.Order.First && order != 0
}

// dueAt returns the estimate; a shipment without one sorts after all others.
func dueAt(estimate time.Time) time.Time {
	if estimate.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return estimate
}
