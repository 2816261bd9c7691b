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
