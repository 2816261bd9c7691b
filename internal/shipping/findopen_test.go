package shipping_test

import (
	"testing"
	"time"
)

func TestAPurchaseThatStaysOpenGetsOneJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)

	find := func() (jobs int) {
		t.Helper()
		if err := b.FindOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.store.System().QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE kind = 'settle_purchase'").Scan(&jobs); err != nil {
			t.Fatal(err)
		}
		return jobs
	}

	// One that is sold and recorded, which no job needs to look at, and one
	// whose response is lost.
	if got, err := b.Buy(t.Context(), keyed(b.input("FAULT EXCEPTION"), "k1")); err != nil || got.Pending {
		t.Fatalf("Buy: pending %v, %v; want bought", got.Pending, err)
	}
	begun := time.Now()
	if got, err := b.Buy(t.Context(), keyed(b.input("FAULT TIMEOUT AFTER PURCHASE"), "k2")); err != nil || !got.Pending {
		t.Fatalf("Buy: pending %v, %v; want pending", got.Pending, err)
	}

	if n := find(); n != 0 && time.Since(begun) < 2*time.Second {
		t.Errorf("%d jobs before the settle job may look, want none", n)
	}
	time.Sleep(time.Until(begun.Add(3500 * time.Millisecond)))
	for range 3 {
		if n := find(); n != 1 {
			t.Fatalf("%d jobs, want one for the purchase that is open", n)
		}
	}
}
