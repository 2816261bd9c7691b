package sandbox_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
)

// outcome is the kind of error of each operation, "" for success.
type outcome struct{ quote, buy, find, void ship.Kind }

// outcomes of the magic destinations at most carriers, and where one differs.
var (
	outcomes = map[sandbox.Fault]outcome{
		sandbox.FaultRefuse:         {"", ship.Invalid, ship.NotFound, ""},
		sandbox.FaultRefuseUPS:      {},
		sandbox.FaultUnavailable:    {"", ship.Unavailable, ship.NotFound, ""},
		sandbox.FaultLimited:        {"", ship.Limited, ship.NotFound, ""},
		sandbox.FaultTimeout:        {"", ship.Uncertain, ship.NotFound, ""},
		sandbox.FaultTimeoutBought:  {"", ship.Uncertain, "", ""},
		sandbox.FaultNoConfirmation: {"", ship.Uncertain, ship.Unavailable, ""},
		sandbox.FaultSlowQuote:      {},
		sandbox.FaultQuote:          {ship.Unavailable, "", "", ""},
		sandbox.FaultQuoteUSPS:      {},
		sandbox.FaultPriceChanged:   {},
		sandbox.FaultVoidRefused:    {"", "", "", ship.Invalid},
		sandbox.FaultVoidPending:    {},
		sandbox.FaultVoidLost:       {"", "", "", ship.Uncertain},
		sandbox.FaultException:      {},
		sandbox.FaultOutOfOrder:     {},
		sandbox.FaultUnmapped:       {},
	}
	exceptions = map[sandbox.Fault]map[string]outcome{
		sandbox.FaultRefuseUPS: {"ups": {"", ship.Invalid, ship.NotFound, ""}},
		sandbox.FaultQuoteUSPS: {"usps": {ship.Unavailable, "", "", ""}},
	}
)

// try runs every operation on an order.
func try(ctx context.Context, c *carrier.Carrier, b carrier.BuyOrder) (outcome, ship.Sale, carrier.VoidResult) {
	_, quoteErr := c.Rates(ctx, b.Order)
	p, buyErr := c.Buy(ctx, b)
	found, findErr := c.Find(ctx, b)
	if buyErr != nil {
		p = found
	}
	v, voidErr := c.Void(ctx, ship.Purchase{Carrier: p.Carrier, CarrierRef: p.CarrierRef, TrackingNumber: p.TrackingNumber})
	return outcome{ship.KindOf(quoteErr), ship.KindOf(buyErr), ship.KindOf(findErr), ship.KindOf(voidErr)}, p, v
}

// Every magic destination does what is documented, by name in any case and by
// zip code, and the same with and without HTTP between.
func TestMagicDestinations(t *testing.T) {
	if len(outcomes) != len(sandbox.Magic) {
		t.Errorf("%d outcomes for %d magic destinations", len(outcomes), len(sandbox.Magic))
	}
	for _, d := range sandbox.Magic {
		for _, name := range sandbox.Names {
			t.Run(string(d.Fault)+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // the slow quote takes no time here
					named, zipped := buyOrder(name), buyOrder(name)
					named.Order.ShipDate, zipped.Order.ShipDate = "", "" // the clock of the synctest bubble is in another year
					named.Order.Destination.Name = strings.ToLower(d.Name)
					zipped.Order.Destination.Zip = d.Zip
					want, ok := exceptions[d.Fault][name]
					if !ok {
						want = outcomes[d.Fault]
					}
					for _, b := range []carrier.BuyOrder{named, zipped} {
						got, p, v := try(t.Context(), open(t, name), b)
						if got != want {
							t.Errorf("%+v, want %+v", got, want)
						}
						remote, rp, rv := try(t.Context(), openVia(t, name, sandbox.Service{}), b)
						if remote != got || !reflect.DeepEqual(rp, p) || rv != v {
							t.Errorf("over HTTP %+v %+v, want %+v %+v", remote, rp, got, p)
						}
						if sandbox.FaultOf(b.Order) != d.Fault || open(t, name).Instant(b.Order) {
							t.Errorf("fault %q, want %q, and not instant", sandbox.FaultOf(b.Order), d.Fault)
						}
					}
				})
			})
		}
	}
}

func TestOrdinaryDestinationsAreNotMagic(t *testing.T) {
	for _, change := range []func(*ship.Address){
		func(*ship.Address) {},
		func(a *ship.Address) { a.Name = "Fault" },
		func(a *ship.Address) { a.Name = "Fault Refuses" },
		func(a *ship.Address) { a.Name = "Mr Fault Refuse" },
		func(a *ship.Address) { a.Zip = "00001"; a.Country = "DE" },
		func(a *ship.Address) { a.Zip = "00099" },
		func(a *ship.Address) { a.Zip = "00901"; a.State = "PR" },
		func(a *ship.Address) { *a = ship.Address{} },
	} {
		o := order()
		change(&o.Destination)
		if f := sandbox.FaultOf(o); f != "" || !open(t, "ups").Instant(o) {
			t.Errorf("%+v: fault %q", o.Destination, f)
		}
	}
}

func TestPriceChangesByATenth(t *testing.T) {
	b := buyOrder("fedex")
	plain, err := open(t, "fedex").Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	b.Order.Destination.Name = "FAULT PRICE CHANGED"
	overLimit, err := open(t, "fedex").Buy(t.Context(), b)
	if err != nil || overLimit.Price.Minor != plain.Price.Minor*11/10 || !overLimit.Price.Exceeds(plain.Price, 1) {
		t.Errorf("price %v, %v; without the fault %v", overLimit.Price, err, plain.Price)
	}
}

func TestVoidPendingStaysPending(t *testing.T) {
	b := buyOrder("usps")
	b.Order.Destination.Name = "FAULT VOID PENDING"
	_, _, v := try(t.Context(), open(t, "usps"), b)
	if v.State != ship.StateRefundPending {
		t.Errorf("state %q, want %q", v.State, ship.StateRefundPending)
	}
	_, _, v = try(t.Context(), open(t, "usps"), buyOrder("usps"))
	if v.State != ship.StateVoided {
		t.Errorf("without the fault: state %q, want %q", v.State, ship.StateVoided)
	}
}

func TestSlowQuoteTakesSixSecondsAndCanBeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := order()
		o.ShipDate = "" // the clock of the synctest bubble is in another year
		o.Destination.Name = "FAULT SLOW QUOTE"
		began := time.Now()
		if _, err := open(t, "fedex").Rates(t.Context(), o); err != nil || time.Since(began) != 6*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		began = time.Now()
		_, err := open(t, "fedex").Rates(ctx, o)
		if ship.KindOf(err) != ship.Unavailable || time.Since(began) != 4*time.Second {
			t.Errorf("after %v: %v; want unavailable after 4s", time.Since(began), err)
		}
		began = time.Now()
		if _, err := open(t, "ups").Rates(t.Context(), o); err != nil || time.Since(began) != 0 {
			t.Errorf("ups after %v: %v; want at once", time.Since(began), err)
		}
	})
}
