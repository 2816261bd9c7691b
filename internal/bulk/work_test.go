package bulk

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestAVoidThatWasBegunHasNotFailed loses the database after a void was written down
// or before: what the row says must not be that the label is still valid.
func TestAVoidThatWasBegunHasNotFailed(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	refused := ship.Coded(ship.Conflict, "void_refused", "the parcel was scanned")
	for name, test := range map[string]struct {
		state ship.State
		err   error
		want  string
	}{
		"written down, answer lost":  {ship.StateVoiding, nil, RowPending},
		"written down, then broken":  {ship.StateVoiding, broken, RowPending},
		"broken before":              {ship.StatePurchased, broken, RowWaiting},
		"refused":                    {ship.StateVoiding, refused, RowFailed},
		"voided":                     {ship.StateVoided, nil, RowDone},
		"the refund is yet to come":  {ship.StateRefundPending, nil, RowDone},
		"not possible at a carrier":  {ship.StatePurchased, ship.Coded(ship.Conflict, "void_not_supported", "no"), RowFailed},
		"the carrier does not react": {ship.StatePurchased, ship.Errorf(ship.Unavailable, "busy"), RowWaiting},
	} {
		s := New(Config{Void: func(context.Context, ship.Tenant, ship.ShipmentID) (ship.Shipment, error) {
			return ship.Shipment{State: test.state}, test.err
		}})
		row := store.BulkRow{State: RowWaiting}
		s.voidRow(t.Context(), store.BulkAction{}, &row)
		if row.State != test.want {
			t.Errorf("%s: %s, want %s", name, row.State, test.want)
		}
	}
}

// TestRowsDoNotWaitForThoseWithoutAnOutcome has the first rows of an action fail on
// our own side whenever they are worked on: more than are read at once, or the first
// of several manifests. The job has less time than the slowest row takes.
func TestRowsDoNotWaitForThoseWithoutAnOutcome(t *testing.T) {
	t.Parallel()
	const broken, all = chunkSize + 3, chunkSize + 8
	full := errors.New("the disk is full")
	for _, kind := range []string{Return, Manifest} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			st := storetest.Open(t)
			tenant := storetest.Tenant()
			var ids []ship.ShipmentID
			fails := map[ship.ShipmentID]bool{}
			for i := range all {
				shipment := storetest.Shipment(tenant, fmt.Sprint("order-", i))
				if i >= broken {
					shipment.Order.Origin.Address1 = "2 Other Street" // a manifest of its own
				}
				bought := storetest.Bought(shipment, fmt.Sprint("1Z", i))
				if _, err := st.Create(t.Context(), bought); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, bought.Shipment.ID)
				fails[bought.Shipment.ID] = i < broken
			}
			s := New(Config{
				Store:   st,
				Account: func(context.Context, ship.Tenant) (ship.Account, error) { return ship.Account{}, nil },
				Return: func(_ context.Context, r ReturnRequest) (ship.Shipment, error) {
					if fails[r.Shipment] {
						return ship.Shipment{}, full
					}
					return ship.Shipment{ID: r.Shipment, State: ship.StatePurchased}, nil
				},
				Close: func(_ context.Context, r ManifestRequest) (store.Manifest, error) {
					if fails[r.Shipments[0]] {
						return store.Manifest{}, full
					}
					manifest := store.Manifest{ID: ship.NewManifestID(tenant.Shard(), time.Now())}
					manifest.State = effect.Succeeded
					return manifest, nil
				},
			})
			action, err := s.Start(t.Context(), StartInput{Tenant: tenant, Kind: kind, Shipments: ids, Person: ship.NewPersonID(time.Now()), MadeBy: "Dana", Key: "form"})
			if err != nil {
				t.Fatal(err)
			}

			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if again, err := s.Work(ctx, tenant, action); !errors.Is(err, full) || again == 0 {
				t.Errorf("again in %s, %v", again, err)
			}
			got, err := s.Action(t.Context(), tenant, action)
			if err != nil || got.Rows[RowDone] != all-broken || got.Rows[RowWaiting] != broken {
				t.Errorf("after a turn: %v, %v", got.Rows, err)
			}
		})
	}
}

// TestARowIsNeverBoundToAnotherRequest works on a return whose key was made by the
// release before this one, after a client has bought something else under it.
func TestARowIsNeverBoundToAnotherRequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fingerprint func(key string) [32]byte
		want        string
	}{
		"another request":       {func(string) [32]byte { return [32]byte{1} }, RowFailed},
		"bought by an old copy": {ship.KeyFingerprint, RowDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := storetest.Open(t)
			tenant := storetest.Tenant()
			returned := storetest.Bought(storetest.Shipment(tenant, "order"), "1Z1")
			if _, err := st.Create(t.Context(), returned); err != nil {
				t.Fatal(err)
			}

			earlier := storetest.Bought(storetest.Shipment(tenant, "earlier"), "1Z2")
			earlier.IdempotencyKey = "bulk-blk_01M7Q71XJ2M3S4SS0PN3H3Y68W-1"
			earlier.Fingerprint = test.fingerprint(earlier.IdempotencyKey)
			if _, err := st.Create(t.Context(), earlier); err != nil {
				t.Fatal(err)
			}

			s := New(Config{Store: st, Return: func(context.Context, ReturnRequest) (ship.Shipment, error) {
				return ship.Shipment{}, ship.Coded(ship.Invalid, "idempotency_key_reused", "it was used for a different request")
			}})
			row := store.BulkRow{Position: 1, Shipment: returned.Shipment.ID, State: RowWaiting, Key: earlier.IdempotencyKey}
			if err := s.returnRow(t.Context(), store.BulkAction{Tenant: tenant, Kind: Return}, ship.Account{}, &row); err != nil {
				t.Fatal(err)
			}
			if row.State != test.want || (row.Return != "") != (test.want == RowDone) {
				t.Errorf("the row is %s with the return %q, want %s", row.State, row.Return, test.want)
			}
		})
	}
}
