package wire

import (
	"fmt"

	"github.com/waybillhq/waybill/internal/ship"
)

// EventVersion is the version of the bodies of new events.
const EventVersion = 1

// Event is the body of an event, as it is listed and as it is sent.
type Event struct {
	ID        string    `json:"id" example:"evt_01KJMBQDHV00GB3K9T4ZP6YS0R" doc:"Identifier of the event; the same on every delivery."`
	Type      string    `json:"type" enum:"shipment.created,label.generated,shipment.picked_up,shipment.in_transit,shipment.delivered,shipment.exception" doc:"Kind of the event. A parcel out for delivery is told as shipment.in_transit."`
	Timestamp string    `json:"timestamp" format:"date-time" doc:"When the event was recorded."`
	Livemode  bool      `json:"livemode" doc:"Whether it belongs to live data."`
	Sequence  int       `json:"sequence" minimum:"1" doc:"Counts the events of one shipment or tracker, from 1 without gaps."`
	Late      bool      `json:"late" doc:"Whether it is older than an event that was told before."`
	Test      bool      `json:"test,omitempty" doc:"True for an event that was made up to try an endpoint: nothing happened. Left out otherwise."`
	Data      EventData `json:"data" doc:"What the event speaks of."`
}

// EventData is what an event speaks of: a shipment or a tracker, and the
// tracking event that made it.
type EventData struct {
	Shipment       *Shipment     `json:"shipment,omitempty" doc:"The shipment, as it was after the event."`
	Tracker        *Tracker      `json:"tracker,omitempty" doc:"The tracker, for a parcel that was not bought here."`
	Event          TrackingEvent `json:"event" doc:"The tracking event."`
	PreviousStatus string        `json:"previousStatus,omitempty" doc:"The status before the event."`
}

// EventBody is the body of e, which speaks of s or of t. The body is the same
// on every call and after every upgrade: what can change later comes from the
// event's snapshot, and a body of a version is never rendered in another way.
func EventBody(e ship.Event, s ship.Shipment, t ship.Tracker) ([]byte, error) {
	switch e.Version {
	case 1:
		return Marshal(eventV1(e, s, t))
	}
	return nil, fmt.Errorf("event %s has a body of unknown version %d", e.ID, e.Version)
}

func eventV1(e ship.Event, s ship.Shipment, t ship.Tracker) Event {
	out := Event{
		ID:        string(e.ID),
		Type:      string(e.Kind),
		Timestamp: Time(e.At()),
		Livemode:  e.Tenant.Livemode,
		Sequence:  e.Sequence,
		Late:      e.Late,
		Test:      e.Test,
	}
	snap := e.Snapshot
	out.Data.PreviousStatus = string(snap.PreviousStatus)
	then := ship.Progress{
		Status: snap.Status, Reason: snap.Reason, Pieces: snap.Pieces,
		EstimateAt: snap.EstimateAt, EstimateSource: snap.EstimateSource,
	}
	if e.Tracker != "" {
		t.Progress = then
		out.Data.Tracker = trackerOf(t)
	} else {
		s.Progress, s.State = then, snap.State
		if snap.Deal != nil {
			s.Deal = *snap.Deal
		}
		shown := ShipmentOf(s, snap.BaseURL)
		shown.Routing = shown.Routing.v1()
		out.Data.Shipment = &shown
	}
	scan := scanOf(e, s, t)
	out.Data.Event = trackingEventOf(&scan)
	return out
}

// scanOf is the tracking event of e. The ones that the service itself makes
// are not in the snapshot: they follow from the rest.
func scanOf(e ship.Event, s ship.Shipment, t ship.Tracker) ship.Scan {
	if n := e.Snapshot.Scan; n != nil {
		return ship.Scan{
			Piece: n.Piece, Code: n.Code, At: n.At, Status: n.Status,
			Reason: n.Reason, Description: n.Description, Location: n.Location, ZoneUnknown: n.ZoneUnknown,
		}
	}
	switch e.Kind {
	case ship.LabelMade:
		return ship.LabelScan(s.Deal.BoughtAt)
	case ship.ShipmentException:
		return ship.FailedScan(e.At(), e.Snapshot.Reason)
	}
	if e.Tracker != "" {
		return ship.CreatedScan(t.CreatedAt())
	}
	return ship.CreatedScan(s.CreatedAt())
}
