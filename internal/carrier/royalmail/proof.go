package royalmail

import (
	"bytes"
	"context"
	"net/url"

	"github.com/waybillhq/waybill/internal/ship"
)

// FetchProof returns the picture of the signature. Only signed services have one.
func (d driver) FetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error) {
	var answer signatureAnswer
	err := d.trackingCall("/"+url.PathEscape(purchase.TrackingNumber)+"/signature").Do(ctx, d.via, &answer)
	if isUnscanned(err) {
		return ship.Document{}, ship.Errorf(ship.NotFound, "Royal Mail has no signature for this parcel")
	}
	if err != nil {
		return ship.Document{}, explainTracking(err)
	}

	signed := answer.Signature
	if piece := answer.MailPieces; piece != nil {
		signed = piece.Signature
	}
	if signed == nil {
		return ship.Document{}, ship.Errorf(ship.Unavailable, "Royal Mail did not confirm whether there is a signature")
	}
	format := formatOf(signed.Image)
	if format == "" {
		return ship.Document{}, ship.Errorf(ship.Unavailable, "Royal Mail sent a signature that cannot be read")
	}
	return ship.Document{Type: "proof_of_delivery", Format: format, Data: signed.Image}, nil
}

// formatOf returns the format of a picture by how it begins, and how it ends
// where that shows whether it is whole; "" if it is none that is known.
func formatOf(picture []byte) string {
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
