package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/wire"
)

// shipmentInput is the body of POST /v1/shipments.
type shipmentInput struct {
	OrderID          string        `json:"orderId" minLength:"1" maxLength:"100" example:"ORD-1001" doc:"The client's order reference; it need not be unique."`
	Destination      addressInput  `json:"destination" doc:"Where the parcel goes."`
	Parcel           *parcelInput  `json:"parcel,omitempty" doc:"The parcel; for several send parcels instead."`
	Parcels          []parcelInput `json:"parcels,omitempty" minItems:"1" maxItems:"50" doc:"Several parcels to one destination, instead of parcel."`
	Origin           *addressInput `json:"origin,omitempty" doc:"Where the parcel comes from. The default is the account's location; a test key has a sample warehouse."`
	Carrier          string        `json:"carrier,omitempty" minLength:"1" maxLength:"50" example:"ups" doc:"Use this carrier only."`
	Service          string        `json:"service,omitempty" minLength:"1" maxLength:"50" example:"ground" doc:"Use this service only."`
	ConnectionID     string        `json:"connectionId,omitempty" pattern:"^con_[0-7][0-9A-Za-z]{25}$" doc:"Use this carrier account only."`
	RateID           string        `json:"rateId,omitempty" minLength:"1" maxLength:"600" doc:"Buy this rate of POST /v1/rates. Origin, destination, parcels and options must be those that it was quoted for; customs, which rates do not take, may be added."`
	MaxAmount        *moneyInput   `json:"maxAmount,omitempty" doc:"The most that the label may cost."`
	ShipDate         string        `json:"shipDate,omitempty" format:"date" doc:"Day on which the carrier gets the parcel; today by default."`
	DeliverBy        string        `json:"deliverBy,omitempty" format:"date" doc:"Day by which it must arrive."`
	LabelFormat      string        `json:"labelFormat,omitempty" enum:"pdf,zpl,png" doc:"Format to buy in; pdf by default. All formats can be fetched later."`
	Reference        string        `json:"reference,omitempty" maxLength:"100" doc:"A reference to print on the label."`
	IsReturn         bool          `json:"isReturn,omitempty" doc:"Whether the parcel is a return."`
	Billing          *billingInput `json:"billing,omitempty" doc:"Who pays the carrier, if not the account itself."`
	Customs          *customsInput `json:"customs,omitempty" doc:"Declaration, for a parcel that crosses a border."`
	Options          *optionsInput `json:"options,omitempty" doc:"Extra services."`
	OnDuplicateOrder string        `json:"onDuplicateOrder,omitempty" enum:"allow,return,reject" doc:"What to do if the orderId has a shipment: buy another (allow, the default), return it, or refuse."`
	Metadata         metadataInput `json:"metadata,omitempty" doc:"Up to 50 notes of the client's own."`
}

func (in *shipmentInput) order() (o ship.Order, one bool, wrong []ship.FieldError) {
	o = ship.Order{
		OrderID: in.OrderID, Reference: in.Reference, Destination: in.Destination.address(),
		ShipDate: ship.Date(in.ShipDate), DeliverBy: ship.Date(in.DeliverBy), LabelFormat: in.LabelFormat, IsReturn: in.IsReturn,
		Billing: in.Billing.billing(), Metadata: in.Metadata,
	}
	if in.Origin != nil {
		o.Origin = in.Origin.address()
	}
	o.Parcels, one = parcelsOf(in.Parcel, in.Parcels)
	o.Options = in.Options.options(&wrong)
	o.Customs = in.Customs.customs(&wrong)
	return o, one, wrong
}

// checkShipment finds what is wrong with an order whose body does not have the
// right shape: what can be read of it is checked all the same.
func checkShipment(ex *httpkit.Exchange) []ship.FieldError {
	var in shipmentInput
	_ = json.Unmarshal(ex.Body, &in) // what does not fit is listed already
	order, one, wrong := in.order()
	_, err := order.Normalize(ship.Normalizing{
		Tenant:    ex.Principal.Tenant,
		Account:   ex.Principal.Account,
		OneParcel: one,
		Now:       time.Now().UTC(),
	})
	return append(wrong, fieldsOf(err)...)
}

type createShipmentRequest struct {
	Body shipmentInput
}

// buyInput translates a request.
func buyInput(ex *httpkit.Exchange, in *shipmentInput) (shipping.BuyInput, error) {
	order, one, wrong := in.order()
	p := ex.Principal
	out := shipping.BuyInput{
		Tenant: p.Tenant, Account: p.Account, Key: p.Key, DailyLimit: p.Limit, Order: order, OneParcel: one,
		Carrier: in.Carrier, Service: in.Service, Connection: ship.ConnectionID(in.ConnectionID), RateID: in.RateID,
		MaxAmount: in.MaxAmount.money("/maxAmount", &wrong), OnDuplicate: in.OnDuplicateOrder, IdempotencyKey: ex.Idempotency,
	}
	// A live purchase without a key is known again by its body.
	if ex.Idempotency != "" || p.Tenant.Livemode {
		out.Fingerprint = httpkit.Fingerprint(http.MethodPost, ex.Path, ex.JSON)
	}
	return out, ship.InvalidFields(wrong)
}

// createShipment handles POST /v1/shipments.
func (s *server) createShipment(ctx context.Context, in *createShipmentRequest) (reply, error) {
	ex := httpkit.From(ctx)
	order, err := buyInput(ex, &in.Body)
	if err != nil {
		return reply{}, err
	}
	bought, err := s.Shipping.Buy(ctx, order)
	if err != nil {
		return s.refused(ctx, ex, order, err)
	}
	out, err := s.bought(bought)
	if err != nil || bought.Pending {
		return out, err
	}
	out.after = s.answered(ctx, ex, order)
	if bought.Existing && ex.Idempotency != "" {
		// The shipment is another request's: this key has only the answer.
		return out, s.keep(ctx, ex, order, out)
	}
	return out, nil
}

// keep makes the key of a purchase repeat the answer, byte for byte. The
// client may have left; its next try must still hear the same.
func (s *server) keep(ctx context.Context, ex *httpkit.Exchange, order shipping.BuyInput, out reply) error {
	answer := ship.Answer{Status: out.status, Body: out.body}
	return s.Account.Remember(context.WithoutCancel(ctx), order.Tenant, ex.Idempotency, order.Fingerprint, answer)
}

// bought is the answer to a purchase that did not fail. Its status is always
// created: the label's event is told by the reads that follow.
func (s *server) bought(b shipping.Bought) (reply, error) {
	if b.Answer != nil {
		out := reply{status: b.Answer.Status, body: b.Answer.Body}
		if out.status >= http.StatusBadRequest {
			out.kind = httpkit.ProblemType
		}
		return out.with(httpkit.ReplayedHeader, "true"), nil
	}

	sh := wire.CreatedShipmentOf(b.Shipment, s.BaseURL, s.trackingPage(b.Shipment))
	status := http.StatusCreated
	switch {
	case b.Existing:
		status = http.StatusOK
	case b.Pending:
		status = http.StatusAccepted
	}

	out, err := show(status, &sh)
	out = out.with("Location", "/v1/shipments/"+sh.ID)
	if b.Pending {
		out = out.with("Retry-After", "5")
	}
	if b.Replayed {
		out = out.with(httpkit.ReplayedHeader, "true")
	}
	return out, err
}

// refused answers a purchase that failed. A definite refusal under an
// idempotency key is kept, with exactly the bytes that are sent.
func (s *server) refused(ctx context.Context, ex *httpkit.Exchange, order shipping.BuyInput, err error) (reply, error) {
	switch ship.CodeOf(err) {
	case "carrier_rejected", "price_changed":
	default:
		return reply{}, err
	}
	p := ex.Problem(err)
	out := reply{status: p.Status, kind: httpkit.ProblemType, body: p.Bytes(), after: s.answered(ctx, ex, order)}
	if ex.Idempotency == "" {
		return out, nil
	}
	return out, s.keep(ctx, ex, order, out)
}

// answered reports a purchase whose answer arrived.
func (s *server) answered(ctx context.Context, ex *httpkit.Exchange, order shipping.BuyInput) func() {
	if s.Answered == nil {
		return nil
	}
	return func() {
		if ex.Delivered(ctx) {
			s.Answered(context.WithoutCancel(ctx), order)
		}
	}
}

type shipmentRequest struct {
	ID string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
}

// shipmentID reads an id of a path. What is no id belongs to nobody.
func shipmentID(s string) (ship.ShipmentID, error) {
	id, ok := ship.ParseShipmentID(s)
	if !ok {
		return "", ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}
	return id, nil
}

// getShipment handles GET /v1/shipments/{id}.
func (s *server) getShipment(ctx context.Context, in *shipmentRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	sh, err := s.Shipping.Shipment(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	return show(http.StatusOK, s.whole(sh))
}

// whole is a shipment with its order.
func (s *server) whole(sh ship.Shipment) wire.Shipment {
	return wire.WholeShipmentOf(sh, s.BaseURL, s.trackingPage(sh))
}

// trackingPage is the address of the recipient's page. A shipment without a
// tracking number has none.
func (s *server) trackingPage(sh ship.Shipment) string {
	if s.Tracking == nil || sh.Deal.TrackingNumber == "" {
		return ""
	}
	return s.BaseURL + s.Tracking.PagePath(sh.Tenant, sh.ID)
}

// duplicateShipment handles POST /v1/shipments/{id}/duplicate.
func (s *server) duplicateShipment(ctx context.Context, in *shipmentRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	order, err := s.Shipping.Duplicate(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	return show(http.StatusOK, wire.CreationOf(order))
}

// voidShipment handles POST /v1/shipments/{id}/void.
func (s *server) voidShipment(ctx context.Context, in *shipmentRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	sh, err := s.Shipping.Void(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	status := http.StatusOK
	if sh.State != ship.StateVoided {
		status = http.StatusAccepted
	}
	return show(status, s.whole(sh))
}

type listShipmentsRequest struct {
	OrderID        string    `query:"orderId" minLength:"1" maxLength:"100" doc:"Only shipments of this order."`
	Reference      string    `query:"reference" minLength:"1" maxLength:"100" doc:"Only shipments with this reference of yours."`
	TrackingNumber string    `query:"trackingNumber" minLength:"1" maxLength:"100" doc:"Only the shipments with this tracking number, of any piece. Spaces and case do not matter."`
	Query          string    `query:"query" minLength:"1" maxLength:"200" doc:"Only shipments whose order or tracking number contains this (at least three characters; punctuation and case do not matter), or whose recipient has these words in the name, company, e-mail address (whole, or either side of the @) or city."`
	Status         string    `query:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Only shipments of this status."`
	Carrier        string    `query:"carrier" minLength:"1" maxLength:"50" doc:"Only shipments of this carrier."`
	CreatedAfter   time.Time `query:"createdAfter" doc:"Only shipments created at or after this time."`
	CreatedBefore  time.Time `query:"createdBefore" doc:"Only shipments created before this time."`
	PageRequest
}

// listShipments handles GET /v1/shipments.
func (s *server) listShipments(ctx context.Context, in *listShipmentsRequest) (reply, error) {
	f := shipping.Filter{
		OrderID:       in.OrderID,
		Reference:     in.Reference,
		Number:        in.TrackingNumber,
		Query:         in.Query,
		Status:        ship.Status(in.Status),
		Carrier:       in.Carrier,
		CreatedAfter:  in.CreatedAfter,
		CreatedBefore: in.CreatedBefore,
		Page:          ship.Page{Limit: in.Limit},
	}
	if in.Cursor != "" {
		id, ok := ship.ParseShipmentID(in.Cursor)
		if !ok {
			return reply{}, badCursor()
		}
		f.Page.Before = id.Raw()
	}

	list, more, err := s.Shipping.Shipments(ctx, httpkit.From(ctx).Principal.Tenant, f)
	if err != nil {
		return reply{}, err
	}

	data := make([]wire.Shipment, len(list))
	last := ""
	for i, sh := range list {
		data[i] = wire.ShipmentOf(sh, s.BaseURL)
		last = data[i].ID
	}
	return show(http.StatusOK, pageOf(data, more, last))
}

// PageRequest asks for a part of a list. It is exported because it is embedded
// where only exported fields are read.
type PageRequest struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"How many to list."`
	Cursor string `query:"cursor" minLength:"1" maxLength:"100" doc:"nextCursor of the page before."`
}

func badCursor() error {
	return &ship.Error{
		Kind: ship.Invalid, Code: "invalid_cursor", Message: "the cursor is not one that the service gave out",
		Fields: []ship.FieldError{{Pointer: httpkit.ParameterPrefix + "cursor", Code: "invalid", Detail: "is not a cursor"}},
	}
}
