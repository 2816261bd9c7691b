package parts

import (
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
)

// A TrackedShipment is a shipment and where its parcels are.
type TrackedShipment struct {
	ship.Shipment
	Tracked tracking.Tracked
}

// NoDelivery says why no delivery is expected: the label is voided, or was
// never bought. It is empty for every other shipment.
func (p TrackedShipment) NoDelivery() string {
	switch p.State {
	case ship.StateVoiding:
		return "The carrier was asked to void the label. Do not use it; no delivery is expected."
	case ship.StateRefundPending:
		return "The label was voided and the carrier's refund is pending. Do not use it; no delivery is expected."
	case ship.StateVoided:
		return "The label was voided. Do not use it; no delivery is expected."
	case ship.StateFailed:
		return "No label was bought and nothing was charged; no delivery is expected."
	}
	return ""
}

// A Milestone is one step of a parcel's tracking state.
type Milestone struct {
	Status ship.Status
	Class  string // "done", "now", "bad" or ""
}

// Milestones returns the five steps that people wait for.
func (p TrackedShipment) Milestones() []Milestone {
	// An exception is shown at the step that the parcel had reached before. The
	// delivery of a parcel that was sent back is not a step towards its recipient.
	current := p.Progress.Status
	if current == ship.Exception {
		for _, scan := range p.Tracked.Scans {
			if scan.Status != ship.Exception && scan.Status != ship.Delivered {
				current = scan.Status
				break
			}
		}
	}

	steps := []ship.Status{ship.LabelGenerated, ship.PickedUp, ship.InTransit, ship.OutForDelivery, ship.Delivered}
	list := make([]Milestone, len(steps))
	for i, step := range steps {
		list[i] = Milestone{Status: step}
		switch {
		case p.NoDelivery() != "":
			// The parcel goes nowhere: no step is done or under way.
		case step == current && p.Progress.Status == ship.Exception:
			list[i].Class = "bad"
		case step == current:
			list[i].Class = "now"
		case step.Rank() < current.Rank():
			list[i].Class = "done"
		}
	}
	return list
}
