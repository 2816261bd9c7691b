// Package sandbox holds the simulated carriers of test mode: ups, usps, fedex
// and dhl_express, and carriers of some countries, which are offered only to orders
// from there. They quote by zone and weight, sell labels whose numbers
// have valid check digits, void them, and move parcels. They collect parcels,
// close manifests, prove deliveries, find service points and estimate duties, each
// as far as the real carrier does.
//
// They keep no state: what they answer is a function of the order, the service
// and our reference, so any copy of the program gives the same answer, also
// after a crash. They spend no money and have no network. Magic destinations
// make them fail; they are listed in Magic, what they do to pickups and manifests
// in MagicDay, and streets that decide a check of the address in MagicStreets. All
// prices are in USD.
package sandbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Names are the simulated carriers of every country. They come first in Specs.
var Names = []string{"ups", "usps", "fedex", "dhl_express"}

// Specs describe the simulated carriers. Opened without a Doer, a carrier
// computes its answers itself; with one it asks a Service over HTTP, like a
// live carrier.
func Specs() []carrier.Spec {
	list := make([]carrier.Spec, len(models))
	for i := range models {
		list[i] = models[i].spec()
	}
	return list
}

func (m *model) spec() carrier.Spec {
	spec := carrier.Spec{
		Name:       m.name,
		Title:      m.title,
		Packagings: m.packagings,
		Extras:     m.extras,

		ReturnsBilledOn: carrier.BilledOnPurchase,

		OnePickupPerPlace: m.onePickup,
		Manifest:          m.manifest,
		ManifestServices:  m.closes,
		Documents:         m.uploads,

		Fields: []carrier.Field{{
			Name:   "api_key",
			Title:  "API key",
			Secret: true,
			Help:   "Any text: the simulated carriers accept every key.",
		}},
		Open: func(opening carrier.Opening) (carrier.Driver, error) {
			if opening.Via == nil {
				return openDirect(direct{m}), nil
			}
			return openRemote(remote{m, opening.Credentials["api_key"], opening.Via}), nil
		},
	}

	spec.Origins = m.origins
	if !m.isNational() || slices.Contains(m.abilities, "addresses") {
		spec.AddressCoverage = coverage
	}
	for _, offered := range m.services {
		spec.Services = append(spec.Services, carrier.Service{Code: offered.code, Name: offered.name})
	}
	return spec
}

// modelOf returns the simulated carrier of the name, nil if there is none.
func modelOf(name string) *model {
	for i := range models {
		if models[i].name == name {
			return &models[i]
		}
	}
	return nil
}

// direct is a simulated carrier without a network in between: what all of them can
// do.
type direct struct{ *model }

// Instant reports whether nothing goes wrong with the order: a fault may end in
// anything but an immediate label, and a slow street is checked slowly.
func (direct) Instant(order ship.Order) bool {
	return FaultOf(order) == "" && !strings.EqualFold(order.Destination.Address1, slowStreet)
}

// Check accepts every key.
func (direct) Check(context.Context) error { return nil }

// Rates quotes every service that takes the order.
func (d direct) Rates(ctx context.Context, order ship.Order) ([]ship.Rate, error) {
	if err := d.quoteFault(ctx, &order); err != nil {
		return nil, err
	}
	return d.rates(&order, time.Now())
}

// Buy sells. The answer depends only on the request.
func (d direct) Buy(_ context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	if err := d.buyFault(&request.Order); err != nil {
		return ship.Sale{}, err
	}
	return d.sell(&request)
}

// Find returns what Buy sold under the reference. A carrier without state
// takes every reference for one that it sold, unless a magic destination says
// that the request never arrived: what a crash left open settles as bought.
func (d direct) Find(_ context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	if err := d.findFault(&request.Order.Destination, "purchase"); err != nil {
		return ship.Sale{}, err
	}
	return d.sell(&request)
}

// Void voids a label.
func (d direct) Void(_ context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	return d.void(purchase)
}

// CheckVoid refuses to void the label of a parcel that was delivered.
func (d direct) CheckVoid(status ship.Status) error { return d.checkVoid(status) }

// Reprint makes the documents again: they follow from the order and the number.
func (d direct) Reprint(order ship.Order, trackingNumber string) []ship.Document {
	return d.documents(&order, trackingNumber)
}
