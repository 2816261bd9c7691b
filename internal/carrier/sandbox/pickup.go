package sandbox

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	// shortestWindow is how long a driver needs.
	shortestWindow = time.Hour

	// pickupGrace is how long after the ready time a pickup can still be booked:
	// the place may be a day behind, and a booking may be repeated.
	pickupGrace = 24 * time.Hour

	// residentialPickup is what a pickup costs more at a home, in cents, where
	// the carrier names a price.
	residentialPickup = 475
)

// book returns the booking of a request: always the same for the same request.
func (m *model) book(request *carrier.PickupRequest, now time.Time) (ship.PickupBooking, error) {
	order := &request.Order
	if m.domesticUS && !isUS(order.Address.Country) {
		return ship.PickupBooking{}, m.refuseField(m.refusals.lane, "/address/country",
			"%s collects parcels only in the United States and its territories", m.title)
	}

	if ground, express := fedexCompanies(order.Parcels); m.name == "fedex" && ground == express {
		return ship.PickupBooking{}, m.refuseField(m.refusals.service, "/parcels",
			"FedEx Express and FedEx Ground collect separately: send shipmentIds, and book a pickup for each of the two")
	}

	isShort := order.Window.CloseAt.Sub(order.Window.ReadyAt) < shortestWindow
	if isShort || order.Window.ReadyAt.Before(now.Add(-pickupGrace)) {
		refusal := ship.Refusal{
			Code:    m.refusals.window,
			Message: "a pickup needs at least an hour between the ready and the close time, on a day that is not over",
		}
		return ship.PickupBooking{}, carrier.TooLate(refusal, nextWindow(order.Window, now))
	}

	if err := m.effectFault(&order.Address, "pickup", m.refusals.address, "the address of the pickup does not exist"); err != nil {
		return ship.PickupBooking{}, err
	}
	return m.booking(request), nil
}

// nextWindow returns the first window at the same time of day that is not over and
// long enough.
func nextWindow(window ship.TimeWindow, now time.Time) ship.TimeWindow {
	days := 1
	if late := now.Sub(window.ReadyAt); late > 0 {
		days += int(late / (24 * time.Hour))
	}

	ready := window.ReadyAt.AddDate(0, 0, days)
	length := max(window.CloseAt.Sub(window.ReadyAt), shortestWindow)
	return ship.TimeWindow{ReadyAt: ready, CloseAt: ready.Add(length)}
}

// booking returns what was booked under the reference.
func (m *model) booking(request *carrier.PickupRequest) ship.PickupBooking {
	var booking ship.PickupBooking
	booking.Confirmation, booking.Details = m.pickup(seed(request.Reference, 0), &request.Order)

	if m.pickupFee > 0 {
		booking.Price = ship.Money{Minor: m.pickupFee, Currency: "USD"}
		if isHome := request.Order.Address.Residential; isHome != nil && *isHome {
			booking.Price.Minor += residentialPickup
		}
	}
	return booking
}

// cancel cancels a booking. A carrier without state does not know whether it was
// cancelled before.
func (m *model) cancel(request *carrier.PickupRequest, booking ship.PickupBooking) error {
	own := m.booking(request)
	if booking.Confirmation != own.Confirmation || booking.Details != own.Details {
		return m.decline("cancellation", m.refusals.cancel, "there is no such pickup")
	}

	switch faultOf(&request.Order.Address) {
	case FaultVoidRefused:
		return m.decline("cancellation", m.refusals.cancel, "the driver is on the way")
	case FaultVoidLost:
		return ship.Errorf(ship.Uncertain, "%s did not answer", m.title)
	}
	return nil
}

// findPickup returns what was booked under the reference. As with purchases, every
// reference counts as booked unless a magic address says that it is not.
func (m *model) findPickup(request *carrier.PickupRequest) (ship.PickupBooking, error) {
	if err := m.findFault(&request.Order.Address, "pickup"); err != nil {
		return ship.PickupBooking{}, err
	}
	return m.booking(request), nil
}

// BookPickup books a pickup.
func (d direct) BookPickup(_ context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	return d.book(&request, time.Now())
}

// CancelPickup cancels a pickup.
func (d direct) CancelPickup(_ context.Context, request carrier.PickupRequest, booking ship.PickupBooking) error {
	return d.cancel(&request, booking)
}

// cancelRequest is a cancellation on the wire.
type cancelRequest struct {
	Pickup  carrier.PickupRequest `json:"pickup"`
	Booking ship.PickupBooking    `json:"booking"`
}

// BookPickup books over the wire.
func (r remote) BookPickup(ctx context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	var booking ship.PickupBooking
	err := r.call(ctx, "pickup", true, request, &booking)
	if err == nil {
		return booking, nil
	}
	if refusal := ship.ErrorOf(err).Refusal; refusal.Code == r.model.refusals.window {
		err = carrier.TooLate(refusal, nextWindow(request.Order.Window, time.Now()))
	}
	return ship.PickupBooking{}, err
}

// CancelPickup cancels over the wire.
func (r remote) CancelPickup(ctx context.Context, request carrier.PickupRequest, booking ship.PickupBooking) error {
	var answer checkAnswer
	if err := r.call(ctx, "cancel_pickup", true, cancelRequest{request, booking}, &answer); err != nil {
		return err
	}
	if !answer.OK {
		return ship.Errorf(ship.Uncertain, "the carrier did not confirm the cancellation")
	}
	return nil
}

// findPickup looks up over the wire.
func (r remote) findPickup(ctx context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	var booking ship.PickupBooking
	err := r.call(ctx, "find_pickup", false, request, &booking)
	return booking, notByProxy(err)
}

// notByProxy turns "not found" into "unavailable" unless the carrier itself said
// so, with a code: a proxy that does not know the path is no proof that something
// was not done.
func notByProxy(err error) error {
	if ship.KindOf(err) == ship.NotFound && ship.ErrorOf(err).Refusal.Code == "" {
		return &ship.Error{Kind: ship.Unavailable, Message: "the carrier's service was not found", Err: err}
	}
	return err
}
