package api

import (
	"context"
	"encoding/base64"
	"net/http"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// maxUploadBody is the largest request with a document, in bytes: base64 makes
// four of three.
const maxUploadBody = ship.MaxUploadBytes/3*4 + 4<<10

// uploadRoutes add documents to shipments.
func (s *server) uploadRoutes() []*route {
	upload := &route{
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
			about:   "The document is stored with the shipment, and sent to the carrier if it takes such documents.",
			body:    wire.Document{},
			headers: []string{"Location"},
		}},
		codes: []string{"shipment_not_found", "label_not_ready", "too_many_documents", "storage_quota_reached"},
	}

	resolve := &route{
		method:   http.MethodPost,
		path:     "/v1/shipments/{id}/documents/{number}/resolve",
		id:       "resolveDocument",
		tag:      "Labels",
		summary:  "Resolve a document in review",
		scope:    "shipments:write",
		handler:  handle(s.resolveDocument),
		outcomes: []outcome{{status: http.StatusOK, about: "The document, received or failed.", body: wire.Document{}}},
		codes:    []string{"shipment_not_found", "document_not_found", "not_in_review"},
	}
	return []*route{upload, resolve}
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

	added, err := s.Shipping.AddDocument(ctx, httpkit.From(ctx).Principal.Tenant, id, in.Body.Type, data)
	if err != nil {
		return reply{}, err
	}
	document := wire.DocumentOf(id, in.Body.Type, added.Number, s.BaseURL)
	document.Uploaded = true
	if added.IsSent {
		document.Submission = &wire.DocumentSubmission{Status: submissionStatuses[store.DocumentQueued]}
	}
	out, err := jsonReply(http.StatusCreated, document)
	return out.with("Location", document.URL), err
}

// submissionStatuses are the states of documents as clients see them.
var submissionStatuses = map[effect.State]string{
	store.DocumentQueued: "pending",
	effect.Pending:       "pending",
	effect.Uncertain:     "pending",
	effect.Succeeded:     "received",
	effect.Failed:        "failed",
	effect.NeedsReview:   "needs_review",
}

func submissionOf(d store.DocumentSubmission) *wire.DocumentSubmission {
	return &wire.DocumentSubmission{
		Status:     submissionStatuses[d.State],
		DocumentID: d.Receipt.ID,
		Message:    d.Message,
	}
}

// addSubmissions shows how far the uploaded documents of a shipment are on their
// way to the carrier. Most shipments have none, and cost no query.
func (s *server) addSubmissions(ctx context.Context, shipment ship.Shipment, shown *wire.Shipment) error {
	if len(shipment.Uploads) == 0 {
		return nil
	}
	submissions, err := s.Handover.Documents(ctx, shipment.Tenant, shipment.ID)
	if err != nil {
		return err
	}

	first := len(shipment.Purchase.Documents)
	for _, submission := range submissions {
		if i := first + submission.Position; i < len(shown.Documents) {
			shown.Documents[i].Submission = submissionOf(submission)
		}
	}
	return nil
}

// documentResolution is the body of POST
// /v1/shipments/{id}/documents/{number}/resolve.
type documentResolution struct {
	Outcome    string `json:"outcome" enum:"received,not_received" doc:"What the carrier says: received if it has the document; not_received if it does not, so that the document can be uploaded again."`
	DocumentID string `json:"documentId,omitempty" maxLength:"64" example:"090493e181586308" doc:"The carrier's number of the document, if it was received and has one."`
}

type resolveDocumentRequest struct {
	ID     string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Number int    `path:"number" minimum:"1" maximum:"100" doc:"Position in the shipment's documents, from 1."`
	Body   documentResolution
}

// resolveDocument handles POST /v1/shipments/{id}/documents/{number}/resolve.
func (s *server) resolveDocument(ctx context.Context, in *resolveDocumentRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	tenant := httpkit.From(ctx).Principal.Tenant
	shipment, err := s.Shipping.Shipment(ctx, tenant, id)
	if err != nil {
		return reply{}, err
	}

	position := in.Number - len(shipment.Purchase.Documents) - 1
	found := handover.Finding{Done: in.Body.Outcome == "received", Number: in.Body.DocumentID}
	resolved, err := s.Handover.ResolveDocument(ctx, tenant, id, position, found)
	if err != nil {
		return reply{}, err
	}
	document := wire.DocumentOf(id, resolved.Type, in.Number, s.BaseURL)
	document.Uploaded = true
	document.Submission = submissionOf(resolved)
	return jsonReply(http.StatusOK, document)
}
