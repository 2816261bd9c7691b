package rulebook

import (
	"cmp"
	"maps"
	"slices"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// defaultChanges is how many changed shipments a simulation lists unless its
// input says otherwise.
const defaultChanges = 50

// A Simulation is what rules would have done with past shipments.
type Simulation struct {
	Shipments   int // that were examined
	Named       int // of these: the client named the carrier or the rate, so no rule applies
	Unknown     int // the offers of then were not stored
	Foreign     int // bought or offered in a currency other than the account's
	Refused     int // the rules would have bought nothing
	Compared    int // the rest, which the figures below are about
	Changed     int // of these: another carrier or service
	Requoted    int // the simulated carriers were asked again
	Approximate int // the rules ask for a signature whose price was not quoted then
	Currency    string
	Was, Is     Sum
	Carriers    []Part // by carrier, by name
	Zones       []Part // by the destination's area
	Rules       []RuleCount
	Changes     []Change // the newest, of the zone that was asked for
}

// A Sum is what some shipments cost and how long they were to take.
type Sum struct {
	Shipments int
	Minor     int64
	Days      int // total, of the shipments whose days are known both ways
	Timed     int // number of these shipments
}

// A Part is the sums of a carrier or a zone, as they were and as they would be.
type Part struct {
	Name    string
	Was, Is Sum
	Changed int // of a zone: its shipments that would have been bought differently
}

// A RuleCount is how many shipments a rule would have decided; "" stands for
// the default.
type RuleCount struct {
	Rule      string
	Shipments int
}

// A Change is a shipment that would have been bought differently.
type Change struct {
	Shipment ship.ShipmentID
	OrderID  string
	Zone     string
	Was, Is  ship.Rate
	Rule     string
}

// tally accumulates a simulation.
type tally struct {
	Simulation
	carriers, zones map[string]*Part
	rules           map[string]int
	most            int    // changes that are listed
	only            string // zone whose changes are listed; "" for all
}

func newTally(in SimulateInput) *tally {
	return &tally{
		Simulation: Simulation{Currency: in.Account.Currency},
		carriers:   map[string]*Part{},
		zones:      map[string]*Part{},
		rules:      map[string]int{},
		most:       in.Changes,
		only:       in.Zone,
	}
}

// count adds a shipment and what the rules would have done with it.
func (t *tally) count(id ship.ShipmentID, order ship.Order, purchase ship.Purchase, decision routing.Decision) {
	is, found := choiceOf(purchase, decision)
	switch {
	case !found:
		t.Refused++
		return
	case is.Price.Currency != t.Currency || purchase.Price.Currency != t.Currency:
		t.Foreign++
		return
	}

	t.Compared++
	rule := decision.Routing.Rule
	t.rules[rule]++

	// The days are those of the offer that was bought: the purchase itself does
	// not have them.
	was := ship.Rate{
		Carrier:    purchase.Carrier,
		Connection: purchase.Connection,
		Service:    purchase.Service,
		Price:      purchase.Price,
	}
	for _, offer := range purchase.Routing.Seen {
		if sameOffer(offer, was) {
			was.TransitDays = offer.TransitDays
		}
	}

	zone := order.Destination.Area()
	partOf(t.carriers, was.Carrier).Was.add(was, is.TransitDays)
	partOf(t.carriers, is.Carrier).Is.add(is, was.TransitDays)
	partOf(t.zones, zone).Was.add(was, is.TransitDays)
	partOf(t.zones, zone).Is.add(is, was.TransitDays)
	t.Was.add(was, is.TransitDays)
	t.Is.add(is, was.TransitDays)
	if sameOffer(was, is) {
		return
	}

	t.Changed++
	partOf(t.zones, zone).Changed++
	if len(t.Changes) < t.most && (t.only == "" || t.only == zone) {
		t.Changes = append(t.Changes, Change{
			Shipment: id,
			OrderID:  order.OrderID,
			Zone:     zone,
			Was:      was,
			Is:       is,
			Rule:     rule,
		})
	}
}

// choiceOf returns the offer that would have been bought: the best one of a
// carrier that did not fail then. The account that sold the label did not, even
// if another account of its carrier did.
func choiceOf(purchase ship.Purchase, decision routing.Decision) (ship.Rate, bool) {
	for _, offer := range decision.Offers {
		hasFailed := slices.ContainsFunc(purchase.Routing.Failed, func(tried ship.FailedOffer) bool {
			return tried.Carrier == offer.Carrier
		})
		if !hasFailed || offer.Carrier == purchase.Carrier && offer.Connection == purchase.Connection {
			return offer, true
		}
	}
	return ship.Rate{}, false
}

func sameOffer(a, b ship.Rate) bool {
	return a.Carrier == b.Carrier && a.Service == b.Service && a.Connection == b.Connection
}

// partOf returns the part of a name, and creates it if there is none.
func partOf(parts map[string]*Part, name string) *Part {
	found := parts[name]
	if found == nil {
		found = &Part{Name: name}
		parts[name] = found
	}
	return found
}

// add adds an offer. Its days are added only if those of the other offer are
// known too: averages of different shipments could not be compared.
func (s *Sum) add(offer ship.Rate, otherDays int) {
	s.Shipments++
	s.Minor += offer.Price.Minor
	if offer.TransitDays > 0 && otherDays > 0 {
		s.Days += offer.TransitDays
		s.Timed++
	}
}

func (s *Sum) plus(other Sum) {
	s.Shipments += other.Shipments
	s.Minor += other.Minor
	s.Days += other.Days
	s.Timed += other.Timed
}

// add adds the tally of shipments that are older than all before. The listed
// changes are the newest, so they stay in this order.
func (t *tally) add(older *tally) {
	t.Shipments += older.Shipments
	t.Named += older.Named
	t.Unknown += older.Unknown
	t.Foreign += older.Foreign
	t.Refused += older.Refused
	t.Compared += older.Compared
	t.Changed += older.Changed
	t.Requoted += older.Requoted
	t.Approximate += older.Approximate

	t.Was.plus(older.Was)
	t.Is.plus(older.Is)
	merge(t.carriers, older.carriers)
	merge(t.zones, older.zones)
	for rule, n := range older.rules {
		t.rules[rule] += n
	}
	t.Changes = append(t.Changes, older.Changes[:min(len(older.Changes), t.most-len(t.Changes))]...)
}

func merge(to, from map[string]*Part) {
	for name, part := range from {
		sum := partOf(to, name)
		sum.Was.plus(part.Was)
		sum.Is.plus(part.Is)
		sum.Changed += part.Changed
	}
}

// result returns the simulation with its parts sorted: carriers by name, zones
// and rules by how many shipments they have.
func (t *tally) result() Simulation {
	byName := func(a, b Part) int { return cmp.Compare(a.Name, b.Name) }
	t.Carriers = slices.SortedFunc(values(t.carriers), byName)
	t.Zones = slices.SortedFunc(values(t.zones), func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Was.Shipments, a.Was.Shipments), byName(a, b))
	})

	for rule, n := range t.rules {
		t.Rules = append(t.Rules, RuleCount{rule, n})
	}
	slices.SortFunc(t.Rules, func(a, b RuleCount) int {
		return cmp.Or(cmp.Compare(b.Shipments, a.Shipments), cmp.Compare(a.Rule, b.Rule))
	})
	return t.Simulation
}

func values(parts map[string]*Part) func(func(Part) bool) {
	return func(yield func(Part) bool) {
		for part := range maps.Values(parts) {
			if !yield(*part) {
				return
			}
		}
	}
}
