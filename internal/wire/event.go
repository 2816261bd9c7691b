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
	Type      string    `json:"type" enum:"shipment.created,label.generated,shipment.picked_up,shipment.in_transit,shipment.delivered,shipment.exception" doc:"Type of the event. A parcel that is out for delivery is reported as shipment.in_transit."`
	Timestamp string    `json:"timestamp" format:"date-time" doc:"When the event was recorded."`
	Livemode  bool      `json:"livemode" doc:"Whether the event belongs to live mode."`
	Sequence  int       `json:"sequence" minimum:"1" doc:"Position among the events of the shipment or tracker, from 1 without gaps."`
	Late      bool      `json:"late" doc:"Whether the event happened before one that was already sent."`
	Test      bool      `json:"test,omitempty" doc:"True for a test event sent to try an endpoint: nothing happened. Omitted otherwise."`
	Data      EventData `json:"data" doc:"What the event is about."`
}

// EventData is what an event is about: a shipment or a tracker, and the
// tracking event that caused it.
type EventData struct {
	Shipment       *Shipment     `json:"shipment,omitempty" doc:"The shipment as of the event."`
	Tracker        *Tracker      `json:"tracker,omitempty" doc:"The tracker, for a parcel that was not bought here."`
	Event          TrackingEvent `json:"event" doc:"The tracking event."`
	PreviousStatus string        `json:"previousStatus,omitempty" doc:"The status before the event."`
}

// EventBody is the body of an event, which is about a shipment or a tracker.
// The body is the same on every call and after every upgrade: what can change
// later comes from the event's snapshot, and a body of a version is never
// rendered in another way.
func EventBody(event ship.Event, shipment ship.Shipment, tracker ship.Tracker) ([]byte, error) {
	switch event.Version {
	case 1:
		return Marshal(eventV1(event, shipment, tracker))
	}
	return nil, fmt.Errorf("event %s has a body of an unknown version: %d", event.ID, event.Version)
}

func eventV1(event ship.Event, shipment ship.Shipment, tracker ship.Tracker) Event {
	body := Event{
		ID:        string(event.ID),
		Type:      string(event.Kind),
		Timestamp: Time(event.At()),
		Livemode:  event.Tenant.Livemode,
		Sequence:  event.Sequence,
		Late:      event.Late,
		Test:      event.Test,
	}

	// The rows may have changed since the event. What the body shows of that
	// is taken from the snapshot.
	snapshot := event.Snapshot
	body.Data.PreviousStatus = string(snapshot.PreviousStatus)
	progress := ship.Progress{
		Status:         snapshot.Status,
		Reason:         snapshot.Reason,
		Pieces:         snapshot.Pieces,
		EstimateAt:     snapshot.EstimateAt,
		EstimateSource: snapshot.EstimateSource,
	}

	if event.Tracker != "" {
		tracker.Progress = progress
		body.Data.Tracker = trackerOf(tracker)
	} else {
		shipment.Progress = progress
		shipment.State = snapshot.State
		if snapshot.Purchase != nil {
			shipment.Purchase = *snapshot.Purchase
		}
		shown := ShipmentOf(shipment, snapshot.BaseURL)
		shown.Routing = shown.Routing.v1()
		body.Data.Shipment = &shown
	}

	scan := scanOf(event, shipment, tracker)
	body.Data.Event = trackingEventOf(&scan)
	return body
}

// scanOf is the tracking event of an event. The ones that the service itself
// makes are not in the snapshot: they follow from the rest.
func scanOf(event ship.Event, shipment ship.Shipment, tracker ship.Tracker) ship.Scan {
	if note := event.Snapshot.Scan; note != nil {
		return ship.Scan{
			Piece:       note.Piece,
			Code:        note.Code,
			At:          note.At,
			Status:      note.Status,
			Reason:      note.Reason,
			Description: note.Description,
			Location:    note.Location,
			ZoneUnknown: note.ZoneUnknown,
		}
	}

	switch event.Kind {
	case ship.ShipmentLabelGenerated:
		return ship.LabelScan(shipment.Purchase.BoughtAt)
	case ship.ShipmentException:
		return ship.FailedScan(event.At(), event.Snapshot.Reason)
	}
	if event.Tracker != "" {
		return ship.CreatedScan(tracker.CreatedAt())
	}
	return ship.CreatedScan(shipment.CreatedAt())
}
