package gls

import (
	"bytes"
	"context"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// FetchProof returns GLS's image of the proof of delivery.
func (d *driver) FetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error) {
	var answer proofAnswer
	if err := d.post(ctx, "/rs/tracking/parcelpod", proofRequest{purchase.TrackingNumber}, &answer); err != nil {
		return ship.Document{}, lookupError(err)
	}
	switch {
	case answer.Item == nil:
		return ship.Document{}, ship.Errorf(ship.Unavailable, "GLS did not confirm whether there is a proof of delivery")
	case len(answer.Item.Images) == 0:
		return ship.Document{}, ship.Errorf(ship.NotFound, "GLS has no proof of delivery of this parcel")
	}

	image := answer.Item.Images[0]
	format := formatOf(image)
	if format == "" || format == "pdf" && !carrierkit.IsWholePDF(image) {
		return ship.Document{}, ship.Errorf(ship.Unavailable, "GLS sent a proof of delivery in an unknown format")
	}
	return ship.Document{Type: "proof_of_delivery", Format: format, Data: image}, nil
}

// formatOf returns the format of a document by how it begins; "" if it is none
// that is known.
func formatOf(document []byte) string {
	for _, known := range []struct{ format, begins string }{
		{"pdf", "%PDF-"},
		{"png", "\x89PNG"},
		{"gif", "GIF8"},
		{"jpg", "\xff\xd8\xff"},
	} {
		if bytes.HasPrefix(document, []byte(known.begins)) {
			return known.format
		}
	}
	return ""
}
