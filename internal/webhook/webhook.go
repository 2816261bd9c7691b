// Package webhook tells clients what changed: it owns the reading of the event
// log, which is the record of everything that clients are told.
package webhook

import "github.com/waybillhq/waybill/internal/ship"

// An Entry is a log event with what it speaks of, as it was at the event.
type Entry struct {
	Event    ship.Event
	Shipment ship.Shipment // when Event.Shipment is set
	Tracker  ship.Tracker  // when Event.Tracker is set
}

// Events is a part of the log, oldest first, and the cursor that continues it.
type Events struct {
	Entries []Entry
	Next    string // never empty
}
