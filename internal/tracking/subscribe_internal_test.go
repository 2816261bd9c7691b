package tracking

import (
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A parcel is marked as pushed only if all of its numbers were in the call.
func TestParcelsFitIntoACallWithAllTheirPieces(t *testing.T) {
	t.Parallel()
	one := ship.Subject{ID: ship.RawID{1}}
	two := ship.Subject{ID: ship.RawID{2}}
	gone := ship.Subject{ID: ship.RawID{3}}
	large := ship.Subject{ID: ship.RawID{4}}
	numbers := map[ship.Subject]store.Watched{
		one:   {Numbers: []string{"A"}},
		two:   {Numbers: []string{"B", "C", "D"}},
		large: {Numbers: []string{"E", "F", "G", "H", "I"}},
	}

	covered, got := fitIntoCall([]ship.Subject{one, gone, two}, numbers, 3)
	if !slices.Equal(covered, []ship.Subject{one}) || !slices.Equal(got, []string{"A"}) {
		t.Errorf("a call of 3 covers %d parcels with %v", len(covered), got)
	}

	covered, got = fitIntoCall([]ship.Subject{large, one}, numbers, 3)
	if !slices.Equal(covered, []ship.Subject{large}) || len(got) != 3 {
		t.Errorf("a parcel with more pieces than a call takes: %d parcels with %v", len(covered), got)
	}

	if covered, got = fitIntoCall([]ship.Subject{gone}, numbers, 3); len(covered)+len(got) != 0 {
		t.Errorf("a parcel that is gone is in the call: %v", got)
	}
}
