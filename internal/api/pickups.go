package api

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// itsOwnList is why pickups and manifests are not in the audit log.
const itsOwnList = "pickups and manifests are listed with what became of them, and the request log shows which key was used"

// pickupRoutes book, show and cancel pickups.
func (s *server) pickupRoutes() []*route {
	return []*route{
		{
			method:    http.MethodPost,
			path:      "/v1/pickups",
			id:        "bookPickup",
			tag:       "Pickups",
			summary:   "Book a pickup",
			scope:     "shipments:write",
			unaudited: itsOwnList,
			handler:   handle(s.bookPickup),
			outcomes: []outcome{
				{status: http.StatusCreated, about: "The carrier has confirmed the pickup.", body: pickup{}, headers: []string{"Location"}},
				{status: http.StatusOK, about: "The pickup that this carrier account already has at the address on the day.", body: pickup{}, headers: []string{"Location"}},
				{status: http.StatusAccepted, about: "The carrier has not answered; see `status`.", body: pickup{}, headers: []string{"Location", "Retry-After"}},
			},
			codes: []string{
				"carrier_rejected",
				"pickup_too_late",
				"pickup_exists",
				"pickup_not_supported",
				"origin_required",
				"unknown_location",
				"unknown_carrier",
				"carrier_unavailable",
			},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/pickups",
			id:       "listPickups",
			tag:      "Pickups",
			summary:  "List pickups",
			scope:    "shipments:read",
			handler:  handle(s.listPickups),
			outcomes: []outcome{{status: http.StatusOK, about: "A page of pickups, newest first.", body: page[pickup]{}}},
			codes:    []string{"invalid_cursor"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/pickups/{id}",
			id:       "getPickup",
			tag:      "Pickups",
			summary:  "Get a pickup",
			scope:    "shipments:read",
			handler:  handle(s.getPickup),
			outcomes: []outcome{{status: http.StatusOK, about: "The pickup.", body: pickup{}}},
			codes:    []string{"pickup_not_found"},
		},

		{
			method:    http.MethodPost,
			path:      "/v1/pickups/{id}/cancel",
			id:        "cancelPickup",
			tag:       "Pickups",
			summary:   "Cancel a pickup",
			scope:     "shipments:write",
			unaudited: itsOwnList,
			handler:   handle(s.cancelPickup),
			outcomes: []outcome{
				{status: http.StatusOK, about: "The pickup was cancelled.", body: pickup{}},
				{status: http.StatusAccepted, about: "The carrier has not answered; it is asked again.", body: pickup{}},
			},
			codes: []string{"pickup_not_found", "pickup_not_confirmed", "cancel_not_supported", "cancel_refused", "conflict"},
		},

		{
			method:   http.MethodPost,
			path:     "/v1/pickups/{id}/resolve",
			id:       "resolvePickup",
			tag:      "Pickups",
			summary:  "Resolve a pickup in review",
			scope:    "shipments:write",
			handler:  handle(s.resolvePickup),
			outcomes: []outcome{{status: http.StatusOK, about: "The pickup, scheduled or failed.", body: pickup{}}},
			codes:    []string{"pickup_not_found", "not_in_review"},
		},
	}
}

// pickupInput is the body of POST /v1/pickups.
type pickupInput struct {
	ConnectionID string       `json:"connectionId,omitempty" maxLength:"64" doc:"The carrier connection. Needed if the account has several connections to the carrier."`
	Carrier      string       `json:"carrier,omitempty" maxLength:"50" example:"ups" doc:"The carrier. Give this or connectionId."`
	Address      *originInput `json:"address,omitempty" doc:"Where the parcels are, and a contact for the driver: an address, or a location of the account as locationId. By default, where the shipments are sent from, or the account's default location."`
	ReadyAt      string       `json:"readyAt" format:"date-time" example:"2026-03-02T14:00:00-08:00" doc:"From when the parcels are ready, with the UTC offset of the place: the carrier is sent the local time."`
	CloseAt      string       `json:"closeAt" format:"date-time" example:"2026-03-02T18:00:00-08:00" doc:"Until when the driver can come, on the same day."`
	ShipmentIDs  []string     `json:"shipmentIds,omitempty" minItems:"1" maxItems:"1000" doc:"The shipments that are collected. They must be bought with the carrier account."`
	Parcels      wholeNumber  `json:"parcels,omitempty" minimum:"1" maximum:"10000" example:"12" doc:"Number of parcels, if shipmentIds is not given."`
	Weight       float64      `json:"weight,omitempty" exclusiveMinimum:"0" maximum:"1000000" example:"50" doc:"Total weight, in weightUnit. By default, that of the shipments."`
	WeightUnit   string       `json:"weightUnit,omitempty" enum:"lb,oz,kg,g" doc:"Unit of the weight. Defaults to the account's unit, which is initially lb."`
	Instructions string       `json:"instructions,omitempty" maxLength:"200" example:"Ring the bell at dock 2" doc:"Note for the driver. Carriers cut it to their own limits."`
}

// pickupWindow is from when until when a driver comes.
type pickupWindow struct {
	ReadyAt string `json:"readyAt" format:"date-time" doc:"From when."`
	CloseAt string `json:"closeAt" format:"date-time" doc:"Until when."`
}

// pickup is a pickup as it is shown.
type pickup struct {
	ID           string       `json:"id" example:"pik_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the pickup, prefix pik_."`
	Status       string       `json:"status" enum:"scheduled,pending,cancelled,failed,needs_review" doc:"scheduled once the carrier has confirmed it; pending while it has not answered; needs_review if the answer was lost and the carrier cannot be asked: ask it before you book again."`
	Carrier      string       `json:"carrier" example:"ups" doc:"The carrier."`
	ConnectionID string       `json:"connectionId,omitempty" doc:"The carrier connection; left out for a simulated carrier."`
	Confirmation string       `json:"confirmation,omitempty" example:"2929602E9CP" doc:"The carrier's number of the pickup. Left out if it is not known, even of a scheduled one: the carrier has the pickup, but the answer with its number was lost."`
	Window       pickupWindow `json:"window" doc:"When the driver comes: as the carrier confirmed it, or as requested."`
	Address      wire.Address `json:"address" doc:"Where the parcels are."`
	LocationID   string       `json:"locationId,omitempty" example:"loc_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"The location that the address is of."`
	Parcels      int          `json:"parcels" doc:"Number of parcels."`
	ShipmentIDs  []string     `json:"shipmentIds" doc:"The shipments, if they were given."`
	Instructions string       `json:"instructions,omitempty" doc:"Note for the driver."`
	Price        *wire.Money  `json:"price,omitempty" doc:"What the carrier charges for the pickup, if it says so."`
	Message      string       `json:"message,omitempty" doc:"Why it failed, needs review, or was not cancelled."`
	CreatedAt    string       `json:"createdAt" format:"date-time" doc:"When it was requested."`
	CancelledAt  string       `json:"cancelledAt,omitempty" format:"date-time" doc:"When it was cancelled."`
}

// pickupStatuses are the states as clients see them.
var pickupStatuses = map[effect.State]string{
	effect.Pending:         "pending",
	effect.Uncertain:       "pending",
	effect.Succeeded:       "scheduled",
	store.PickupCancelling: "scheduled",
	store.PickupCancelled:  "cancelled",
	effect.Failed:          "failed",
	effect.NeedsReview:     "needs_review",
}

func pickupOf(p store.Pickup) pickup {
	window := p.Order.Window
	if !p.Booking.Window.ReadyAt.IsZero() {
		window = p.Booking.Window
	}

	shown := pickup{
		ID:           string(p.ID),
		Status:       pickupStatuses[p.State],
		Carrier:      p.Carrier,
		ConnectionID: string(p.Connection),
		Confirmation: p.Booking.Confirmation,
		Window:       windowOf(window),
		Address:      wire.AddressOf(p.Order.Address),
		LocationID:   string(p.Order.Location.ID),
		Parcels:      p.Order.Count(),
		ShipmentIDs:  make([]string, len(p.Shipments)),
		Instructions: p.Order.Instructions,
		Message:      p.Message,
		CreatedAt:    wire.Time(p.ID.Raw().Time()),
		CancelledAt:  wire.Time(p.CancelledAt),
	}
	for i, id := range p.Shipments {
		shown.ShipmentIDs[i] = string(id)
	}
	if !p.Booking.Price.IsZero() {
		price := wire.MoneyOf(p.Booking.Price)
		shown.Price = &price
	}
	return shown
}

// windowOf shows a window with the offset of its place.
func windowOf(w ship.TimeWindow) pickupWindow {
	return pickupWindow{ReadyAt: w.ReadyAt.Format(time.RFC3339), CloseAt: w.CloseAt.Format(time.RFC3339)}
}

type bookPickupRequest struct{ Body pickupInput }

// bookPickup handles POST /v1/pickups.
func (s *server) bookPickup(ctx context.Context, in *bookPickupRequest) (reply, error) {
	caller := httpkit.From(ctx).Principal
	input := handover.PickupInput{
		Tenant:       caller.Tenant,
		Account:      caller.Account,
		Seller:       handover.Seller{Connection: ship.ConnectionID(in.Body.ConnectionID), Carrier: in.Body.Carrier},
		Parcels:      int(in.Body.Parcels),
		Instructions: in.Body.Instructions,
	}
	input.Address = in.Body.Address.address()
	input.Location = in.Body.Address.location()
	if in.Body.Weight > 0 {
		unit := cmp.Or(ship.WeightUnit(in.Body.WeightUnit), caller.Account.Units.Weight)
		input.WeightGrams = unit.Grams(in.Body.Weight)
	}

	var invalid []ship.FieldError
	input.Window.ReadyAt = timeOf("/readyAt", in.Body.ReadyAt, &invalid)
	input.Window.CloseAt = timeOf("/closeAt", in.Body.CloseAt, &invalid)
	input.Shipments = shipmentIDs(in.Body.ShipmentIDs, &invalid)
	if in.Body.Parcels > 0 && len(in.Body.ShipmentIDs) > 0 {
		invalid = append(invalid, ship.FieldError{Pointer: "/parcels", Code: "exclusive", Detail: "give either parcels or shipmentIds"})
	}
	if err := ship.InvalidFields(invalid); err != nil {
		return reply{}, err
	}

	booked, err := s.Handover.BookPickup(ctx, input)
	if err != nil {
		return reply{}, err
	}
	out, err := jsonReply(effectStatus(booked.State, booked.IsNew), pickupOf(booked.Pickup))
	if booked.State.IsOpen() {
		out = out.with("Retry-After", "5")
	}
	return out.with("Location", "/v1/pickups/"+string(booked.ID)), err
}

// effectStatus is the status of an answer to a request for a pickup or manifest.
func effectStatus(state effect.State, isNew bool) int {
	switch {
	case state.IsOpen() || state == effect.NeedsReview:
		return http.StatusAccepted
	case isNew:
		return http.StatusCreated
	}
	return http.StatusOK
}

// timeOf reads a time of a body, with its offset.
func timeOf(pointer, text string, invalid *[]ship.FieldError) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		*invalid = append(*invalid, ship.FieldError{
			Pointer: pointer,
			Code:    "invalid_format",
			Detail:  "must be a time with its offset, such as 2026-03-02T14:00:00-08:00",
		})
	}
	return at
}

// shipmentIDs reads the shipments of a body.
func shipmentIDs(list []string, invalid *[]ship.FieldError) []ship.ShipmentID {
	ids := make([]ship.ShipmentID, 0, len(list))
	seen := make(map[ship.ShipmentID]bool, len(list))
	for i, text := range list {
		id, ok := ship.ParseShipmentID(text)
		switch {
		case !ok:
			*invalid = append(*invalid, ship.FieldError{
				Pointer: "/shipmentIds/" + strconv.Itoa(i),
				Code:    "invalid",
				Detail:  "is not a shipment of this account",
			})
		case !seen[id]:
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

type pickupRequest struct {
	ID string `path:"id" example:"pik_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the pickup."`
}

func (in pickupRequest) id() (ship.PickupID, error) {
	id, ok := ship.ParsePickupID(in.ID)
	if !ok {
		return "", ship.Coded(ship.NotFound, "pickup_not_found", "no such pickup")
	}
	return id, nil
}

// getPickup handles GET /v1/pickups/{id}.
func (s *server) getPickup(ctx context.Context, in *pickupRequest) (reply, error) {
	id, err := in.id()
	if err != nil {
		return reply{}, err
	}
	found, err := s.Handover.Pickup(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, pickupOf(found))
}

// cancelPickup handles POST /v1/pickups/{id}/cancel.
func (s *server) cancelPickup(ctx context.Context, in *pickupRequest) (reply, error) {
	id, err := in.id()
	if err != nil {
		return reply{}, err
	}
	cancelled, err := s.Handover.CancelPickup(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}

	status := http.StatusOK
	if cancelled.State == store.PickupCancelling {
		status = http.StatusAccepted
	}
	return jsonReply(status, pickupOf(cancelled))
}

// pickupResolution is the body of POST /v1/pickups/{id}/resolve.
type pickupResolution struct {
	Outcome      string `json:"outcome" enum:"booked,not_booked" doc:"What the carrier says: booked if it has the pickup; not_booked if it does not, so that another one can be booked."`
	Confirmation string `json:"confirmation,omitempty" maxLength:"64" example:"2929602E9CP" doc:"The carrier's number of the pickup, if it was booked. The pickup can be cancelled by it."`
}

type resolvePickupRequest struct {
	ID   string `path:"id" example:"pik_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the pickup."`
	Body pickupResolution
}

// resolvePickup handles POST /v1/pickups/{id}/resolve.
func (s *server) resolvePickup(ctx context.Context, in *resolvePickupRequest) (reply, error) {
	id, err := pickupRequest{in.ID}.id()
	if err != nil {
		return reply{}, err
	}
	found := handover.Finding{Done: in.Body.Outcome == "booked", Number: in.Body.Confirmation}
	resolved, err := s.Handover.ResolvePickup(ctx, httpkit.From(ctx).Principal.Tenant, id, found)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, pickupOf(resolved))
}

// listPickups handles GET /v1/pickups.
func (s *server) listPickups(ctx context.Context, in *PageRequest) (reply, error) {
	return newestFirst[store.Pickup, pickup]{
		parse: func(cursor string) (ship.RawID, bool) {
			id, ok := ship.ParsePickupID(cursor)
			return id.Raw(), ok
		},
		list: s.Handover.Pickups,
		show: func(p store.Pickup) (pickup, string) { return pickupOf(p), string(p.ID) },
	}.reply(ctx, in)
}
