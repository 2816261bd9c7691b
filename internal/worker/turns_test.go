package worker

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestAnAccountWithManyBatchesLeavesWorkersToOthers runs two jobs of one account. The
// second is put off while a job of another account waits, and only then.
func TestAnAccountWithManyBatchesLeavesWorkersToOthers(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	batches := newTurns(st)
	owner := storetest.Tenant()
	other := storetest.Tenant()

	// both runs a job of the owner inside another one, and reports whether it ran.
	both := func() (ran bool) {
		t.Helper()
		_, err := batches.take(t.Context(), owner.Account, func() (time.Duration, error) {
			again, err := batches.take(t.Context(), owner.Account, func() (time.Duration, error) {
				ran = true
				return 0, nil
			})
			if !ran && again != turnLater {
				t.Errorf("a job that is put off is tried again after %s", again)
			}
			return 0, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return ran
	}
	queue := func(tenant ship.Tenant) {
		t.Helper()
		err := st.InTx(t.Context(), tenant, func(tx *store.Store) error {
			return tx.Enqueue(t.Context(), job.BuyBatch{Account: tenant.Account, Batch: ship.NewBatchID(tenant.Shard(), time.Now())}, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	queue(owner)
	if !both() {
		t.Error("a second job is put off although nobody else waits")
	}
	queue(other)
	if both() {
		t.Error("a second job has a worker while another account waits")
	}
	if len(batches.running) != 0 {
		t.Errorf("%v are still counted", batches.running)
	}
}
