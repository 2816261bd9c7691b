package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// manifestFilePath is the pattern behind the address of a manifest's document,
// which ends in ".pdf": the mux cannot match a suffix inside a segment.
// withManifestFile leads there, and the document shows the address.
const (
	manifestFilePath = "/v1/manifests/{id}/pdf"
	manifestFileURL  = "/v1/manifests/{id}.pdf"
)

// withManifestFile returns the request with the path that the mux matches, if it
// is for a document of a manifest.
func withManifestFile(r *http.Request) *http.Request {
	name, isManifest := strings.CutPrefix(r.URL.Path, "/v1/manifests/")
	id, isFile := strings.CutSuffix(name, ".pdf")
	if !isManifest || !isFile || strings.Contains(id, "/") {
		return r
	}

	out := r.WithContext(r.Context())
	out.URL = &url.URL{}
	*out.URL = *r.URL
	out.URL.Path = "/v1/manifests/" + id + "/pdf"
	out.URL.RawPath = ""
	return out
}

// manifestRoutes close and show manifests.
func (s *server) manifestRoutes() []*route {
	return []*route{
		{
			method:    http.MethodPost,
			path:      "/v1/manifests",
			id:        "closeManifest",
			tag:       "Manifests",
			summary:   "Close a manifest",
			scope:     "shipments:write",
			unaudited: itsOwnList,
			handler:   handle(s.closeManifest),
			outcomes: []outcome{
				{status: http.StatusCreated, about: "The labels were handed over.", body: manifest{}, headers: []string{"Location"}},
				{status: http.StatusOK, about: "The manifest that an earlier request with the same `Idempotency-Key` made.", body: manifest{}, headers: []string{"Location"}},
				{status: http.StatusAccepted, about: "The carrier has not answered; see `status`.", body: manifest{}, headers: []string{"Location", "Retry-After"}},
			},
			codes: []string{
				"nothing_to_manifest",
				"unknown_location",
				"manifest_covers_day",
				"manifest_in_progress",
				"labels_already_manifested",
				"carrier_rejected",
				"unknown_carrier",
				"carrier_unavailable",
			},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/manifests",
			id:       "listManifests",
			tag:      "Manifests",
			summary:  "List manifests",
			scope:    "shipments:read",
			handler:  handle(s.listManifests),
			outcomes: []outcome{{status: http.StatusOK, about: "A page of manifests, newest first.", body: page[manifest]{}}},
			codes:    []string{"invalid_cursor"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/manifests/{id}",
			id:       "getManifest",
			tag:      "Manifests",
			summary:  "Get a manifest",
			scope:    "shipments:read",
			handler:  handle(s.getManifest),
			outcomes: []outcome{{status: http.StatusOK, about: "The manifest.", body: manifest{}}},
			codes:    []string{"manifest_not_found"},
		},

		{
			method:   http.MethodPost,
			path:     "/v1/manifests/{id}/resolve",
			id:       "resolveManifest",
			tag:      "Manifests",
			summary:  "Resolve a manifest in review",
			scope:    "shipments:write",
			handler:  handle(s.resolveManifest),
			outcomes: []outcome{{status: http.StatusOK, about: "The manifest, closed or failed.", body: manifest{}}},
			codes:    []string{"manifest_not_found", "not_in_review"},
		},

		{
			method:   http.MethodGet,
			path:     manifestFilePath,
			id:       "getManifestPdf",
			tag:      "Manifests",
			summary:  "Get a document of a manifest",
			scope:    "shipments:read",
			handler:  handle(s.getManifestFile),
			outcomes: []outcome{{status: http.StatusOK, about: "The document.", headers: []string{"Cache-Control", "Content-Disposition"}}},
			codes:    []string{"manifest_not_found", "manifest_not_ready", "not_found"},
		},
	}
}

// manifestInput is the body of POST /v1/manifests.
type manifestInput struct {
	ConnectionID string       `json:"connectionId,omitempty" maxLength:"64" doc:"The carrier connection. Needed if the account has several connections to the carrier."`
	Carrier      string       `json:"carrier,omitempty" maxLength:"50" example:"usps" doc:"The carrier. Give this or connectionId."`
	ShipDate     string       `json:"shipDate,omitempty" format:"date" example:"2026-03-02" doc:"The day on which the parcels are handed over. By default today in UTC, or the last day that has labels if the carrier closes each day by itself."`
	ShipmentIDs  []string     `json:"shipmentIds,omitempty" minItems:"1" maxItems:"5000" doc:"The shipments. By default, all of the last seven days that have a label, are on no manifest and are not with the carrier yet."`
	Address      *originInput `json:"address,omitempty" doc:"Where the parcels are handed over, as an address or a location of the account as locationId: shipments from other addresses are left out. By default, the account's default location, or where the newest of the shipments is sent from."`
}

// manifestDocument is a paper of a manifest.
type manifestDocument struct {
	Type string `json:"type" example:"scan_form" doc:"What it is: the carrier's form, such as scan_form, or handover_sheet for a list that the driver signs."`
	URL  string `json:"url" format:"uri" doc:"Where it is."`
}

// manifestExclusion is a shipment that is not on a manifest.
type manifestExclusion struct {
	ShipmentID string `json:"shipmentId" doc:"Identifier of the shipment."`
	Reason     string `json:"reason" example:"Its label was voided." doc:"Why it is not on the manifest."`
}

// manifest is a manifest as it is shown.
type manifest struct {
	ID            string              `json:"id" example:"man_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the manifest, prefix man_."`
	Status        string              `json:"status" enum:"pending,closed,failed,needs_review" doc:"closed once the labels are handed over; pending while the carrier has not answered; needs_review if its answer was lost and it cannot be asked."`
	Carrier       string              `json:"carrier" example:"usps" doc:"The carrier."`
	ConnectionID  string              `json:"connectionId,omitempty" doc:"The carrier connection; left out for a simulated carrier."`
	ShipDate      string              `json:"shipDate" format:"date" doc:"The day on which the parcels are handed over."`
	LocationID    string              `json:"locationId,omitempty" example:"loc_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"The location that the parcels leave from."`
	Number        string              `json:"number,omitempty" doc:"The carrier's number of the manifest."`
	Documents     []manifestDocument  `json:"documents" doc:"What to print. It is empty in lists."`
	ShipmentCount int                 `json:"shipmentCount" doc:"Number of shipments on it."`
	ShipmentIDs   []string            `json:"shipmentIds" doc:"The shipments on it. It is empty in lists."`
	Excluded      []manifestExclusion `json:"excluded" doc:"Shipments that were left out. It is empty in lists."`
	Message       string              `json:"message,omitempty" doc:"Why it failed or needs review."`
	CreatedAt     string              `json:"createdAt" format:"date-time" doc:"When it was requested."`
	ClosedAt      string              `json:"closedAt,omitempty" format:"date-time" doc:"When it was closed."`
}

// manifestStatuses are the states as clients see them.
var manifestStatuses = map[effect.State]string{
	effect.Pending:     "pending",
	effect.Uncertain:   "pending",
	effect.Succeeded:   "closed",
	effect.Failed:      "failed",
	effect.NeedsReview: "needs_review",
}

// listedManifestOf is a manifest as lists show it.
func listedManifestOf(m store.Manifest) manifest {
	shown := manifest{
		ID:            string(m.ID),
		Status:        manifestStatuses[m.State],
		Carrier:       m.Carrier,
		ConnectionID:  string(m.Connection),
		ShipDate:      string(m.Order.ShipDate),
		LocationID:    string(m.Order.Location.ID),
		Number:        m.Number,
		ShipmentCount: m.Count,
		Documents:     []manifestDocument{},
		ShipmentIDs:   []string{},
		Excluded:      []manifestExclusion{},
		Message:       m.Message,
		CreatedAt:     wire.Time(m.ID.Raw().Time()),
		ClosedAt:      wire.Time(m.ClosedAt),
	}
	if m.State == effect.Failed {
		shown.ShipmentCount = 0
	}
	return shown
}

func manifestOf(m store.Manifest, base string) manifest {
	shown := listedManifestOf(m)
	for i, document := range handover.Documents(m) {
		address := base + "/v1/manifests/" + shown.ID + ".pdf"
		if i > 0 {
			address += "?document=" + strconv.Itoa(i+1)
		}
		shown.Documents = append(shown.Documents, manifestDocument{Type: document.Type, URL: address})
	}
	for _, id := range handover.Shipments(m) {
		shown.ShipmentIDs = append(shown.ShipmentIDs, string(id))
	}
	for _, e := range m.Excluded {
		shown.Excluded = append(shown.Excluded, manifestExclusion{ShipmentID: string(e.Shipment), Reason: e.Reason})
	}
	return shown
}

type closeManifestRequest struct{ Body manifestInput }

// closeManifest handles POST /v1/manifests.
func (s *server) closeManifest(ctx context.Context, in *closeManifestRequest) (reply, error) {
	ex := httpkit.From(ctx)
	input := handover.ManifestInput{
		Tenant:   ex.Principal.Tenant,
		Account:  ex.Principal.Account,
		Seller:   handover.Seller{Connection: ship.ConnectionID(in.Body.ConnectionID), Carrier: in.Body.Carrier},
		ShipDate: ship.Date(in.Body.ShipDate),
		Name:     ship.KeyName{Key: ex.Idempotency, Fingerprint: fingerprintOf(ex)},
	}
	input.Address = in.Body.Address.address()
	input.Location = in.Body.Address.location()

	var invalid []ship.FieldError
	input.Shipments = shipmentIDs(in.Body.ShipmentIDs, &invalid)
	if _, ok := ship.ParseDate(in.Body.ShipDate); in.Body.ShipDate != "" && !ok {
		invalid = append(invalid, ship.FieldError{Pointer: "/shipDate", Code: "invalid", Detail: "must be a date, such as 2026-01-31"})
	}
	if err := ship.InvalidFields(invalid); err != nil {
		return reply{}, err
	}

	closed, err := s.Handover.CloseManifest(ctx, input)
	if err != nil {
		return reply{}, err
	}
	out, err := jsonReply(effectStatus(closed.State, closed.IsNew), manifestOf(closed.Manifest, s.BaseURL))
	if closed.State.IsOpen() {
		out = out.with("Retry-After", "5")
	}
	return out.with("Location", "/v1/manifests/"+string(closed.ID)), err
}

type manifestRequest struct {
	ID string `path:"id" example:"man_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the manifest."`
}

func (in manifestRequest) id() (ship.ManifestID, error) {
	id, ok := ship.ParseManifestID(in.ID)
	if !ok {
		return "", ship.Coded(ship.NotFound, "manifest_not_found", "no such manifest")
	}
	return id, nil
}

// getManifest handles GET /v1/manifests/{id}.
func (s *server) getManifest(ctx context.Context, in *manifestRequest) (reply, error) {
	id, err := in.id()
	if err != nil {
		return reply{}, err
	}
	found, err := s.Handover.Manifest(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, manifestOf(found, s.BaseURL))
}

// manifestResolution is the body of POST /v1/manifests/{id}/resolve.
type manifestResolution struct {
	Outcome string `json:"outcome" enum:"closed,not_closed" doc:"What the carrier says: closed if it has the manifest; not_closed if it does not, so that the labels can go on another."`
	Number  string `json:"number,omitempty" maxLength:"64" example:"9275090001004001234567" doc:"The carrier's number of the manifest, if it was closed and the carrier gave one."`
}

type resolveManifestRequest struct {
	ID   string `path:"id" example:"man_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the manifest."`
	Body manifestResolution
}

// resolveManifest handles POST /v1/manifests/{id}/resolve.
func (s *server) resolveManifest(ctx context.Context, in *resolveManifestRequest) (reply, error) {
	id, err := manifestRequest{in.ID}.id()
	if err != nil {
		return reply{}, err
	}
	found := handover.Finding{Done: in.Body.Outcome == "closed", Number: in.Body.Number}
	resolved, err := s.Handover.ResolveManifest(ctx, httpkit.From(ctx).Principal.Tenant, id, found)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, manifestOf(resolved, s.BaseURL))
}

type manifestFileRequest struct {
	ID       string `path:"id" example:"man_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the manifest."`
	Document int    `query:"document" minimum:"1" maximum:"100" default:"1" doc:"Position in the manifest's documents, from 1."`
}

// getManifestFile handles GET /v1/manifests/{id}.pdf.
func (s *server) getManifestFile(ctx context.Context, in *manifestFileRequest) (reply, error) {
	id, err := manifestRequest{in.ID}.id()
	if err != nil {
		return reply{}, err
	}
	document, err := s.Handover.ManifestDocument(ctx, httpkit.From(ctx).Principal.Tenant, id, max(1, in.Document))
	if err != nil {
		return reply{}, err
	}

	kind, known := documentTypes[document.Format]
	if !known {
		kind = "application/octet-stream"
	}
	name := string(id) + "-" + document.Type + "." + document.Format
	return reply{status: http.StatusOK, kind: kind, body: document.Data}.
		with("Content-Disposition", `inline; filename="`+name+`"`), nil
}

// listManifests handles GET /v1/manifests.
func (s *server) listManifests(ctx context.Context, in *PageRequest) (reply, error) {
	return newestFirst[store.Manifest, manifest]{
		parse: func(cursor string) (ship.RawID, bool) {
			id, ok := ship.ParseManifestID(cursor)
			return id.Raw(), ok
		},
		list: s.Handover.Manifests,
		show: func(m store.Manifest) (manifest, string) { return listedManifestOf(m), string(m.ID) },
	}.reply(ctx, in)
}
