package postnl

import (
	"bytes"
	"context"
	"net/http"
	"net/url"

	"github.com/waybillhq/waybill/internal/ship"
)

// FetchProof returns the picture of the signature.
func (d driver) FetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error) {
	var answer signatureAnswer
	err := d.call(http.MethodGet, "/shipment/v2/status/signature/"+url.PathEscape(purchase.TrackingNumber), nil).Do(ctx, d.via, &answer)
	if err != nil {
		return ship.Document{}, explainStatus(err)
	}

	switch {
	case answer.Signature == nil && len(answer.Warnings) > 0:
		return ship.Document{}, ship.Errorf(ship.NotFound, "PostNL has no signature for this parcel")
	case answer.Signature == nil || answer.Signature.Barcode != purchase.TrackingNumber:
		return ship.Document{}, ship.Errorf(ship.Unavailable, "PostNL did not confirm whether there is a signature")
	}
	format := pictureFormat(answer.Signature.Image)
	if format == "" {
		return ship.Document{}, ship.Errorf(ship.Unavailable, "PostNL sent a signature that cannot be read")
	}
	return ship.Document{Type: "proof_of_delivery", Format: format, Data: answer.Signature.Image}, nil
}

// pictureFormat returns the format of a picture that is whole. PostNL's reference
// says GIF, and its example is a PNG.
func pictureFormat(picture []byte) string {
	for _, known := range []struct{ format, begins, ends string }{
		{"png", "\x89PNG", "IEND\xaeB`\x82"},
		{"gif", "GIF8", ";"},
		{"jpg", "\xff\xd8\xff", "\xff\xd9"},
	} {
		if bytes.HasPrefix(picture, []byte(known.begins)) && bytes.HasSuffix(picture, []byte(known.ends)) {
			return known.format
		}
	}
	return ""
}
