package wire

import (
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// TrackingResult is a parcel's status and timeline: the five fields of the
// specification, then what the service adds.
type TrackingResult struct {
	TrackingNumber        string          `json:"trackingNumber,omitempty" example:"1Z999AA10123456784" doc:"The carrier's tracking number. Omitted only while a purchase has none yet."`
	Carrier               string          `json:"carrier" example:"ups" doc:"Identifier of the carrier."`
	Status                string          `json:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Current overall normalized status."`
	EstimatedDeliveryDate string          `json:"estimatedDeliveryDate,omitempty" format:"date-time" doc:"When the parcel is expected to arrive. Omitted only for a tracker about which nothing is known yet."`
	Events                []TrackingEvent `json:"events" doc:"Timeline, newest first."`

	ID             string `json:"id,omitempty" example:"trk_01KJMBQDHV00G7QH2W5D8CMX1E" doc:"Identifier of the tracker, for a parcel that was not bought here."`
	ShipmentID     string `json:"shipmentId,omitempty" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"The shipment, for a parcel that was bought here."`
	Reason         string `json:"reason,omitempty" example:"address_not_found" doc:"Why the status is what it is."`
	EstimateSource string `json:"estimateSource,omitempty" enum:"carrier,service,history" doc:"Where the estimate comes from."`
	LastCheckedAt  string `json:"lastCheckedAt,omitempty" format:"date-time" doc:"When the carrier was last polled or last sent an update."`
}

// TrackingEvent is one entry of a timeline.
type TrackingEvent struct {
	Status      string  `json:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Normalized status."`
	Description string  `json:"description" example:"Departed from facility" doc:"Human-readable text."`
	Location    *string `json:"location" example:"Louisville, KY, US" doc:"Where it happened; null if not known."`
	Timestamp   string  `json:"timestamp" format:"date-time" doc:"When it happened."`
	Reason      string  `json:"reason,omitempty" example:"weather_delay" doc:"The reason, if the carrier gives one."`
	CarrierCode string  `json:"carrierCode,omitempty" example:"DP" doc:"The carrier's own code."`

	TimeZoneKnown *bool `json:"timeZoneKnown,omitempty" doc:"False if the carrier gave no time zone: timestamp is then the local time, read as UTC. Omitted otherwise."`
}

// Tracker is a followed parcel in an event's body.
type Tracker struct {
	ID                    string `json:"id" doc:"Identifier of the tracker, prefix trk_."`
	Status                string `json:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Normalized status of the parcel."`
	Carrier               string `json:"carrier" doc:"Identifier of the carrier."`
	TrackingNumber        string `json:"trackingNumber" doc:"The carrier's tracking number."`
	EstimatedDeliveryDate string `json:"estimatedDeliveryDate,omitempty" format:"date-time" doc:"When the parcel is expected to arrive."`
	EstimateSource        string `json:"estimateSource,omitempty" doc:"Where the estimate comes from."`
	Reason                string `json:"reason,omitempty" doc:"Why the status is what it is."`
	Livemode              bool   `json:"livemode" doc:"Whether the tracker was created with a live key."`
	CreatedAt             string `json:"createdAt" format:"date-time" doc:"When the tracker was created."`
}

// Timeline is what the services know about a parcel.
type Timeline struct {
	TrackingNumber string
	Carrier        string
	Shipment       ship.ShipmentID // or
	Tracker        ship.TrackerID
	Progress       ship.Progress
	Scans          []ship.Scan // newest first, every status filled in
	CheckedAt      time.Time
}

// TrackingOf is a timeline as clients see it.
func TrackingOf(timeline Timeline) TrackingResult {
	progress := timeline.Progress
	result := TrackingResult{
		TrackingNumber:        timeline.TrackingNumber,
		Carrier:               timeline.Carrier,
		Status:                string(progress.Status),
		EstimatedDeliveryDate: Time(progress.EstimateAt),
		Events:                make([]TrackingEvent, len(timeline.Scans)),
		ID:                    string(timeline.Tracker),
		ShipmentID:            string(timeline.Shipment),
		Reason:                progress.Reason,
		LastCheckedAt:         Time(timeline.CheckedAt),
	}
	if result.EstimatedDeliveryDate != "" {
		result.EstimateSource = progress.EstimateSource
	}

	for i := range timeline.Scans {
		result.Events[i] = trackingEventOf(&timeline.Scans[i])
	}
	return result
}

// trackingEventOf is a scan as clients see it.
func trackingEventOf(scan *ship.Scan) TrackingEvent {
	event := TrackingEvent{
		Status:      string(scan.Status),
		Description: scan.Description,
		Timestamp:   Time(scan.At),
		Reason:      scan.Reason,
	}
	if scan.Location != "" {
		event.Location = &scan.Location
	}

	// Codes that begin with a dot are the service's own and are not shown.
	if scan.Code != "" && scan.Code[0] != '.' {
		event.CarrierCode = scan.Code
	}
	if scan.ZoneUnknown {
		event.TimeZoneKnown = new(false)
	}
	return event
}

func trackerOf(tracker ship.Tracker) *Tracker {
	shown := &Tracker{
		ID:                    string(tracker.ID),
		Status:                string(tracker.Progress.Status),
		Carrier:               tracker.Carrier,
		TrackingNumber:        tracker.TrackingNumber,
		EstimatedDeliveryDate: Time(tracker.Progress.EstimateAt),
		Reason:                tracker.Progress.Reason,
		Livemode:              tracker.Tenant.Livemode,
		CreatedAt:             Time(tracker.CreatedAt()),
	}
	if shown.EstimatedDeliveryDate != "" {
		shown.EstimateSource = tracker.Progress.EstimateSource
	}
	return shown
}
