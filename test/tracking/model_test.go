//go:build chaos

package tracking

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A model says what happens to parcels: all of it follows from the seed and
// the number of a parcel.
type model struct {
	seed  uint64
	began time.Time
	scans int // of a parcel, at most
}

// parcel is what happens to one.
type parcel struct {
	n      int
	number string
	scans  []scan
}

// scan is one thing that happens, as the carrier tells it and as the service
// must understand it.
type scan struct {
	sign
	at time.Time
}

// sign is how a carrier says something. The code is what the service stores.
type sign struct {
	words  string
	code   string
	status ship.Status // none: nobody knows what it means
}

// signs of each carrier, in the order of a life: handed over, on the way (some),
// failed (some), out for delivery, delivered, and what nobody knows.
type signs struct {
	taken      sign
	moving     []sign
	failing    []sign
	out        sign
	arrived    sign
	mysterious sign
}

var signsOf = map[string]signs{
	"usps": {
		taken:      sign{"Accepted at USPS Origin Facility", "OA", ship.PickedUp},
		moving:     []sign{{"Processed Through Facility", "10", ship.InTransit}, {"Arrived at Post Office", "07", ship.InTransit}, {"Departed USPS Regional Facility", "T1", ship.InTransit}},
		failing:    []sign{{"Notice Left", "02", ship.Exception}, {"Missent", "08", ship.Exception}},
		out:        sign{"Out for Delivery", "OF", ship.OutForDelivery},
		arrived:    sign{"Delivered, In/At Mailbox", "01", ship.Delivered},
		mysterious: sign{"Quantum Flux", "QX/quantum_flux", ""},
	},
	"ups": {
		taken:      sign{"Pickup Scan", "P/PU/038", ship.PickedUp},
		moving:     []sign{{"Departed from Facility", "I/DP/005", ship.InTransit}, {"Arrived at Facility", "I/AR/010", ship.InTransit}, {"Export Scan", "I/EP/025", ship.InTransit}},
		failing:    []sign{{"Delivery Attempted", "X/48/022", ship.Exception}, {"Delay", "X/7X/046", ship.Exception}},
		out:        sign{"Out For Delivery", "I/OT/021", ship.OutForDelivery},
		arrived:    sign{"DELIVERED", "D/FS/011", ship.Delivered},
		mysterious: sign{"Quantum Flux", "I/Q9/9Q9", ""},
	},
	"fedex": {
		taken:      sign{"Picked up", "PU", ship.PickedUp},
		moving:     []sign{{"Arrived at FedEx location", "AR", ship.InTransit}, {"Departed FedEx location", "DP", ship.InTransit}, {"In transit", "IT", ship.InTransit}},
		failing:    []sign{{"Delivery exception", "DE", ship.Exception}, {"Delivery delay", "DD", ship.Exception}},
		out:        sign{"On FedEx vehicle for delivery", "OD", ship.OutForDelivery},
		arrived:    sign{"Delivered", "DL", ship.Delivered},
		mysterious: sign{"Quantum Flux", "QX", ""},
	},
}

// carrier is whose the parcel is: half are USPS's.
func (p parcel) carrier() string { return carrierNames[max(0, p.n%4-1)] }

// prefixes of numbers. What follows is the parcel's own, so wide that together
// they are as long as the carrier's.
var prefixes = map[string]string{"usps": "9400100000", "ups": "1Z999AA1", "fedex": "61"}

var widths = map[string]int{"usps": 12, "ups": 10, "fedex": 10}

// numberOf is the tracking number of the nth parcel.
func numberOf(n int) string {
	c := parcel{n: n}.carrier()
	return prefixes[c] + fmt.Sprintf("%0*d", widths[c], n)
}

// placeOf is which parcel a number is of.
func placeOf(number string) (n int, ok bool) {
	for name, prefix := range prefixes {
		if rest, cut := strings.CutPrefix(number, prefix); cut && len(rest) == widths[name] {
			n, err := strconv.Atoi(rest)
			return n, err == nil
		}
	}
	return 0, false
}

// parcel is the nth.
func (m model) parcel(n int) parcel {
	rng := rand.New(rand.NewPCG(m.seed, uint64(n)))
	p := parcel{n: n, number: numberOf(n)}
	s := signsOf[p.carrier()]
	at := m.began.Add(-time.Duration(96*3600+rng.IntN(24*3600)) * time.Second)
	add := func(what sign) {
		p.scans = append(p.scans, scan{what, at})
		at = at.Add(time.Duration(60+rng.IntN(4*3600)) * time.Second)
	}
	same := func(what sign) { // within the second of the last
		p.scans = append(p.scans, scan{what, p.scans[len(p.scans)-1].at})
	}
	add(s.taken)
	for len(p.scans) < m.scans-3 {
		switch x := rng.IntN(20); {
		case x < 2:
			add(s.failing[rng.IntN(len(s.failing))])
		case x < 3:
			add(s.mysterious)
		case x < 5:
			add(s.moving[rng.IntN(len(s.moving))])
			same(s.failing[rng.IntN(len(s.failing))])
		default:
			add(s.moving[rng.IntN(len(s.moving))])
		}
	}
	switch x := rng.IntN(20); {
	case x < 2: // it is on its way still
	case x < 4:
		add(s.failing[0])
	case x < 7:
		add(s.out)
	case x < 9:
		add(s.out)
		add(s.arrived)
		add(s.moving[0]) // it comes back
	case x < 11:
		add(s.out)
		same(s.arrived)
	default:
		add(s.out)
		add(s.arrived)
	}
	return p
}

// rank is how far a status is, for those of one second.
var rank = map[ship.Status]int{ship.PickedUp: 3, ship.InTransit: 4, ship.OutForDelivery: 5, ship.Exception: 6, ship.Delivered: 7}

// status is what the parcel's must be: delivered if it ever was; else that of
// the newest scan that means something.
func (p parcel) status() ship.Status {
	known := slices.DeleteFunc(slices.Clone(p.scans), func(s scan) bool { return s.status == "" })
	if slices.ContainsFunc(known, func(s scan) bool { return s.status == ship.Delivered }) {
		return ship.Delivered
	}
	return slices.MaxFunc(known, func(a, b scan) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(rank[a.status], rank[b.status])) }).status
}

// key tells a scan from others.
func (s scan) key() string { return s.code + " " + s.at.UTC().Format(time.RFC3339) }

// kinds of the log's events.
var kinds = map[ship.Status]string{
	ship.PickedUp: "shipment.picked_up", ship.InTransit: "shipment.in_transit", ship.OutForDelivery: "shipment.in_transit",
	ship.Exception: "shipment.exception", ship.Delivered: "shipment.delivered",
}

// mapped are how many of the scans mean something.
func (p parcel) mapped() (n int) {
	for _, s := range p.scans {
		if s.status != "" {
			n++
		}
	}
	return n
}
