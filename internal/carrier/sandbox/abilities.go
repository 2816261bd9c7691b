package sandbox

import (
	"context"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A driver has an ability as soon as it has the method, so each simulated carrier
// is a type with the methods for what its real carrier can do besides that of all
// four: UPS looks up pickups, USPS closes manifests, FedEx also looks them up. USPS
// sends proofs of delivery only by e-mail, and neither it nor FedEx has a call that
// estimates duties.

type (
	upsDirect   struct{ direct }
	uspsDirect  struct{ direct }
	fedexDirect struct{ direct }
	dhlDirect   struct{ direct }

	upsRemote   struct{ remote }
	uspsRemote  struct{ remote }
	fedexRemote struct{ remote }
	dhlRemote   struct{ remote }
)

// openDirect returns the driver of the carrier without a network in between.
func openDirect(d direct) carrier.Driver {
	switch d.name {
	case "ups":
		return upsDirect{d}
	case "usps":
		return uspsDirect{d}
	case "fedex":
		return fedexDirect{d}
	}
	return dhlDirect{d}
}

// openRemote returns the driver of the carrier behind HTTP.
func openRemote(r remote) carrier.Driver {
	switch r.model.name {
	case "ups":
		return upsRemote{r}
	case "usps":
		return uspsRemote{r}
	case "fedex":
		return fedexRemote{r}
	}
	return dhlRemote{r}
}

// FindPickup returns what BookPickup booked under the reference.
func (d upsDirect) FindPickup(_ context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	return d.findPickup(&request)
}

// FindPickup looks up over the wire.
func (r upsRemote) FindPickup(ctx context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	return r.findPickup(ctx, request)
}

// CloseManifest makes a SCAN form.
func (d uspsDirect) CloseManifest(_ context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	return d.closeManifest(&order)
}

// CloseManifest closes over the wire.
func (r uspsRemote) CloseManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	return r.closeManifest(ctx, order)
}

// CloseManifest closes the day.
func (d fedexDirect) CloseManifest(_ context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	return d.closeManifest(&order)
}

// CloseManifest closes over the wire.
func (r fedexRemote) CloseManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	return r.closeManifest(ctx, order)
}

// FindManifest returns what CloseManifest closed.
func (d fedexDirect) FindManifest(_ context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	return d.findManifest(&order)
}

// FindManifest looks up over the wire.
func (r fedexRemote) FindManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	return r.findManifest(ctx, order)
}

// FetchProof returns the proof that a parcel was delivered.
func (d upsDirect) FetchProof(_ context.Context, purchase ship.Purchase) (ship.Document, error) {
	return d.proof(&purchase)
}

// FetchProof fetches over the wire.
func (r upsRemote) FetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error) {
	return r.fetchProof(ctx, purchase)
}

// FetchProof returns the proof that a parcel was delivered.
func (d fedexDirect) FetchProof(_ context.Context, purchase ship.Purchase) (ship.Document, error) {
	return d.proof(&purchase)
}

// FetchProof fetches over the wire.
func (r fedexRemote) FetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error) {
	return r.fetchProof(ctx, purchase)
}

// FetchProof returns the proof that a parcel was delivered.
func (d dhlDirect) FetchProof(_ context.Context, purchase ship.Purchase) (ship.Document, error) {
	return d.proof(&purchase)
}

// FetchProof fetches over the wire.
func (r dhlRemote) FetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error) {
	return r.fetchProof(ctx, purchase)
}

// EstimateDuties estimates what customs will ask for.
func (d upsDirect) EstimateDuties(ctx context.Context, order ship.Order) (ship.LandedCost, error) {
	return d.estimateDuties(ctx, &order)
}

// EstimateDuties estimates over the wire.
func (r upsRemote) EstimateDuties(ctx context.Context, order ship.Order) (ship.LandedCost, error) {
	return r.estimateDuties(ctx, order)
}

// EstimateDuties estimates what customs will ask for.
func (d dhlDirect) EstimateDuties(ctx context.Context, order ship.Order) (ship.LandedCost, error) {
	return d.estimateDuties(ctx, &order)
}

// EstimateDuties estimates over the wire.
func (r dhlRemote) EstimateDuties(ctx context.Context, order ship.Order) (ship.LandedCost, error) {
	return r.estimateDuties(ctx, order)
}
