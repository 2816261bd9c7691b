package webhook_test

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/webhook"
)

// create stores a bought shipment, and waits until the log shows it.
func create(t *testing.T, st *store.Store, tenant ship.Tenant) ship.Shipment {
	t.Helper()
	sh := storetest.Shipment(tenant, "o")
	c := storetest.Bought(sh, "1Z"+string(sh.ID[4:]))
	if _, err := st.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		got, err := webhook.New(webhook.Config{Store: st}).Events(t.Context(), tenant, "", nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.Entries); n > 0 && got.Entries[n-1].Event.Shipment == sh.ID {
			return c.Shipment
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the log does not show the shipment")
	return sh
}

// cursor writes a position the way a client would forge it.
func cursor(tx uint64, at time.Time) string {
	b := binary.BigEndian.AppendUint64(nil, tx)
	b = append(b, make([]byte, 16)...)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, uint64(at.UnixMilli())))
}

func TestFollowingTheCursorShowsEachEventOnce(t *testing.T) {
	t.Parallel()
	st, tenant := storetest.Open(t), storetest.Tenant()
	log := webhook.New(webhook.Config{Store: st})
	first, err := log.Events(t.Context(), tenant, "", nil, 10)
	if err != nil || len(first.Entries) != 0 || first.Next == "" {
		t.Fatalf("an empty log: %+v, %v", first, err)
	}
	var made, seen []ship.ShipmentID
	after := first.Next
	for range 4 {
		made = append(made, create(t, st, tenant).ID)
		create(t, st, storetest.Tenant())
		for {
			got, err := log.Events(t.Context(), tenant, after, nil, 1)
			if err != nil || got.Next == "" {
				t.Fatal(got.Next, err)
			}
			if after = got.Next; len(got.Entries) == 0 {
				break
			}
			e := got.Entries[0]
			if e.Shipment.ID != e.Event.Shipment || e.Shipment.Purchase.TrackingNumber == "" || e.Event.Version != store.BodyVersion || e.Event.Tenant != tenant {
				t.Errorf("entry %+v", e)
			}
			seen = append(seen, e.Event.Shipment)
		}
	}
	var want []ship.ShipmentID
	for _, id := range made {
		want = append(want, id, id)
	}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %v, want %v", seen, want)
	}
}

func TestACursorThatIsTooOldOrFromAnotherDatabaseIsGone(t *testing.T) {
	t.Parallel()
	st, tenant := storetest.Open(t), storetest.Tenant()
	create(t, st, tenant)
	log := webhook.New(webhook.Config{Store: st})
	for what, tc := range map[string]struct{ after, code string }{
		"29 days old":             {cursor(3, time.Now().Add(-29*24*time.Hour)), ""},
		"31 days old":             {cursor(3, time.Now().Add(-31*24*time.Hour)), "cursor_expired"},
		"of a later transaction":  {cursor(1<<50, time.Now()), "cursor_expired"},
		"of the last transaction": {cursor(1<<64-1, time.Now()), "cursor_expired"},
		"no cursor at all":        {"abc", "invalid_cursor"},
		"a cursor and more":       {cursor(3, time.Now()) + "AA", "invalid_cursor"},
		"not base64":              {strings.Repeat("=", 43), "invalid_cursor"},
	} {
		got, err := log.Events(t.Context(), tenant, tc.after, nil, 10)
		if ship.CodeOf(err) != tc.code || tc.code == "" && (err != nil || len(got.Entries) != 2) {
			t.Errorf("%s: %d entries, %v; want code %q", what, len(got.Entries), err, tc.code)
		}
		if tc.code == "cursor_expired" && ship.KindOf(err) != ship.Gone {
			t.Errorf("%s is of kind %s", what, ship.KindOf(err))
		}
	}
}
