package carrier

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
)

// A PickupRequest is a pickup and our reference, unique for each pickup. The
// carrier keeps it where it can.
type PickupRequest struct {
	Order     ship.PickupOrder
	Reference string
}

// A PickupBooker books pickups.
type PickupBooker interface {
	// BookPickup asks for a driver. If the request may have reached the carrier
	// and no answer was read, the error must be of kind ship.Uncertain. A window
	// that the carrier cannot keep is a TooLate error. A carrier that says that
	// it has a pickup there already, and books no other, is a booking that
	// Existed.
	BookPickup(ctx context.Context, request PickupRequest) (ship.PickupBooking, error)
}

// A PickupFinder can look a pickup up by our reference.
type PickupFinder interface {
	// FindPickup returns what was booked under the reference, or an error of
	// kind ship.NotFound if nothing was. A day that the carrier does not show is
	// an error of kind ship.Unsupported.
	FindPickup(ctx context.Context, request PickupRequest) (ship.PickupBooking, error)
}

// A PickupCanceller cancels pickups.
type PickupCanceller interface {
	// CancelPickup cancels a booking. A refusal is an error of kind ship.Invalid
	// with the carrier's own words. A pickup that was cancelled before is no
	// error, and asking again is safe.
	CancelPickup(ctx context.Context, request PickupRequest, booking ship.PickupBooking) error
}

// A PickupDivider is a carrier whose divisions collect separately.
type PickupDivider interface {
	// PickupDivision names the division that collects the parcels; empty for the
	// main one, and if there is none that collects them all.
	PickupDivision(parcels []ship.PickupParcels) string
}

// TooLate is the error of a pickup in a window that the carrier cannot keep. next
// is the first one that it can; the zero value if it does not say.
func TooLate(refusal ship.Refusal, next ship.TimeWindow) *ship.Error {
	const format = "2006-01-02T15:04:05Z07:00"
	failure := ship.Coded(ship.Invalid, "pickup_too_late", "the carrier cannot collect in this window")
	failure.Refusal = refusal
	if !next.ReadyAt.IsZero() {
		failure.Message += "; the next possible one begins at " + next.ReadyAt.Format(format)
		failure.Details = map[string]any{"nextWindow": map[string]any{
			"readyAt": next.ReadyAt.Format(format),
			"closeAt": next.CloseAt.Format(format),
		}}
	}
	return failure
}

// PickupCertainty says how the outcome of a booking can be found out after its
// answer was lost.
type PickupCertainty struct {
	CanFind      bool // by a look-up, on the days that the carrier shows
	CanBookAgain bool // by booking again, which does not make a second pickup
}

// PickupCertainty returns how a lost answer to BookPickup can be made up for.
func (c *Carrier) PickupCertainty() PickupCertainty {
	_, canFind := abilityOf[PickupFinder](c, "find_pickups")
	return PickupCertainty{CanFind: canFind, CanBookAgain: c.spec.OnePickupPerPlace}
}

// PickupDivision names the division of the carrier that collects the parcels: each
// has pickups of its own. It is empty for the main one.
func (c *Carrier) PickupDivision(parcels []ship.PickupParcels) string {
	if divider, ok := c.driver.(PickupDivider); ok {
		return divider.PickupDivision(parcels)
	}
	return ""
}

// BookPickup asks the carrier to collect parcels.
func (c *Carrier) BookPickup(ctx context.Context, request PickupRequest) (_ ship.PickupBooking, err error) {
	booker, ok := abilityOf[PickupBooker](c, "pickups")
	if !ok {
		return ship.PickupBooking{}, c.errorf(ship.Unsupported, "%s does not offer pickup booking", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpPickup, c.Deadlines.Pickup)
	defer func() { done(err) }()
	booking, err := booker.BookPickup(ctx, request)
	if err != nil {
		return ship.PickupBooking{}, c.explain(err, ship.Uncertain)
	}
	if booking.Confirmation == "" && !booking.Existed {
		// A driver may come, so this is not a plain failure.
		return ship.PickupBooking{}, c.errorf(ship.Uncertain, "%s sent no confirmation number", c.spec.Title)
	}
	return booking, nil
}

// FindPickup returns the pickup booked under the reference, or an error of kind
// ship.NotFound if there is none.
func (c *Carrier) FindPickup(ctx context.Context, request PickupRequest) (_ ship.PickupBooking, err error) {
	finder, ok := abilityOf[PickupFinder](c, "find_pickups")
	if !ok {
		return ship.PickupBooking{}, c.errorf(ship.Unsupported, "%s cannot look up pickups", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpFind, c.Deadlines.Find)
	defer func() { done(err) }()
	booking, err := finder.FindPickup(ctx, request)
	if err != nil {
		return ship.PickupBooking{}, c.explain(err, ship.Unavailable)
	}
	if booking.Confirmation == "" {
		return ship.PickupBooking{}, c.errorf(ship.Unavailable, "%s sent no confirmation number", c.spec.Title)
	}
	return booking, nil
}

// CancelPickup cancels a booking.
func (c *Carrier) CancelPickup(ctx context.Context, request PickupRequest, booking ship.PickupBooking) (err error) {
	canceller, ok := abilityOf[PickupCanceller](c, "cancel_pickups")
	if !ok {
		return c.errorf(ship.Unsupported, "%s cannot cancel pickups", c.spec.Title)
	}
	if booking.Confirmation == "" {
		return c.errorf(ship.Unsupported, "%s cancels pickups by their number, which is not known", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpVoid, c.Deadlines.Void)
	defer func() { done(err) }()
	return c.explain(canceller.CancelPickup(ctx, request, booking), ship.Uncertain)
}
