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

	last RawID // of the log events that this transaction has made
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
	return []Event{j.event(t, ShipmentCreated, "")}
}

// Hear takes in what was heard of a parcel, given all that is known already.
// It returns the scans that are new, or have a status now, and one log event for
// each of them that has one for the first time. The progress after it is a
// function of the set of scans, whatever their order and however often they
// are repeated.
func (j *Journey) Hear(known, heard []Scan, t Telling) (fresh []Scan, events []Event) {
	fresh = j.news(known, heard)
	slices.SortFunc(fresh, func(a, b Scan) int { return newestFirst(b, a) })
	all := slices.Clone(known)
	for _, s := range fresh {
		all = append(all, s)
		if s.Status == "" {
			continue // told when a later mapping gives it a status
		}
		before := j.Progress.Status
		j.Progress = Advance(j.Progress, all, j.Pieces)
		if s.Told {
			continue // a table took its status away, and another gives it one again
		}
		j.Sequence++
		e := j.event(t, s.Status.Kind(), before)
		e.Late, e.Snapshot.Scan = s.At.Before(toSecond(j.NewestAt)), s.Note()
		j.NewestAt = later(j.NewestAt, s.At)
		events = append(events, e)
	}
	return fresh, events
}

// news is what heard adds to known.
func (j *Journey) news(known, heard []Scan) []Scan {
	unknown := make(map[ScanKey]bool, len(known)) // is the status of what is known
	for _, s := range known {
		unknown[s.Key()] = s.Status == ""
	}
	var fresh []Scan
	for _, s := range distinct(heard) {
		isUnknown, seen := unknown[s.Key()]
		switch {
		case s.Piece < 0 || s.Piece >= max(j.Pieces, 1):
		case !seen:
			fresh = append(fresh, s)
		case isUnknown && s.Status != "":
			i := slices.IndexFunc(known, func(k Scan) bool { return k.Key() == s.Key() })
			mapped := known[i] // place and text are those of the first heard
			mapped.Status, mapped.Reason = s.Status, s.Reason
			fresh = append(fresh, mapped)
		}
	}
	return fresh
}

// event is a log event of the journey as it is now.
func (j *Journey) event(t Telling, kind EventKind, before Status) Event {
	e := Event{ID: j.nextEvent(t.Now), Tenant: j.Tenant, Kind: kind, Sequence: j.Sequence, Snapshot: Snapshot{
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

// nextEvent is an id for the next log event: those of one transaction sort in
// the order in which they are made.
func (j *Journey) nextEvent(now time.Time) EventID {
	if j.last.IsZero() {
		j.last = firstEvent(j.Tenant.Shard(), now)
	} else {
		j.last = j.last.plusOne()
	}
	return EventIDOf(j.last)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
