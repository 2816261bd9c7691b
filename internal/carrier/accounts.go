package carrier

import (
	"context"
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// Accounts are the carrier accounts that tenants can use: their own and, in
// test mode, the simulated carriers.
type Accounts struct {
	// Simulated are the carriers of test mode.
	Simulated []*Carrier
	// Connected lists and opens the tenant's own carrier accounts; nil means
	// that there are none.
	Connected func(context.Context, ship.Tenant) ([]*Carrier, error)
	// Connection opens one of them, even if it has been removed since. It is
	// nil if Connected is nil.
	Connection func(context.Context, ship.Tenant, ship.ConnectionID) (*Carrier, error)
}

// List returns the tenant's own connections and, in test mode, those simulated
// carriers for which it has no connection.
func (a Accounts) List(ctx context.Context, t ship.Tenant) ([]*Carrier, error) {
	var own []*Carrier
	if a.Connected != nil {
		var err error
		if own, err = a.Connected(ctx, t); err != nil {
			return nil, err
		}
	}
	if t.Livemode {
		return own, nil
	}
	if len(own) == 0 {
		return a.Simulated, nil
	}

	list := slices.Clone(own)
	for _, c := range a.Simulated {
		if !slices.ContainsFunc(own, func(o *Carrier) bool { return o.spec.Name == c.spec.Name }) {
			list = append(list, c)
		}
	}
	return list, nil
}

// Seller returns the carrier account that a purchase was or will be made with,
// even if it has been removed since.
func (a Accounts) Seller(ctx context.Context, t ship.Tenant, purchase ship.Purchase) (*Carrier, error) {
	if purchase.Connection != "" {
		if a.Connection == nil {
			return nil, ship.Errorf(ship.NotFound, "no such connection")
		}
		return a.Connection(ctx, t, purchase.Connection)
	}

	for _, c := range a.Simulated {
		if c.spec.Name == purchase.Carrier && !t.Livemode {
			return c, nil
		}
	}
	return nil, ship.Coded(ship.Invalid, "unknown_carrier", "this carrier is not connected")
}

// AreInstant reports whether all offers come from carriers that answer the
// order instantly.
func (a Accounts) AreInstant(offers []ship.Rate, order ship.Order) bool {
	if slices.ContainsFunc(offers, func(r ship.Rate) bool { return r.Connection != "" }) {
		return false
	}

	for _, c := range a.Simulated {
		if c.Instant(order) {
			continue
		}
		if slices.ContainsFunc(offers, func(r ship.Rate) bool { return r.Carrier == c.spec.Name }) {
			return false
		}
	}
	return true
}

// Title returns a carrier's name as people know it.
func (a Accounts) Title(name string) string {
	for _, c := range a.Simulated {
		if c.spec.Name == name {
			return c.spec.Title
		}
	}
	return name
}
