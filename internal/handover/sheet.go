package handover

import (
	"context"
	"strconv"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// HandoverSheet is the type of our own sheet, which is printed where a carrier has
// no form, or its form was lost with its answer.
const HandoverSheet = "handover_sheet"

// Documents lists what can be printed of a manifest, without the bytes: the
// carrier's forms, or our own sheet.
func Documents(manifest store.Manifest) []ship.Document {
	if len(manifest.Documents) > 0 {
		return manifest.Documents
	}
	if manifest.State == effect.Succeeded || manifest.State == effect.NeedsReview {
		return []ship.Document{{Type: HandoverSheet, Format: "pdf"}}
	}
	return nil
}

// ManifestDocument returns a document of a manifest, counted from 1.
func (s *Service) ManifestDocument(ctx context.Context, t ship.Tenant, id ship.ManifestID, number int) (ship.Document, error) {
	manifest, err := s.Manifest(ctx, t, id)
	if err != nil {
		return ship.Document{}, err
	}

	documents := Documents(manifest)
	switch {
	case len(documents) == 0 && manifest.State.IsOpen():
		return ship.Document{}, ship.Coded(ship.Conflict, "manifest_not_ready", "the carrier has not answered yet")
	case number < 1 || number > len(documents):
		return ship.Document{}, ship.Errorf(ship.NotFound, "no such document")
	case documents[number-1].Type == HandoverSheet && len(manifest.Documents) == 0:
		return s.handoverSheet(ctx, manifest)
	}
	return s.Store.ManifestDocument(ctx, t, id, number-1)
}

// handoverSheet prints our own sheet. It has no names and addresses of
// recipients: the driver signs for numbers.
func (s *Service) handoverSheet(ctx context.Context, manifest store.Manifest) (ship.Document, error) {
	c, err := s.sellerOf(ctx, manifest.Tenant, manifest.Connection, manifest.Carrier)
	if err != nil {
		return ship.Document{}, err
	}
	ids := Shipments(manifest)
	weights, err := s.weights(ctx, manifest.Tenant, ids)
	if err != nil {
		return ship.Document{}, err
	}

	sheet := label.HandoverSheet{
		Sample:  !manifest.Tenant.Livemode,
		Size:    sizeFor(manifest.Order.Address.Country),
		Carrier: c.Spec().Title,
		Number:  string(manifest.ID),
		Date:    string(manifest.Order.ShipDate),
		From:    manifest.Order.Address.Lines(true),
	}
	if manifest.Number != "" {
		sheet.Number = manifest.Number
	}

	isListed := make(map[ship.ShipmentID]bool, len(ids))
	for _, id := range ids {
		isListed[id] = true
	}
	var total int64
	for _, line := range manifest.Order.Labels {
		if !isListed[line.Shipment] {
			continue
		}
		grams := weights[line.Shipment]
		total += grams
		sheet.Pieces += len(line.Numbers)
		sheet.Lines = append(sheet.Lines, label.HandoverLine{
			Numbers: line.Numbers,
			Service: serviceName(c, line.Service),
			Weight:  weightText(grams, manifest.Order.Address.Country),
		})
	}
	sheet.Weight = weightText(total, manifest.Order.Address.Country)

	rendering, err := s.Labels.RenderHandoverSheet(sheet)
	return ship.Document{Type: HandoverSheet, Format: "pdf", Data: rendering.Data}, err
}

// weights returns the weights of shipments in grams. Those that are kept no
// longer have none.
func (s *Service) weights(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) (map[ship.ShipmentID]int64, error) {
	weights := make(map[ship.ShipmentID]int64, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), labelPage)
		found, err := s.Store.ShipmentsByID(ctx, t, ids[:n])
		if err != nil {
			return nil, err
		}
		for _, shipment := range found {
			for _, parcel := range shipment.Order.Parcels {
				weights[shipment.ID] += parcel.WeightGrams
			}
		}
		ids = ids[n:]
	}
	return weights, nil
}

func serviceName(c *carrier.Carrier, code string) string {
	if service, ok := c.Spec().Service(code); ok {
		return service.Name
	}
	return code
}

// usesPounds are the countries whose drivers read pounds and letter paper.
func usesPounds(country string) bool { return country == "US" || country == "PR" }

func sizeFor(country string) label.Size {
	if usesPounds(country) || country == "CA" || country == "MX" {
		return label.SizeLetter
	}
	return label.SizeA4
}

// weightText writes a weight in the unit of the country; empty if it is unknown.
func weightText(grams int64, country string) string {
	switch {
	case grams == 0:
		return ""
	case usesPounds(country):
		return strconv.FormatFloat(ship.Pound.Of(grams), 'f', 1, 64) + " lb"
	}
	return strconv.FormatFloat(ship.Kilogram.Of(grams), 'f', 2, 64) + " kg"
}
