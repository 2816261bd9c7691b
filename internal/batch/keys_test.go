package batch_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// squat buys a parcel to somebody else under the plain name of a line, as another
// API key of the account can.
func (b *bench) squat(id ship.BatchID, line, revision int) ship.ShipmentID {
	b.Helper()
	input := shipping.BuyInput{
		Tenant:  b.tenant,
		Account: b.account,
		Order: ship.Order{
			OrderID:     fmt.Sprint("attack-", line, "-", revision),
			Destination: ship.Address{Name: "Mallory", Address1: "1 Other Street", City: "Reno", State: "NV", Zip: "89501", Country: "US"},
			Parcels:     []ship.Parcel{{Weight: 2}},
		},
		OneParcel:      true,
		OnDuplicate:    "allow",
		IdempotencyKey: fmt.Sprintf("batch-%s-%d-%d", id, line, revision),
		Fingerprint:    [32]byte{1, 2, 3},
	}
	bought, err := b.shipping.Buy(b.Context(), input)
	b.must(err)
	return bought.Shipment.ID
}

// TestALineIsNeverBoundToAnotherRequest buys parcels to somebody else under the names
// that lines had before keys of the service were set apart, while a batch waits for
// a person. The lines are bought to their own addresses; those of an old batch, which
// keep their names, fail.
func TestALineIsNeverBoundToAnotherRequest(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]int{"new": ship.ServiceKeys, "old": ship.PlainKeys} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := b.upload(orders(4))
			b.setKeyVersion(version)
			b.work(id)

			foreign := map[ship.ShipmentID]bool{}
			for line := 1; line <= 2; line++ {
				for revision := range 3 {
					foreign[b.squat(id, line, revision)] = true
				}
			}
			b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
			got := b.work(id)

			rows, _, err := b.Rows(t.Context(), b.tenant, id, 0, 10)
			b.must(err)
			for _, row := range rows {
				if foreign[row.Shipment] {
					t.Errorf("line %d is bound to the parcel of another request", row.Number)
				}
			}
			want := 4
			if version == ship.PlainKeys {
				want = 2
			}
			if bought := got.Tally.Rows[batch.RowBought]; bought != want {
				t.Errorf("%d lines are bought, want %d: %+v", bought, want, got.Tally)
			}
		})
	}
}

func (b *bench) setKeyVersion(version int) {
	b.Helper()
	_, err := storetest.Conn(b.T, b.url).Exec(b.Context(), "UPDATE batches SET key_version = $1", version)
	b.must(err)
}

// TestALineThatAnOldCopyBoughtIsNotBoughtAgain has a copy of the release before this
// one buy lines of a new batch, and die before it has recorded them.
func TestALineThatAnOldCopyBoughtIsNotBoughtAgain(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]int64{"all": 6, "some": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := b.upload(orders(6))
			b.work(id)
			b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))

			b.setKeyVersion(ship.PlainKeys)
			var begun atomic.Int64
			b.lose = func(int64) bool { return true }
			b.fails = func(batch.Request) error {
				if begun.Add(1) > dies {
					return errors.New("the process is gone")
				}
				return nil
			}
			_, _ = b.Work(t.Context(), b.tenant, id)

			b.setKeyVersion(ship.ServiceKeys)
			b.lose = nil
			b.fails = nil
			got := b.work(id)
			if got.Tally.Rows[batch.RowBought] != 6 || b.shipments() != 6 {
				t.Errorf("%+v and %d shipments, want 6", got.Tally, b.shipments())
			}
		})
	}
}
