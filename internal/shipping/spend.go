package shipping

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// checkCountry refuses a parcel to a country that the spender may not ship to. It
// comes before a carrier is asked for a price.
func (in *BuyInput) checkCountry(destination ship.Address) error {
	if in.Limits.AllowsCountry(destination.Country) {
		return nil
	}
	e := ship.Coded(ship.Forbidden, "country_not_allowed",
		"the key may not ship to %s; its allowed countries are %s: use another key, or ask an owner for a key that allows it",
		destination.Country, strings.Join(in.Limits.Countries, ", "))
	e.Details = map[string]any{"allowedCountries": in.Limits.Countries}
	return e
}

// afford leaves out the offers that the spender's limits do not pay for.
func (s *Service) afford(ctx context.Context, b *buying) error {
	if !b.in.Tenant.Livemode {
		return nil
	}
	if err := b.affordOne(); err != nil {
		return err
	}
	return s.affordToday(ctx, b)
}

// affordOne leaves out the offers above the limit for one label. A label that turns
// out to cost more is voided, as one above the client's own limit.
func (b *buying) affordOne() error {
	limit := b.in.Limits.PerPurchase
	if limit.IsZero() {
		return nil
	}

	if price := b.offers[0].Price; price.Exceeds(limit, 0) {
		e := ship.Coded(ship.Forbidden, "purchase_limit_exceeded",
			"the key may spend at most %s on one label, and this one costs %s; choose a cheaper service, use another key, or ask an owner for a key with a higher limit",
			limit, cmp.Or(price.String(), "an unknown price"))
		e.Details = map[string]any{"limit": amountOf(limit), "price": amountOf(price)}
		return e
	}
	b.offers = slices.DeleteFunc(b.offers, func(o ship.Rate) bool { return o.Price.Exceeds(limit, 0) })
	b.lowerLimit(limit)
	return nil
}

// lowerLimit makes the amount the most that the label may cost, unless it may only
// cost less already.
func (b *buying) lowerLimit(to ship.Money) {
	if asked := &b.shipment.Purchase.Asked; asked.Limit == nil {
		own := b.shipment.Purchase.Limit
		asked.Limit = &own
	}
	if limit := &b.shipment.Purchase.Limit; limit.IsZero() || limit.Exceeds(to, 0) {
		*limit = to
		b.shipment.Purchase.LimitShown = false
	}
}

// affordToday leaves out the offers that the rest of the spender's day does not pay
// for, if there is a daily limit. It is a first look: reserve decides.
func (s *Service) affordToday(ctx context.Context, b *buying) error {
	if !b.in.limited() {
		return nil
	}
	spent, err := s.store.Spent(ctx, b.in.Tenant, b.in.spender(), time.Now(), "")
	if err != nil {
		return err
	}

	left := b.in.left(spent)
	if price := b.offers[0].Price; !left.pays(price) {
		return b.in.limitReached(left.Money, price)
	}
	b.offers = slices.DeleteFunc(b.offers, func(o ship.Rate) bool { return !left.pays(o.Price) })
	return nil
}

// reserve sets aside what the purchase may cost: its offer, or the dearest of
// those that are tried after it. Purchases of the spender wait for each other
// here, so that together they cannot spend more than allowed. The day is that of the
// shipment: midnight may have passed since its offers were asked for, or since the
// request was sent for the first time.
func (r *run) reserve(tx *store.Store) error {
	in := r.b.in
	if !in.limited() {
		return nil
	}
	spent, err := tx.LockSpending(r.ctx, in.Tenant, in.spender(), r.b.shipment)
	if err != nil {
		return err
	}

	price := r.b.dearest()
	if left := in.left(spent); !left.pays(price) {
		return in.limitReached(left.Money, price)
	}
	return tx.Reserve(r.ctx, in.Tenant, r.b.shipment.ID, r.b.attempt, in.spender(), price.Minor)
}

// dearest is the highest price among the offers that can come to be tried: the
// first of each carrier account.
func (b *buying) dearest() ship.Money {
	price := b.offers[0].Price
	seen := map[accountKey]bool{}
	for _, o := range b.offers {
		if !seen[accountOf(o)] && o.Price.Minor > price.Minor {
			price = o.Price
		}
		seen[accountOf(o)] = true
	}
	return price
}

func (in *BuyInput) limited() bool { return !in.Limits.Daily.IsZero() && in.Tenant.Livemode }

// spender is whose limit the purchase counts against: the key's, or in the
// dashboard the person's.
func (in *BuyInput) spender() ship.RawID {
	if in.Key != "" {
		return in.Key.Raw()
	}
	return in.Person.Raw()
}

// SpentToday returns what the key's live purchases since midnight UTC cost, or may
// cost, in the smallest unit of the currency of its limit.
func (s *Service) SpentToday(ctx context.Context, tenant ship.Tenant, key ship.KeyID) (int64, error) {
	return s.store.Spent(ctx, tenant, key.Raw(), time.Now(), "")
}

// dailyBudget is what the key or the person may still spend today.
type dailyBudget struct{ ship.Money }

func (in *BuyInput) left(spent int64) dailyBudget {
	return dailyBudget{ship.Money{Minor: max(in.Limits.Daily.Minor-spent, 0), Currency: in.Limits.Daily.Currency}}
}

func (b dailyBudget) pays(m ship.Money) bool { return m.Currency == b.Currency && m.Minor <= b.Minor }

// limitReached is the answer when the day's money does not pay for the label.
func (in *BuyInput) limitReached(left, price ship.Money) error {
	limit := in.Limits.Daily
	text := "the key's daily limit is %s, of which %s is left until midnight UTC, and the label costs %s; raise the limit, use another key, or wait"
	if in.Key == "" {
		text = "your daily limit is %s, of which %s is left until midnight UTC, and the label costs %s; ask an owner to raise it, or wait"
	}
	e := ship.Coded(ship.Forbidden, "spend_limit_reached", text, limit, left, price)
	e.Details = map[string]any{"limit": amountOf(limit), "left": amountOf(left), "price": amountOf(price)}
	return e
}

func amountOf(m ship.Money) map[string]string {
	return map[string]string{"amount": m.Amount(), "currency": m.Currency}
}
