package cells_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/archive"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestAnOldPartitionIsArchivedAgainForAShardThatMoved moves a shard with events of a day
// that the target has archived and dropped already. Both must be in its archive.
func TestAnOldPartitionIsArchivedAgainForAShardThatMoved(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	past := time.Now().UTC().AddDate(0, 0, -40)
	moved := w.tenant(300)
	there := w.tenant(5)
	mover := w.mover(func(*store.Move) {})
	_, err := mover.Move(ctx, 5, second)
	w.must(err)

	// createPast stores a shipment as if it were that time.
	createPast := func(cell string, tenant ship.Tenant) ship.ShipmentID {
		t.Helper()
		w.must(store.MaintainPartitions(ctx, w.urls[cell], past, nil))
		shipment := storetest.Shipment(tenant, "old")
		shipment.ID = ship.NewShipmentID(tenant.Shard(), past)
		creation := storetest.Bought(shipment, "1ZOLD")
		for i, id := range ship.NewEventIDs(tenant.Shard(), past, 2) {
			creation.Events[i].ID = id
		}
		_, err := w.stores[cell].Create(ctx, creation)
		w.must(err)
		return shipment.ID
	}
	worker := archive.Worker{
		Archive:   archive.Of(t.TempDir(), second),
		Store:     w.stores[second],
		Shipments: 10 * 365 * 24 * time.Hour,
		Log:       slog.New(slog.DiscardHandler),
	}
	archiveAndDrop := func() {
		t.Helper()
		for did := 1; did > 0; {
			did, err = worker.Work(ctx)
			w.must(err)
		}
		w.must(w.stores[second].MaintainPartitions(ctx, nil, worker.Archive.Has))
		if n := w.count(second, "SELECT count(*) FROM pg_class WHERE relname = $1", "events_"+past.Format("20060102")); n != 0 {
			t.Fatal("the partition is not dropped")
		}
	}
	events := func(id ship.ShipmentID) (n int) {
		t.Helper()
		w.must(worker.Archive.Query(archive.Filter{Table: "events", Subject: string(id)}, func([]byte) error { n++; return nil }))
		return n
	}

	ofThere := createPast(second, there)
	archiveAndDrop()
	ofMoved := createPast(first, moved)
	_, err = mover.Move(ctx, 300, second)
	w.must(err)

	// Until the rows that came are archived, nothing is dropped.
	w.must(w.stores[second].MaintainPartitions(ctx, nil, worker.Archive.Has))
	if n := w.count(second, "SELECT count(*) FROM events WHERE account_id = $1", rawOf(moved)); n == 0 {
		t.Error("events that are not archived were dropped")
	}
	archiveAndDrop()
	if a, b := events(ofThere), events(ofMoved); a != 2 || b != 2 {
		t.Errorf("the archive has %d events of the account that was there and %d of the one that came; want 2 of each", a, b)
	}
	files, err := worker.Archive.List()
	w.must(err)
	for _, file := range files {
		w.must(worker.Archive.Verify(file))
	}
}
