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

// Next returns what the carrier reports next about a parcel with the given
// scans, which are in any order and may include the service's own. done reports
// that nothing follows. Each piece is reported by itself, and all move
// together.
func Next(order ship.Order, scans []ship.Scan, now time.Time, carrier string) (next []ship.Scan, done bool) {
	m := modelOf(carrier)
	if m == nil || slices.ContainsFunc(scans, isFinal) {
		return nil, true
	}

	now = now.UTC().Truncate(time.Millisecond)
	fault := faultOf(&order.Destination)
	if fault == FaultOutOfOrder {
		return m.nextOutOfOrder(&order, scans, now)
	}

	var buf [8]step
	plan := m.plan(buf[:0], &order, fault)
	i := firstUnreached(plan, scans)
	if i >= len(plan) {
		return nil, true
	}
	return plan[i].scans(&order, now), i == len(plan)-1
}

// isFinal reports whether nothing comes after the scan.
func isFinal(scan ship.Scan) bool {
	if scan.Status == ship.Delivered {
		return true
	}
	switch scan.Reason {
	case ReasonLost, ReasonDamaged, ReasonRefused, ReasonReturn:
		return true
	}
	return false
}

// plan returns all scans in the life of the parcel.
func (m *model) plan(plan []step, order *ship.Order, fault Fault) []step {
	codes := &m.scans
	from := placeOf(&order.Origin)
	to := placeOf(&order.Destination)
	plan = append(plan,
		step{codes.pickedUp, ship.PickedUp, "", from},
		step{codes.departed, ship.InTransit, "", from})
	if fault == FaultUnmapped {
		return append(plan, step{codes.unknown, "", ship.ReasonUnmapped, ""})
	}

	switch lane := laneOf(&order.Origin, &order.Destination); {
	case lane.kind == across:
		plan = append(plan, step{codes.cleared, ship.InTransit, "", m.hubs[1]})
	case lane.zone > 0:
		plan = append(plan, step{codes.arrived, ship.InTransit, "", m.hubs[0]})
	}
	plan = append(plan, step{codes.out, ship.OutForDelivery, "", to})
	if fault == FaultException {
		return append(plan, m.exception(ReasonAddress, to))
	}
	return append(plan, step{codes.delivered, ship.Delivered, "", to})
}

// firstUnreached returns the first step of the plan that no scan has reached.
func firstUnreached(plan []step, scans []ship.Scan) int {
	next := 0
	for i := range plan {
		if slices.ContainsFunc(scans, func(s ship.Scan) bool { return s.Code == plan[i].code }) {
			next = i + 1
		}
	}
	return next
}

// nextOutOfOrder reports the middle scans of the parcel's life after its last,
// and repeats the first one.
func (m *model) nextOutOfOrder(order *ship.Order, scans []ship.Scan, now time.Time) ([]ship.Scan, bool) {
	codes := &m.scans
	from := placeOf(&order.Origin)
	to := placeOf(&order.Destination)

	pickUp := step{codes.pickedUp, ship.PickedUp, "", from}
	pickedUpAt, isPickedUp := scannedAt(scans, codes.pickedUp)
	if !isPickedUp {
		return pickUp.scans(order, now), false
	}
	outAt, isOut := scannedAt(scans, codes.out)
	if !isOut {
		return step{codes.out, ship.OutForDelivery, "", to}.scans(order, now), false
	}

	// The arrival and the departure come after "out for delivery", the later
	// one first.
	if _, isArrived := scannedAt(scans, codes.arrived); !isArrived {
		third := outAt.Sub(pickedUpAt) / 3
		late := step{codes.arrived, ship.InTransit, "", m.hubs[0]}.scans(order, pickedUpAt.Add(2*third))
		return append(late, step{codes.departed, ship.InTransit, "", from}.scans(order, pickedUpAt.Add(third))...), false
	}

	repeated := pickUp.scans(order, pickedUpAt)
	return append(step{codes.delivered, ship.Delivered, "", to}.scans(order, now), repeated...), true
}

// scannedAt returns when a scan of the code was made.
func scannedAt(scans []ship.Scan, code scanCode) (time.Time, bool) {
	for _, scan := range scans {
		if scan.Code == code.code {
			return scan.At, true
		}
	}
	return time.Time{}, false
}

// ScanFor returns the scan of one piece that brings a parcel to the status at
// once; a reason is one of Reasons and is only for exceptions. A status that no
// carrier reports (created, label_generated) or an unknown carrier gives the
// zero Scan.
func ScanFor(order ship.Order, status ship.Status, reason string, now time.Time, carrier string) ship.Scan {
	m := modelOf(carrier)
	if m == nil {
		return ship.Scan{}
	}

	var next step
	switch status {
	case ship.PickedUp:
		next = step{m.scans.pickedUp, status, "", placeOf(&order.Origin)}
	case ship.InTransit:
		next = step{m.scans.departed, status, "", placeOf(&order.Origin)}
	case ship.OutForDelivery:
		next = step{m.scans.out, status, "", placeOf(&order.Destination)}
	case ship.Delivered:
		next = step{m.scans.delivered, status, "", placeOf(&order.Destination)}
	case ship.Exception:
		next = m.exception(reason, placeOf(&order.Destination))
	default:
		return ship.Scan{}
	}
	return next.scan(0, now.UTC().Truncate(time.Millisecond))
}

func (s step) scan(piece int, now time.Time) ship.Scan {
	return ship.Scan{
		Piece:       piece,
		Code:        s.code,
		At:          now,
		Status:      s.status,
		Reason:      s.reason,
		Description: s.text,
		Location:    s.place,
	}
}

// scans returns the step for every piece.
func (s step) scans(order *ship.Order, now time.Time) []ship.Scan {
	list := make([]ship.Scan, max(len(order.Parcels), 1))
	for i := range list {
		list[i] = s.scan(i, now)
	}
	return list
}

// placeOf returns a place as it is shown: "Los Angeles, CA, US".
func placeOf(address *ship.Address) string {
	switch {
	case address.City == "":
		return ""
	case address.State == "":
		return address.City + ", " + address.Country
	}
	return address.City + ", " + address.State + ", " + address.Country
}
