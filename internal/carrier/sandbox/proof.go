package sandbox

import (
	"cmp"
	"context"

	"github.com/waybillhq/waybill/internal/ship"
)

// receivers are who signs for parcels.
var receivers = [...]string{"FRONT DESK", "MAIL ROOM", "RECEPTION", "RESIDENT"}

// proof returns the proof that a parcel was delivered. A carrier without state takes
// every parcel for delivered; the service asks only about those that are.
func (m *model) proof(purchase *ship.Purchase) (ship.Document, error) {
	if purchase.TrackingNumber == "" {
		return ship.Document{}, ship.Errorf(ship.NotFound, "%s has no proof of delivery without a tracking number", m.title)
	}

	receiver := receivers[seed(purchase.TrackingNumber, 0)%uint64(len(receivers))]
	letter := paper{
		title: m.title + " Proof of Delivery",
		facts: []fact{
			{"Tracking number", purchase.TrackingNumber},
			{"Service", cmp.Or(purchase.ServiceName, m.serviceName(purchase.Service))},
			{"Status", "Delivered"},
			{"Received by", receiver},
		},
		list: purchase.Pieces,
	}
	return ship.Document{Type: "proof_of_delivery", Format: "pdf", Data: letter.pdf()}, nil
}

// fetchProof fetches over the wire.
func (r remote) fetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error) {
	var document ship.Document
	err := r.call(ctx, "proof", false, purchase, &document)
	return document, notByProxy(err)
}
