package batch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// requested are n lines that came by the API.
func requested(n int) []batch.NewLine {
	lines := make([]batch.NewLine, n)
	for i := range lines {
		lines[i].OneParcel = true
		lines[i].Carrier = "ups"
		lines[i].Order = ship.Order{
			OrderID: fmt.Sprint("R-", i),
			Destination: ship.Address{
				Name: "Ada Lovelace", Address1: fmt.Sprint(i+1, " Main St"), City: "Austin", State: "TX", Zip: "78701", Country: "US", Phone: "2125550100",
			},
			Parcels: []ship.Parcel{{
				Weight: 2.5, WeightUnit: ship.Pound,
				Dimensions: &ship.Dimensions{Length: 10, Width: 8, Height: 4, Unit: ship.Inch},
			}},
		}
	}
	return lines
}

// request creates a batch with a key that may spend so much in a day.
func (b *bench) request(lines []batch.NewLine, limit ship.Money) ship.BatchID {
	b.Helper()
	in := account.NewKeyInput{Account: b.account.ID, Livemode: b.tenant.Livemode, Name: "shop"}
	if !limit.IsZero() {
		in.DailyLimit = limit.Amount()
	}
	_, key, err := b.accounts.NewKey(b.Context(), in)
	b.must(err)
	made, err := b.Create(b.Context(), batch.CreateInput{Tenant: b.tenant, APIKey: key.ID, By: key.Name, Lines: slices.Values(lines)})
	b.must(err)
	return made.ID
}

// TestTheLimitOfAKeyHoldsForTheLinesOfABatch buys many lines at once with a key
// that may spend less than they cost.
func TestTheLimitOfAKeyHoldsForTheLinesOfABatch(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t)
	one := b.request(requested(1), ship.Money{})
	b.work(one)
	row, err := b.Row(t.Context(), b.tenant, one, 1)
	b.must(err)
	if row.State != batch.RowBought || row.Price.Minor == 0 {
		t.Fatalf("%+v", row)
	}

	limit := ship.Money{Minor: row.Price.Minor*7/2 + 1, Currency: row.Price.Currency}
	id := b.request(requested(20)[1:], limit)
	got := b.work(id)
	if got.Tally.Rows[batch.RowBought] != 3 || got.Tally.Rows[batch.RowFailed] != 16 || got.Tally.Paid[0].Minor > limit.Minor {
		t.Errorf("with a limit of %s for labels of %s: %+v", limit, row.Price, got.Tally)
	}
	if sold, _ := b.sold("ups"); len(sold) != 4 {
		t.Errorf("UPS sold %d labels, want 4", len(sold))
	}
	failed, _, err := b.Rows(t.Context(), b.tenant, id, 0, 20, batch.RowFailed)
	b.must(err)
	for _, row := range failed {
		if len(row.Problems) != 1 || row.Problems[0].Reason != "spend_limit_reached" {
			t.Errorf("line %d: %+v", row.Number, row.Problems)
		}
	}
}

// TestALineOfTheAPIWithoutAnAnswerIsPending has a carrier that sells and does not
// answer: the line is bought once, and is known in the end.
func TestALineOfTheAPIWithoutAnAnswerIsPending(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t)
	b.must(b.stands["ups"].Turn(emulator.Faults{Buy: map[string]float64{"hang": 1}}))
	id := b.request(requested(2), ship.Money{})
	got := b.work(id)
	pending := b.pendingLines(id)
	if got.State != batch.Done || len(pending) != 2 || got.Tally.Reviews != 0 {
		t.Fatalf("%s %+v", got.State, got.Tally)
	}

	b.must(b.stands["ups"].Turn(emulator.Faults{}))
	for _, row := range pending {
		b.settleShipment(row.Shipment)
	}
	if again, err := b.Work(t.Context(), b.tenant, id); again != 0 || err != nil {
		t.Fatalf("after it is settled: %v, %v", again, err)
	}
	if got := b.work(id); got.Tally.Rows[batch.RowBought] != 2 {
		t.Errorf("%+v", got.Tally)
	}
	if sold, alive := b.sold("ups"); len(sold) != 2 || len(alive) != 2 {
		t.Errorf("UPS sold %v, of which are left %v", sold, alive)
	}
}

// A line that was bought before the process died is bought, even if the same
// request is refused by now.
func TestABoughtLineIsNotLostWhenItsRequestIsNoLongerValid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lose = func(int64) bool { return true }
	lines := requested(1)
	lines[0].Order.ShipDate = ship.DateOf(time.Now())
	id := b.request(lines, ship.Money{})
	if _, err := b.Work(t.Context(), b.tenant, id); err == nil || b.shipments() != 1 {
		t.Fatalf("%v, %d shipments", err, b.shipments())
	}

	// The day has passed: the request is refused now.
	_, err := storetest.Conn(t, b.store.System().Config().ConnString()).Exec(t.Context(), `UPDATE batch_rows SET request = jsonb_set(request, '{order,shipDate}', '"2020-01-01"')`)
	b.must(err)
	b.lose = nil
	if got := b.work(id); got.Tally.Rows[batch.RowBought] != 1 || b.shipments() != 1 {
		t.Errorf("%+v, %d shipments", got.Tally, b.shipments())
	}
}
