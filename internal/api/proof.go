package api

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
)

// proofRoutes fetch proofs of delivery.
func (s *server) proofRoutes() []*route {
	return []*route{{
		method:   http.MethodGet,
		path:     "/v1/shipments/{id}/proof-of-delivery",
		id:       "getProofOfDelivery",
		tag:      "Tracking",
		summary:  "Get a proof of delivery",
		scope:    "shipments:read",
		handler:  handle(s.getProof),
		outcomes: []outcome{{status: http.StatusOK, about: "The proof as the carrier issues it: a PDF, or a picture of the signature.", headers: []string{"Cache-Control", "Content-Disposition"}}},
		codes:    []string{"shipment_not_found", "proof_not_available", "label_quarantined", "carrier_unavailable"},
	}}
}

// getProof handles GET /v1/shipments/{id}/proof-of-delivery.
func (s *server) getProof(ctx context.Context, in *shipmentRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	shipment, err := s.Shipping.Shipment(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	proof, err := s.Inquiry.Proof(ctx, shipment)
	if err != nil {
		return reply{}, err
	}
	return documentReply(id, proof), nil
}
