// Package tracking follows parcels: it receives what carriers report, late,
// twice and in any order, and turns it into one timeline, one status and the
// log's events.
package tracking

import (
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Tracked is a parcel's present status and timeline.
type Tracked struct {
	TrackingNumber string
	Carrier        string
	Shipment       ship.ShipmentID // or
	Tracker        ship.TrackerID
	Progress       ship.Progress
	Scans          []ship.Scan // newest first, every status filled in
	CheckedAt      time.Time
}
