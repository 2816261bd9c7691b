package dhlexpress

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

type proofAnswer struct {
	Documents []proofDocument `json:"documents"`
}

type proofDocument struct {
	EncodingFormat string `json:"encodingFormat"`
	Content        []byte `json:"content"` // base64
}

// proofContent is DHL's usual proof: when and where the parcel was delivered, and
// who took it. The signature is on other ones, which not every account gets.
const proofContent = "epod-summary"

// FetchProof returns DHL's own document about the delivery. There is none before
// the delivery, and DHL does not have one for every shipment.
func (d driver) FetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error) {
	path := "/shipments/" + url.PathEscape(purchase.TrackingNumber) + "/proof-of-delivery"
	query := url.Values{
		"shipperAccountNumber": {d.account},
		"content":              {proofContent},
	}

	var answer proofAnswer
	if err := d.call(http.MethodGet, path, query, "").Do(ctx, d.via, &answer); err != nil {
		return ship.Document{}, lookupError(err)
	}
	return answer.proof()
}

// proof returns the first document of the answer. DHL does not document which
// formats it sends, so the content says which one it is, else DHL's own word.
func (a proofAnswer) proof() (ship.Document, error) {
	switch {
	case a.Documents == nil:
		return ship.Document{}, ship.Errorf(ship.Unavailable, "DHL Express did not confirm whether there is a proof of delivery")
	case len(a.Documents) == 0:
		return ship.Document{}, ship.Errorf(ship.NotFound, "DHL Express has no proof of delivery for this shipment")
	}

	first := a.Documents[0]
	format := cmp.Or(formatOf(first.Content), strings.ToLower(first.EncodingFormat))
	if len(first.Content) == 0 || format == "" || format == "pdf" && !carrierkit.IsWholePDF(first.Content) {
		return ship.Document{}, ship.Errorf(ship.Unavailable, "DHL Express sent a proof of delivery that is not complete")
	}
	return ship.Document{Type: "proof_of_delivery", Format: format, Data: first.Content}, nil
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
