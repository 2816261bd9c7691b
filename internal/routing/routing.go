// Package routing turns offers into a choice. It is pure: no I/O, no clock, no
// state.
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
// currency the cheapest, ties by the sooner and then by name, so that the same
// offers always rank the same.
func Rank(rates []ship.Rate, currency string) {
	slices.SortFunc(rates, func(a, b ship.Rate) int {
		if a.Price.Currency != b.Price.Currency {
			return cmp.Or(-compareBool(a.Price.Currency == currency, b.Price.Currency == currency), cmp.Compare(a.Price.Currency, b.Price.Currency))
		}
		return cmp.Or(
			cmp.Compare(a.Price.Minor, b.Price.Minor),
			cmp.Compare(a.TransitDays, b.TransitDays),
			cmp.Compare(a.Carrier, b.Carrier),
			cmp.Compare(a.Service, b.Service),
		)
	})
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

// Choose ranks the offers that meet the wish, best first, and says why. The
// strategy is the cheapest that arrives in time and costs no more than wanted.
func Choose(rates []ship.Rate, w Wish) ([]ship.Rate, ship.Routing) {
	Rank(rates, w.Currency)
	routing := ship.Routing{Strategy: "cheapest", Considered: len(rates)}
	if w.Named {
		routing.Strategy = "named"
	}
	fit := rates[:0:len(rates)]
	for _, r := range rates {
		late := w.DeliverBy != "" && (r.DeliveryAt.IsZero() || ship.DateOf(r.DeliveryAt) > w.DeliverBy)
		dear := !w.MaxAmount.IsZero() && r.Price.Exceeds(w.MaxAmount, 0)
		if !late && !dear {
			fit = append(fit, r)
		}
	}
	if len(fit) > 1 {
		second := fit[1]
		routing.RunnerUp = &second
	}
	return fit, routing
}
