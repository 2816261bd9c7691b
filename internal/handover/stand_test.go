package handover

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// A stand is a carrier with a ledger, which can lose answers.
type stand struct {
	mu        sync.Mutex
	onePer    bool // one pickup for a place and day
	pickups   []entry
	manifests []ship.ManifestOrder
	documents []carrier.DocumentRequest

	fail      error                    // of a call before anything is done
	lose      int                      // answers that are lost after it was done
	looks     error                    // of look-ups; nil shows what is there
	excludes  []ship.ManifestExclusion // labels that a manifest leaves out
	cancelled error
}

type entry struct {
	reference, place, number string
	cancelled                bool
}

func lost() error { return ship.Errorf(ship.Uncertain, "the answer was lost") }

func (s *stand) Check(context.Context) error { return nil }

func (s *stand) answer() error {
	if s.lose > 0 {
		s.lose--
		return lost()
	}
	return nil
}

// booker can do nothing but book: FedEx and DHL Express.
type booker struct{ *stand }

func (s booker) BookPickup(_ context.Context, r carrier.PickupRequest) (ship.PickupBooking, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return ship.PickupBooking{}, s.fail
	}

	place := placeOf(r.Order.Address) + string(r.Order.Window.Date())
	for _, e := range s.pickups {
		if s.onePer && e.place == place && !e.cancelled {
			return ship.PickupBooking{Existed: true}, s.answer()
		}
	}
	number := "P" + strconv.Itoa(len(s.pickups)+1)
	s.pickups = append(s.pickups, entry{reference: r.Reference, place: place, number: number})
	return ship.PickupBooking{Confirmation: number}, s.answer()
}

// divided has drivers of its own for parcels that go by ground.
type divided struct{ booker }

func (s divided) PickupDivision(parcels []ship.PickupParcels) string {
	if parcels[0].Service == "ground" {
		return "ground"
	}
	return ""
}

func (s booker) CancelPickup(_ context.Context, _ carrier.PickupRequest, b ship.PickupBooking) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancelled != nil {
		return s.cancelled
	}
	for i := range s.pickups {
		if s.pickups[i].number == b.Confirmation {
			s.pickups[i].cancelled = true
		}
	}
	return s.answer()
}

// finder can look pickups up besides: UPS.
type finder struct{ booker }

func (s finder) FindPickup(_ context.Context, r carrier.PickupRequest) (ship.PickupBooking, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.pickups {
		if e.reference == r.Reference && s.looks == nil {
			return ship.PickupBooking{Confirmation: e.number}, nil
		}
	}
	if s.looks != nil {
		return ship.PickupBooking{}, s.looks
	}
	return ship.PickupBooking{}, ship.Errorf(ship.NotFound, "no such pickup")
}

// closer closes manifests of listed labels: USPS.
type closer struct{ booker }

func (s closer) CloseManifest(_ context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return ship.ManifestClosing{}, s.fail
	}
	for i, other := range s.manifests {
		if other.Labels[0].Shipment == order.Labels[0].Shipment {
			return ship.ManifestClosing{Number: "M" + strconv.Itoa(i+1), Existed: true}, s.answer()
		}
	}
	s.manifests = append(s.manifests, order)
	return ship.ManifestClosing{
		Number:    "M" + strconv.Itoa(len(s.manifests)),
		Documents: []ship.Document{{Type: "scan_form", Format: "pdf", Data: []byte("%PDF-form")}},
		Excluded:  s.excludes,
	}, s.answer()
}

// dayCloser closes all labels of a day, as often as it is asked: FedEx.
type dayCloser struct{ *stand }

func (s dayCloser) CloseManifest(_ context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return ship.ManifestClosing{}, s.fail
	}
	s.manifests = append(s.manifests, order)
	return s.form(), s.answer()
}

func (s dayCloser) form() ship.ManifestClosing {
	return ship.ManifestClosing{Documents: []ship.Document{{Type: "ground_manifest", Format: "pdf", Data: []byte("%PDF-day")}}}
}

func (s dayCloser) FindManifest(_ context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.manifests {
		if other.ShipDate == order.ShipDate {
			return s.form(), nil
		}
	}
	return ship.ManifestClosing{}, ship.Errorf(ship.NotFound, "the day is open")
}

// bench is a service on a real Postgres whose carriers are stands.
type bench struct {
	*Service
	t       *testing.T
	tenant  ship.Tenant
	account ship.Account
	stands  map[string]*stand
	clock   *clock
	made    int
}

// clock is the real time and an offset, because the database has the real one.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

func newBench(t *testing.T) *bench {
	t.Helper()
	renderer, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}

	b := &bench{t: t, tenant: storetest.Tenant(), stands: map[string]*stand{}, clock: &clock{}}
	b.account = ship.Account{ID: b.tenant.Account, Units: ship.DefaultUnits}
	add := func(spec carrier.Spec, driver func(*stand) carrier.Driver) *carrier.Carrier {
		s := &stand{onePer: spec.OnePickupPerPlace}
		b.stands[spec.Name] = s
		return carrier.New(spec, driver(s))
	}
	list := []*carrier.Carrier{
		add(carrier.Spec{Name: "ups", Title: "UPS", OnePickupPerPlace: true}, func(s *stand) carrier.Driver { return finder{booker{s}} }),
		add(carrier.Spec{Name: "usps", Title: "USPS", OnePickupPerPlace: true, Manifest: carrier.ListedLabels}, func(s *stand) carrier.Driver { return closer{booker{s}} }),
		add(carrier.Spec{Name: "fedex", Title: "FedEx", Manifest: carrier.AllOfTheDay}, func(s *stand) carrier.Driver { return dayCloser{s} }),
		add(carrier.Spec{Name: "ground_only", Title: "Ground Only", Manifest: carrier.AllOfTheDay, ManifestServices: []string{"ground"}}, func(s *stand) carrier.Driver { return dayCloser{s} }),
		add(carrier.Spec{Name: "dhl_express", Title: "DHL Express"}, func(s *stand) carrier.Driver { return booker{s} }),
		add(carrier.Spec{Name: "divided", Title: "Divided"}, func(s *stand) carrier.Driver { return divided{booker{s}} }),
	}
	b.Service = New(Config{
		Store:    storetest.Open(t),
		Accounts: carrier.Accounts{Simulated: list},
		Labels:   renderer,
		Waits:    DefaultWaits,
		Log:      slog.New(slog.DiscardHandler),
	})
	b.now = b.clock.now
	return b
}

// buy stores a shipment with a label of the carrier.
func (b *bench) buy(name string) ship.Shipment {
	b.t.Helper()
	return b.buyFor(b.tenant, name)
}

func (b *bench) buyFor(tenant ship.Tenant, name string) ship.Shipment {
	b.t.Helper()
	return b.buyOn(tenant, name, ship.DateOf(time.Now()))
}

// buyOn buys a label with a ship date.
func (b *bench) buyOn(tenant ship.Tenant, name string, day ship.Date) ship.Shipment {
	b.t.Helper()
	return b.buyChanged(tenant, name, func(shipment *ship.Shipment) { shipment.Order.ShipDate = day })
}

// buyChanged buys a label for an order that differs from the usual one.
func (b *bench) buyChanged(tenant ship.Tenant, name string, change func(*ship.Shipment)) ship.Shipment {
	b.t.Helper()
	b.made++
	shipment := storetest.Shipment(tenant, "order-"+strconv.Itoa(b.made))
	shipment.Purchase.Carrier = name
	shipment.Order.ShipDate = ship.DateOf(time.Now())
	shipment.Order.Origin = ship.DefaultOrigin(tenant, b.account)
	change(&shipment)
	bought := storetest.Bought(shipment, strings.ToUpper(name)+strconv.Itoa(b.made))
	if _, err := b.Store.Create(b.t.Context(), bought); err != nil {
		b.t.Fatal(err)
	}
	return bought.Shipment
}

// pickup asks for parcels to be collected tomorrow.
func (b *bench) pickup(name string) PickupInput {
	day := time.Now().UTC().AddDate(0, 0, 1)
	ready := time.Date(day.Year(), day.Month(), day.Day(), 14, 0, 0, 0, time.FixedZone("", -8*3600))
	return PickupInput{
		Tenant:  b.tenant,
		Account: b.account,
		Seller:  Seller{Carrier: name},
		Window:  ship.TimeWindow{ReadyAt: ready, CloseAt: ready.Add(4 * time.Hour)},
		Parcels: 3,
	}
}

func (b *bench) book(in PickupInput) (BookedPickup, error) { return b.BookPickup(b.t.Context(), in) }

func (b *bench) manifest(name string, ids ...ship.ShipmentID) ManifestInput {
	return ManifestInput{Tenant: b.tenant, Account: b.account, Seller: Seller{Carrier: name}, Shipments: ids}
}

// settlePickup runs the job until it has nothing to do.
func (b *bench) settlePickup(id ship.PickupID) store.Pickup {
	b.t.Helper()
	b.settle(func() (time.Duration, error) { return b.SettlePickup(b.t.Context(), b.tenant, id) })
	pickup, err := b.Pickup(b.t.Context(), b.tenant, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return pickup
}

func (b *bench) settleManifest(id ship.ManifestID) store.Manifest {
	b.t.Helper()
	b.settle(func() (time.Duration, error) { return b.SettleManifest(b.t.Context(), b.tenant, id) })
	manifest, err := b.Manifest(b.t.Context(), b.tenant, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return manifest
}

func (b *bench) settle(run func() (time.Duration, error)) {
	b.t.Helper()
	for range 20 {
		b.clock.pass(2 * DefaultWaits.Settle)
		again, err := run()
		if err != nil {
			b.t.Fatal(err)
		}
		if again == 0 {
			return
		}
	}
	b.t.Fatal("it is never settled")
}
