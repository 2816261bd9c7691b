package api

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

type packingSlipRequest struct {
	ID   string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Size string `query:"size" enum:"4x6,a4,letter" doc:"Paper size; 4x6 in by default."`
}

// packingSlipRoutes print what is in a parcel.
func (s *server) packingSlipRoutes() []*route {
	return []*route{{
		method:   http.MethodGet,
		path:     "/v1/shipments/{id}/packing-slip.pdf",
		id:       "getPackingSlip",
		tag:      "Labels",
		summary:  "Get a packing slip",
		scope:    "labels",
		handler:  handle(s.getPackingSlip),
		outcomes: []outcome{{status: http.StatusOK, about: "The packing slip.", headers: []string{"Cache-Control", "Content-Disposition"}}},
		codes:    []string{"shipment_not_found", "label_erased"},
	}}
}

// getPackingSlip handles GET /v1/shipments/{id}/packing-slip.pdf.
func (s *server) getPackingSlip(ctx context.Context, in *packingSlipRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	data, err := s.Shipping.PackingSlips(ctx, httpkit.From(ctx).Principal.Tenant, []ship.ShipmentID{id}, label.Size(in.Size))
	if err != nil {
		return reply{}, err
	}
	return documentReply(id, ship.Document{Type: "packing-slip", Format: "pdf", Data: data}), nil
}
