package tracking

import (
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestACodeWithoutAMeaningIsCounted(t *testing.T) {
	t.Parallel()
	var counted []string
	s := New(Config{Unmapped: func(code string) { counted = append(counted, code) }})
	places := []place{{subject: ship.Subject{ID: ship.RawID{1}}, carrier: "acme"}, {subject: ship.Subject{ID: ship.RawID{2}}, carrier: "other"}}
	told := pile{}
	for _, scan := range []ship.Scan{{Code: "PU", Status: ship.PickedUp}, {Code: "ZZ", Reason: ship.ReasonUnmapped}} {
		s.put(told, carrier.Heard{Scan: scan}, "acme", places)
	}
	if !slices.Equal(counted, []string{"ZZ"}) || len(told) != 1 {
		t.Errorf("counted are %v, of %d parcels", counted, len(told))
	}
}
