package ship

import (
	"slices"
	"time"
)

// A Subject names what is tracked: a shipment or a followed parcel of a tenant.
type Subject struct {
	Tenant Tenant
	ID     RawID
}

// A TrackingState is the tracking state of a parcel: what changes in its life.
type TrackingState struct {
	Subject
	Followed bool  // not bought here: the id is a tracker's
	IsReturn bool  // a return shipment; the caller of Apply sets it for a parcel with a scan that says that it goes back
	IsErased bool  // its personal data was erased, and must not come back
	State    State // empty for a followed parcel
	Progress Progress
	Sequence int // log events so far
	Attempt  int // of the purchase
	Pieces   int
	Carrier  string
	Number   string
	BoughtAt time.Time
	NewestAt time.Time // of the newest tracking event that clients got

	last RawID // of the log events that this transaction has made
}

// OwnScans returns the tracking events that follow from the tracking state itself.
func (j TrackingState) OwnScans() []Scan {
	if j.Followed {
		return nil
	}
	shipment := Shipment{
		ID:       ShipmentIDOf(j.ID),
		Sequence: j.Sequence,
		Purchase: Purchase{BoughtAt: j.BoughtAt},
	}
	return shipment.OwnScans()
}

// EventContext is what the log events of a change have in common.
type EventContext struct {
	Now      time.Time
	BaseURL  string
	Purchase *Purchase // while the shipment's own is not final
}

// Announce returns the first event of a shipment. It does nothing if the shipment
// has one already.
func (j *TrackingState) Announce(t EventContext) []Event {
	if j.Sequence > 0 || j.Followed {
		return nil
	}
	j.Sequence = 1
	j.NewestAt = latest(j.NewestAt, ShipmentIDOf(j.ID).Raw().Time())
	return []Event{j.event(t, ShipmentCreated, "")}
}

// Apply applies the scans that a carrier reported of a parcel, given all that are
// known already. It returns the scans that are new, or have a status now, and one
// log event for each of them that has one for the first time. The progress after
// it is a function of the set of scans, whatever their order and however often
// they are repeated.
func (j *TrackingState) Apply(known, heard []Scan, t EventContext) (fresh []Scan, events []Event) {
	fresh = j.newScans(known, heard)
	slices.SortFunc(fresh, func(a, b Scan) int { return newestFirst(b, a) })

	all := slices.Clone(known)
	for _, scan := range fresh {
		all = append(all, scan)
		if scan.Status == "" {
			continue // it gets its event when a later mapping gives it a status
		}

		before := j.Progress.Status
		j.Progress = advance(j.Progress, all, j.Pieces, j.IsReturn)
		if scan.Notified {
			continue // a table took its status away, and another gives it one again
		}

		j.Sequence++
		event := j.event(t, scan.Status.Kind(), before)
		event.Late = scan.At.Before(toSecond(j.NewestAt))
		event.Snapshot.Scan = scan.Note()
		events = append(events, event)

		// Only now: an event is late if a newer one came before it.
		j.NewestAt = latest(j.NewestAt, scan.At)
	}
	return fresh, events
}

// newScans returns what the reported scans add to the known ones.
func (j *TrackingState) newScans(known, reported []Scan) []Scan {
	unmapped := make(map[ScanKey]bool, len(known)) // whether a known scan has no status
	for _, scan := range known {
		unmapped[scan.Key()] = scan.Status == ""
	}

	var fresh []Scan
	for _, scan := range distinct(reported) {
		isUnmapped, isKnown := unmapped[scan.Key()]
		switch {
		case scan.Piece < 0 || scan.Piece >= max(j.Pieces, 1):
			// The parcel has no such piece.

		case !isKnown:
			fresh = append(fresh, scan)

		case isUnmapped && scan.Status != "":
			i := slices.IndexFunc(known, func(other Scan) bool { return other.Key() == scan.Key() })
			mapped := known[i] // place and text stay as they were first reported
			mapped.Status = scan.Status
			mapped.Reason = scan.Reason
			fresh = append(fresh, mapped)
		}
	}
	return fresh
}

// event returns a log event of the tracking state as it is now.
func (j *TrackingState) event(t EventContext, kind EventKind, before Status) Event {
	event := Event{
		ID:       j.nextEvent(t.Now),
		Tenant:   j.Tenant,
		Kind:     kind,
		Sequence: j.Sequence,
		Snapshot: Snapshot{
			Status:         j.Progress.Status,
			PreviousStatus: before,
			State:          j.State,
			Reason:         j.Progress.Reason,
			Pieces:         j.Progress.Pieces,
			EstimateAt:     j.Progress.EstimateAt,
			EstimateSource: j.Progress.EstimateSource,
			BaseURL:        t.BaseURL,
			Purchase:       t.Purchase,
		},
	}

	// A followed parcel can be deleted, so its events keep carrier and number
	// themselves.
	if j.Followed {
		event.Tracker = TrackerIDOf(j.ID)
		event.Snapshot.Purchase = &Purchase{Carrier: j.Carrier, TrackingNumber: j.Number}
	} else {
		event.Shipment = ShipmentIDOf(j.ID)
	}
	return event
}

// nextEvent returns an id for the next log event: those of one transaction sort
// in the order in which they are made.
func (j *TrackingState) nextEvent(now time.Time) EventID {
	if j.last.IsZero() {
		j.last = firstEvent(j.Tenant.Shard(), now)
	} else {
		j.last = j.last.plusOne()
	}
	return EventIDOf(j.last)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
