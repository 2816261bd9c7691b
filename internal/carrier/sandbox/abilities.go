package sandbox

import (
	"context"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A driver has an ability as soon as it has the method, so each simulated carrier
// is a type with the methods for what its real carrier can do besides that of all
// four: UPS looks up pickups, USPS closes manifests, FedEx also looks them up.

type (
	upsDirect   struct{ direct }
	uspsDirect  struct{ direct }
	fedexDirect struct{ direct }

	upsRemote   struct{ remote }
	uspsRemote  struct{ remote }
	fedexRemote struct{ remote }
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
	return d
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
	return r
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
