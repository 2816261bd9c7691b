package store_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// The look-ups that fail are listed until a control is found again, or the
// connection is removed.
func TestFailingLookupsAreInspected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, other := f.connect(t, f.tenant, "One"), f.connect(t, f.tenant, "Other")
	control := ship.NewShipmentID(f.tenant.Shard(), time.Now())
	record := func(id ship.ConnectionID, found bool) {
		t.Helper()
		if err := f.RecordControl(t.Context(), f.tenant, id, control, found); err != nil {
			t.Fatal(err)
		}
	}
	failing := func() (list []ship.ConnectionID) {
		t.Helper()
		for _, lookup := range inspect(t, f.url).FailingLookups {
			if lookup.FailingSince.IsZero() || lookup.ControlFound {
				t.Errorf("%+v", lookup)
			}
			list = append(list, lookup.Connection)
		}
		return list
	}

	record(one.ID, false)
	record(other.ID, true)
	if list := failing(); len(list) != 1 || list[0] != one.ID {
		t.Errorf("failing: %v, want %s", list, one.ID)
	}
	record(one.ID, true)
	if list := failing(); len(list) != 0 {
		t.Errorf("failing after a control was found: %v", list)
	}
}
