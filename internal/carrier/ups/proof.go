package ups

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// proofType is the type of the document.
const proofType = "proof_of_delivery"

// FetchProof returns the letter by which UPS confirms the delivery of the
// parcel, the first one of several. UPS sends it only to those who have rights
// to the parcel, and without an error to anybody else.
func (d *driver) FetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error) {
	number := purchase.TrackingNumber
	if isPlaceholder(number) {
		return ship.Document{}, ship.Errorf(ship.NotFound, "UPS's test environment delivers nothing")
	}

	var answer trackAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL: d.base + "/track/v1/details/" + url.PathEscape(number) +
			"?locale=en_US&returnSignature=false&returnMilestones=false&returnPOD=true",
	}, &answer)
	known, err := checkTracking(answer, err)
	if err != nil {
		return ship.Document{}, err
	}

	parcels := answer.packages()
	for _, parcel := range parcels {
		isAnother := len(parcels) > 1 && !strings.EqualFold(string(parcel.TrackingNumber), number)
		content := string(parcel.DeliveryInformation.value.POD.value.Content)
		if known && !isAnother && content != "" {
			return readProof(content)
		}
	}
	return ship.Document{}, ship.Errorf(ship.NotFound, "UPS has no proof of delivery of this parcel")
}

// readProof decodes a proof. UPS does not say which format it has; it is a web
// page unless it begins like another format.
func readProof(content string) (ship.Document, error) {
	data, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return ship.Document{}, ship.Errorf(ship.Unavailable, "UPS sent a proof of delivery that cannot be read")
	}

	start := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	for _, known := range []struct{ start, format string }{
		{"%PDF", "pdf"},
		{"GIF8", "gif"},
		{"\x89PNG", "png"},
		{"\xff\xd8\xff", "jpg"},
		{"<", "html"},
	} {
		if bytes.HasPrefix(start, []byte(known.start)) {
			return ship.Document{Type: proofType, Format: known.format, Data: data}, nil
		}
	}
	return ship.Document{}, ship.Errorf(ship.Unavailable, "UPS sent a proof of delivery in an unknown format")
}
