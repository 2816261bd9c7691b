package shipping_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// returning is the return of a shipment under a key.
func (b bench) returning(id ship.ShipmentID, key string) shipping.ReturnInput {
	return shipping.ReturnInput{
		Shipment: id,
		BuyInput: shipping.BuyInput{
			Tenant:         b.tenant,
			Account:        b.account,
			IdempotencyKey: key,
			Fingerprint:    sha256.Sum256([]byte("return of " + id)),
		},
	}
}

// returnOutcomes are the ids and codes that parallel returns ended with.
type returnOutcomes struct {
	mu     sync.Mutex
	bought map[ship.ShipmentID]int
	codes  map[string]int
	named  map[string]int // returns that errors name
}

// returnAtOnce makes the returns in parallel.
func (b bench) returnAtOnce(inputs []shipping.ReturnInput) *returnOutcomes {
	out := &returnOutcomes{bought: map[ship.ShipmentID]int{}, codes: map[string]int{}, named: map[string]int{}}
	var wg sync.WaitGroup
	for _, in := range inputs {
		wg.Go(func() {
			got, err := b.Return(context.Background(), in)
			out.mu.Lock()
			defer out.mu.Unlock()
			if err == nil {
				out.bought[got.Shipment.ID]++
				return
			}
			out.codes[ship.CodeOf(err)]++
			if coded, ok := errors.AsType[*ship.Error](err); ok && coded.Details["returnId"] != nil {
				out.named[coded.Details["returnId"].(string)]++
			}
		})
	}
	wg.Wait()
	return out
}

func TestManyReturnsOfAShipmentAtOnceBuyOne(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	first, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}

	var inputs []shipping.ReturnInput
	for i := range 8 {
		inputs = append(inputs, b.returning(first.Shipment.ID, fmt.Sprint("return-", i)))
	}
	got := b.returnAtOnce(inputs)
	if len(got.bought) != 1 || got.codes["return_exists"] != 7 || len(got.named) != 1 {
		t.Fatalf("bought %v, codes %v, named %v; want one return, and seven that name it", got.bought, got.codes, got.named)
	}
	if alive := b.alive(); len(alive) != 2 {
		t.Errorf("the carrier has sold %v, want the shipment and one return", alive)
	}

	// Once it is voided, another can be bought; its key still answers for it.
	var id ship.ShipmentID
	for id = range got.bought {
		if got.named[string(id)] != 7 {
			t.Errorf("the errors name %v, bought is %s", got.named, id)
		}
	}
	if _, err := b.Void(t.Context(), b.tenant, id); err != nil {
		t.Fatal(err)
	}
	second, err := b.Return(t.Context(), b.returning(first.Shipment.ID, "return-after"))
	if err != nil || second.Shipment.ID == id {
		t.Fatalf("after the void: %s, %v", second.Shipment.ID, err)
	}
	again, err := b.Return(t.Context(), b.returning(first.Shipment.ID, "return-after"))
	if err != nil || again.Shipment.ID != second.Shipment.ID || !again.Replayed {
		t.Errorf("the same key again: %s, replayed %t, %v", again.Shipment.ID, again.Replayed, err)
	}
	if list, err := b.Returns(t.Context(), b.tenant, first.Shipment.ID); err != nil || len(list) != 2 || list[0] != second.Shipment.ID {
		t.Errorf("the returns are %v, %v", list, err)
	}
}

func TestAReturnThatIsSentTwiceAtOnceIsOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, err := b.Buy(t.Context(), b.input("Jane Doe"))
	if err != nil {
		t.Fatal(err)
	}

	var inputs []shipping.ReturnInput
	for range 8 {
		inputs = append(inputs, b.returning(first.Shipment.ID, "once"))
	}
	if got := b.returnAtOnce(inputs); len(got.bought) != 1 || len(got.codes) != 0 {
		t.Errorf("bought %v, codes %v; want one return for all", got.bought, got.codes)
	}
}

// TestFailedReturnsThatAreTriedAgainAtOnceBuyOne: a failed return is no return, so
// others may be tried; when several are tried again under their keys, one is bought.
func TestFailedReturnsThatAreTriedAgainAtOnceBuyOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.input("Jane Doe")
	in.Order.Origin = in.Order.Destination
	in.Order.Origin.Name = "FAULT UNAVAILABLE"
	first, err := b.Buy(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}

	var inputs []shipping.ReturnInput
	for i := range 5 {
		inputs = append(inputs, b.returning(first.Shipment.ID, fmt.Sprint("k", i)))
		if _, err := b.Return(t.Context(), inputs[i]); ship.CodeOf(err) != "carrier_unavailable" {
			t.Fatalf("%v, want carrier_unavailable", err)
		}
	}

	// The carriers can be reached again.
	db, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	const mend = "UPDATE shipments SET request = replace(request::text, 'FAULT UNAVAILABLE', 'Warehouse')::json"
	if _, err := db.Exec(t.Context(), mend); err != nil {
		t.Fatal(err)
	}
	if got := b.returnAtOnce(inputs); len(got.bought) != 1 || got.codes["return_exists"] != 4 {
		t.Errorf("bought %v, codes %v; want one return", got.bought, got.codes)
	}
}

func TestAReturnIsBoughtForTheWayBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, err := b.Buy(t.Context(), b.input("Jane Doe"))
	if err != nil {
		t.Fatal(err)
	}

	in := b.returning(first.Shipment.ID, "k")
	in.Parcel = &ship.Parcel{Weight: 1, WeightUnit: ship.Kilogram}
	in.Carrier = "ups"
	got, err := b.Return(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	back := got.Shipment
	if back.Order.Destination != first.Shipment.Order.Origin || back.Order.Origin != first.Shipment.Order.Destination {
		t.Errorf("from %+v to %+v", back.Order.Origin, back.Order.Destination)
	}
	if back.Purchase.Carrier != "ups" || back.Order.Parcels[0].WeightGrams != 1000 || back.DuplicateOf != "" {
		t.Errorf("%s, parcels %+v, duplicate of %q", back.Purchase.Carrier, back.Order.Parcels, back.DuplicateOf)
	}
	read, err := b.Shipment(t.Context(), b.tenant, back.ID)
	if err != nil || read.DuplicateOf != "" || read.Order.ReturnOf != first.Shipment.ID {
		t.Errorf("read back: duplicate of %q, return of %q, %v", read.DuplicateOf, read.Order.ReturnOf, err)
	}

	// It is listed with its order, and does not become the order's shipment.
	list, _, err := b.Shipments(t.Context(), b.tenant, shipping.Filter{OrderID: "order-1", Page: ship.Page{Limit: 10}})
	if err != nil || len(list) != 2 || list[0].ID != back.ID {
		t.Errorf("the order has %d shipments, %v", len(list), err)
	}
	duplicate := b.input("Jane Doe")
	duplicate.OnDuplicate = "return"
	if same, err := b.Buy(t.Context(), duplicate); err != nil || same.Shipment.ID != first.Shipment.ID {
		t.Errorf("the order's shipment is %s, %v; want %s", same.Shipment.ID, err, first.Shipment.ID)
	}

	more := b.returning(first.Shipment.ID, "k2")
	more.AnotherReturn = true
	if other, err := b.Return(t.Context(), more); err != nil || other.Shipment.ID == back.ID {
		t.Errorf("another return on purpose: %s, %v", other.Shipment.ID, err)
	}
}
