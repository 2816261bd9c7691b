package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// fixture is a database of its own, with a tenant.
type fixture struct {
	*store.Store
	url    string
	tenant ship.Tenant
	owner  *pgx.Conn
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	url := storetest.URL(t)
	s, err := store.Open(context.Background(), store.Options{URL: url, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &fixture{Store: s, url: url, tenant: newTenant(), owner: storetest.Conn(t, url)}
}

func newTenant() ship.Tenant { return storetest.Tenant() }

func now() time.Time { return storetest.Now() }

func shipmentOf(t ship.Tenant, order string) ship.Shipment { return storetest.Shipment(t, order) }

func bought(sh ship.Shipment, number string) store.Creation { return storetest.Bought(sh, number) }

// create stores a bought shipment of the tenant.
func (f *fixture) create(t *testing.T, tenant ship.Tenant, order, number string) ship.Shipment {
	t.Helper()
	c := bought(shipmentOf(tenant, order), number)
	if _, err := f.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c.Shipment
}

// intend writes a purchase down and returns it.
func (f *fixture) intend(t *testing.T, tenant ship.Tenant, order string) ship.Shipment {
	t.Helper()
	sh := shipmentOf(tenant, order)
	if _, err := f.Intend(t.Context(), sh, store.Attempt{Number: 1, Reference: "R1", Carrier: "ups", Service: "ground"}, ship.KeyName{}); err != nil {
		t.Fatal(err)
	}
	return sh
}

// hear applies carrier scans the way the tracking service does.
func (f *fixture) hear(t *testing.T, sh ship.Shipment, scans ...ship.Scan) {
	t.Helper()
	subject := ship.Subject{Tenant: sh.Tenant, ID: sh.ID.Raw()}
	err := f.InTx(t.Context(), sh.Tenant, func(tx *store.Store) error {
		trackingStates, err := tx.LockTrackingStates(t.Context(), []ship.Subject{subject})
		if err != nil || len(trackingStates) != 1 {
			return fmt.Errorf("%d journeys: %w", len(trackingStates), err)
		}
		known, err := tx.Scans(t.Context(), trackingStates)
		if err != nil {
			return err
		}
		c := store.Change{State: trackingStates[0]}
		var fresh []ship.Scan
		fresh, c.Events = c.State.Apply(known[subject], scans, ship.EventContext{Now: now()})
		for _, s := range fresh {
			c.Scans = append(c.Scans, store.NewScan{Scan: s, Raw: []byte(`{"code":"` + s.Code + `"}`)})
		}
		return tx.Apply(t.Context(), []store.Change{c})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// log reads all that the tenant was told.
func (f *fixture) log(t *testing.T, tenant ship.Tenant) []store.LogEvent {
	t.Helper()
	var all []store.LogEvent
	var at store.Position
	for {
		list, next, err := f.Log(t.Context(), tenant, at, nil, 3)
		if err != nil {
			t.Fatal(err)
		}
		if all, at = append(all, list...), next; len(list) < 3 {
			return all
		}
	}
}

// settled waits until the log shows as many events: transactions of other
// tests hold the horizon up, because they share the server.
func (f *fixture) settled(t *testing.T, tenant ship.Tenant, want int) []store.LogEvent {
	t.Helper()
	for range 300 {
		if list := f.log(t, tenant); len(list) >= want {
			return list
		}
		time.Sleep(20 * time.Millisecond)
	}
	list := f.log(t, tenant)
	t.Fatalf("the log has %d events, want %d", len(list), want)
	return nil
}

// one is a single value of the owner's.
func one[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func wantKind(t *testing.T, what string, err error, want ship.Kind) {
	t.Helper()
	if got := ship.KindOf(err); got != want {
		t.Errorf("%s: %v, of kind %q; want %q", what, err, got, want)
	}
}

func sameJSON(t *testing.T, what string, got, want any) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(g, w) {
		t.Errorf("%s is\n%s\nwant\n%s", what, g, w)
	}
}
