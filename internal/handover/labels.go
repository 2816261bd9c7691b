package handover

import (
	"context"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Which labels are put on a manifest.
const (
	// MaxManifestLabels is how many labels one manifest has at most. Those that
	// are left are for the next one.
	MaxManifestLabels = 10_000

	manifestDays = 7 // how far back labels are looked for that are on no manifest
	labelPage    = 500
)

// picked is what a manifest is going to have, and what was left out of it.
type picked struct {
	scope    string // of the manifest: a hand-over sheet if no label needs more
	order    ship.ManifestOrder
	excluded []ship.ManifestExclusion
}

// pickLabels chooses the labels of a manifest: those that the client names, or
// all of the last days that are not handed over yet.
func (s *Service) pickLabels(ctx context.Context, in ManifestInput, from ship.Location, c *carrier.Carrier) (picked, error) {
	p := picked{scope: scopeOf(c), order: ship.ManifestOrder{ShipDate: in.ShipDate}}
	if p.order.ShipDate == "" {
		p.order.ShipDate = ship.DateOf(s.now())
	}
	if from.ID != "" {
		p.order.Address = from.Address
		p.order.Location = ship.OrderLocation{ID: from.ID, Name: from.Name}
	}
	if in.Address != (ship.Address{}) {
		address, wrong := in.Address.Normalize("/address")
		if len(wrong) > 0 {
			return p, ship.InvalidFields(wrong)
		}
		p.order.Address = address
	}

	coversDay := scopeOf(c) == store.ManifestDay
	var open, chosen []ship.Shipment
	var err error
	if len(in.Shipments) == 0 || coversDay {
		if open, err = s.openLabels(ctx, in.Tenant, c, p.order.ShipDate); err != nil {
			return p, err
		}
		needing, others := divideByNeed(open, c)
		if closesEachDay(c) {
			needing = p.chooseDay(needing, in)
		}
		open = needing
		chosen = slices.Concat(needing, others)
	}
	if len(in.Shipments) > 0 {
		if chosen, err = s.namedLabels(ctx, in, c, &p); err != nil {
			return p, err
		}
	}

	chosen = p.chooseNeed(chosen, c)
	coversDay = p.scope == store.ManifestDay

	// Where a manifest covers a day, a label that is left out here would be
	// handed over all the same.
	if coversDay {
		if err := requireAll(open, chosen, p.order); err != nil {
			return p, err
		}
	}
	p.add(chosen, coversDay, ship.DefaultOrigin(in.Tenant, in.Account))
	if len(p.order.Labels) == 0 {
		return p, nothingToManifest(p.excluded)
	}
	return p, nil
}

// divideByNeed divides labels by whether the carrier has manifests for them.
func divideByNeed(list []ship.Shipment, c *carrier.Carrier) (needing, others []ship.Shipment) {
	for _, shipment := range list {
		if c.NeedsManifest(shipment.Purchase.Service) {
			needing = append(needing, shipment)
		} else {
			others = append(others, shipment)
		}
	}
	return needing, others
}

// chooseNeed returns the labels that need a manifest, and excludes the others. If none
// does, all of them are on a hand-over sheet.
func (p *picked) chooseNeed(chosen []ship.Shipment, c *carrier.Carrier) []ship.Shipment {
	needing, others := divideByNeed(chosen, c)
	if len(needing) == 0 {
		p.scope = store.ManifestSheet
		return others
	}
	for _, shipment := range others {
		p.exclude(shipment.ID, c.Spec().Title+" has no manifest for its service: it is for a hand-over sheet of its own.")
	}
	return needing
}

// chooseDay returns the labels of the day that is asked for, or else of the last day
// that has any: an evening in America is of UTC's next day. The labels of other days are
// excluded then, unless the client names those that it wants.
func (p *picked) chooseDay(open []ship.Shipment, in ManifestInput) []ship.Shipment {
	isAsked := in.ShipDate != ""
	if !isAsked && len(open) > 0 {
		p.order.ShipDate = ""
		for _, shipment := range open {
			p.order.ShipDate = max(p.order.ShipDate, shipment.Order.ShipDate)
		}
	}

	return slices.DeleteFunc(open, func(shipment ship.Shipment) bool {
		day := shipment.Order.ShipDate
		if day == p.order.ShipDate {
			return false
		}
		if !isAsked && len(in.Shipments) == 0 {
			p.exclude(shipment.ID, "It is of "+string(day)+", which needs a manifest of its own: give that shipDate.")
		}
		return true
	})
}

// closesEachDay reports whether the labels of each day are on a manifest of their own.
func closesEachDay(c *carrier.Carrier) bool {
	return scopeOf(c) == store.ManifestDay && !c.Spec().ManifestAllDays
}

// openLabels returns the shipments of the carrier account that are to be handed
// over by the day, oldest first. Returns are handed over by the recipient.
func (s *Service) openLabels(ctx context.Context, t ship.Tenant, c *carrier.Carrier, day ship.Date) ([]ship.Shipment, error) {
	filter := store.ShipmentFilter{
		States:  []ship.State{ship.StatePurchased},
		Carrier: c.Spec().Name,
		From:    day.Time().AddDate(0, 0, -manifestDays),
		Order:   store.ShipmentOrder{First: true},
	}

	var open []ship.Shipment
	page := ship.Page{Limit: labelPage}
	for len(open) < MaxManifestLabels {
		list, err := s.Store.Shipments(ctx, t, filter, page)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			break
		}
		page.Before = list[len(list)-1].ID.Raw()

		list = slices.DeleteFunc(list, func(shipment ship.Shipment) bool {
			return !isSoldBy(shipment, c) || shipment.Order.IsReturn || isHandedOver(shipment, c) || shipment.Order.ShipDate > day
		})
		manifested, err := s.Store.ManifestsOf(ctx, t, idsOf(list))
		if err != nil {
			return nil, err
		}
		for _, shipment := range list {
			if manifested[shipment.ID] == "" {
				open = append(open, trimmed(shipment))
			}
		}
	}
	return open[:min(len(open), MaxManifestLabels)], nil
}

// isHandedOver reports whether the carrier has the parcel already. The parcels of
// the sandbox move within seconds of their purchase: they count until they are
// delivered.
func isHandedOver(shipment ship.Shipment, c *carrier.Carrier) bool {
	if c.Simulated() {
		return shipment.Progress.Status == ship.Delivered
	}
	return shipment.Progress.Status.Rank() > ship.LabelGenerated.Rank()
}

// trimmed is what a manifest needs of a shipment: there may be thousands.
func trimmed(shipment ship.Shipment) ship.Shipment {
	return ship.Shipment{
		ID:    shipment.ID,
		State: shipment.State,
		Order: ship.Order{
			Origin:   shipment.Order.Origin,
			Location: shipment.Order.Location,
			ShipDate: shipment.Order.ShipDate,
		},
		Tenant: shipment.Tenant,
		Purchase: ship.Purchase{
			Service:        shipment.Purchase.Service,
			TrackingNumber: shipment.Purchase.TrackingNumber,
			Pieces:         shipment.Purchase.Pieces,
		},
	}
}

func idsOf(list []ship.Shipment) []ship.ShipmentID {
	ids := make([]ship.ShipmentID, len(list))
	for i, shipment := range list {
		ids[i] = shipment.ID
	}
	return ids
}

// namedLabels returns the shipments that the client names, except those that
// cannot be on the manifest.
func (s *Service) namedLabels(ctx context.Context, in ManifestInput, c *carrier.Carrier, p *picked) ([]ship.Shipment, error) {
	found, err := s.Store.ShipmentsByID(ctx, in.Tenant, in.Shipments)
	if err != nil {
		return nil, err
	}
	manifested, err := s.Store.ManifestsOf(ctx, in.Tenant, in.Shipments)
	if err != nil {
		return nil, err
	}
	byID := make(map[ship.ShipmentID]ship.Shipment, len(found))
	for _, shipment := range found {
		byID[shipment.ID] = shipment
	}

	var list []ship.Shipment
	for i, id := range in.Shipments {
		if slices.Contains(in.Shipments[:i], id) {
			continue
		}
		shipment := byID[id]
		if reason := whyNot(shipment, manifested[id], c); reason != "" {
			p.exclude(id, reason)
			continue
		}
		list = append(list, trimmed(shipment))
	}
	return list, nil
}

// whyNot says why a shipment that is named cannot be on a manifest; empty if it
// can.
func whyNot(shipment ship.Shipment, on ship.ManifestID, c *carrier.Carrier) string {
	switch {
	case shipment.Sequence == 0:
		return "There is no such shipment."
	case on != "":
		return "It is on manifest " + string(on) + "."
	case shipment.State == ship.StateVoided || shipment.State == ship.StateVoiding || shipment.State == ship.StateRefundPending:
		return "Its label was voided."
	case shipment.State != ship.StatePurchased:
		return "It has no label."
	case !isSoldBy(shipment, c):
		return "Its label was not bought with this carrier account."
	case shipment.Order.IsReturn:
		return "It is a return, which the recipient hands over."
	case shipment.Progress.Status == ship.Delivered:
		return "It is delivered."
	}
	return ""
}

// requireAll returns an error unless all open labels of the day are chosen, and
// leave from the address if one is given.
func requireAll(open, chosen []ship.Shipment, order ship.ManifestOrder) error {
	isChosen := make(map[ship.ShipmentID]bool, len(chosen))
	for _, shipment := range chosen {
		isChosen[shipment.ID] = order.Address == (ship.Address{}) || placeOf(shipment.Order.Origin) == placeOf(order.Address)
	}

	var missing []string
	for _, shipment := range open {
		if !isChosen[shipment.ID] {
			missing = append(missing, string(shipment.ID))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	failure := ship.Coded(ship.Invalid, "manifest_covers_day",
		"the carrier closes all labels of a day, and %d of %s would be left out; leave out shipmentIds and address, or void what is not sent", len(missing), order.ShipDate)
	failure.Details = map[string]any{"missing": missing[:min(len(missing), 100)]}
	return failure
}

func (p *picked) exclude(id ship.ShipmentID, reason string) {
	p.excluded = append(p.excluded, ship.ManifestExclusion{Shipment: id, Reason: reason})
}

// add puts shipments on the manifest. One manifest is for one place, unless it
// covers a day: the address that is given, else the account's own if something
// leaves from there, else that of the newest label.
func (p *picked) add(list []ship.Shipment, coversDay bool, usual ship.Address) {
	if len(list) == 0 {
		return
	}
	if p.order.Address == (ship.Address{}) {
		order := list[len(list)-1].Order
		if i := slices.IndexFunc(list, func(s ship.Shipment) bool { return placeOf(s.Order.Origin) == placeOf(usual) }); i >= 0 {
			order = list[i].Order
		}
		p.order.Address = order.Origin
		p.order.Location = order.Location
	}

	place := placeOf(p.order.Address)
	for _, shipment := range list {
		if !coversDay && placeOf(shipment.Order.Origin) != place {
			p.exclude(shipment.ID, "It leaves from another address, which needs a manifest of its own.")
			continue
		}
		p.order.Labels = append(p.order.Labels, ship.ManifestLabel{
			Shipment: shipment.ID,
			Service:  shipment.Purchase.Service,
			Numbers:  numbersOf(shipment),
		})
	}
	slices.SortStableFunc(p.order.Labels, func(a, b ship.ManifestLabel) int {
		return strings.Compare(string(a.Shipment), string(b.Shipment))
	})
}
