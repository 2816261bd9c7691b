package certify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// buyAll makes the purchases of the plan, one after the other.
func (w *Walk) buyAll(ctx context.Context) error {
	if !w.can("buy") {
		w.add(Check{Name: "purchase", Result: Skipped, Message: w.spec.Title + " does not sell labels"})
		return nil
	}
	for _, l := range boughtLanes {
		if err := w.buyLane(ctx, l); err != nil {
			return err
		}
	}
	return w.buyServices(ctx)
}

// buyLane buys the cheapest service of a lane.
func (w *Walk) buyLane(ctx context.Context, l lane) error {
	name := "purchase, " + string(l)
	if l == multiPiece && w.spec.GoLive.NoMultiPiece != "" {
		w.add(Check{Name: name, Result: Skipped, Message: w.spec.GoLive.NoMultiPiece})
		return nil
	}

	if ctx.Err() != nil {
		return nil // Run says that it was stopped
	}
	if rate, ok := w.cheapest(l); ok {
		return w.buy(ctx, string(l), w.orders.order(l), rate)
	}

	// From a carrier that quotes nothing, a service is bought by its name. Otherwise only
	// the test environment may be to blame for a missing quote, or else money would
	// be spent on a service of an unknown price.
	service := w.unquoted(l)
	switch result := w.report.result("rates, " + string(l)); {
	case !w.can("rates") && service != "":
		return w.buy(ctx, string(l), w.orders.order(l), ship.Rate{Service: service})
	case result == NotTestable:
		if service != "" {
			return w.buy(ctx, string(l), w.orders.order(l), ship.Rate{Service: service})
		}
		w.add(Check{Name: name, Result: NotTestable, Message: "the test environment quotes no service for this shipment"})
	case result == Failed:
		w.add(Check{Name: name, Result: Skipped, Message: "nothing is bought without a quote, and quoting failed"})
	default:
		w.add(Check{Name: name, Result: Skipped, Message: fmt.Sprintf("%s quotes no service for %s", w.spec.Title, describe(w.orders.order(l)))})
	}
	return nil
}

// unquoted is the service that is bought on a lane without a quote; empty if the
// carrier names none.
func (w *Walk) unquoted(l lane) string {
	if l == international {
		return w.spec.GoLive.International
	}
	return w.spec.GoLive.Domestic
}

// buyServices buys a label of each service that the options name and that was
// not bought yet.
func (w *Walk) buyServices(ctx context.Context) error {
	every := slices.Contains(w.options.Services, AllServices)
	for _, s := range w.spec.Services {
		if ctx.Err() != nil {
			return nil
		}
		wasBought := slices.ContainsFunc(w.bought, func(b *bought) bool { return b.order.Service == s.Code })
		if wasBought || !every && !slices.Contains(w.options.Services, s.Code) {
			continue
		}

		on := slices.IndexFunc(lanes, func(l lane) bool { return w.quoted[l][s.Code].Service != "" })
		if on < 0 {
			if !every {
				w.add(Check{Name: "purchase, " + s.Code, Result: Skipped, Message: s.Name + " is not quoted for the sample shipments"})
			}
			continue
		}
		if err := w.buy(ctx, s.Code, w.orders.order(lanes[on]), w.quoted[lanes[on]][s.Code]); err != nil {
			return err
		}
	}
	return nil
}

// buy makes one purchase. The error means that it could not be written down,
// and that nothing was bought for that reason.
func (w *Walk) buy(ctx context.Context, name string, o ship.Order, offer ship.Rate) error {
	now := time.Now()
	request := carrier.BuyOrder{
		Order:     o,
		Service:   offer.Service,
		Reference: ship.Reference([]byte(rand.Text()), w.options.Tenant, name, 1),
		Shipment:  ship.NewShipmentID(0, now),
		Selection: offer.Selection,
	}
	entry := &Purchase{
		Name:        name,
		State:       Requested,
		Reference:   request.Reference,
		OrderID:     o.OrderID,
		Service:     request.Service,
		RequestedAt: now.UTC(),
	}

	// A crash after this line leaves the reference under which the carrier
	// knows the purchase.
	w.report.Purchases = append(w.report.Purchases, entry)
	if err := w.save(); err != nil {
		return err
	}

	// From here on the purchase is settled whether or not somebody waits.
	ctx = w.record.context(context.WithoutCancel(ctx), name)
	purchase, err := w.options.Carrier.Buy(ctx, request)
	lost := mayHaveSold(err)
	if lost {
		purchase, err = w.findLost(ctx, request, err)
	}

	switch {
	case err == nil:
		entry.settle(purchase)
		w.bought = append(w.bought, &bought{entry: entry, order: request, purchase: purchase, lane: lane(name), wasLost: lost})
		w.add(w.judgePurchase(name, request, offer, purchase, lost))
	case lost:
		entry.State = Uncertain
		entry.Detail = "the response was lost, and the look-up did not find the purchase: search for it by its reference in the carrier's own tools"
		w.add(Check{
			Name:        "purchase, " + name,
			Result:      Failed,
			CarrierCode: codeOf(err),
			Message:     fmt.Sprintf("the response was lost and the purchase was not found under %s; it was not repeated: %s", request.Reference, messageOf(err)),
		})
	default:
		entry.State = Refused
		entry.Detail = messageOf(err)
		w.addError("purchase, "+name, carrier.OpBuy, ship.Sale{}, err)
	}
	return w.save()
}

// mayHaveSold reports whether the carrier may have sold although there is no
// purchase to show for it: the answer was lost, or could not be understood.
func mayHaveSold(err error) bool {
	kind := ship.KindOf(err)
	return kind == ship.Uncertain || kind == ship.Internal
}

// findLost looks up a purchase whose answer was lost. It is never made again.
func (w *Walk) findLost(ctx context.Context, request carrier.BuyOrder, lost error) (ship.Sale, error) {
	if !w.can("find") {
		return ship.Sale{}, lost
	}
	return w.find(ctx, request, ship.Sale{})
}

// find looks a purchase up, for as long as the carrier may take to show it.
// sold is what its answer said; zero if that was lost.
func (w *Walk) find(ctx context.Context, request carrier.BuyOrder, sold ship.Sale) (ship.Sale, error) {
	until := time.Now().Add(w.options.LookupWait)
	for pause := time.Second; ; pause = min(2*pause, 15*time.Second) {
		purchase, err := w.options.Carrier.Find(ctx, request)
		kind := ship.KindOf(err)
		if err == nil || kind != ship.NotFound && kind != ship.Unavailable {
			return purchase, err
		}
		if w.notTestable(carrier.OpFind, sold, err) != "" || time.Now().Add(pause).After(until) {
			return purchase, err
		}

		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return purchase, err
		}
	}
}

// judgePurchase compares the answer with what was ordered.
func (w *Walk) judgePurchase(name string, request carrier.BuyOrder, offer ship.Rate, p ship.Sale, lost bool) Check {
	check := Check{Name: "purchase, " + name, Result: OK}
	var wrong, notes []string

	if p.Service != request.Service {
		wrong = append(wrong, fmt.Sprintf("%s was ordered and %s was sold", request.Service, p.Service))
	}
	if n := len(request.Order.Parcels); n > 1 && len(p.Pieces) != n {
		wrong = append(wrong, fmt.Sprintf("%d parcels were ordered and %d tracking numbers were returned", n, len(p.Pieces)))
	}
	if len(p.Label.Data) == 0 {
		wrong = append(wrong, "the label is lost: the carrier does not send it again")
	}
	switch {
	case p.Price.IsZero() && lost: // a look-up has no price at some carriers
	case p.Price.IsZero() && !w.can("rates"): // the account's rate sheet has it
	case p.Price.IsZero():
		wrong = append(wrong, "the response has no price")
	case !offer.Price.IsZero() && p.Price != offer.Price:
		notes = append(notes, fmt.Sprintf("quoted at %s and sold at %s", offer.Price, p.Price))
	}
	if lost {
		notes = append(notes, "the response was lost and the purchase was found by its reference")
	}
	if why := w.notTestable(carrier.OpBuy, p, nil); why != "" {
		notes = append(notes, why)
	}

	if len(wrong) > 0 {
		check.Result = Failed
	}
	about := fmt.Sprintf("%s %s", p.ServiceName, strings.Join(numbersOf(p), ", "))
	if !p.Price.IsZero() {
		about += " for " + p.Price.String()
	}
	check.Message = strings.Join(slices.Concat([]string{about}, wrong, notes, p.Warnings), "; ")
	return check
}

// numbersOf are all tracking numbers of a purchase.
func numbersOf(p ship.Sale) []string {
	if len(p.Pieces) > 0 {
		return p.Pieces
	}
	return []string{p.TrackingNumber}
}

// checkLookup finds a purchase by its reference, and nothing under a reference
// that was never used.
func (w *Walk) checkLookup(ctx context.Context) {
	switch {
	case !w.can("find"):
		w.add(Check{Name: "look-up", Result: Skipped, Message: w.spec.Title + " cannot look up purchases"})
		return
	case ctx.Err() != nil || len(w.bought) == 0:
		w.add(Check{Name: "look-up", Result: Skipped, Message: "there is no purchase to look up"})
		return
	}

	for _, b := range w.bought {
		name := "look-up, " + b.entry.Name
		found, err := w.find(w.record.context(ctx, b.entry.Name), b.order, b.purchase)
		w.measure(ctx, b, err)
		switch {
		case b.later:
			w.add(Check{
				Name:        name,
				Result:      Skipped,
				CarrierCode: codeOf(err),
				Message:     fmt.Sprintf("not found within %s: the service looks it up for an hour at most, stores how long it took, and voids the label", w.options.LookupWait),
			})
		case ship.KindOf(err) == ship.NotFound && w.options.LookupWait < w.spec.Delay() && w.notTestable(carrier.OpFind, b.purchase, err) == "":
			w.add(Check{
				Name:        name,
				Result:      Skipped,
				CarrierCode: codeOf(err),
				Message:     fmt.Sprintf("not found within %s, but %s may take %s: run it again with a longer wait", w.options.LookupWait, w.spec.Title, w.spec.Delay()),
			})
		case err != nil:
			w.addError(name, carrier.OpFind, b.purchase, err)
		case found.TrackingNumber != b.purchase.TrackingNumber || found.CarrierRef != b.purchase.CarrierRef:
			w.add(Check{Name: name, Result: Failed, Message: fmt.Sprintf("%s was bought and %s was found", b.purchase.TrackingNumber, found.TrackingNumber)})
		default:
			w.add(Check{Name: name, Result: OK, Message: "found by its reference " + b.order.Reference})
		}
	}

	unused := w.bought[0].order
	unused.Reference = ship.Reference([]byte(rand.Text()), w.options.Tenant, "unused", 1)
	found, err := w.options.Carrier.Find(w.record.context(ctx, "unused-reference"), unused)
	switch {
	case ship.KindOf(err) == ship.NotFound:
		w.add(Check{Name: "look-up, unused reference", Result: OK, Message: "nothing is found under a reference that was never used"})
	case err != nil:
		w.addError("look-up, unused reference", carrier.OpFind, w.bought[0].purchase, err)
	default:
		w.add(Check{Name: "look-up, unused reference", Result: Failed, Message: found.TrackingNumber + " was found under a reference that was never used"})
	}
}

// checkTracking asks where the parcels are. New labels may have no events yet.
func (w *Walk) checkTracking(ctx context.Context) {
	switch {
	case !w.can("track"):
		w.add(Check{Name: "tracking", Result: Skipped, Message: w.spec.Title + " does not offer tracking"})
		return
	case ctx.Err() != nil || len(w.bought) == 0:
		w.add(Check{Name: "tracking", Result: Skipped, Message: "there is no purchase to track"})
		return
	}

	for _, b := range w.bought {
		name := "tracking, " + b.entry.Name
		if why := w.notTestable(carrier.OpTrack, b.purchase, nil); why != "" {
			w.add(Check{Name: name, Result: NotTestable, Message: why})
			continue
		}
		numbers := numbersOf(b.purchase)
		updates, err := w.options.Carrier.Track(w.record.context(ctx, b.entry.Name), numbers)
		if err != nil {
			w.addError(name, carrier.OpTrack, b.purchase, err)
			continue
		}

		check := Check{Name: name, Result: OK, Message: fmt.Sprintf("%d events for %s", len(updates), strings.Join(numbers, ", "))}
		if len(updates) == 0 {
			check.Message = w.spec.Title + " responds, but has no events for the new label yet"
		}
		for _, u := range updates {
			if !slices.Contains(numbers, u.TrackingNumber) {
				check.Result = Failed
				check.Message = "the response is about " + u.TrackingNumber + ", which was not requested"
			}
		}
		w.add(check)
	}
}

// voidAll voids everything that was bought.
func (w *Walk) voidAll(ctx context.Context) error {
	var failed error
	for _, b := range w.bought {
		w.void(ctx, b)
		failed = errors.Join(failed, w.save()) // the others are voided all the same
	}
	return failed
}

// void takes one label back.
func (w *Walk) void(ctx context.Context, b *bought) {
	name := "void, " + b.entry.Name
	if b.later {
		w.add(Check{Name: name, Result: Skipped, Message: b.entry.Detail})
		return
	}
	if !w.can("void") {
		b.entry.State = Unused
		b.entry.Detail = w.spec.Title + " cannot void labels: do not use this one"
		w.add(Check{Name: name, Result: Skipped, Message: b.entry.Detail})
		return
	}

	deal := ship.Purchase{
		Carrier:        b.purchase.Carrier,
		Connection:     w.options.Carrier.Connection,
		Service:        b.purchase.Service,
		ServiceName:    b.purchase.ServiceName,
		CarrierRef:     b.purchase.CarrierRef,
		TrackingNumber: b.purchase.TrackingNumber,
		Pieces:         b.purchase.Pieces,
		Price:          b.purchase.Price,
		BoughtAt:       b.entry.RequestedAt,
		Selection:      b.order.Selection,
	}
	ctx = w.record.context(ctx, b.entry.Name)
	result, err := w.options.Carrier.Void(ctx, deal)
	if kind := ship.KindOf(err); kind == ship.Uncertain || kind == ship.Unavailable {
		// Unlike a purchase, a void may be repeated: voiding twice is the same
		// as once.
		result, err = w.options.Carrier.Void(ctx, deal)
	}

	if err != nil {
		b.entry.State = VoidFailed
		b.entry.Detail = messageOf(err)
		if w.addError(name, carrier.OpVoid, b.purchase, err) == NotTestable {
			b.entry.Detail = "the test environment does not void labels"
			b.entry.State = Unused
		}
		return
	}

	b.entry.State = Voided
	check := Check{Name: name, Result: OK, Message: "voided"}
	if result.State == ship.StateRefundPending {
		b.entry.State = RefundPending
		check.Message = "the refund was requested"
	}
	if why := w.notTestable(carrier.OpVoid, b.purchase, nil); why != "" {
		check.Result = NotTestable
		check.Message = why
	}
	w.add(check)
}
