package shipping_test

import (
	"context"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestTheSweepReachesTheNewest has purchases and a void open whose jobs were lost, at
// a carrier that does not answer within the time of the sweep.
func TestTheSweepReachesTheNewest(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", func(s *settings) { s.Waits.Settle = 2 * time.Second })
	bought, err := b.Buy(t.Context(), b.order(1))
	if err != nil || bought.Pending {
		t.Fatalf("Buy = %+v, %v", bought, err)
	}
	b.turn(t, emulator.Faults{Void: map[string]float64{"lost": 1}})
	if sh, err := b.Void(t.Context(), b.tenant, bought.Shipment.ID); err != nil || sh.State != ship.StateVoiding {
		t.Fatalf("Void = %s, %v", sh.State, err)
	}
	b.turn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})
	for n := range 2 {
		if got, err := b.Buy(t.Context(), b.order(n+2)); err != nil || !got.Pending {
			t.Fatalf("Buy = %+v, %v", got, err)
		}
	}
	conn := storetest.Conn(t, b.url)
	if _, err := conn.Exec(t.Context(), `DELETE FROM river_job`); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second) // until it is the sweep's turn

	b.turn(t, emulator.Faults{Latency: emulator.Duration(time.Minute)})
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := b.Sweep(ctx)
		cancel()
		if err != nil {
			t.Error(err)
		}
	}
	var purchases, voids int
	err = conn.QueryRow(t.Context(), `
SELECT count(*) FILTER (WHERE kind = 'settle_purchase'), count(*) FILTER (WHERE kind = 'settle_void') FROM river_job`).Scan(&purchases, &voids)
	if err != nil || purchases != 2 || voids != 1 {
		t.Errorf("jobs of %d purchases and %d voids, %v; want 2 and 1", purchases, voids, err)
	}
}

// TestAVoidOutlivesTheTimeOfItsJob has a carrier take longer to answer than a job
// has time.
func TestAVoidOutlivesTheTimeOfItsJob(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil || got.Pending {
		t.Fatalf("Buy = %+v, %v", got, err)
	}
	b.turn(t, emulator.Faults{Void: map[string]float64{"lost": 1}})
	if sh, err := b.Void(t.Context(), b.tenant, got.Shipment.ID); err != nil || sh.State != ship.StateVoiding {
		t.Fatalf("Void = %s, %v", sh.State, err)
	}

	b.turn(t, emulator.Faults{Latency: emulator.Duration(1500 * time.Millisecond)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	again, err := b.SettleVoid(ctx, b.tenant, got.Shipment.ID)
	if err != nil || again != 0 {
		t.Errorf("again in %s, %v", again, err)
	}
	if sh, err := b.Shipment(t.Context(), b.tenant, got.Shipment.ID); err != nil || sh.State != ship.StateVoided {
		t.Errorf("it is %s, %v", sh.State, err)
	}
}

// TestASaleThatCannotBeRecordedIsNotAnsweredAsNothing has the database refuse a sale
// for a reason that nobody foresaw: the client must not read that nothing happened.
func TestASaleThatCannotBeRecordedIsNotAnsweredAsNothing(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	conn := storetest.Conn(t, b.url)
	if _, err := conn.Exec(t.Context(), `ALTER TABLE labels ADD CONSTRAINT none CHECK (false) NOT VALID`); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Buy(t.Context(), b.order(1)); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("Buy = %+v, %v", got, err)
	}
	if _, err := conn.Exec(t.Context(), `ALTER TABLE labels DROP CONSTRAINT none`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Replay(t.Context()); err != nil {
		t.Error(err)
	}
	got, err := b.Buy(t.Context(), b.order(1))
	if alive := b.alive(); err != nil || got.Pending || len(alive) != 1 || alive[0] != got.Shipment.Purchase.TrackingNumber {
		t.Errorf("Buy = %+v, %v; alive are %v", got, err, alive)
	}
}
