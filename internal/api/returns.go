package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/wire"
)

// returnInput is the body of POST /v1/shipments/{id}/return.
type returnInput struct {
	Parcel       *parcelInput       `json:"parcel,omitempty" doc:"The parcel that comes back. Defaults to the parcels of the shipment."`
	Items        []customsItemInput `json:"items,omitempty" minItems:"1" maxItems:"100" doc:"The goods that come back, for the customs declaration. Defaults to those of the shipment's own declaration."`
	Carrier      string             `json:"carrier,omitempty" minLength:"1" maxLength:"50" example:"ups" doc:"Use this carrier only. By default the routing rules choose."`
	Service      string             `json:"service,omitempty" minLength:"1" maxLength:"50" example:"ground" doc:"Use this service only."`
	ConnectionID string             `json:"connectionId,omitempty" pattern:"^con_[0-7][0-9A-Za-z]{25}$" doc:"Use this carrier account only."`
	MaxAmount    *moneyInput        `json:"maxAmount,omitempty" doc:"Maximum price of the label."`
	BillOn       string             `json:"billOn,omitempty" enum:"purchase,scan" doc:"When the carrier must bill the return; requires carrier. By default, whenever the carrier does. A carrier that does not bill that way, or does not document when it bills, is refused."`
	Metadata     metadataInput      `json:"metadata,omitempty" doc:"Custom key-value pairs of your own, which are added to those of the shipment; up to 50 together."`
	Again        bool               `json:"again,omitempty" doc:"Buy the return even if the shipment already has one."`
}

// items returns the goods that come back, and the fields that are invalid.
func (in *returnInput) items() (items []ship.CustomsItem, invalid []ship.FieldError) {
	if len(in.Items) == 0 {
		return nil, nil
	}
	declared := customsInput{Items: in.Items}
	items = declared.customs(&invalid).Items
	return items, pointersOfReturn(invalid)
}

// pointersOfReturn returns errors about a return's order with pointers into the
// body that it was made from.
func pointersOfReturn(fields []ship.FieldError) []ship.FieldError {
	fields = slices.Clone(fields)
	for i := range fields {
		if rest, ok := strings.CutPrefix(fields[i].Pointer, "/customs/items"); ok {
			fields[i].Pointer = "/items" + rest
		}
	}
	return fields
}

type createReturnRequest struct {
	ID   string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment that is returned."`
	Body *returnInput
}

// createReturn handles POST /v1/shipments/{id}/return.
func (s *server) createReturn(ctx context.Context, in *createReturnRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	body := in.Body
	if body == nil {
		body = &returnInput{} // everything in it is optional
	}
	ex := httpkit.From(ctx)
	input, err := returnOf(ex, id, body)
	if err != nil {
		return reply{}, err
	}

	bought, err := s.Shipping.Return(ctx, input)
	if coded, ok := errors.AsType[*ship.Error](err); ok && len(coded.Fields) > 0 {
		shown := *coded
		shown.Fields = pointersOfReturn(coded.Fields)
		err = &shown
	}
	return s.bought(ctx, ex, input.BuyInput, bought, err)
}

// returnOf translates a request.
func returnOf(ex *httpkit.Exchange, id ship.ShipmentID, in *returnInput) (shipping.ReturnInput, error) {
	caller := ex.Principal
	items, invalid := in.items()

	out := shipping.ReturnInput{
		BuyInput: shipping.BuyInput{
			Tenant:         caller.Tenant,
			Account:        caller.Account,
			Key:            caller.Key,
			Limits:         caller.Limits,
			Carrier:        in.Carrier,
			Service:        in.Service,
			Connection:     ship.ConnectionID(in.ConnectionID),
			MaxAmount:      in.MaxAmount.money("/maxAmount", &invalid),
			AnotherReturn:  in.Again,
			IdempotencyKey: ex.Idempotency,
		},
		Shipment: id,
		Items:    items,
		Metadata: in.Metadata,
		BillOn:   in.BillOn,
	}

	if in.Parcel != nil {
		parcel := in.Parcel.parcel()
		out.Parcel = &parcel
	}

	out.Fingerprint = fingerprintOf(ex)
	return out, ship.InvalidFields(invalid)
}

// returnRoutes bring parcels back.
func (s *server) returnRoutes() []*route {
	return []*route{{
		method:    http.MethodPost,
		path:      "/v1/shipments/{id}/return",
		id:        "createReturn",
		tag:       "Shipments",
		summary:   "Create a return",
		scope:     "shipments:write",
		unaudited: itsOwnLog,
		purchase:  true,
		handler:   handle(s.createReturn),
		outcomes: []outcome{
			{
				status:  http.StatusCreated,
				about:   "The return label was bought.",
				body:    wire.Shipment{},
				headers: []string{"Location", "Idempotent-Replayed"},
				linked:  true,
			},
			{
				status:  http.StatusAccepted,
				about:   "The carrier has not responded yet, or a person must approve the purchase first, as `approval` says; `labelStatus` is `pending`.",
				body:    wire.Shipment{},
				headers: []string{"Location", "Retry-After", "Idempotent-Replayed"},
				linked:  true,
			},
		},
		codes: []string{
			"shipment_not_found",
			"not_returnable",
			"return_exists",
			"carrier_rejected",
			"price_changed",
			"currency_mismatch",
			"no_carrier",
			"no_rate",
			"unknown_carrier",
			"spend_limit_reached",
			"purchase_limit_exceeded",
			"country_not_allowed",
			"approval_denied",
			"approval_expired",
			"carrier_unavailable",
			"outcome_unknown",
			"restore_pending",
		},
	}}
}
