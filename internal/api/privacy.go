package api

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// privacyRoutes erase and export personal data. E-mail addresses and phone
// numbers come in bodies alone: paths are logged.
func (s *server) privacyRoutes() []*route {
	return []*route{
		{
			method:  http.MethodPost,
			path:    "/v1/erasures",
			id:      "createErasure",
			tag:     "Privacy",
			summary: "Erase personal data",
			scope:   "privacy",
			starts:  true,
			handler: handle(s.createErasure),
			outcomes: []outcome{{
				status:  http.StatusAccepted,
				about:   "The erasure, which runs in the background.",
				body:    erasure{},
				headers: []string{"Location"},
			}},
			codes: []string{"shipment_not_found"},
		},
		{
			method:   http.MethodGet,
			path:     "/v1/erasures",
			id:       "listErasures",
			tag:      "Privacy",
			summary:  "List erasures",
			scope:    "privacy",
			handler:  handle(s.listErasures),
			outcomes: []outcome{{status: http.StatusOK, about: "A page of erasures, newest first.", body: page[erasure]{}}},
			codes:    []string{"invalid_cursor"},
		},
		{
			method:   http.MethodGet,
			path:     "/v1/erasures/{id}",
			id:       "getErasure",
			tag:      "Privacy",
			summary:  "Get an erasure",
			scope:    "privacy",
			handler:  handle(s.getErasure),
			outcomes: []outcome{{status: http.StatusOK, about: "The erasure and what it has erased.", body: erasure{}}},
			codes:    []string{"erasure_not_found"},
		},
		{
			method:  http.MethodPost,
			path:    "/v1/exports",
			id:      "createExport",
			tag:     "Privacy",
			summary: "Export personal data",
			scope:   "privacy",
			starts:  true,
			handler: handle(s.createExport),
			outcomes: []outcome{{
				status:  http.StatusAccepted,
				about:   "The export, which is made in the background.",
				body:    export{},
				headers: []string{"Location"},
			}},
		},
		{
			method:   http.MethodGet,
			path:     "/v1/exports",
			id:       "listExports",
			tag:      "Privacy",
			summary:  "List exports",
			scope:    "privacy",
			handler:  handle(s.listExports),
			outcomes: []outcome{{status: http.StatusOK, about: "A page of exports, newest first.", body: page[export]{}}},
			codes:    []string{"invalid_cursor"},
		},
		{
			method:   http.MethodGet,
			path:     "/v1/exports/{id}",
			id:       "getExport",
			tag:      "Privacy",
			summary:  "Get an export",
			scope:    "privacy",
			handler:  handle(s.getExport),
			outcomes: []outcome{{status: http.StatusOK, about: "The export.", body: export{}}},
			codes:    []string{"export_not_found"},
		},
		{
			method:   http.MethodGet,
			path:     "/v1/exports/{id}/file",
			id:       "getExportFile",
			tag:      "Privacy",
			summary:  "Download an export",
			scope:    "privacy",
			notes:    "export.downloaded",
			handler:  handle(s.getExportFile),
			outcomes: []outcome{{status: http.StatusOK, about: "The file, as JSON.", body: map[string]any{}, headers: []string{"Content-Disposition"}}},
			codes:    []string{"export_not_found", "export_not_ready", "export_expired"},
		},
	}
}

// retentionRoutes show and change how long the account keeps personal data.
func (s *server) retentionRoutes() []*route {
	return []*route{
		{
			method:   http.MethodGet,
			path:     "/v1/retention",
			id:       "getRetention",
			tag:      "Privacy",
			summary:  "Get the retention",
			scope:    "privacy",
			handler:  handle(s.getRetention),
			outcomes: []outcome{{status: http.StatusOK, about: "How long personal data and labels are kept.", body: retentionShown{}}},
		},
		{
			method:   http.MethodPut,
			path:     "/v1/retention",
			id:       "changeRetention",
			tag:      "Privacy",
			summary:  "Change the retention",
			scope:    "privacy",
			handler:  handle(s.changeRetention),
			outcomes: []outcome{{status: http.StatusOK, about: "How long personal data and labels are kept from now on.", body: retentionShown{}}},
			codes:    []string{"live_key_required"},
		},
	}
}

// erasureInput is the body of POST /v1/erasures.
type erasureInput struct {
	Email      string `json:"email,omitempty" minLength:"1" maxLength:"254" example:"ada@example.com" doc:"Erase the data of the person with this e-mail address; upper and lower case are the same."`
	Phone      string `json:"phone,omitempty" minLength:"1" maxLength:"30" example:"+1 202 555 0123" doc:"Erase the data of the person with this phone number. Punctuation does not matter, and a number with its country code is the same as without."`
	ShipmentID string `json:"shipmentId,omitempty" minLength:"1" maxLength:"64" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Erase the people in this shipment."`
}

// erasure is an erasure as it is shown. It never names the person.
type erasure struct {
	ID         string         `json:"id" example:"ers_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the erasure, prefix ers_."`
	Status     string         `json:"status" enum:"pending,running,waiting,done" doc:"How far it has got; waiting if a purchase is not settled yet."`
	By         string         `json:"by" enum:"email,phone,shipment" doc:"What was given."`
	ShipmentID string         `json:"shipmentId,omitempty" doc:"The shipment that was given."`
	Counts     map[string]int `json:"counts" doc:"Number of records erased so far, by kind; open is the number of purchases that it waits for."`
	CreatedAt  string         `json:"createdAt" format:"date-time" doc:"When it was requested."`
	FinishedAt string         `json:"finishedAt,omitempty" format:"date-time" doc:"When it was done."`
}

func erasureOf(e store.Erasure) erasure {
	shown := erasure{
		ID:         string(e.ID),
		Status:     e.State,
		By:         e.Kind,
		ShipmentID: string(e.Shipment),
		Counts:     e.Counts,
		CreatedAt:  wire.Time(e.ID.Raw().Time()),
		FinishedAt: wire.Time(e.FinishedAt),
	}
	if shown.Counts == nil {
		shown.Counts = map[string]int{}
	}
	return shown
}

type createErasureRequest struct{ Body erasureInput }

// createErasure handles POST /v1/erasures.
func (s *server) createErasure(ctx context.Context, in *createErasureRequest) (reply, error) {
	person := ship.Person{Email: in.Body.Email, Phone: in.Body.Phone}
	if in.Body.ShipmentID != "" {
		id, ok := ship.ParseShipmentID(in.Body.ShipmentID)
		if !ok {
			return reply{}, ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
		}
		person.Shipment = id
	}

	made, err := s.Privacy.RequestErasure(ctx, httpkit.From(ctx).Principal.Tenant, person)
	if err != nil {
		return reply{}, err
	}
	out, err := jsonReply(http.StatusAccepted, erasureOf(made))
	return out.with("Location", "/v1/erasures/"+string(made.ID)), err
}

type erasureRequest struct {
	ID string `path:"id" example:"ers_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the erasure."`
}

// getErasure handles GET /v1/erasures/{id}.
func (s *server) getErasure(ctx context.Context, in *erasureRequest) (reply, error) {
	id, ok := ship.ParseErasureID(in.ID)
	if !ok {
		return reply{}, ship.Coded(ship.NotFound, "erasure_not_found", "no such erasure")
	}
	found, err := s.Privacy.Erasure(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, erasureOf(found))
}

// listErasures handles GET /v1/erasures.
func (s *server) listErasures(ctx context.Context, in *PageRequest) (reply, error) {
	page := ship.Page{Limit: in.Limit + 1} // one more says whether there are more
	if in.Cursor != "" {
		id, ok := ship.ParseErasureID(in.Cursor)
		if !ok {
			return reply{}, invalidCursor()
		}
		page.Before = id.Raw()
	}

	list, err := s.Privacy.Erasures(ctx, httpkit.From(ctx).Principal.Tenant, page)
	if err != nil {
		return reply{}, err
	}
	more := len(list) > in.Limit
	list = list[:min(len(list), in.Limit)]

	data := make([]erasure, len(list))
	last := ""
	for i, one := range list {
		data[i] = erasureOf(one)
		last = data[i].ID
	}
	return jsonReply(http.StatusOK, pageOf(data, more, last))
}

// retentionInput is the body of PUT /v1/retention.
type retentionInput struct {
	PersonalDataDays *int `json:"personalDataDays,omitempty" minimum:"30" maximum:"3650" example:"90" doc:"For how many days after its creation a shipment keeps names, addresses, phone numbers and e-mail addresses. Left out, for as long as the installation keeps them."`
	LabelDays        *int `json:"labelDays,omitempty" minimum:"1" maximum:"3650" example:"30" doc:"For how many days labels and customs documents are kept. Left out, for as long as the installation keeps them."`
}

// retentionShown is how long an account keeps personal data and labels.
type retentionShown struct {
	PersonalDataDays int `json:"personalDataDays,omitempty" minimum:"30" maximum:"3650" doc:"Days for which shipments keep personal data. Left out if the account has chosen none: the installation's own time applies, as it does if it is shorter."`
	LabelDays        int `json:"labelDays,omitempty" minimum:"1" maximum:"3650" doc:"Days for which labels and customs documents are kept. Left out as above."`
}

// getRetention handles GET /v1/retention.
func (s *server) getRetention(ctx context.Context, _ *struct{}) (reply, error) {
	kept, err := s.Privacy.Retention(ctx, httpkit.From(ctx).Principal.Tenant.Account)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, retentionShown{PersonalDataDays: kept.Personal, LabelDays: kept.Labels})
}

type changeRetentionRequest struct{ Body retentionInput }

// changeRetention handles PUT /v1/retention. What is chosen holds in both modes,
// and what is erased does not come back: a key that was made for tests must not be
// enough.
func (s *server) changeRetention(ctx context.Context, in *changeRetentionRequest) (reply, error) {
	tenant := httpkit.From(ctx).Principal.Tenant
	if !tenant.Livemode {
		return reply{}, ship.Coded(ship.Forbidden, "live_key_required", "the retention concerns live data: use a live key")
	}

	chosen := store.AccountRetention{Account: tenant.Account}
	if in.Body.PersonalDataDays != nil {
		chosen.Personal = *in.Body.PersonalDataDays
	}
	if in.Body.LabelDays != nil {
		chosen.Labels = *in.Body.LabelDays
	}
	if err := s.Privacy.SetRetention(ctx, chosen); err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, retentionShown{PersonalDataDays: chosen.Personal, LabelDays: chosen.Labels})
}

// exportInput is the body of POST /v1/exports.
type exportInput struct {
	Email string `json:"email,omitempty" minLength:"1" maxLength:"254" example:"ada@example.com" doc:"Export the data of the person with this e-mail address; upper and lower case are the same."`
	Phone string `json:"phone,omitempty" minLength:"1" maxLength:"30" example:"+1 202 555 0123" doc:"Export the data of the person with this phone number, as with an erasure."`
}

// export is an export as it is shown. It never names the person.
type export struct {
	ID         string         `json:"id" example:"exp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the export, prefix exp_."`
	Status     string         `json:"status" enum:"pending,done,expired" doc:"Whether the file is ready; expired if it was deleted."`
	By         string         `json:"by" enum:"email,phone" doc:"What was given."`
	Counts     map[string]int `json:"counts" doc:"Number of records in the file, by kind."`
	FileURL    string         `json:"fileUrl,omitempty" format:"uri" doc:"URL of the file, when it is ready. Fetch it with the same API key."`
	CreatedAt  string         `json:"createdAt" format:"date-time" doc:"When it was requested."`
	FinishedAt string         `json:"finishedAt,omitempty" format:"date-time" doc:"When the file was made."`
	ExpiresAt  string         `json:"expiresAt,omitempty" format:"date-time" doc:"When the file is deleted."`
}

func (s *server) exportOf(e store.Export) export {
	shown := export{
		ID:         string(e.ID),
		Status:     e.State,
		By:         e.Kind,
		Counts:     e.Counts,
		CreatedAt:  wire.Time(e.ID.Raw().Time()),
		FinishedAt: wire.Time(e.FinishedAt),
		ExpiresAt:  wire.Time(e.ExpiresAt),
	}
	if shown.Counts == nil {
		shown.Counts = map[string]int{}
	}
	if e.State == store.ExportDone {
		shown.FileURL = s.BaseURL + "/v1/exports/" + string(e.ID) + "/file"
	}
	return shown
}

type createExportRequest struct{ Body exportInput }

// createExport handles POST /v1/exports.
func (s *server) createExport(ctx context.Context, in *createExportRequest) (reply, error) {
	person := ship.Person{Email: in.Body.Email, Phone: in.Body.Phone}
	made, err := s.Privacy.RequestExport(ctx, httpkit.From(ctx).Principal.Tenant, person)
	if err != nil {
		return reply{}, err
	}
	out, err := jsonReply(http.StatusAccepted, s.exportOf(made))
	return out.with("Location", "/v1/exports/"+string(made.ID)), err
}

type exportRequest struct {
	ID string `path:"id" example:"exp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the export."`
}

// exportID reads the id in a path.
func exportID(text string) (ship.ExportID, error) {
	id, ok := ship.ParseExportID(text)
	if !ok {
		return "", ship.Coded(ship.NotFound, "export_not_found", "no such export")
	}
	return id, nil
}

// getExport handles GET /v1/exports/{id}.
func (s *server) getExport(ctx context.Context, in *exportRequest) (reply, error) {
	id, err := exportID(in.ID)
	if err != nil {
		return reply{}, err
	}
	found, err := s.Privacy.Export(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, s.exportOf(found))
}

// getExportFile handles GET /v1/exports/{id}/file.
func (s *server) getExportFile(ctx context.Context, in *exportRequest) (reply, error) {
	id, err := exportID(in.ID)
	if err != nil {
		return reply{}, err
	}
	file, err := s.Privacy.ExportFile(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}

	out := reply{status: http.StatusOK, body: file}
	return out.with("Content-Disposition", `attachment; filename="`+string(id)+`.json"`), nil
}

// listExports handles GET /v1/exports.
func (s *server) listExports(ctx context.Context, in *PageRequest) (reply, error) {
	page := ship.Page{Limit: in.Limit + 1} // one more says whether there are more
	if in.Cursor != "" {
		id, ok := ship.ParseExportID(in.Cursor)
		if !ok {
			return reply{}, invalidCursor()
		}
		page.Before = id.Raw()
	}

	list, err := s.Privacy.Exports(ctx, httpkit.From(ctx).Principal.Tenant, page)
	if err != nil {
		return reply{}, err
	}
	more := len(list) > in.Limit
	list = list[:min(len(list), in.Limit)]

	data := make([]export, len(list))
	last := ""
	for i, one := range list {
		data[i] = s.exportOf(one)
		last = data[i].ID
	}
	return jsonReply(http.StatusOK, pageOf(data, more, last))
}
