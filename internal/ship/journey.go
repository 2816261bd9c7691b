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

// A Journey is what changes in a parcel's life.
type Journey struct {
	Subject
	Followed bool  // not bought here: the id is a tracker's
	State    State // empty for a followed parcel
	Progress Progress
	Sequence int // log events so far
	Attempt  int // of the purchase
	Pieces   int
	Carrier  string
	Number   string
	BoughtAt time.Time
	NewestAt time.Time // of the newest tracking event that was told
}

// OwnScans are the tracking events that follow from the row itself.
func (j Journey) OwnScans() []Scan {
	if j.Followed {
		return nil
	}
	return Shipment{ID: ShipmentIDOf(j.ID), Sequence: j.Sequence, Deal: Deal{BoughtAt: j.BoughtAt}}.OwnScans()
}

// Telling is what the log events of a change have in common.
type Telling struct {
	Now     time.Time
	BaseURL string
	Deal    *Deal // while the shipment's own is not final
}

// Announce tells the client of a shipment for the first time. It does nothing
// if that was done.
func (j *Journey) Announce(t Telling) []Event {
	if j.Sequence > 0 || j.Followed {
		return nil
	}
	j.Sequence = 1
	at := ShipmentIDOf(j.ID).Raw().Time()
	j.NewestAt = later(j.NewestAt, at)
	e := j.event(t, ShipmentCreated, "")
	e.ID = NewEventIDs(j.Tenant.Shard(), t.Now, 1)[0]
	return []Event{e}
}

// Hear takes in what was heard of a parcel, given all that is known already.
// It returns the scans that are new, and one log event for each of them that
// has a status. The progress after it is a function of the set of scans,
// whatever their order and however often they are repeated.
func (j *Journey) Hear(known, heard []Scan, t Telling) (fresh []Scan, events []Event) {
	seen := make(map[ScanKey]bool, len(known)+len(heard))
	for _, s := range known {
		seen[s.Key()] = true
	}
	for _, s := range heard {
		if !seen[s.Key()] && s.Piece >= 0 && s.Piece < max(j.Pieces, 1) {
			seen[s.Key()] = true
			fresh = append(fresh, s)
		}
	}
	slices.SortStableFunc(fresh, func(a, b Scan) int { return newestFirst(b, a) })
	all := slices.Clone(known)
	ids := NewEventIDs(j.Tenant.Shard(), t.Now, len(fresh))
	for _, s := range fresh {
		all = append(all, s)
		if s.Status == "" {
			continue // told when a later mapping gives it a status
		}
		before := j.Progress.Status
		j.Progress = Advance(j.Progress, all, j.Pieces)
		j.Sequence++
		e := j.event(t, s.Status.Kind(), before)
		e.ID, e.Late, e.Snapshot.Scan = ids[len(events)], s.At.Before(j.NewestAt), s.Note()
		j.NewestAt = later(j.NewestAt, s.At)
		events = append(events, e)
	}
	return fresh, events
}

// event is a log event of the journey as it is now.
func (j *Journey) event(t Telling, kind EventKind, before Status) Event {
	e := Event{Tenant: j.Tenant, Kind: kind, Sequence: j.Sequence, Snapshot: Snapshot{
		Status: j.Progress.Status, PreviousStatus: before, State: j.State, Reason: j.Progress.Reason, Pieces: j.Progress.Pieces,
		EstimateAt: j.Progress.EstimateAt, EstimateSource: j.Progress.EstimateSource, BaseURL: t.BaseURL, Deal: t.Deal,
	}}
	if j.Followed {
		e.Tracker = TrackerIDOf(j.ID)
		e.Snapshot.Deal = &Deal{Carrier: j.Carrier, TrackingNumber: j.Number}
	} else {
		e.Shipment = ShipmentIDOf(j.ID)
	}
	return e
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
