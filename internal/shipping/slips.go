package shipping

import (
	"context"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// PackingSlips puts the packing slips of shipments into one PDF file, in the order
// of the ids, with the account's logo. The items are those that were declared. A
// shipment whose personal data was erased is not in it; if that is true of all, it
// is the code label_erased.
func (s *Service) PackingSlips(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID, size label.Size) ([]byte, error) {
	if len(ids) > MaxLabels {
		return nil, ship.Errorf(ship.Invalid, "a file can contain at most %d packing slips", MaxLabels)
	}
	known, err := s.ShipmentsByID(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	if len(known) == 0 {
		return nil, ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}

	var slips []label.PackingSlip
	for _, id := range ids {
		if shipment, ok := known[id]; ok && !shipment.IsErased {
			slips = append(slips, s.packingSlip(shipment))
		}
	}
	if len(slips) == 0 {
		return nil, ship.Coded(ship.Gone, "label_erased", "the addresses were erased with the personal data of the shipment")
	}

	logo, err := s.store.Logo(ctx, t.Account, true)
	if err != nil && ship.KindOf(err) != ship.NotFound {
		return nil, err
	}
	rendering, err := s.labels.RenderPackingSlips(slips, size, logo.Picture)
	return rendering.Data, err
}

// packingSlip is what the slip of a shipment says.
func (s *Service) packingSlip(shipment ship.Shipment) label.PackingSlip {
	order := shipment.Order
	date := string(order.ShipDate)
	if date == "" {
		date = shipment.CreatedAt().Format(time.DateOnly)
	}
	service := ""
	if shipment.Purchase.Carrier != "" {
		service = shipment.Purchase.ServiceName
		if title := s.accounts.Title(shipment.Purchase.Carrier); !strings.HasPrefix(service, title) {
			service = strings.TrimSpace(title + " " + service)
		}
	}

	slip := label.PackingSlip{
		Sample: !shipment.Tenant.Livemode,
		From:   order.Origin.Lines(order.Origin.Country != order.Destination.Country),
		To:     order.Destination.Lines(order.Origin.Country != order.Destination.Country),
		Facts: [][2]string{
			{"Order", order.OrderID},
			{"Reference", order.Reference},
			{"Ship date", date},
			{"Service", service},
			{"Tracking number", shipment.Purchase.TrackingNumber},
		},
	}
	if order.Customs == nil {
		return slip
	}
	for _, item := range order.Customs.Items {
		slip.Items = append(slip.Items, label.SlipItem{
			Description: item.Description,
			SKU:         item.SKU,
			Quantity:    item.Quantity,
		})
	}
	return slip
}
