package routing

import (
	"math"
	"math/bits"
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// noDay is the number of no day. It comes after all others.
const noDay = math.MaxInt64

// An offer is a rate with what is worked out of it once.
type offer struct {
	rate *ship.Rate
	own  bool  // in the account's currency
	days int64 // from the ship date to the delivery, unknownDays if not known
	day  int64 // number of the promised day, noDay if none is promised
}

// offersOf are the rates as offers, in their order.
func offersOf(rates []ship.Rate, currency string, shipDay int64) []offer {
	offers := make([]offer, len(rates))
	for i := range rates {
		r := &rates[i]
		o := offer{rate: r, own: r.Price.Currency == currency, days: unknownDays, day: noDay}
		if r.TransitDays > 0 {
			o.days = int64(r.TransitDays)
		}
		if !r.DeliveryAt.IsZero() {
			o.day = dayAt(r.DeliveryAt)
			o.days = max(0, o.day-shipDay)
		}
		offers[i] = o
	}
	return offers
}

// match reports whether the target names the offer.
func (t *Target) match(o offer) bool {
	return t.Carrier == o.rate.Carrier && (t.Service == "" || t.Service == o.rate.Service) && (t.ConnectionID == "" || t.ConnectionID == o.rate.Connection)
}

// matchAny reports whether one of the targets names the offer.
func matchAny(targets []Target, o offer) bool {
	for i := range targets {
		if targets[i].match(o) {
			return true
		}
	}
	return false
}

// sameCurrency reports whether two offers have prices that can be compared.
func sameCurrency(a, b offer) bool { return a.rate.Price.Currency == b.rate.Price.Currency }

// within reports whether o costs at most so much more than base: hundredths of
// a percent and an amount of a book, -1 for no limit. Prices that cannot be
// compared are not within a limit.
func within(o, base offer, percent, amount int64) bool {
	if percent < 0 && amount < 0 {
		return true
	}
	price, from := o.rate.Price, base.rate.Price
	if price.Currency != from.Currency {
		return false
	}
	if percent >= 0 && !atMost(price.Minor, from.Minor, percent) {
		return false
	}
	return amount < 0 || price.Minor-from.Minor <= inCurrency(amount, price.Currency)
}

// atMost reports whether n is at most the hundredths of a percent above base,
// exactly.
func atMost(n, base, hundredths int64) bool {
	if n <= base {
		return true
	}
	if base < 0 {
		return false
	}
	hi, lo := bits.Mul64(uint64(n), 10_000)
	limitHi, limitLo := bits.Mul64(uint64(base), uint64(10_000+hundredths))
	return hi < limitHi || hi == limitHi && lo <= limitLo
}

// ownFirst puts the offers in the account's currency first, in their order.
func ownFirst(offers []offer) {
	slices.SortStableFunc(offers, func(a, b offer) int { return -compareBool(a.own, b.own) })
}
