package handover

import (
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func TestTheSamePickupAskedForAgainIsOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ids := make([]ship.PickupID, 8)
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			booked, err := b.book(b.pickup("dhl_express"))
			if err != nil {
				t.Error(err)
			}
			ids[i] = booked.ID
		})
	}
	group.Wait()

	// Another contact and another window do not make another pickup.
	later := b.pickup("dhl_express")
	later.Address = ship.DefaultOrigin(b.tenant, b.account)
	later.Address.Name = "Somebody else"
	later.Window.ReadyAt = later.Window.ReadyAt.Add(time.Hour)
	booked, err := b.book(later)
	if err != nil || booked.IsNew || booked.State != effect.Succeeded || booked.Booking.Confirmation != "P1" {
		t.Errorf("%+v %v", booked, err)
	}
	for _, id := range ids {
		if id != booked.ID {
			t.Errorf("pickups %v, want all %s", ids, booked.ID)
		}
	}
	if n := len(b.stands["dhl_express"].pickups); n != 1 {
		t.Errorf("the carrier has %d pickups", n)
	}

	// Another day does.
	next := b.pickup("dhl_express")
	next.Window.ReadyAt = next.Window.ReadyAt.AddDate(0, 0, 1)
	next.Window.CloseAt = next.Window.CloseAt.AddDate(0, 0, 1)
	if other, err := b.book(next); err != nil || !other.IsNew || other.ID == booked.ID {
		t.Errorf("%+v %v", other, err)
	}
}

func TestALostAnswerIsMadeUpForAsTheCarrierAllows(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		carrier      string
		first, last  effect.State
		confirmation string
		cancel       string // code of cancelling it
	}{
		{"ups", effect.Uncertain, effect.Succeeded, "P1", ""},
		{"usps", effect.Uncertain, effect.Succeeded, "", "cancel_not_supported"}, // it exists, and its number is lost
		{"dhl_express", effect.NeedsReview, effect.NeedsReview, "", ""},
	} {
		t.Run(tc.carrier, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.stands[tc.carrier].lose = 1
			booked, err := b.book(b.pickup(tc.carrier))
			if err != nil || booked.State != tc.first {
				t.Fatalf("%s %v, want %s", booked.State, err, tc.first)
			}

			pickup := b.settlePickup(booked.ID)
			if pickup.State != tc.last || pickup.Booking.Confirmation != tc.confirmation {
				t.Errorf("%s %q, want %s %q", pickup.State, pickup.Booking.Confirmation, tc.last, tc.confirmation)
			}
			if n := len(b.stands[tc.carrier].pickups); n != 1 {
				t.Errorf("the carrier has %d pickups", n)
			}
			if again, err := b.book(b.pickup(tc.carrier)); err != nil || again.ID != booked.ID {
				t.Errorf("asked again: %s %v, want %s", again.ID, err, booked.ID)
			}
			if _, err := b.CancelPickup(t.Context(), b.tenant, booked.ID); ship.CodeOf(err) != tc.cancel {
				t.Errorf("cancelling: %v, want %q", err, tc.cancel)
			}
		})
	}
}

// TestAPickupSurvivesADeathAtEveryStep stops the machine before and after each
// act, as a process that dies there, and then runs the job.
func TestAPickupSurvivesADeathAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ups", "usps", "dhl_express"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for stopAt := 1; stopAt <= 3; stopAt++ { // intend, send, record
				for _, before := range []bool{true, false} {
					b := newBench(t)
					pickup, c := b.newPickup(t, name)
					b.dyingRun(b.pickupRun(t.Context(), &pickup, c), stopAt, before)

					n := func() int { return len(b.stands[name].pickups) }
					if stopAt == 1 && before {
						if _, err := b.Pickup(t.Context(), b.tenant, pickup.ID); ship.CodeOf(err) != "pickup_not_found" || n() > 0 {
							t.Errorf("died before anything: %v, %d pickups", err, n())
						}
						continue
					}

					got := b.settlePickup(pickup.ID)
					want := effect.Succeeded
					if name == "dhl_express" && got.Booking.Confirmation == "" {
						want = effect.NeedsReview
					}
					if got.State != want || n() > 1 || want == effect.Succeeded && n() != 1 {
						t.Errorf("act %d, before %t: it is %s, want %s; the carrier has %d", stopAt, before, got.State, want, n())
					}
				}
			}
		})
	}
}

// newPickup is a pickup that is not stored yet.
func (b *bench) newPickup(t *testing.T, name string) (store.Pickup, *carrier.Carrier) {
	t.Helper()
	in := b.pickup(name)
	c, err := b.seller(t.Context(), b.tenant, in.Seller, ship.Location{})
	if err != nil {
		t.Fatal(err)
	}
	order, err := b.pickupOrder(t.Context(), in, ship.Location{}, c)
	if err != nil {
		t.Fatal(err)
	}
	return store.Pickup{ID: ship.NewPickupID(7, b.now()), Tenant: b.tenant, Carrier: name, PlaceHash: []byte{1}, Order: order}, c
}

// dyingRun runs the machine until an act, which is done or not, and after which
// nothing more happens.
func (b *bench) dyingRun(r *run, stopAt int, before bool) {
	b.t.Helper()
	m := r.machine()
	acts := 0
	m.Do = func(a effect.Act) effect.Report {
		if acts++; acts > stopAt {
			b.t.Errorf("%s after the death", a.Kind)
		}
		if acts == stopAt && before {
			return effect.Report{Result: effect.Broken}
		}
		report := r.do(a)
		if acts == stopAt {
			report = effect.Report{Result: effect.Broken}
		}
		return report
	}
	m.Run()
}

// TestEachDivisionHasAPickup: the drivers of FedEx Express do not take what goes by FedEx
// Ground.
func TestEachDivisionHasAPickup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	book := func(service string) BookedPickup {
		parcel := b.buyChanged(b.tenant, "divided", func(shipment *ship.Shipment) { shipment.Purchase.Service = service })
		in := b.pickup("divided")
		in.Parcels = 0
		in.Shipments = []ship.ShipmentID{parcel.ID}
		booked, err := b.book(in)
		if err != nil {
			t.Fatal(err)
		}
		return booked
	}

	express := book("express")
	ground := book("ground")
	if !ground.IsNew || ground.ID == express.ID {
		t.Errorf("the second division has pickup %s, new is %t", ground.ID, ground.IsNew)
	}
	if again := book("ground"); again.ID != ground.ID {
		t.Errorf("asked again, it is %s and was %s", again.ID, ground.ID)
	}

	groups, err := b.Waiting(t.Context(), b.tenant)
	if err != nil || len(groups) != 1 {
		t.Fatalf("%+v, %v", groups, err)
	}
	counts := map[string]int{}
	for _, collection := range groups[0].Pickups {
		counts[collection.Division] = len(collection.Shipments)
	}
	if len(counts) != 2 || counts[""] != 1 || counts["ground"] != 2 {
		t.Errorf("the pickups take %v", counts)
	}
}

func TestRefusedPickups(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.stands["usps"]

	next := b.pickup("usps").Window
	s.fail = carrier.TooLate(ship.Refusal{Code: "1", Message: "cut-off passed"}, next)
	_, err := b.book(b.pickup("usps"))
	if ship.CodeOf(err) != "pickup_too_late" || ship.ErrorOf(err).Details["nextWindow"] == nil {
		t.Errorf("too late: %v", err)
	}
	s.fail = ship.Errorf(ship.Invalid, "no such street")
	if _, err := b.book(b.pickup("usps")); ship.CodeOf(err) != "carrier_rejected" {
		t.Errorf("refused: %v", err)
	}
	s.fail = ship.InvalidFields([]ship.FieldError{{Pointer: "/window/closeAt", Code: "invalid", Detail: "must be earlier"}})
	if _, err := b.book(b.pickup("usps")); len(ship.ErrorOf(err).Fields) != 1 || ship.ErrorOf(err).Fields[0].Pointer != "/closeAt" {
		t.Errorf("a field is wrong: %+v", ship.ErrorOf(err).Fields)
	}
	s.fail = ship.Errorf(ship.Unavailable, "down")
	if _, err := b.book(b.pickup("usps")); ship.CodeOf(err) != "carrier_unavailable" {
		t.Errorf("unavailable: %v", err)
	}
	s.fail = nil

	// Somebody booked one on the carrier's page.
	in := b.pickup("usps")
	s.pickups = []entry{{place: placeOf(ship.DefaultOrigin(b.tenant, b.account)) + string(in.Window.Date())}}
	if _, err := b.book(in); ship.CodeOf(err) != "pickup_exists" {
		t.Errorf("exists: %v", err)
	}
	s.pickups = nil
	if booked, err := b.book(in); err != nil || !booked.IsNew {
		t.Errorf("after refusals: %v", err)
	}

	if _, err := b.book(b.pickup("fedex")); ship.CodeOf(err) != "pickup_not_supported" {
		t.Errorf("not supported: %v", err)
	}
	backwards := b.pickup("ups")
	backwards.Window.CloseAt = backwards.Window.ReadyAt
	past := b.pickup("ups")
	past.Window = ship.TimeWindow{ReadyAt: past.Window.ReadyAt.AddDate(0, 0, -9), CloseAt: past.Window.CloseAt.AddDate(0, 0, -9)}
	nobody := b.pickup("nobody")
	none := b.pickup("ups")
	none.Parcels = 0
	for _, in := range []PickupInput{backwards, past, nobody, none} {
		if _, err := b.book(in); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

func TestCancelling(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.stands["ups"]
	booked, err := b.book(b.pickup("ups"))
	if err != nil {
		t.Fatal(err)
	}

	s.cancelled = ship.Errorf(ship.Invalid, "the driver is on the way")
	if _, err := b.CancelPickup(t.Context(), b.tenant, booked.ID); ship.CodeOf(err) != "cancel_refused" {
		t.Errorf("refused: %v", err)
	}
	if now, _ := b.Pickup(t.Context(), b.tenant, booked.ID); now.State != effect.Succeeded {
		t.Errorf("after a refusal it is %s", now.State)
	}

	// The answer is lost, and the job asks again.
	s.cancelled = nil
	s.lose = 1
	cancelled, err := b.CancelPickup(t.Context(), b.tenant, booked.ID)
	if err != nil || cancelled.State != store.PickupCancelling {
		t.Errorf("lost: %s %v", cancelled.State, err)
	}
	if got := b.settlePickup(booked.ID); got.State != store.PickupCancelled || got.CancelledAt.IsZero() {
		t.Errorf("settled: %s", got.State)
	}
	if again, err := b.CancelPickup(t.Context(), b.tenant, booked.ID); err != nil || again.State != store.PickupCancelled {
		t.Errorf("again: %s %v", again.State, err)
	}
	if other, err := b.book(b.pickup("ups")); err != nil || !other.IsNew || other.Booking.Confirmation != "P2" {
		t.Errorf("booked after a cancellation: %+v %v", other, err)
	}
}

func TestOnlyOwnShipmentsAreCollected(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	own := b.buy("ups")
	second := b.buy("ups")
	foreign := b.buyFor(storetest.Tenant(), "ups")
	other := b.buy("usps")

	in := b.pickup("ups")
	in.Parcels = 0
	in.Shipments = []ship.ShipmentID{own.ID, second.ID}
	booked, err := b.book(in)
	if err != nil || booked.Order.Count() != 2 || len(booked.Order.Parcels) != 1 || len(booked.Order.TrackingNumbers) != 2 || booked.Order.WeightGrams == 0 {
		t.Errorf("%+v %v", booked.Order, err)
	}

	in.Shipments = []ship.ShipmentID{own.ID, foreign.ID, other.ID}
	if _, err := b.book(in); len(ship.ErrorOf(err).Fields) != 2 {
		t.Errorf("others' shipments: %v", err)
	}
	elsewhere := b.buyChanged(b.tenant, "ups", func(shipment *ship.Shipment) { shipment.Order.Origin.Address1 = "9 Other Rd" })
	in.Shipments = []ship.ShipmentID{own.ID, elsewhere.ID}
	if _, err := b.book(in); len(ship.ErrorOf(err).Fields) != 1 || ship.ErrorOf(err).Fields[0].Pointer != "/shipmentIds/1" {
		t.Errorf("from two places: %v", err)
	}
	in.Address = own.Order.Origin
	if again, err := b.book(in); err != nil || again.ID != booked.ID {
		t.Errorf("from two places to the one that is given: %v", err)
	}
	_, err = b.CloseManifest(t.Context(), b.manifest("usps", foreign.ID))
	if ship.CodeOf(err) != "nothing_to_manifest" {
		t.Errorf("a manifest of others' shipments: %v", err)
	}
	if _, err := b.Pickup(t.Context(), foreign.Tenant, booked.ID); ship.CodeOf(err) != "pickup_not_found" {
		t.Errorf("somebody else's pickup: %v", err)
	}
}

// TestAContactIsWhomTheDriverAsksFor books at a place whose name is too long for a carrier.
func TestAContactIsWhomTheDriverAsksFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.pickup("ups")
	in.Contact = "Harbor & Pine"

	booked, err := b.book(in)
	if err != nil || booked.Order.Address.Name != in.Contact {
		t.Errorf("the driver asks for %q, want %q: %v", booked.Order.Address.Name, in.Contact, err)
	}
	in.Contact = ""
	again, err := b.book(in)
	if err != nil || again.ID != booked.ID {
		t.Errorf("without a contact, another pickup is booked: %s and %s, %v", booked.ID, again.ID, err)
	}
}
