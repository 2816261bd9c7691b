package routing

import (
	"math"
	"math/bits"
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// noDay is the number of no day. It is later than all others.
const noDay = math.MaxInt64

// An offer is a rate with what is computed from it once.
type offer struct {
	rate *ship.Rate
	own  bool  // in the account's currency
	days int64 // from the ship date to the delivery, unknownDays if not known
	day  int64 // number of the promised day, noDay if none is promised
}

// offersOf returns the rates as offers, in their order.
func offersOf(rates []ship.Rate, currency string, shipDay int64) []offer {
	offers := make([]offer, len(rates))
	for i := range rates {
		rate := &rates[i]
		offers[i] = offer{
			rate: rate,
			own:  rate.Price.Currency == currency,
			days: unknownDays,
			day:  noDay,
		}

		// A promised day is more exact than a number of days.
		if rate.TransitDays > 0 {
			offers[i].days = int64(rate.TransitDays)
		}
		if !rate.DeliveryAt.IsZero() {
			offers[i].day = dayAt(rate.DeliveryAt)
			offers[i].days = max(0, offers[i].day-shipDay)
		}
	}
	return offers
}

// match reports whether the target names the offer.
func (t *Target) match(candidate offer) bool {
	rate := candidate.rate
	return t.Carrier == rate.Carrier && (t.Service == "" || t.Service == rate.Service) && (t.ConnectionID == "" || t.ConnectionID == rate.Connection)
}

// matchAny reports whether one of the targets names the offer.
func matchAny(targets []Target, candidate offer) bool {
	for i := range targets {
		if targets[i].match(candidate) {
			return true
		}
	}
	return false
}

// sameCurrency reports whether two offers have prices that can be compared.
func sameCurrency(a, b offer) bool { return a.rate.Price.Currency == b.rate.Price.Currency }

// within reports whether an offer costs at most so much more than base:
// hundredths of a percent and an amount of a book, -1 for no limit. Prices that
// cannot be compared are not within a limit.
func within(candidate, base offer, percent, amount int64) bool {
	if percent < 0 && amount < 0 {
		return true
	}

	price := candidate.rate.Price
	basePrice := base.rate.Price
	if price.Currency != basePrice.Currency {
		return false
	}
	if percent >= 0 && !atMost(price.Minor, basePrice.Minor, percent) {
		return false
	}
	return amount < 0 || price.Minor-basePrice.Minor <= inCurrency(amount, price.Currency)
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

	// In 128 bits, because the products can overflow 64.
	high, low := bits.Mul64(uint64(n), 10_000)
	limitHigh, limitLow := bits.Mul64(uint64(base), uint64(10_000+hundredths))
	return high < limitHigh || high == limitHigh && low <= limitLow
}

// ownFirst puts the offers in the account's currency first, in their order.
func ownFirst(offers []offer) {
	slices.SortStableFunc(offers, func(a, b offer) int { return -compareBool(a.own, b.own) })
}
