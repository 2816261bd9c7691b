package routing

import (
	"cmp"
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// Why an offer was dropped.
const (
	late          = "late"           // misses deliverBy, or the rule's own day
	overLimit     = "over_limit"     // costs more than maxAmount, or than the rule allows
	otherCurrency = "other_currency" // cannot be compared with the limit
	forbidden     = "forbidden"
	notInRule     = "not_in_rule" // not what the rule names
	guarded       = "guard"       // may not follow the rule's first choice
)

// What a first choice has over the others.
const (
	isCheapest    = "cheapest"
	isFastest     = "fastest"
	isListed      = "listed"         // the first of the rule's list that offered
	isPreferred   = "preferred"      // and within the tolerance
	nonePreferred = "none_preferred" // within the tolerance, so it is the cheapest
	hasShare      = "share"          // of the orders that this one falls to
)

// A picking is what an action makes of the offers.
type picking struct {
	allowed []offer // best first
	dropped []ship.Dropped
	reason  string // what the first choice has over the others
}

func (p *picking) drop(o offer, why, rule string) {
	p.dropped = append(p.dropped, ship.Dropped{Carrier: o.rate.Carrier, Service: o.rate.Service, Why: why, Rule: rule})
}

// apply puts the offers in the action's order. It allows none if none fits.
// The offers come ranked and stay as they are. Where prices decide, the
// account's own currency comes first; where targets do, these.
func (a *action) apply(d *deciding, rule string, offers []offer) picking {
	switch a.kind {
	case use:
		return a.use(rule, offers)
	case prefer:
		return a.prefer(offers)
	case split:
		return a.split(d.in, rule, offers)
	}
	p := a.choose(rule, offers)
	ownFirst(p.allowed)
	return p
}

// use takes the targets in their order.
func (a *action) use(rule string, offers []offer) picking {
	p := picking{reason: isListed}
	p.take(a.targets, offers, rule)
	return p
}

// take allows the offers of the targets, in the order of these, and drops the
// others.
func (p *picking) take(targets []Target, offers []offer, rule string) {
	taken := make([]bool, len(offers))
	for t := range targets {
		for i, o := range offers {
			if !taken[i] && targets[t].match(o) {
				taken[i] = true
				p.allowed = append(p.allowed, o)
			}
		}
	}
	for i, o := range offers {
		if !taken[i] {
			p.drop(o, notInRule, rule)
		}
	}
}

// choose takes the cheapest or the fastest. The limits apply one after the
// other: "of the fastest" and "of the cheapest" speak of those that are left
// by only, by and withinDays.
func (a *action) choose(rule string, offers []offer) picking {
	p := picking{reason: isCheapest, allowed: make([]offer, 0, len(offers))}
	if a.fastest {
		p.reason = isFastest
	}
	for _, o := range offers {
		switch {
		case len(a.targets) > 0 && !matchAny(a.targets, o):
			p.drop(o, notInRule, rule)
		case a.by != noDay && o.day > a.by, a.withinDays >= 0 && o.days > a.withinDays:
			p.drop(o, late, rule)
		default:
			p.allowed = append(p.allowed, o)
		}
	}
	if len(p.allowed) > 0 && (a.ofFastest >= 0 || a.ofCheapest >= 0) {
		p.near(a, rule)
	}
	if a.fastest {
		slices.SortStableFunc(p.allowed, func(x, y offer) int { return cmp.Compare(x.days, y.days) })
	}
	return p
}

// near keeps what is close enough to the fastest and to the cheapest.
func (p *picking) near(a *action, rule string) {
	cheapest, soonest := p.allowed[0], p.allowed[0].days
	for _, o := range p.allowed {
		soonest = min(soonest, o.days)
	}
	p.allowed = slices.DeleteFunc(p.allowed, func(o offer) bool {
		switch {
		case a.ofFastest >= 0 && o.days > soonest+a.ofFastest:
			p.drop(o, late, rule)
		case a.ofCheapest >= 0 && !sameCurrency(o, cheapest):
			p.drop(o, otherCurrency, rule)
		case !within(o, cheapest, a.ofCheapest, -1):
			p.drop(o, overLimit, rule)
		default:
			return false
		}
		return true
	})
}

// prefer takes the preferred that are within the tolerance, then all others.
func (a *action) prefer(offers []offer) picking {
	p := picking{reason: nonePreferred, allowed: make([]offer, 0, len(offers))}
	preferred := func(o offer) bool { return matchAny(a.targets, o) && within(o, offers[0], a.percent, a.amount) }
	for _, o := range offers {
		if preferred(o) {
			p.allowed = append(p.allowed, o)
		}
	}
	if len(p.allowed) > 0 {
		p.reason = isPreferred
	}
	for _, o := range offers {
		if !preferred(o) {
			p.allowed = append(p.allowed, o)
		}
	}
	return p
}

// split takes the share that the order falls to, then the other shares.
func (a *action) split(in *Input, rule string, offers []offer) picking {
	at := shareOf(a.shares, string(in.Account), in.Order.OrderID, rule)
	first := a.shares[at]
	p := picking{reason: hasShare}
	if !slices.ContainsFunc(offers, first.match) {
		return p
	}
	targets := []Target{first.Target}
	for i, s := range a.shares {
		if i != at {
			targets = append(targets, s.Target)
		}
	}
	p.take(targets, offers, rule)
	return p
}

// shareOf is the share that an order falls to. It depends on nothing but the
// account, the order and the rule's name, and never changes between releases.
func shareOf(shares []Share, account, order, rule string) int {
	h := uint64(14695981039346656037) // FNV-1a
	for _, s := range []string{account, order, rule} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211 // never part of text
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9 // splitmix64: FNV alone is not even in its low bits
	h = (h ^ h>>27) * 0x94d049bb133111eb
	n := int((h ^ h>>31) % 100)
	for i, s := range shares {
		if n -= s.Percent; n < 0 {
			return i
		}
	}
	return len(shares) - 1
}
