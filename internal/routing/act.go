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

// A selection is what an action makes of the offers.
type selection struct {
	allowed []offer // best first
	dropped []ship.Dropped
	reason  string // what the first choice has over the others
}

func (p *selection) drop(dropped offer, why, rule string) {
	p.dropped = append(p.dropped, ship.Dropped{
		Carrier: dropped.rate.Carrier,
		Service: dropped.rate.Service,
		Why:     why,
		Rule:    rule,
	})
}

// apply puts the offers in the action's order. It allows none if none fits.
// The offers come ranked and are not modified. Where prices decide, the
// account's own currency comes first; where targets decide, their order does.
func (a *action) apply(d *decider, rule string, offers []offer) selection {
	switch a.kind {
	case use:
		return a.use(rule, offers)
	case prefer:
		return a.prefer(offers)
	case split:
		return a.split(d.in, rule, offers)
	}

	selected := a.choose(rule, offers)
	ownFirst(selected.allowed)
	return selected
}

// use takes the targets in their order.
func (a *action) use(rule string, offers []offer) selection {
	selected := selection{reason: isListed}
	selected.take(a.targets, offers, rule)
	return selected
}

// take allows the offers of the targets, in the order of the targets, and drops
// the others.
func (p *selection) take(targets []Target, offers []offer, rule string) {
	taken := make([]bool, len(offers))
	for t := range targets {
		for i, candidate := range offers {
			if !taken[i] && targets[t].match(candidate) {
				taken[i] = true
				p.allowed = append(p.allowed, candidate)
			}
		}
	}

	for i, candidate := range offers {
		if !taken[i] {
			p.drop(candidate, notInRule, rule)
		}
	}
}

// choose takes the cheapest or the fastest. The limits apply one after the
// other: "of the fastest" and "of the cheapest" refer to the offers that only,
// by and withinDays leave.
func (a *action) choose(rule string, offers []offer) selection {
	selected := selection{reason: isCheapest, allowed: make([]offer, 0, len(offers))}
	if a.fastest {
		selected.reason = isFastest
	}

	for _, candidate := range offers {
		switch {
		case len(a.targets) > 0 && !matchAny(a.targets, candidate):
			selected.drop(candidate, notInRule, rule)
		case a.by != noDay && candidate.day > a.by, a.withinDays >= 0 && candidate.days > a.withinDays:
			selected.drop(candidate, late, rule)
		default:
			selected.allowed = append(selected.allowed, candidate)
		}
	}
	if len(selected.allowed) > 0 && (a.ofFastest >= 0 || a.ofCheapest >= 0) {
		selected.keepNear(a, rule)
	}

	// A stable sort leaves offers that are equally fast cheapest first.
	if a.fastest {
		slices.SortStableFunc(selected.allowed, func(x, y offer) int { return cmp.Compare(x.days, y.days) })
	}
	return selected
}

// keepNear drops the offers that are too far from the fastest or from the
// cheapest.
func (p *selection) keepNear(a *action, rule string) {
	cheapest := p.allowed[0] // offers come ranked
	soonest := cheapest.days
	for _, candidate := range p.allowed {
		soonest = min(soonest, candidate.days)
	}

	p.allowed = slices.DeleteFunc(p.allowed, func(candidate offer) bool {
		switch {
		case a.ofFastest >= 0 && candidate.days > soonest+a.ofFastest:
			p.drop(candidate, late, rule)
		case a.ofCheapest >= 0 && !sameCurrency(candidate, cheapest):
			p.drop(candidate, otherCurrency, rule)
		case !within(candidate, cheapest, a.ofCheapest, -1):
			p.drop(candidate, overLimit, rule)
		default:
			return false
		}
		return true
	})
}

// prefer takes the preferred that are within the tolerance, then all others.
func (a *action) prefer(offers []offer) selection {
	selected := selection{reason: nonePreferred, allowed: make([]offer, 0, len(offers))}

	// Offers come ranked, so the first is the cheapest.
	isPreferredOffer := func(candidate offer) bool {
		return matchAny(a.targets, candidate) && within(candidate, offers[0], a.percent, a.amount)
	}

	for _, candidate := range offers {
		if isPreferredOffer(candidate) {
			selected.allowed = append(selected.allowed, candidate)
		}
	}
	if len(selected.allowed) > 0 {
		selected.reason = isPreferred
	}
	for _, candidate := range offers {
		if !isPreferredOffer(candidate) {
			selected.allowed = append(selected.allowed, candidate)
		}
	}
	return selected
}

// split takes the share that the order falls to, then the other shares.
func (a *action) split(in *Input, rule string, offers []offer) selection {
	chosen := shareOf(a.shares, string(in.Account), in.Order.OrderID, rule)
	first := a.shares[chosen]
	selected := selection{reason: hasShare}
	if !slices.ContainsFunc(offers, first.match) {
		return selected
	}

	targets := []Target{first.Target}
	for i, share := range a.shares {
		if i != chosen {
			targets = append(targets, share.Target)
		}
	}
	selected.take(targets, offers, rule)
	return selected
}

// shareOf returns the index of the share that an order falls to. It depends
// only on the account, the order and the rule's name, and must never change
// between releases.
func shareOf(shares []Share, account, order, rule string) int {
	hash := uint64(14695981039346656037) // FNV-1a
	for _, text := range []string{account, order, rule} {
		for i := range len(text) {
			hash = (hash ^ uint64(text[i])) * 1099511628211
		}
		hash = (hash ^ 0xff) * 1099511628211 // a byte that no text contains separates them
	}

	// FNV alone is not evenly distributed in its low bits, so the result goes
	// through the finalizer of splitmix64.
	hash = (hash ^ hash>>30) * 0xbf58476d1ce4e5b9
	hash = (hash ^ hash>>27) * 0x94d049bb133111eb
	n := int((hash ^ hash>>31) % 100)

	for i, share := range shares {
		n -= share.Percent
		if n < 0 {
			return i
		}
	}
	return len(shares) - 1
}
