package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// addEvent writes an event of a followed parcel in the transaction.
func addEvent(t *testing.T, tx pgx.Tx, tenant ship.Tenant) ship.EventID {
	t.Helper()
	id := ship.NewEventIDs(7, now(), 1)[0]
	_, err := tx.Exec(t.Context(), `INSERT INTO events (id, account_id, livemode, subject_id, is_tracker, kind, sequence, body_version, snapshot)
		VALUES ($1, $2, $3, $1, true, 'shipment.in_transit', 1, 1, '{}')`, [16]byte(id.Raw()), [16]byte(tenant.Account.Raw()), tenant.Livemode)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestAReaderWaitsForTheTransactionThatBeganFirst has the second of two
// transactions commit first.
func TestAReaderWaitsForTheTransactionThatBeganFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, err := storetest.Conn(t, f.url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slow := addEvent(t, first, f.tenant)
	second, err := f.owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quick := addEvent(t, second, f.tenant)
	if err := second.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, cursor, err := f.Log(t.Context(), f.tenant, store.Position{}, nil, 10)
	if err != nil || len(list) != 0 {
		t.Fatalf("%d events are shown before an older transaction, %v", len(list), err)
	}
	if vitals, err := f.Vitals(t.Context()); err != nil || vitals.HorizonAge <= 0 {
		t.Errorf("the horizon has stood still for %s, %v", vitals.HorizonAge, err)
	}
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []ship.EventID
	for deadline := now().Add(10 * time.Second); len(got) < 2 && now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		list, next, err := f.Log(t.Context(), f.tenant, cursor, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			got = append(got, e.Event.ID)
		}
		cursor = next
	}
	if !slices.Equal(got, []ship.EventID{slow, quick}) {
		t.Errorf("read %v, want %v", got, []ship.EventID{slow, quick})
	}
}

func TestAPositionThatIsTooOldOrFromElsewhereIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, f.tenant, "o", "1Z1")
	log := f.settled(t, f.tenant, 2)
	_, end, err := f.Log(t.Context(), f.tenant, log[1].Position, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct {
		at   store.Position
		want ship.Kind
	}{
		"the end":             {end, ""},
		"the first event":     {log[0].Position, ""},
		"29 days ago":         {store.Position{Tx: 1, At: now().Add(-29 * 24 * time.Hour)}, ""},
		"31 days ago":         {store.Position{Tx: 1, At: now().Add(-31 * 24 * time.Hour)}, ship.Gone},
		"a later transaction": {store.Position{Tx: end.Tx + 1<<40, At: now()}, ship.Gone},
	} {
		_, _, err := f.Log(t.Context(), f.tenant, tc.at, nil, 10)
		wantKind(t, what, err, tc.want)
	}
}

func TestTheLogIsFilteredByKind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, f.tenant, "o-1", "1Z1")
	f.create(t, f.tenant, "o-2", "1Z2")
	last := f.settled(t, f.tenant, 4)[3].Position
	for _, tc := range []struct {
		kinds []ship.EventKind
		want  int
	}{
		{nil, 4}, {[]ship.EventKind{}, 4}, {[]ship.EventKind{ship.ShipmentLabelGenerated}, 2}, {[]ship.EventKind{ship.ShipmentLabelGenerated, ship.ShipmentCreated}, 4}, {[]ship.EventKind{ship.ShipmentDelivered}, 0},
	} {
		list, next, err := f.Log(t.Context(), f.tenant, store.Position{}, tc.kinds, 10)
		if err != nil || len(list) != tc.want || next.Tx != last.Tx || next.ID != last.ID {
			t.Errorf("%v: %d events, next %+v, %v; want %+v", tc.kinds, len(list), next, err, last)
		}
	}
	if list, _, err := f.Log(t.Context(), ship.Tenant{Account: f.tenant.Account, Livemode: true}, store.Position{}, nil, 10); err != nil || len(list) != 0 {
		t.Errorf("the other mode reads %d events, %v", len(list), err)
	}
}
