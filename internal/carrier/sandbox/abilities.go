package sandbox

import (
	"context"
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A driver has an ability as soon as it has the method, so each simulated carrier
// is a type with the methods for what its real carrier can do besides that of all
// four: UPS looks up pickups, USPS closes manifests, FedEx also looks them up. USPS
// sends proofs of delivery only by e-mail and takes no documents after a purchase, and
// neither it nor FedEx has a call that estimates duties. DHL Express alone shows the
// documents that it has.

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

// A carrier of some countries has all methods, and says which of them work.
type (
	nationalDirect struct{ dhlDirect }
	nationalRemote struct{ dhlRemote }
)

// isNational reports whether the carrier takes parcels from some countries only.
func (m *model) isNational() bool { return len(m.origins) > 0 }

// hasAbility is Can for a carrier of some countries.
func (m *model) hasAbility(ability string) bool {
	switch ability {
	case "rates", "buy":
		return true
	case "find":
		return !m.cannotFind
	}
	return slices.Contains(m.abilities, ability)
}

// Can reports whether the carrier has the ability.
func (d nationalDirect) Can(ability string) bool { return d.hasAbility(ability) }

// Can reports whether the carrier has the ability.
func (r nationalRemote) Can(ability string) bool { return r.model.hasAbility(ability) }

// CloseManifest closes the day.
func (d nationalDirect) CloseManifest(_ context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	return d.closeManifest(&order)
}

// CloseManifest closes over the wire.
func (r nationalRemote) CloseManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	return r.closeManifest(ctx, order)
}

// openDirect returns the driver of the carrier without a network in between.
func openDirect(d direct) carrier.Driver {
	if d.isNational() {
		return nationalDirect{dhlDirect{d}}
	}
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
	if r.model.isNational() {
		return nationalRemote{dhlRemote{r}}
	}
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

// PickupDivision names FedEx Ground for its parcels: it has drivers of its own.
func (d fedexDirect) PickupDivision(parcels []ship.PickupParcels) string {
	return fedexDivision(parcels)
}

// PickupDivision is that of fedexDirect: it is known without asking.
func (r fedexRemote) PickupDivision(parcels []ship.PickupParcels) string {
	return fedexDivision(parcels)
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

// UploadDocument takes a document about a shipment.
func (d upsDirect) UploadDocument(_ context.Context, request carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	return d.receive(&request)
}

// UploadDocument sends over the wire.
func (r upsRemote) UploadDocument(ctx context.Context, request carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	return r.uploadDocument(ctx, request)
}

// UploadDocument takes a document about a shipment.
func (d fedexDirect) UploadDocument(_ context.Context, request carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	return d.receive(&request)
}

// UploadDocument sends over the wire.
func (r fedexRemote) UploadDocument(ctx context.Context, request carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	return r.uploadDocument(ctx, request)
}

// UploadDocument takes a document about a shipment.
func (d dhlDirect) UploadDocument(_ context.Context, request carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	return d.receive(&request)
}

// UploadDocument sends over the wire.
func (r dhlRemote) UploadDocument(ctx context.Context, request carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	return r.uploadDocument(ctx, request)
}

// FindDocument returns what UploadDocument received under the reference.
func (d dhlDirect) FindDocument(_ context.Context, request carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	return d.model.findDocument(&request)
}

// FindDocument looks up over the wire.
func (r dhlRemote) FindDocument(ctx context.Context, request carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	return r.findDocument(ctx, request)
}
