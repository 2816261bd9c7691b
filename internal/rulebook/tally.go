package rulebook

import (
	"cmp"
	"maps"
	"slices"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// usualChanges is how many changed shipments a simulation lists.
const usualChanges = 50

// A Simulation is what rules would have done with shipments of the past.
type Simulation struct {
	Shipments   int // that were looked at
	Named       int // of these: the client named the carrier or the rate, so no rule applies
	Unknown     int // the offers of then were not stored
	Foreign     int // bought or offered in another currency than the account's
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
	Days      int // together, of those whose days are known both ways
	Timed     int // how many these are
}

// A Part is the sums of a carrier or a zone, as it was and as it would be.
type Part struct {
	Name    string
	Was, Is Sum
	Changed int // of a zone: its shipments that would have gone another way
}

// A RuleCount is how many shipments a rule would have decided; "" stands for
// the default.
type RuleCount struct {
	Rule      string
	Shipments int
}

// A Change is a shipment that would have gone another way.
type Change struct {
	Shipment ship.ShipmentID
	OrderID  string
	Zone     string
	Was, Is  ship.Rate
	Rule     string
}

// tally adds a simulation up.
type tally struct {
	Simulation
	carriers, zones map[string]*Part
	rules           map[string]int
	most            int    // changes that are listed
	only            string // zone whose changes are listed; "" for all
}

func newTally(in SimulateInput) *tally {
	return &tally{Simulation: Simulation{Currency: in.Account.Currency}, most: in.Changes, only: in.Zone, carriers: map[string]*Part{}, zones: map[string]*Part{}, rules: map[string]int{}}
}

// count adds a shipment and what the rules would have done with it.
func (t *tally) count(id ship.ShipmentID, o ship.Order, d ship.Deal, decision routing.Decision) {
	is, found := choiceOf(d, decision)
	switch {
	case !found:
		t.Refused++
		return
	case is.Price.Currency != t.Currency || d.Price.Currency != t.Currency:
		t.Foreign++
		return
	}
	t.Compared++
	rule := decision.Routing.Rule
	t.rules[rule]++
	was := ship.Rate{Carrier: d.Carrier, Connection: d.Connection, Service: d.Service, Price: d.Price}
	for _, r := range d.Routing.Seen {
		if sameOffer(r, was) {
			was.TransitDays = r.TransitDays
		}
	}
	zone := o.Destination.Area()
	part(t.carriers, was.Carrier).Was.add(was, is.TransitDays)
	part(t.carriers, is.Carrier).Is.add(is, was.TransitDays)
	part(t.zones, zone).Was.add(was, is.TransitDays)
	part(t.zones, zone).Is.add(is, was.TransitDays)
	t.Was.add(was, is.TransitDays)
	t.Is.add(is, was.TransitDays)
	if sameOffer(was, is) {
		return
	}
	t.Changed++
	part(t.zones, zone).Changed++
	if len(t.Changes) < t.most && (t.only == "" || t.only == zone) {
		t.Changes = append(t.Changes, Change{Shipment: id, OrderID: o.OrderID, Zone: zone, Was: was, Is: is, Rule: rule})
	}
}

// choiceOf is the offer that would have been bought: the best of an account
// that did not say no then.
func choiceOf(d ship.Deal, decision routing.Decision) (ship.Rate, bool) {
	for _, r := range decision.Offers {
		no := slices.ContainsFunc(d.Routing.Failed, func(f ship.Tried) bool { return f.Carrier == r.Carrier })
		if !no || r.Carrier == d.Carrier && r.Connection == d.Connection {
			return r, true
		}
	}
	return ship.Rate{}, false
}

func sameOffer(a, b ship.Rate) bool {
	return a.Carrier == b.Carrier && a.Service == b.Service && a.Connection == b.Connection
}

func part(parts map[string]*Part, name string) *Part {
	p := parts[name]
	if p == nil {
		p = &Part{Name: name}
		parts[name] = p
	}
	return p
}

// add adds an offer. Its days count where those of the other way are known too.
func (s *Sum) add(r ship.Rate, otherDays int) {
	s.Shipments++
	s.Minor += r.Price.Minor
	if r.TransitDays > 0 && otherDays > 0 {
		s.Days += r.TransitDays
		s.Timed++
	}
}

func (s *Sum) plus(o Sum) {
	s.Shipments += o.Shipments
	s.Minor += o.Minor
	s.Days += o.Days
	s.Timed += o.Timed
}

// add adds the tally of shipments that are older than all before.
func (t *tally) add(o *tally) {
	for _, n := range []struct {
		to   *int
		from int
	}{
		{&t.Shipments, o.Shipments},
		{&t.Named, o.Named},
		{&t.Unknown, o.Unknown},
		{&t.Foreign, o.Foreign},
		{&t.Refused, o.Refused},
		{&t.Compared, o.Compared},
		{&t.Changed, o.Changed},
		{&t.Requoted, o.Requoted},
		{&t.Approximate, o.Approximate},
	} {
		*n.to += n.from
	}
	t.Was.plus(o.Was)
	t.Is.plus(o.Is)
	merge(t.carriers, o.carriers)
	merge(t.zones, o.zones)
	for rule, n := range o.rules {
		t.rules[rule] += n
	}
	t.Changes = append(t.Changes, o.Changes[:min(len(o.Changes), t.most-len(t.Changes))]...)
}

func merge(to, from map[string]*Part) {
	for name, p := range from {
		sum := part(to, name)
		sum.Was.plus(p.Was)
		sum.Is.plus(p.Is)
		sum.Changed += p.Changed
	}
}

// result is the simulation, its parts in order: carriers by name, zones and
// rules by how many shipments they have.
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
		for p := range maps.Values(parts) {
			if !yield(*p) {
				return
			}
		}
	}
}
