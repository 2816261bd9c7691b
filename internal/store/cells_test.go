package store_test

import (
	"errors"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// TestACellKeepsOutOfShardsThatItGaveUp makes a database a cell, takes the shard of
// one of two accounts away, and tries to reach that account in every way.
func TestACellKeepsOutOfShardsThatItGaveUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	here := f.tenant
	gone := ship.Tenant{Account: ship.NewAccountID(here.Shard()+1, now())}
	f.create(t, here, "here-1", "1Z204W4R0308071865")
	lost := f.create(t, gone, "gone-1", "1Z204W4R0308071874")

	err := store.AddCell(ctx, f.url, store.NewCell{Name: "eu-1", URL: "http://127.0.0.1:1", Database: f.url})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(ctx, store.Options{URL: f.url, Cell: "eu-2"}); ship.KindOf(err) != ship.Conflict {
		t.Errorf("the cell opens under another name: %v", err)
	}
	cell, err := store.Open(ctx, store.Options{URL: f.url, Connections: 4, Cell: "eu-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cell.Close)

	enter := func(tenant ship.Tenant) error {
		return cell.InTx(ctx, tenant, func(*store.Store) error { return nil })
	}
	if err := errors.Join(enter(here), enter(gone)); err != nil {
		t.Fatalf("a cell that owns everything: %v", err)
	}
	if _, err := f.owner.Exec(ctx, "UPDATE shards SET cell = 'eu-2', epoch = 1 WHERE shard = $1", int(gone.Shard())); err != nil {
		t.Fatal(err)
	}

	if err := enter(here); err != nil {
		t.Errorf("the account that stayed: %v", err)
	}
	for what, err := range map[string]error{
		"a transaction": enter(gone),
		"a statement":   func() error { _, err := cell.Shipment(ctx, gone, lost.ID); return err }(),
		"a creation":    func() error { _, err := cell.Create(ctx, bought(shipmentOf(gone, "gone-2"), "1Z2")); return err }(),
	} {
		if !errors.Is(err, store.ErrMisdirected) || ship.KindOf(err) != ship.Unavailable {
			t.Errorf("%s of the account that left: %v", what, err)
		}
	}

	// Sweeps see all tenants, and must not find this one's work.
	sees := func(tenant ship.Tenant) int {
		var n int
		if err := cell.System().QueryRow(ctx, "SELECT count(*) FROM shipments WHERE account_id = $1", tenant.Account).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if sees(here) != 1 || sees(gone) != 0 {
		t.Errorf("the system sees %d and %d shipments, want 1 and 0", sees(here), sees(gone))
	}

	// No new account may be put where its requests would not arrive.
	for range 50 {
		if shard, err := cell.NewShard(ctx); err != nil || shard == gone.Shard() {
			t.Fatalf("a new account gets shard %d, %v", shard, err)
		}
	}
	places, err := cell.CellMap(ctx)
	if err != nil || places.Shards[gone.Shard()] != (store.ShardPlace{Cell: "eu-2", Epoch: 1}) || len(places.Cells) != 1 {
		t.Errorf("the map says %+v of %v, %v", places.Shards[gone.Shard()], places.Cells, err)
	}
}

// TestTheLogGoesOnInANewEpoch raises the epoch of a cell's log. Events before and
// after have one order, and a cursor from before reads on behind it.
func TestTheLogGoesOnInANewEpoch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.create(t, f.tenant, "one", "1Z204W4R0308071865")
	before := f.settled(t, f.tenant, 2)
	cursor := before[len(before)-1].Position

	if err := store.AddCell(ctx, f.url, store.NewCell{Name: "eu-1", URL: "http://127.0.0.1:1", Database: f.url}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.owner.Exec(ctx, "UPDATE cell_state SET log_epoch = 3, readable_log_epoch = 3"); err != nil {
		t.Fatal(err)
	}
	f.create(t, f.tenant, "two", "1Z204W4R0308071874")

	all := f.settled(t, f.tenant, 4)
	if got := all[3].Position.Tx >> 42; got != 3 {
		t.Errorf("the last event is of epoch %d", got)
	}
	after, _, err := f.Log(ctx, f.tenant, cursor, nil, 10)
	if err != nil || len(after) != 2 || after[0].Event.ID != all[2].Event.ID {
		t.Errorf("behind the cursor there are %d events, %v", len(after), err)
	}
}
