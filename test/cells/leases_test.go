package cells_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// creationOf is a shipment of the tenant that is to be stored.
func creationOf(tenant ship.Tenant, order string) store.Creation {
	return storetest.Bought(storetest.Shipment(tenant, order), fmt.Sprintf("1Z%s%d", order, tenant.Shard()))
}

// expire ends the lease of a mover on a shard, as silence does.
func (w *world) expire(cell string, shard int) {
	w.t.Helper()
	w.run(cell, "UPDATE shards SET lease_until = clock_timestamp() - interval '1 s' WHERE shard = $1 AND lease_until IS NOT NULL", shard)
}

// TestAShardWhoseMoverDiedIsServedAgain: copies of the service give a frozen shard back,
// and the mover, which was only paused, changes nothing when it wakes up.
func TestAShardWhoseMoverDiedIsServedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	tenant := w.tenant(300)
	_, err := w.create(ctx, tenant, "before")
	w.must(err)

	// The mover sleeps when the shard is held. While it has its lease, nobody takes
	// the shard from it.
	asleep := make(chan struct{})
	wake := make(chan struct{})
	paused := false
	ended := make(chan error, 1)
	go func() {
		_, err := w.mover(func(move *store.Move) {
			if move.State == store.MoveFrozen && !paused {
				paused = true
				close(asleep)
				<-wake
			}
		}).Move(ctx, 300, second)
		ended <- err
	}()
	<-asleep
	released, err := w.stores[first].ReleaseShards(ctx)
	w.must(err)
	if len(released) != 0 {
		t.Fatalf("shards %v are taken from a mover that lives", released)
	}

	// It may renew the lease between the two statements.
	for deadline := time.Now().Add(30 * time.Second); len(released) == 0; {
		w.expire(first, 300)
		released, err = w.stores[first].ReleaseShards(ctx)
		w.must(err)
		if time.Now().After(deadline) {
			t.Fatal("the shard is not given back")
		}
	}
	if fmt.Sprint(released) != "[300]" {
		t.Errorf("shards %v are served again, want 300", released)
	}
	if _, err := w.stores[first].Create(ctx, creationOf(tenant, "served")); err != nil {
		t.Errorf("the shard is not served at its source: %v", err)
	}

	// The attempt that was paused fails, and the next one moves the shard.
	close(wake)
	w.must(<-ended)
	var failure string
	w.must(w.owners[first].QueryRow(ctx, "SELECT last_error FROM shard_moves WHERE shard = 300").Scan(&failure))
	if !strings.Contains(failure, "shard 300 was given back to eu-1") {
		t.Errorf("the attempt failed with %q", failure)
	}
	if n := w.count(second, "SELECT count(*) FROM shipments WHERE account_id = $1", rawOf(tenant)); n != 2 {
		t.Errorf("%d shipments are at the target, want 2", n)
	}
}

// TestAFrozenShardIsServedAgain ends a mover after the freeze.
func TestAFrozenShardIsServedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	tenant := w.tenant(300)

	open, err := store.OpenDirectoryOwner(ctx, w.urls[first])
	w.must(err)
	defer open.Close()
	move, err := open.Plan(ctx, 300, second)
	w.must(err)
	w.must(open.Open(ctx, &move, w.urls))
	w.must(open.Hold(ctx, &move))
	w.must(open.Freeze(ctx, &move))
	if _, err := w.stores[first].Create(ctx, creationOf(tenant, "frozen")); err == nil {
		t.Fatal("a frozen shard is written to")
	}

	w.expire(first, 300)
	if err := open.Commit(ctx, &move); err == nil {
		t.Error("a mover goes on after its lease")
	}
	released, err := w.stores[first].ReleaseShards(ctx)
	w.must(err)
	if fmt.Sprint(released) != "[300]" {
		t.Errorf("shards %v are served again", released)
	}
	if _, err := w.stores[first].Create(ctx, creationOf(tenant, "served")); err != nil {
		t.Errorf("the shard is not served: %v", err)
	}
	for name, step := range map[string]func(context.Context, *store.Move) error{"freeze": open.Freeze, "commit": open.Commit} {
		if err := step(ctx, &move); err == nil {
			t.Errorf("%s by a mover whose shard was given back", name)
		}
	}

	// After the commit, the shard only goes forward, however long the mover is silent.
	w.must(open.Hold(ctx, &move))
	w.must(open.Freeze(ctx, &move))
	w.must(open.Commit(ctx, &move))
	w.expire(first, 300)
	if released, err := w.stores[first].ReleaseShards(ctx); err != nil || len(released) != 0 {
		t.Errorf("after the commit shards %v are given back, %v", released, err)
	}
	w.must(open.GoBack(ctx, &move, context.Canceled))
}

// TestALeaseIsRenewed: a mover whose steps take long keeps its shard.
func TestALeaseIsRenewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	open, err := store.OpenDirectoryOwner(ctx, w.urls[first])
	w.must(err)
	defer open.Close()
	move, err := open.Plan(ctx, 300, second)
	w.must(err)
	w.must(open.Open(ctx, &move, w.urls))
	w.must(open.Hold(ctx, &move))
	stop := open.Renew(ctx, &move)
	defer stop()

	var until, now time.Time
	lease := func() {
		t.Helper()
		w.must(w.owners[first].QueryRow(ctx, "SELECT lease_until, clock_timestamp() FROM shards WHERE shard = 300").Scan(&until, &now))
	}
	lease()
	begun := until
	for deadline := time.Now().Add(30 * time.Second); !until.After(begun); lease() {
		if time.Now().After(deadline) {
			t.Fatal("the lease is not renewed")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if until.Before(now) {
		t.Errorf("the lease was until %s, and it is %s", until, now)
	}
}
