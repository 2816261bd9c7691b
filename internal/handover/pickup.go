package handover

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A PickupInput asks for a pickup.
type PickupInput struct {
	Tenant  ship.Tenant
	Account ship.Account
	Seller  Seller
	// Address is where the parcels are; zero means the origin of the shipments,
	// or the account's.
	Address      ship.Address
	Location     ship.LocationID // used instead of an address; empty for none
	Contact      string          // for the driver; empty for the name of the address
	Window       ship.TimeWindow
	Shipments    []ship.ShipmentID // that are collected, or
	Parcels      int               // how many parcels are
	WeightGrams  int64             // of all; zero if unknown
	Instructions string
}

// A BookedPickup is a pickup and whether this request made it.
type BookedPickup struct {
	store.Pickup
	IsNew bool
}

// MaxPickupParcels is how many parcels one pickup may have.
const MaxPickupParcels = 10_000

// BookPickup asks a carrier to collect parcels. There is one pickup of a carrier
// account, a place and a day, and of each division of the carrier: asked for again, it
// is returned as it is.
func (s *Service) BookPickup(ctx context.Context, in PickupInput) (BookedPickup, error) {
	from, err := s.location(ctx, in.Tenant, in.Location)
	if err != nil {
		return BookedPickup{}, err
	}
	c, err := s.seller(ctx, in.Tenant, in.Seller, from)
	if err != nil {
		return BookedPickup{}, err
	}
	if !slices.Contains(c.Abilities(), "pickups") {
		return BookedPickup{}, ship.Coded(ship.Conflict, "pickup_not_supported", "%s does not offer pickup booking. Use its regular pickup or drop the parcels off.", c.Spec().Title)
	}
	order, err := s.pickupOrder(ctx, in, from, c)
	if err != nil {
		return BookedPickup{}, err
	}

	place := sha256.Sum256([]byte(placeOf(order.Address) + c.PickupDivision(order.Parcels)))
	pickup := store.Pickup{
		ID:         ship.NewPickupID(in.Tenant.Shard(), s.now()),
		Tenant:     in.Tenant,
		Carrier:    c.Spec().Name,
		Connection: c.Connection,
		PlaceHash:  place[:],
		Order:      order,
		Shipments:  in.Shipments,
	}

	// One that is there is returned even if its window has passed meanwhile.
	switch existing, err := s.Store.PickupAt(ctx, pickup); ship.KindOf(err) {
	case "":
		return BookedPickup{Pickup: existing}, nil
	case ship.NotFound:
	default:
		return BookedPickup{}, err
	}
	if !order.Window.CloseAt.After(s.now()) {
		return BookedPickup{}, invalid("/closeAt", "invalid", "must not be in the past")
	}

	// From here on the client may disconnect: the pickup is booked and settled
	// whether or not anybody waits for it.
	ctx = context.WithoutCancel(ctx)
	r := s.pickupRun(ctx, &pickup, c)
	verdict, _ := s.answerInTime(r.machine().Run)
	return s.booked(ctx, pickup, r, verdict)
}

// booked answers a request for a pickup.
func (s *Service) booked(ctx context.Context, pickup store.Pickup, r *run, verdict effect.Verdict) (BookedPickup, error) {
	switch verdict.Kind {
	case effect.Taken:
		existing, err := s.Store.PickupAt(ctx, pickup)
		return BookedPickup{Pickup: existing}, err

	case effect.Rejected:
		if r.refused == nil {
			return BookedPickup{}, ship.Coded(ship.Conflict, "pickup_exists",
				"%s has a pickup at this address on this day that was not booked here; use it, or cancel it with the carrier", r.carrier.Spec().Title)
		}
		return BookedPickup{}, r.refused
	}

	stored, err := s.Pickup(ctx, pickup.Tenant, pickup.ID)
	if err != nil && verdict.Kind == effect.Broke {
		return BookedPickup{}, verdict.Err // it was not written down
	}
	return BookedPickup{Pickup: stored, IsNew: true}, err
}

// pickupOrder checks what is asked for and completes it.
func (s *Service) pickupOrder(ctx context.Context, in PickupInput, from ship.Location, c *carrier.Carrier) (ship.PickupOrder, error) {
	order := ship.PickupOrder{
		Address:      in.Address,
		Window:       in.Window,
		WeightGrams:  in.WeightGrams,
		Instructions: in.Instructions,
	}
	if from.ID != "" {
		order.Address = from.PickupAddress()
		order.Location = ship.OrderLocation{ID: from.ID, Name: from.Name}
	}

	switch {
	case len(in.Shipments) > 0:
		if err := s.addShipments(ctx, in, c, &order); err != nil {
			return order, err
		}
	case in.Parcels > 0:
		order.Parcels = []ship.PickupParcels{{Count: in.Parcels}}
	default:
		return order, invalid("/parcels", "required", "say how many parcels are collected, or which shipments")
	}
	if order.Count() > MaxPickupParcels {
		return order, invalid("/parcels", "too_large", "must be at most "+strconv.Itoa(MaxPickupParcels))
	}

	if usual := in.Account.Location; usual != nil && order.Address == (ship.Address{}) {
		order.Address = usual.PickupAddress()
		order.Location = ship.OrderLocation{ID: usual.ID, Name: usual.Name}
	}
	if order.Address == (ship.Address{}) {
		order.Address = ship.DefaultOrigin(in.Tenant, in.Account)
	}
	if order.Address == (ship.Address{}) {
		return order, ship.Coded(ship.Invalid, "origin_required", "the pickup has no address: send one, or set the account's default location")
	}
	if in.Contact != "" {
		order.Address.Name = in.Contact
	}
	address, wrong := order.Address.Normalize("/address")
	if len(wrong) > 0 {
		return order, ship.InvalidFields(wrong)
	}
	order.Address = address
	return order, checkWindow(order.Window)
}

// checkWindow checks what does not depend on the time of the request.
func checkWindow(w ship.TimeWindow) error {
	closing := w.CloseAt.In(w.ReadyAt.Location())
	switch {
	case !w.CloseAt.After(w.ReadyAt):
		return invalid("/closeAt", "invalid", "must be after readyAt")
	case closing.Format(time.DateOnly) != string(w.Date()):
		return invalid("/closeAt", "invalid", "must be on the day of readyAt, at the place of the pickup")
	}
	return nil
}

// addShipments adds the parcels of shipments: how many of which service go where.
func (s *Service) addShipments(ctx context.Context, in PickupInput, c *carrier.Carrier, order *ship.PickupOrder) error {
	found, err := s.Store.ShipmentsByID(ctx, in.Tenant, in.Shipments)
	if err != nil {
		return err
	}
	byID := make(map[ship.ShipmentID]ship.Shipment, len(found))
	for _, shipment := range found {
		byID[shipment.ID] = shipment
	}

	var wrong []ship.FieldError
	var grams int64
	isTheirs := false // the address is that of the shipments
	for i, id := range in.Shipments {
		shipment, ok := byID[id]
		pointer := "/shipmentIds/" + strconv.Itoa(i)
		switch {
		case slices.Contains(in.Shipments[:i], id):
			continue // its parcels are counted
		case !ok || shipment.Sequence == 0:
			wrong = append(wrong, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: "is not a shipment of this account"})
			continue
		case shipment.State != ship.StatePurchased:
			wrong = append(wrong, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: "has no valid label"})
			continue
		case !isSoldBy(shipment, c):
			wrong = append(wrong, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: "was not bought with this carrier account"})
			continue
		}

		switch {
		case order.Address == (ship.Address{}):
			order.Address = shipment.Order.Origin
			order.Location = shipment.Order.Location
			isTheirs = true
		case isTheirs && placeOf(shipment.Order.Origin) != placeOf(order.Address):
			wrong = append(wrong, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: "leaves from another address than the first shipment: book a pickup at each, or give the address where all of them are"})
			continue
		}
		for _, parcel := range shipment.Order.Parcels {
			grams += parcel.WeightGrams
		}
		order.TrackingNumbers = append(order.TrackingNumbers, numbersOf(shipment)...)
		order.Parcels = addParcels(order.Parcels, shipment)
	}
	if order.WeightGrams == 0 {
		order.WeightGrams = grams
	}
	return ship.InvalidFields(wrong)
}

// addParcels counts the parcels of a shipment with those of the same service and
// country.
func addParcels(list []ship.PickupParcels, shipment ship.Shipment) []ship.PickupParcels {
	service := shipment.Purchase.Service
	country := shipment.Order.Destination.Country
	count := max(1, len(shipment.Order.Parcels))
	for i := range list {
		if list[i].Service == service && list[i].Country == country {
			list[i].Count += count
			return list
		}
	}
	return append(list, ship.PickupParcels{Service: service, Country: country, Count: count})
}

// isSoldBy reports whether the label was bought with the carrier account.
func isSoldBy(shipment ship.Shipment, c *carrier.Carrier) bool {
	return shipment.Purchase.Carrier == c.Spec().Name && shipment.Purchase.Connection == c.Connection
}

// numbersOf returns the tracking numbers of all pieces.
func numbersOf(shipment ship.Shipment) []string {
	if len(shipment.Purchase.Pieces) > 0 {
		return shipment.Purchase.Pieces
	}
	return []string{shipment.Purchase.TrackingNumber}
}

// pickupRun returns a run about a pickup, which is stored or is going to be.
func (s *Service) pickupRun(ctx context.Context, pickup *store.Pickup, c *carrier.Carrier) *run {
	request := carrier.PickupRequest{Order: pickup.Order, Reference: string(pickup.ID)}
	asking := s.withExchanges(ctx, pickup.Tenant, pickup.ID.Raw(), c)
	certainty := c.PickupCertainty()
	var booking ship.PickupBooking

	return &run{
		Service:   s,
		what:      "pickup",
		id:        string(pickup.ID),
		carrier:   c,
		settle:    s.settleAfter(c, c.Deadlines.Pickup),
		certainty: effect.Certainty{CanLook: certainty.CanFind, CanRepeat: certainty.CanBookAgain},

		intend: func() error { return s.Store.AddPickup(ctx, *pickup) },
		again:  func(n int) error { return s.Store.TryPickupAgain(ctx, pickup.Tenant, pickup.ID, n) },
		turn:   func(turn store.Turn) error { return s.Store.TurnPickup(ctx, pickup.Tenant, pickup.ID, turn) },
		record: func() error { return s.Store.RecordPickup(ctx, pickup.Tenant, pickup.ID, booking) },
		send: func() (existed bool, err error) {
			ctx, done := context.WithTimeout(asking, s.Waits.Ask)
			defer done()
			booking, err = c.BookPickup(ctx, request)
			return booking.Existed, err
		},
		find: func() (err error) {
			booking, err = c.FindPickup(asking, request)
			return err
		},
	}
}

// SettlePickup finds out what became of a pickup, or of its cancellation, that
// was left open. It reports after how long to look again; zero means that it is
// settled.
func (s *Service) SettlePickup(ctx context.Context, t ship.Tenant, id ship.PickupID) (again time.Duration, err error) {
	pickup, err := s.Store.Pickup(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return 0, nil
	}
	if err != nil {
		return s.Waits.Look, err
	}

	// The job's time is shorter than a carrier may take, and what it answers must
	// be written down.
	ctx = context.WithoutCancel(ctx)
	if pickup.State == store.PickupCancelling {
		pickup, err = s.askCancel(ctx, pickup)
		if ship.CodeOf(err) == "cancel_refused" || err == nil && pickup.State != store.PickupCancelling {
			return 0, nil
		}
		return s.Waits.Look, err
	}
	if !pickup.State.IsOpen() {
		return 0, nil
	}

	c, err := s.sellerOf(ctx, t, pickup.Connection, pickup.Carrier)
	if err != nil {
		return s.unopened(err, pickup.EffectState, pickup.ID.Raw().Time(), func(turn store.Turn) error {
			return s.Store.TurnPickup(ctx, t, id, turn)
		})
	}
	r := s.pickupRun(ctx, &pickup, c)
	return s.outcome(r.machine().Settle(openOf(pickup.EffectState, pickup.ID.Raw().Time())))
}

// Pickup returns a pickup.
func (s *Service) Pickup(ctx context.Context, t ship.Tenant, id ship.PickupID) (store.Pickup, error) {
	pickup, err := s.Store.Pickup(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return pickup, ship.Coded(ship.NotFound, "pickup_not_found", "no such pickup")
	}
	return pickup, err
}

// Pickups lists pickups, newest first.
func (s *Service) Pickups(ctx context.Context, t ship.Tenant, p ship.Page) ([]store.Pickup, error) {
	return s.Store.Pickups(ctx, t, p)
}

// CancelPickup cancels a pickup. Its state says how far it has got: cancelled, or
// cancelling if the carrier takes its time. One that needs review is given up
// without asking the carrier, which cannot name it.
func (s *Service) CancelPickup(ctx context.Context, t ship.Tenant, id ship.PickupID) (store.Pickup, error) {
	pickup, err := s.Pickup(ctx, t, id)
	if err != nil {
		return pickup, err
	}

	switch pickup.State {
	case store.PickupCancelled, store.PickupCancelling:
		return pickup, nil

	case effect.NeedsReview:
		turn := store.Turn{
			To:      store.PickupCancelled,
			Code:    "outcome_unknown",
			Message: "the carrier was not asked to cancel, because it never confirmed the pickup; a driver may come",
		}
		err := around("give_up_pickup", func() error { return s.Store.MovePickup(ctx, t, id, effect.NeedsReview, turn) })
		if err != nil {
			return pickup, err
		}
		return s.Pickup(ctx, t, id)

	case effect.Succeeded:
	case effect.Failed:
		return pickup, ship.Errorf(ship.Conflict, "the pickup was never booked, so there is nothing to cancel")
	default:
		failure := ship.Coded(ship.Conflict, "pickup_not_confirmed", "the carrier has not confirmed the pickup yet; cancel it when it has")
		failure.RetryAfter = 5 * time.Second
		return pickup, failure
	}

	c, err := s.sellerOf(ctx, t, pickup.Connection, pickup.Carrier)
	if err != nil {
		return pickup, err
	}
	switch {
	case !slices.Contains(c.Abilities(), "cancel_pickups"):
		return pickup, ship.Coded(ship.Conflict, "cancel_not_supported", "%s does not take cancellations over its API; call it", c.Spec().Title)
	case pickup.Booking.Confirmation == "":
		return pickup, ship.Coded(ship.Conflict, "cancel_not_supported", "%s cancels pickups by their number, and the answer with the number was lost; call it", c.Spec().Title)
	}

	// The cancellation is written down before the carrier is asked: after a crash
	// or a lost answer a job asks again.
	err = around("cancelling", func() error {
		return s.Store.MovePickup(ctx, t, id, effect.Succeeded, store.Turn{To: store.PickupCancelling})
	})
	if err != nil {
		return pickup, err
	}
	pickup.State = store.PickupCancelling
	return s.askCancel(context.WithoutCancel(ctx), pickup)
}

// askCancel asks the carrier to cancel a pickup and writes down what it said.
// Asking twice is safe.
func (s *Service) askCancel(ctx context.Context, pickup store.Pickup) (store.Pickup, error) {
	c, err := s.sellerOf(ctx, pickup.Tenant, pickup.Connection, pickup.Carrier)
	if err != nil {
		return pickup, err
	}

	request := carrier.PickupRequest{Order: pickup.Order, Reference: string(pickup.ID)}
	err = around("cancel_pickup", func() error {
		return c.CancelPickup(s.withExchanges(ctx, pickup.Tenant, pickup.ID.Raw(), c), request, pickup.Booking)
	})

	turn := store.Turn{To: store.PickupCancelled}
	var refused error
	switch ship.KindOf(err) {
	case "":
	case ship.Invalid, ship.Unsupported, ship.Conflict, ship.NotFound:
		failure := ship.Coded(ship.Conflict, "cancel_refused", "the pickup was not cancelled: %s", s.Accounts.Reason(carrier.Failure{Carrier: pickup.Carrier, Err: err}))
		failure.Carrier = pickup.Carrier
		failure.Refusal = ship.ErrorOf(err).Refusal
		refused = failure
		turn = store.Turn{To: effect.Succeeded, Code: "cancel_refused", Message: failure.Message}
	default:
		// It is still being cancelled. The job asks again.
		s.Log.WarnContext(ctx, "cancellation outcome unknown", "pickup", pickup.ID, "carrier", pickup.Carrier, "error", err)
		return pickup, nil
	}

	err = around("pickup_cancelled", func() error {
		return s.Store.MovePickup(ctx, pickup.Tenant, pickup.ID, store.PickupCancelling, turn)
	})
	if err != nil && ship.KindOf(err) != ship.Conflict {
		return pickup, err
	}
	pickup, err = s.Pickup(ctx, pickup.Tenant, pickup.ID)
	if err != nil {
		return pickup, err
	}
	return pickup, refused
}
