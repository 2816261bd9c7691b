package sandbox

import (
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// step is a scan that is still to come.
type step struct {
	scanCode
	status ship.Status
	reason string
	place  string
}

// Next is what the carrier tells next of a parcel that has been scanned so
// far; scans are in any order and may hold the service's own. done reports
// that nothing follows. Each piece is told of alone, and all move together.
func Next(o ship.Order, scans []ship.Scan, now time.Time, carrier string) (next []ship.Scan, done bool) {
	m := modelOf(carrier)
	if m == nil || slices.ContainsFunc(scans, final) {
		return nil, true
	}
	now = now.UTC().Truncate(time.Millisecond)
	fault := faultOf(&o.Destination)
	if fault == FaultOutOfOrder {
		return m.nextOutOfOrder(&o, scans, now)
	}
	var buf [8]step
	plan := m.plan(buf[:0], &o, fault)
	i := reached(plan, scans)
	if i >= len(plan) {
		return nil, true
	}
	return plan[i].scans(&o, now), i == len(plan)-1
}

// final reports whether nothing comes after the scan.
func final(s ship.Scan) bool {
	if s.Status == ship.Delivered {
		return true
	}
	switch s.Reason {
	case ReasonLost, ReasonDamaged, ReasonRefused, ReasonReturn:
		return true
	}
	return false
}

// plan is the whole life of the parcel.
func (m *model) plan(plan []step, o *ship.Order, fault Fault) []step {
	c := &m.scans
	from, to := placeOf(&o.Origin), placeOf(&o.Destination)
	way := laneOf(&o.Origin, &o.Destination)
	plan = append(plan, step{c.pickedUp, ship.PickedUp, "", from}, step{c.departed, ship.InTransit, "", from})
	if fault == FaultUnmapped {
		return append(plan, step{c.unknown, "", ship.ReasonUnmapped, ""})
	}
	switch {
	case way.kind == across:
		plan = append(plan, step{c.cleared, ship.InTransit, "", m.hubs[1]})
	case way.zone > 0:
		plan = append(plan, step{c.arrived, ship.InTransit, "", m.hubs[0]})
	}
	plan = append(plan, step{c.out, ship.OutForDelivery, "", to})
	if fault == FaultException {
		return append(plan, m.exception(ReasonAddress, to))
	}
	return append(plan, step{c.delivered, ship.Delivered, "", to})
}

// reached is the first step of the plan that no scan has reached.
func reached(plan []step, scans []ship.Scan) int {
	n := 0
	for i := range plan {
		if slices.ContainsFunc(scans, func(s ship.Scan) bool { return s.Code == plan[i].code }) {
			n = i + 1
		}
	}
	return n
}

// nextOutOfOrder tells of the parcel's way after its end, and of its beginning
// once more.
func (m *model) nextOutOfOrder(o *ship.Order, scans []ship.Scan, now time.Time) ([]ship.Scan, bool) {
	c := &m.scans
	from, to := placeOf(&o.Origin), placeOf(&o.Destination)
	picked := step{c.pickedUp, ship.PickedUp, "", from}
	pickedAt, was := at(scans, c.pickedUp)
	if !was {
		return picked.scans(o, now), false
	}
	outAt, was := at(scans, c.out)
	if !was {
		return step{c.out, ship.OutForDelivery, "", to}.scans(o, now), false
	}
	if _, was := at(scans, c.arrived); !was {
		third := outAt.Sub(pickedAt) / 3
		late := step{c.arrived, ship.InTransit, "", m.hubs[0]}.scans(o, pickedAt.Add(2*third))
		return append(late, step{c.departed, ship.InTransit, "", from}.scans(o, pickedAt.Add(third))...), false
	}
	again := picked.scans(o, pickedAt)
	return append(step{c.delivered, ship.Delivered, "", to}.scans(o, now), again...), true
}

// at is when a scan of the code was made.
func at(scans []ship.Scan, c scanCode) (time.Time, bool) {
	for _, s := range scans {
		if s.Code == c.code {
			return s.At, true
		}
	}
	return time.Time{}, false
}

// ScanFor is the scan of one piece that brings a parcel to the status at once;
// a reason is one of Reasons and is for exceptions alone. A status that no
// carrier tells (created, label_generated) or an unknown carrier gives the
// zero Scan.
func ScanFor(o ship.Order, status ship.Status, reason string, now time.Time, carrier string) ship.Scan {
	m := modelOf(carrier)
	if m == nil {
		return ship.Scan{}
	}
	var s step
	switch status {
	case ship.PickedUp:
		s = step{m.scans.pickedUp, status, "", placeOf(&o.Origin)}
	case ship.InTransit:
		s = step{m.scans.departed, status, "", placeOf(&o.Origin)}
	case ship.OutForDelivery:
		s = step{m.scans.out, status, "", placeOf(&o.Destination)}
	case ship.Delivered:
		s = step{m.scans.delivered, status, "", placeOf(&o.Destination)}
	case ship.Exception:
		s = m.exception(reason, placeOf(&o.Destination))
	default:
		return ship.Scan{}
	}
	return s.scan(0, now.UTC().Truncate(time.Millisecond))
}

func (s step) scan(piece int, now time.Time) ship.Scan {
	return ship.Scan{
		Piece: piece, Code: s.code, At: now, Status: s.status, Reason: s.reason, Description: s.text, Location: s.place,
	}
}

// scans is the step told of every piece.
func (s step) scans(o *ship.Order, now time.Time) []ship.Scan {
	list := make([]ship.Scan, max(len(o.Parcels), 1))
	for i := range list {
		list[i] = s.scan(i, now)
	}
	return list
}

// placeOf is a place as it is shown: "Los Angeles, CA, US".
func placeOf(a *ship.Address) string {
	switch {
	case a.City == "":
		return ""
	case a.State == "":
		return a.City + ", " + a.Country
	}
	return a.City + ", " + a.State + ", " + a.Country
}
