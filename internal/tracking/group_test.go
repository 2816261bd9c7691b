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
	pieces := []pieceRef{{subject: ship.Subject{ID: ship.RawID{1}}, carrier: "acme"}, {subject: ship.Subject{ID: ship.RawID{2}}, carrier: "other"}}
	updates := updatesByShipment{}
	for _, scan := range []ship.Scan{{Code: "PU", Status: ship.PickedUp}, {Code: "ZZ", Reason: ship.ReasonUnmapped}} {
		s.addUpdate(updates, carrier.TrackingUpdate{Scan: scan}, "acme", pieces)
	}
	if !slices.Equal(counted, []string{"ZZ"}) || len(updates) != 1 {
		t.Errorf("counted are %v, of %d parcels", counted, len(updates))
	}
}
