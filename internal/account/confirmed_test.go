package account_test

import (
	"context"
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// voider is the driver of these tests with voids and look-ups.
type voider struct{ acme }

func (d voider) Void(ctx context.Context, _ ship.Purchase) (carrier.VoidResult, error) {
	return carrier.VoidResult{State: ship.StateVoided}, d.call(ctx, "/void")
}

func (d voider) Find(ctx context.Context, _ carrier.BuyOrder) (ship.Sale, error) {
	return ship.Sale{}, d.call(ctx, "/find")
}

// unsourced makes the voids and look-ups of the carrier rest on facts without a source.
func (b *bench) unsourced(t *testing.T) {
	t.Helper()
	spec := &b.config.Specs[0]
	spec.Unconfirmed = []carrier.Ability{carrier.AbilityVoid, carrier.AbilityFind}
	spec.Open = func(o carrier.Opening) (carrier.Driver, error) { return voider{acme{o}}, nil }
	b.Service = account.NewWith(b.config)
}

// opened is a connection as a process opens it.
func opened(t *testing.T, s *account.Service, tenant ship.Tenant, id ship.ConnectionID) *carrier.Carrier {
	t.Helper()
	c, err := s.Carrier(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// off is what the page of carriers shows as off.
func off(t *testing.T, s *account.Service, tenant ship.Tenant) []carrier.Ability {
	t.Helper()
	list, err := s.Connections(t.Context(), tenant)
	if err != nil || len(list) != 1 {
		t.Fatalf("connections are %+v, %v", list, err)
	}
	return list[0].Off
}

func TestAnAbilityWithoutASourceIsOffOnANewLiveConnection(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.unsourced(t)
	live := b.connect(t, true, "Main")
	test := b.connect(t, false, "Main")

	_, refused := opened(t, b.Service, b.tenant(true), live.ID).Void(t.Context(), ship.Purchase{})
	_, inTest := opened(t, b.Service, b.tenant(false), test.ID).Void(t.Context(), ship.Purchase{})

	if ship.CodeOf(refused) != carrier.CodeUnconfirmed || b.live.count("/api/void") != 0 {
		t.Errorf("live: %v after %d requests, want it refused before one", refused, b.live.count("/api/void"))
	}
	if inTest != nil {
		t.Errorf("a test connection: %v", inTest)
	}
	if list := off(t, b.Service, b.tenant(true)); !slices.Equal(list, []carrier.Ability{carrier.AbilityVoid, carrier.AbilityFind}) {
		t.Errorf("%v are shown as off", list)
	}
	if list := off(t, b.Service, b.tenant(false)); len(list) > 0 {
		t.Errorf("%v are shown as off for a test connection", list)
	}
}

func TestAConfirmedAbilityIsOnInEveryProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.unsourced(t)
	connection := b.connect(t, true, "Main")
	before := b.again(box(t, key(1)))
	stale := opened(t, before, b.tenant(true), connection.ID)

	certifying := carrier.Unrestricted(t.Context())
	if _, err := opened(t, b.Service, b.tenant(true), connection.ID).Void(certifying, ship.Purchase{}); err != nil {
		t.Fatal(err)
	}

	onlyFind := []carrier.Ability{carrier.AbilityFind}
	if list := off(t, b.Service, b.tenant(true)); !slices.Equal(list, onlyFind) {
		t.Errorf("%v are off where the void worked", list)
	}
	if list := off(t, b.again(box(t, key(1))), b.tenant(true)); !slices.Equal(list, onlyFind) {
		t.Errorf("%v are off in a process that starts later", list)
	}

	// A process that runs sees it as soon as it reads the connection again.
	if list := off(t, before, b.tenant(true)); !slices.Equal(list, onlyFind) {
		t.Errorf("%v are off in a process that had opened it", list)
	}
	if _, err := stale.Void(t.Context(), ship.Purchase{}); err != nil {
		t.Errorf("a void there: %v", err)
	}
}

func TestWhatAConnectionDidBeforeTheUpgradeCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	connection := b.connect(t, true, "Main")
	b.sellAndVoid(t, connection.ID)
	if err := b.config.Store.RecordControl(t.Context(), b.tenant(true), connection.ID, "", true); err != nil {
		t.Fatal(err)
	}

	b.unsourced(t) // this version lists the facts
	if list := off(t, b.Service, b.tenant(true)); len(list) > 0 {
		t.Errorf("%v are off", list)
	}
	rows, err := b.config.Store.Connections(t.Context(), b.tenant(true))
	if err != nil || len(rows) != 1 || !slices.Equal(rows[0].Confirmed, []string{"void", "find"}) {
		t.Errorf("recorded are %+v, %v", rows, err)
	}
}

func TestAnOpenVoidBeforeTheUpgradeDoesNotCount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	connection := b.connect(t, true, "Main")
	b.sellAndVoid(t, connection.ID)
	if _, err := storetest.Conn(t, b.url).Exec(t.Context(), "UPDATE shipment_states SET state = 'voiding'"); err != nil {
		t.Fatal(err)
	}

	b.unsourced(t)
	if list := off(t, b.Service, b.tenant(true)); len(list) != 2 {
		t.Errorf("%v are off, want voids and look-ups", list)
	}
}

// sellAndVoid records a label that was sold over the connection and voided.
func (b *bench) sellAndVoid(t *testing.T, id ship.ConnectionID) {
	t.Helper()
	shipment := storetest.Shipment(b.tenant(true), "1")
	shipment.Purchase.Carrier = "acme"
	shipment.Purchase.Connection = id
	shipment.Purchase.Simulated = false
	attempt := store.Attempt{
		Number:     1,
		Reference:  "R1",
		Carrier:    "acme",
		Connection: id,
		Service:    "ground",
	}
	if _, err := b.config.Store.Intend(t.Context(), shipment, attempt, ship.KeyName{}); err != nil {
		t.Fatal(err)
	}
	_, err := storetest.Conn(t, b.url).Exec(t.Context(), `
UPDATE shipment_states SET state = 'voided', voided_at = now();
UPDATE purchase_attempts SET outcome = 'purchased'`)
	if err != nil {
		t.Fatal(err)
	}
}
