package api

import (
	"context"
	"encoding/base64"
	"net/http"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// maxUploadBody is the largest request with a document, in bytes: base64 makes
// four of three.
const maxUploadBody = ship.MaxUploadBytes/3*4 + 4<<10

// uploadRoute adds documents to shipments.
func (s *server) uploadRoute() *route {
	return &route{
		method:    http.MethodPost,
		path:      "/v1/shipments/{id}/documents",
		id:        "uploadDocument",
		tag:       "Labels",
		summary:   "Upload a document",
		scope:     "shipments:write",
		unaudited: itsOwnLog,
		maxBody:   maxUploadBody,
		memory:    budget.Upload,
		handler:   handle(s.uploadDocument),
		outcomes: []outcome{{
			status:  http.StatusCreated,
			about:   "The document is stored with the shipment.",
			body:    wire.Document{},
			headers: []string{"Location"},
		}},
		codes: []string{"shipment_not_found", "label_not_ready", "too_many_documents"},
	}
}

// uploadInput is the body of POST /v1/shipments/{id}/documents.
type uploadInput struct {
	Type string `json:"type" enum:"commercial_invoice,certificate_of_origin,packing_list,export_license,import_permit,declaration,power_of_attorney,other" doc:"What the document is."`
	Data string `json:"data" minLength:"1" maxLength:"13981100" contentEncoding:"base64" doc:"The file, PDF, PNG or JPEG of at most 10 MiB, in base64."`
}

type uploadDocumentRequest struct {
	ID   string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Body uploadInput
}

// uploadDocument handles POST /v1/shipments/{id}/documents.
func (s *server) uploadDocument(ctx context.Context, in *uploadDocumentRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	data, err := base64.StdEncoding.DecodeString(in.Body.Data)
	if err != nil {
		return reply{}, ship.InvalidFields([]ship.FieldError{{Pointer: "/data", Code: "invalid", Detail: "must be a file in base64"}})
	}

	number, err := s.Shipping.AddDocument(ctx, httpkit.From(ctx).Principal.Tenant, id, in.Body.Type, data)
	if err != nil {
		return reply{}, err
	}
	document := wire.DocumentOf(id, in.Body.Type, number, s.BaseURL)
	document.Uploaded = true
	out, err := jsonReply(http.StatusCreated, document)
	return out.with("Location", document.URL), err
}
