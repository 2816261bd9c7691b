package shipping_test

import (
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestASlowCarrierIsNotCutOff has each carrier answer later than a client
// waits, in the proportions of 25 s and 20 s. The client gets a pending
// shipment in time, the purchase goes on, and the settle job does not interfere:
// there is one sale and its label is recorded.
func TestASlowCarrierIsNotCutOff(t *testing.T) {
	t.Parallel()
	const answer = 400 * time.Millisecond
	for name := range standIns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, name, func(c *settings) {
				c.Waits.Answer = answer
				c.Waits.Buy = 20 * time.Second
				c.Waits.Settle = 2400 * time.Millisecond // the job would look while the carrier sells
				c.quoting.SoftDeadline = 20 * time.Second
			})
			b.turn(t, emulator.Faults{Latency: emulator.Duration(3 * time.Second)})

			start := time.Now()
			got, err := b.Buy(t.Context(), b.order(1))
			if err != nil || !got.Pending || got.Shipment.Purchase.TrackingNumber != "" || got.Shipment.Sequence != 1 {
				t.Fatalf("after %s: %+v, %v; want a pending shipment", time.Since(start), got, err)
			}
			// The job is woken all the time. It must leave the purchase alone.
			sh := b.settle(t, got.Shipment.ID, ship.StatePurchased)
			if sold := b.alive(); !slices.Equal(sold, []string{sh.Purchase.TrackingNumber}) {
				t.Errorf("sold are %v, recorded is %s", sold, sh.Purchase.TrackingNumber)
			}
			if n := len(b.emulator.Ledger.Entries()); n != 1 {
				t.Errorf("the carrier's ledger has %d entries, want 1", n)
			}
			b.expectEvents(t, got.Shipment.ID, "[1 shipment.created purchasing 2 label.generated purchased]")
			attempts, err := b.store.Attempts(t.Context(), b.tenant, sh.ID)
			if err != nil || len(attempts) != 1 || attempts[0].Outcome != "purchased" {
				t.Errorf("attempts %+v, %v", attempts, err)
			}
			b.Drain(t.Context())
			if list, err := b.store.Violations(t.Context(), time.Now().Add(time.Second)); err != nil || len(list) > 0 {
				t.Errorf("violations %+v, %v", list, err)
			}
		})
	}
}

// TestASlowRefusalIsReported: the carrier refuses after the client was answered
// with a pending shipment, which then fails with an event, and its key repeats
// the refusal.
func TestASlowRefusalIsReported(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", func(c *settings) {
		c.Waits.Answer = 300 * time.Millisecond
		c.Waits.Buy = 20 * time.Second
	})
	b.turn(t, emulator.Faults{Latency: emulator.Duration(time.Second), Refuse: 1})
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil || !got.Pending {
		t.Fatalf("%+v, %v; want a pending shipment", got, err)
	}

	b.Drain(t.Context())
	sh, err := b.store.Shipment(t.Context(), b.tenant, got.Shipment.ID)
	if err != nil || sh.State != ship.StateFailed || sh.Progress.Reason != ship.ReasonPurchaseFailed {
		t.Errorf("the shipment is %s (%s), %v", sh.State, sh.Progress.Reason, err)
	}
	if _, err := b.Buy(t.Context(), b.order(1)); ship.CodeOf(err) != "carrier_rejected" {
		t.Errorf("with the same key: %v", err)
	}
	if n := len(b.emulator.Ledger.Entries()); n != 0 {
		t.Errorf("the carrier's ledger has %d entries", n)
	}
}
