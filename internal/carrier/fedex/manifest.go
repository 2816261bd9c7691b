package fedex

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// closePath is where FedEx Ground's day is closed (PUT) and a closed one printed
// again (POST). The slash at its end is part of it.
const closePath = "/ship/v1/endofday/"

// The end of a day at FedEx Ground.
type (
	closeRequest struct {
		Type            string        `json:"closeReqType"`
		ServiceCategory string        `json:"groundServiceCategory"`
		AccountNumber   account       `json:"accountNumber"`
		CloseDate       string        `json:"closeDate,omitempty"`
		ReprintOption   string        `json:"reprintOption,omitempty"`
		TrackingNumber  string        `json:"trackingNumber,omitempty"`
		Documents       closeDocSpecs `json:"closeDocumentSpecification"`
	}
	closeDocSpecs struct {
		Types []string `json:"closeDocumentTypes"`
	}
	closeAnswer struct {
		Output *struct {
			Documents []closeDocument `json:"closeDocuments"`
		} `json:"output"`
	}
	closeDocument struct {
		Type          string      `json:"type"`
		ShippingCycle string      `json:"shippingCycle"`
		Parts         []closePart `json:"parts"`
	}
	closePart struct {
		Number int    `json:"documentPartSequenceNumber"`
		Image  []byte `json:"image"` // base64
	}
)

// CloseManifest closes the day of FedEx Ground: all labels of the account that are
// open, whoever bought them. Other labels need no manifest.
func (d *driver) CloseManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	covered, excluded := splitGround(order.Labels)
	if len(covered) == 0 {
		return ship.ManifestClosing{}, noGround()
	}

	var answer closeAnswer
	err := d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPut,
		URL:    d.base + closePath,
		Effect: true,
		Limit:  shipLimit,
		Body: closeRequest{
			Type:            "GCDR",
			ServiceCategory: "GROUND",
			AccountNumber:   account{d.account},
			CloseDate:       string(order.ShipDate),
			Documents:       closeDocSpecs{[]string{manifestDocument}},
		},
	}, &answer)
	if err != nil {
		return ship.ManifestClosing{}, explainManifest(err, "FedEx declined to close the day")
	}

	closing := answer.closing()
	closing.Excluded = excluded
	return closing, nil
}

// FindManifest prints the manifest again that has the order's labels. It asks by
// the number of one of them and not by the day: a day may have been closed several
// times, and a manifest without these labels does not prove that they are closed.
// One number is enough, as a close covers everything that is open.
func (d *driver) FindManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	covered, excluded := splitGround(order.Labels)
	if len(covered) == 0 {
		return ship.ManifestClosing{}, noGround()
	}

	var answer closeAnswer
	err := d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + closePath,
		Limit:  shipLimit,
		Body: closeRequest{
			Type:            "RGCDR",
			ServiceCategory: "GROUND",
			AccountNumber:   account{d.account},
			ReprintOption:   "BY_TRACKING_NUMBER",
			TrackingNumber:  covered[0],
			Documents:       closeDocSpecs{[]string{manifestDocument}},
		},
	}, &answer)
	if err != nil {
		return ship.ManifestClosing{}, explainReprint(err)
	}
	if answer.Output == nil {
		return ship.ManifestClosing{}, ship.Errorf(ship.Unavailable, "FedEx sent no result for the look-up")
	}

	closing := answer.closing()
	if len(closing.Documents) == 0 {
		return ship.ManifestClosing{}, ship.Errorf(ship.NotFound, "FedEx has no manifest with these labels")
	}
	closing.Excluded = excluded
	return closing, nil
}

// manifestDocument is FedEx's name for the list of parcels.
const manifestDocument = "MANIFEST"

// splitGround returns the tracking numbers that a close covers, and the labels that
// it does not.
func splitGround(labels []ship.ManifestLabel) (covered []string, excluded []ship.ManifestExclusion) {
	for _, label := range labels {
		chosen, _ := serviceByCode(label.Service)
		switch chosen.kind {
		case ground, homeDelivery:
			covered = append(covered, label.Numbers...)
			continue
		}
		excluded = append(excluded, ship.ManifestExclusion{
			Shipment: label.Shipment,
			Reason:   cmp.Or(chosen.name, "This service") + " needs no manifest: FedEx has only manifests of FedEx Ground and Home Delivery.",
		})
	}
	return covered, excluded
}

// noGround is the error of a manifest without labels that FedEx would close.
func noGround() error {
	return ship.Errorf(ship.Unsupported, "FedEx has only manifests of FedEx Ground and Home Delivery; the other services need none")
}

// closing returns the manifest of an answer.
func (a *closeAnswer) closing() ship.ManifestClosing {
	var closing ship.ManifestClosing
	if a.Output == nil {
		return closing
	}
	for _, document := range a.Output.Documents {
		slices.SortStableFunc(document.Parts, func(x, y closePart) int { return cmp.Compare(x.Number, y.Number) })
		var data []byte
		for _, part := range document.Parts {
			data = append(data, part.Image...)
		}
		if document.Type != manifestDocument || len(data) == 0 {
			continue
		}
		closing.Number = cmp.Or(closing.Number, document.ShippingCycle)
		closing.Documents = append(closing.Documents, ship.Document{
			Type:   "manifest",
			Format: formatOf(data),
			Data:   data,
		})
	}
	return closing
}

// formatOf returns the format of a document, which FedEx does not name: its
// manifests are plain text.
func formatOf(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return "pdf"
	case bytes.HasPrefix(data, pngMagic):
		return "png"
	}
	return "txt"
}

// explainManifest says what a refused close means.
func explainManifest(err error, declined string) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	refused := *failed
	switch {
	case isForbidden(err):
		refused.Message = "FedEx does not allow this project to close the day; add the Ground End of Day Close API to it in the developer portal"
	case refused.Kind == ship.Invalid:
		refused.Fields = nil // they are those of an order
		refused.Message = declined
	}
	return &refused
}

// explainReprint says what a refused look-up means. FedEx does not publish its code
// for a day that is not closed.
func explainReprint(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	refused := *failed
	switch {
	case refused.Kind == ship.Invalid && isNotClosed(refused.Refusal):
		refused.Kind = ship.NotFound
		refused.Message = "FedEx has no manifest with these labels"
		refused.Fields = nil
		return &refused
	case refused.Kind == ship.NotFound:
		// The path is missing, which proves nothing about the labels.
		refused.Kind = ship.Unavailable
		refused.Message = "FedEx does not print manifests at the configured URL"
		return &refused
	}
	return explainManifest(err, "FedEx declined to look up the manifest")
}

// isNotClosed recognizes a refusal because there is nothing to print.
func isNotClosed(refusal ship.Refusal) bool {
	code := strings.NewReplacer(".", "", "_", "").Replace(strings.ToUpper(refusal.Code))
	return strings.Contains(code, "NOTFOUND") || strings.Contains(code, "NODATA") || strings.Contains(code, "NOSHIPMENT")
}
