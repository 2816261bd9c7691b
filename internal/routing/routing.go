// Package routing turns offers into a choice: by the account's rules, or by
// what the client asks alone. A rule is a condition in CEL and an action; a
// book of rules is checked once by Compile and then decides for many orders.
//
// It is pure: no I/O, no clock, no state that outlives a decision. A condition
// reads its inputs and nothing else, and its cost is bounded before it is
// accepted.
package routing

import (
	"cmp"
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// Wish is what the client asks of the choice; empty fields ask nothing.
type Wish struct {
	Named     bool // the client named a carrier or a service
	DeliverBy ship.Date
	MaxAmount ship.Money
	Currency  string // the account's own, which comes first
}

// Rank sorts offers as they are quoted: the account's currency first, within a
// currency the cheapest, ties by the faster and then by name. The order is
// total, so the same offers always rank the same.
func Rank(rates []ship.Rate, currency string) {
	slices.SortFunc(rates, func(a, b ship.Rate) int { return compareRates(&a, &b, currency) })
}

func compareRates(a, b *ship.Rate, currency string) int {
	if a.Price.Currency != b.Price.Currency {
		return cmp.Or(
			-compareBool(a.Price.Currency == currency, b.Price.Currency == currency),
			cmp.Compare(a.Price.Currency, b.Price.Currency),
		)
	}
	if a.Price.Minor != b.Price.Minor {
		return cmp.Compare(a.Price.Minor, b.Price.Minor)
	}

	return cmp.Or(
		cmp.Compare(a.TransitDays, b.TransitDays),
		cmp.Compare(a.Carrier, b.Carrier),
		cmp.Compare(a.Service, b.Service),
		cmp.Compare(a.Connection, b.Connection),
		cmp.Compare(a.Source, b.Source),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// noBook decides for accounts without rules.
var noBook = &Compiled{
	plain: true,
	fallback: action{
		kind:       choose,
		by:         noDay,
		withinDays: -1,
		ofFastest:  -1,
		ofCheapest: -1,
	},
}

// Choose ranks the offers that meet the wish, best first, and says why: it is
// the decision of an empty book. The strategy is the cheapest that arrives in
// time and costs no more than wanted.
func Choose(rates []ship.Rate, wish Wish) ([]ship.Rate, ship.Routing) {
	decision := noBook.Decide(Input{
		Order:     ship.Order{DeliverBy: wish.DeliverBy},
		MaxAmount: wish.MaxAmount,
		Currency:  wish.Currency,
	}, rates)

	decision.Routing.Strategy = "cheapest"
	if wish.Named {
		decision.Routing.Strategy = "named"
	}
	return decision.Offers, decision.Routing
}
