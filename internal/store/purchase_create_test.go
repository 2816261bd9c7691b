package store_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func TestCreateWritesAllThatIsReadLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := bought(shipmentOf(f.tenant, "o-1"), "1Z1")
	c.Shipment.Order.Parcels = append(c.Shipment.Order.Parcels, c.Shipment.Order.Parcels[0])
	c.Shipment.Purchase.Pieces = []string{"1Z1", "1Z2"}
	c.IdempotencyKey, c.Fingerprint = "key", [32]byte{1, 2, 3}
	duplicate, err := f.Create(t.Context(), c)
	if err != nil || duplicate != "" {
		t.Fatal(duplicate, err)
	}
	sh, err := f.Shipment(t.Context(), f.tenant, c.Shipment.ID)
	if err != nil {
		t.Fatal(err)
	}
	c.Shipment.Version = ship.AnswerVersion
	sameJSON(t, "the shipment", sh, c.Shipment)
	label, err := f.Label(t.Context(), f.tenant, sh.ID)
	if err != nil || label.Format != "scene" || !bytes.Equal(label.Data, c.Label.Data) {
		t.Errorf("label %s %q, %v", label.Format, label.Data, err)
	}
	for _, number := range []string{"1Z1", "1Z2"} {
		j, scans, err := f.Find(t.Context(), f.tenant, number, "")
		if err != nil || j.ID != sh.ID.Raw() || j.Pieces != 2 || j.Sequence != 2 || !j.BoughtAt.Equal(c.Shipment.Purchase.BoughtAt) || len(scans) != 2 {
			t.Errorf("%s finds %+v with %d scans, %v", number, j, len(scans), err)
		}
	}
	m, err := f.IdempotencyRecord(t.Context(), f.tenant, "key")
	if err != nil || m.Shipment != sh.ID || m.Fingerprint != c.Fingerprint || m.Answer.Status != 201 || m.Answer.Body != nil {
		t.Errorf("the key remembers %+v, %v", m, err)
	}
	log := f.settled(t, f.tenant, 2)
	if len(log) != 2 || log[0].Event.Kind != ship.ShipmentCreated || log[0].Event.Sequence != 1 || log[1].Event.Kind != ship.ShipmentLabelGenerated || log[1].Event.Sequence != 2 {
		t.Errorf("log %+v", log)
	}
	sameJSON(t, "the snapshot", log[1].Event.Snapshot, c.Events[1].Snapshot)
	sameJSON(t, "the order in the log", log[1].Shipment.Order, c.Shipment.Order)
	due, err := f.DuePolls(t.Context(), now(), now().Add(time.Hour), 10)
	if err != nil || len(due) != 1 || due[0].ID != sh.ID.Raw() || due[0].Tenant != f.tenant {
		t.Errorf("due %+v, %v", due, err)
	}
}

func TestATakenKeyWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := bought(shipmentOf(f.tenant, "o-1"), "1Z1")
	first.IdempotencyKey = "key"
	if _, err := f.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	count := func() (rows []int) {
		for _, table := range tenantTables(t, f) {
			rows = append(rows, one[int](t, f.owner, "SELECT count(*) FROM "+table))
		}
		return rows
	}
	before := count()
	second := bought(shipmentOf(f.tenant, "o-2"), "1Z2")
	second.IdempotencyKey = "key"
	_, err := f.Create(t.Context(), second)
	wantKind(t, "Create", err, ship.Conflict)
	_, err = f.Intend(t.Context(), shipmentOf(f.tenant, "o-3"), store.Attempt{Reference: "R"}, ship.KeyName{Key: "key"})
	wantKind(t, "Intend", err, ship.Conflict)
	if after := count(); !slices.Equal(before, after) {
		t.Errorf("tables %v had %v rows and have %v", tenantTables(t, f), before, after)
	}
	second.Shipment.Tenant = ship.Tenant{Account: f.tenant.Account, Livemode: true}
	if _, err = f.Create(t.Context(), second); err != nil {
		t.Errorf("the key is taken in the other mode too: %v", err)
	}
}

func TestOneKeyManyAtOnceMakesOneShipment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var wg sync.WaitGroup
	kinds := make([]ship.Kind, 24)
	for i := range kinds {
		wg.Go(func() {
			c := bought(shipmentOf(f.tenant, "o"), "1Z")
			c.IdempotencyKey = "key"
			_, err := f.Create(t.Context(), c)
			kinds[i] = ship.KindOf(err)
		})
	}
	wg.Wait()
	slices.Sort(kinds)
	if kinds[0] != "" || slices.ContainsFunc(kinds[1:], func(k ship.Kind) bool { return k != ship.Conflict }) {
		t.Errorf("answers %q, want one purchase and conflicts", kinds)
	}
	if n := one[int](t, f.owner, "SELECT count(*) FROM shipments"); n != 1 {
		t.Errorf("%d shipments", n)
	}
}

func TestADuplicateOrderIsToldOfTheNewest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.create(t, f.tenant, "o", "1Z1")
	f.create(t, newTenant(), "o", "1Z9")
	time.Sleep(2 * time.Millisecond)
	duplicate, err := f.Create(t.Context(), bought(shipmentOf(f.tenant, "o"), "1Z2"))
	if err != nil || duplicate != first.ID {
		t.Errorf("duplicate of %q, %v; want %s", duplicate, err, first.ID)
	}
	time.Sleep(2 * time.Millisecond)
	second := f.intend(t, f.tenant, "o")
	if got, err := f.Shipment(t.Context(), f.tenant, second.ID); err != nil || got.DuplicateOf == "" || got.DuplicateOf == first.ID {
		t.Errorf("the third is a duplicate of %q, %v", got.DuplicateOf, err)
	}
	if err := f.PastOrder(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	list, err := f.Shipments(t.Context(), f.tenant, store.ShipmentFilter{OrderID: "o"}, ship.Page{Limit: 10})
	if err != nil || len(list) != 2 || list[1].ID != first.ID {
		t.Errorf("%d shipments of the order were told of, %v", len(list), err)
	}
}

func TestListsAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var made []ship.Shipment
	for i := range 7 {
		sh := f.create(t, f.tenant, "o", "1Z"+string(rune('0'+i)))
		made = append(made, sh)
		time.Sleep(2 * time.Millisecond)
	}
	f.hear(t, made[3], ship.Scan{Code: "D", At: now().Add(time.Hour), Status: ship.Delivered})
	f.intend(t, f.tenant, "unseen")
	var got []ship.ShipmentID
	page := ship.Page{Limit: 3}
	for {
		list, err := f.Shipments(t.Context(), f.tenant, store.ShipmentFilter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, sh := range list {
			got = append(got, sh.ID)
		}
		if len(list) < 3 {
			break
		}
		page.Before = list[2].ID.Raw()
	}
	slices.Reverse(got)
	if !slices.EqualFunc(got, made, func(id ship.ShipmentID, sh ship.Shipment) bool { return id == sh.ID }) {
		t.Errorf("pages give %d shipments, want 7 in order", len(got))
	}
	for what, filter := range map[string]struct {
		store.ShipmentFilter
		want int
	}{
		"delivered":         {store.ShipmentFilter{Status: ship.Delivered}, 1},
		"by carrier":        {store.ShipmentFilter{Carrier: "ups"}, 7},
		"by another":        {store.ShipmentFilter{Carrier: "usps"}, 0},
		"by order":          {store.ShipmentFilter{OrderID: "o", Status: ship.LabelGenerated}, 6},
		"from the third":    {store.ShipmentFilter{From: made[2].CreatedAt()}, 5},
		"before the third":  {store.ShipmentFilter{Before: made[2].CreatedAt()}, 2},
		"from before 1970":  {store.ShipmentFilter{From: time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)}, 7},
		"to the end of all": {store.ShipmentFilter{Before: time.Date(9999, 1, 2, 0, 0, 0, 0, time.UTC)}, 7},
	} {
		list, err := f.Shipments(t.Context(), f.tenant, filter.ShipmentFilter, ship.Page{Limit: 100})
		if err != nil || len(list) != filter.want {
			t.Errorf("%s: %d shipments, %v; want %d", what, len(list), err, filter.want)
		}
	}
}

// TestPiecesMayShareANumber: a carrier may give several pieces the same number, and
// what it sold must be recorded all the same.
func TestPiecesMayShareANumber(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := bought(shipmentOf(f.tenant, "pieces"), "1ZA")
	c.Shipment.Purchase.Pieces = []string{"1ZA", "1ZB", "1ZB", "1ZA"}
	if _, err := f.Create(t.Context(), c); err != nil {
		t.Error(err)
	}
}
