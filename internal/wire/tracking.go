package wire

import (
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// TrackingResult is a parcel's status and timeline: the five fields of the
// specification, then what the service adds.
type TrackingResult struct {
	TrackingNumber        string          `json:"trackingNumber,omitempty" example:"1Z999AA10123456784" doc:"The carrier's tracking number. Left out only while a purchase has none yet."`
	Carrier               string          `json:"carrier" example:"ups" doc:"Identifier of the carrier."`
	Status                string          `json:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Current overall normalized status."`
	EstimatedDeliveryDate string          `json:"estimatedDeliveryDate,omitempty" format:"date-time" doc:"When the parcel is expected. Left out only for a followed parcel about which nothing is known."`
	Events                []TrackingEvent `json:"events" doc:"Timeline, newest first."`

	ID             string `json:"id,omitempty" example:"trk_01KJMBQDHV00G7QH2W5D8CMX1E" doc:"Identifier of the tracker, for a parcel that was not bought here."`
	ShipmentID     string `json:"shipmentId,omitempty" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"The shipment, for a parcel that was bought here."`
	Reason         string `json:"reason,omitempty" example:"address_not_found" doc:"Why the status is what it is."`
	EstimateSource string `json:"estimateSource,omitempty" enum:"carrier,service,history" doc:"Where the estimate comes from."`
	LastCheckedAt  string `json:"lastCheckedAt,omitempty" format:"date-time" doc:"When the carrier was last asked or heard."`
}

// TrackingEvent is one entry of a timeline.
type TrackingEvent struct {
	Status      string  `json:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Normalized status."`
	Description string  `json:"description" example:"Departed from facility" doc:"Human-readable text."`
	Location    *string `json:"location" example:"Louisville, KY, US" doc:"Place; null when no place is known."`
	Timestamp   string  `json:"timestamp" format:"date-time" doc:"When it happened."`
	Reason      string  `json:"reason,omitempty" example:"weather_delay" doc:"Why, where the carrier tells."`
	CarrierCode string  `json:"carrierCode,omitempty" example:"DP" doc:"The carrier's own code."`

	TimeZoneKnown *bool `json:"timeZoneKnown,omitempty" doc:"False when the carrier named no time zone: the time is that of the place, read as UTC. Left out otherwise."`
}

// Tracker is a followed parcel in an event's body.
type Tracker struct {
	ID                    string `json:"id" doc:"Identifier of the tracker, prefix trk_."`
	Status                string `json:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Normalized status of the parcel."`
	Carrier               string `json:"carrier" doc:"Identifier of the carrier."`
	TrackingNumber        string `json:"trackingNumber" doc:"The carrier's tracking number."`
	EstimatedDeliveryDate string `json:"estimatedDeliveryDate,omitempty" format:"date-time" doc:"When the parcel is expected."`
	EstimateSource        string `json:"estimateSource,omitempty" doc:"Where the estimate comes from."`
	Reason                string `json:"reason,omitempty" doc:"Why the status is what it is."`
	Livemode              bool   `json:"livemode" doc:"Whether it was followed with a live key."`
	CreatedAt             string `json:"createdAt" format:"date-time" doc:"When the following began."`
}

// Timeline is what the services know of a parcel.
type Timeline struct {
	TrackingNumber string
	Carrier        string
	Shipment       ship.ShipmentID // or
	Tracker        ship.TrackerID
	Progress       ship.Progress
	Scans          []ship.Scan // newest first, every status filled in
	CheckedAt      time.Time
}

// TrackingOf is t as clients see it.
func TrackingOf(t Timeline) TrackingResult {
	out := TrackingResult{
		TrackingNumber:        t.TrackingNumber,
		Carrier:               t.Carrier,
		Status:                string(t.Progress.Status),
		EstimatedDeliveryDate: Time(t.Progress.EstimateAt),
		Events:                make([]TrackingEvent, len(t.Scans)),
		ID:                    string(t.Tracker),
		ShipmentID:            string(t.Shipment),
		Reason:                t.Progress.Reason,
		LastCheckedAt:         Time(t.CheckedAt),
	}
	if out.EstimatedDeliveryDate != "" {
		out.EstimateSource = t.Progress.EstimateSource
	}
	for i := range t.Scans {
		out.Events[i] = trackingEventOf(&t.Scans[i])
	}
	return out
}

// trackingEventOf is s as clients see it. Codes that begin with a dot are the
// service's own and stay inside.
func trackingEventOf(s *ship.Scan) TrackingEvent {
	out := TrackingEvent{
		Status:      string(s.Status),
		Description: s.Description,
		Timestamp:   Time(s.At),
		Reason:      s.Reason,
	}
	if s.Location != "" {
		out.Location = &s.Location
	}
	if s.Code != "" && s.Code[0] != '.' {
		out.CarrierCode = s.Code
	}
	if s.ZoneUnknown {
		out.TimeZoneKnown = new(false)
	}
	return out
}

func trackerOf(t ship.Tracker) *Tracker {
	out := &Tracker{
		ID:                    string(t.ID),
		Status:                string(t.Progress.Status),
		Carrier:               t.Carrier,
		TrackingNumber:        t.TrackingNumber,
		EstimatedDeliveryDate: Time(t.Progress.EstimateAt),
		Reason:                t.Progress.Reason,
		Livemode:              t.Tenant.Livemode,
		CreatedAt:             Time(t.CreatedAt()),
	}
	if out.EstimatedDeliveryDate != "" {
		out.EstimateSource = t.Progress.EstimateSource
	}
	return out
}
