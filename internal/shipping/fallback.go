package shipping

import (
	"fmt"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// accountKey names a carrier account of a tenant.
type accountKey struct {
	carrier    string
	connection ship.ConnectionID
}

func accountOf(r ship.Rate) accountKey { return accountKey{r.Carrier, r.Connection} }

// tries is how many carrier accounts can be asked one after the other.
func (b *buying) tries() int {
	seen := map[accountKey]bool{}
	for _, o := range b.offers {
		seen[accountOf(o)] = true
	}
	return len(seen)
}

// next moves on to the next offer of another carrier account after a refusal.
// It reports false when there is none.
func (b *buying) next(err error) bool {
	d := &b.shipment.Purchase
	failed := accountKey{d.Carrier, d.Connection}
	d.Routing.Failed = append(d.Routing.Failed, ship.FailedOffer{
		Carrier: d.Carrier,
		Code:    carrier.Failure{Carrier: d.Carrier, Err: err}.Code(),
		Message: ship.ErrorOf(err).Message,
		Service: d.Service,
		Price:   d.Price,
	})

	// An account that did not sell this service is not asked for another.
	rest := b.offers[:0:0]
	for _, o := range b.offers {
		if accountOf(o) != failed {
			rest = append(rest, o)
		}
	}
	b.offers = rest
	if len(rest) == 0 {
		return false
	}

	d.Routing.RunnerUp = nil
	if len(rest) > 1 {
		d.Routing.RunnerUp = &rest[1]
	}
	b.take(rest[0])
	d.Routing.Why += fmt.Sprintf(". %s failed, so %s %s (%s) was bought instead", failed.carrier, d.Carrier, d.Service, d.Price)
	return true
}
