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
	OrderID           string         `json:"orderId" minLength:"1" maxLength:"100" example:"ORD-1001" doc:"The client's order reference; it need not be unique."`
	Destination       recipientInput `json:"destination" doc:"Where the parcel goes."`
	Parcel            *parcelInput   `json:"parcel,omitempty" doc:"The parcel; for several, use parcels instead."`
	Parcels           []parcelInput  `json:"parcels,omitempty" minItems:"1" maxItems:"50" doc:"Several parcels to one destination, instead of parcel."`
	Origin            *originInput   `json:"origin,omitempty" doc:"Where the parcel comes from: an address, or a location of the account as locationId. Defaults to the account's default location, then to its sender address, then, with a test key, to a sample warehouse."`
	Carrier           string         `json:"carrier,omitempty" minLength:"1" maxLength:"50" example:"ups" doc:"Use this carrier only."`
	Service           string         `json:"service,omitempty" minLength:"1" maxLength:"50" example:"ground" doc:"Use this service only."`
	ConnectionID      string         `json:"connectionId,omitempty" pattern:"^con_[0-7][0-9A-Za-z]{25}$" doc:"Use this carrier account only."`
	RateID            string         `json:"rateId,omitempty" minLength:"1" maxLength:"600" doc:"Buy this rate from POST /v1/rates. Origin, destination, parcels and options must be the same as in the quote; customs, which quotes do not take, may be added."`
	MaxAmount         *moneyInput    `json:"maxAmount,omitempty" doc:"Maximum price of the label."`
	ShipDate          string         `json:"shipDate,omitempty" format:"date" doc:"Date on which the parcel is handed to the carrier; today by default."`
	DeliverBy         string         `json:"deliverBy,omitempty" format:"date" doc:"Date by which the parcel must arrive."`
	LabelFormat       string         `json:"labelFormat,omitempty" enum:"pdf,zpl,png" doc:"Format in which the label is bought; pdf by default. The label can be fetched in any format later."`
	Reference         string         `json:"reference,omitempty" maxLength:"100" doc:"A reference to print on the label."`
	IsReturn          bool           `json:"isReturn,omitempty" doc:"Whether the parcel is a return."`
	Billing           *billingInput  `json:"billing,omitempty" doc:"Who pays the carrier, if not the account itself."`
	Customs           *customsInput  `json:"customs,omitempty" doc:"Customs declaration, for international shipments."`
	Options           *optionsInput  `json:"options,omitempty" doc:"Extra services."`
	AddressValidation string         `json:"addressValidation,omitempty" enum:"off,warn,correct,require" doc:"What to do about the destination: nothing (off), check it and add warnings (warn, the default), use the corrected address and say so in warnings (correct), or buy nothing unless it is valid (require)."`
	OnDuplicateOrder  string         `json:"onDuplicateOrder,omitempty" enum:"allow,return,reject" doc:"What to do if the orderId already has a shipment: buy another (allow, the default), return the existing one (return), or fail (reject)."`
	Metadata          metadataInput  `json:"metadata,omitempty" doc:"Up to 50 custom key-value pairs of your own."`
}

// order returns the order that the body describes, and the fields that are
// invalid.
func (in *shipmentInput) order() (order ship.Order, oneParcel bool, invalid []ship.FieldError) {
	order = ship.Order{
		OrderID:     in.OrderID,
		Reference:   in.Reference,
		Destination: in.Destination.address(),
		ShipDate:    ship.Date(in.ShipDate),
		DeliverBy:   ship.Date(in.DeliverBy),
		LabelFormat: in.LabelFormat,
		IsReturn:    in.IsReturn,
		Billing:     in.Billing.billing(),
		Metadata:    in.Metadata,
		Options:     in.Options.options(in.Destination.ServicePoint, &invalid),
		Customs:     in.Customs.customs(&invalid),
	}
	in.Origin.setOrigin(&order)
	order.Parcels, oneParcel = parcelsOf(in.Parcel, in.Parcels)
	return order, oneParcel, invalid
}

// checkShipment finds the invalid fields of an order whose body does not have
// the right shape: whatever can be read of it is checked all the same.
func checkShipment(ex *httpkit.Exchange) []ship.FieldError {
	var in shipmentInput
	_ = json.Unmarshal(ex.Body, &in) // what does not fit is listed already

	order, oneParcel, invalid := in.order()
	_, err := order.Normalize(ship.Normalizing{
		Tenant:    ex.Principal.Tenant,
		Account:   ex.Principal.Account,
		OneParcel: oneParcel,
		Now:       time.Now().UTC(),
	})
	return append(invalid, fieldsOf(err)...)
}

type createShipmentRequest struct {
	Body shipmentInput
}

// buyInput translates a request.
func buyInput(ex *httpkit.Exchange, in *shipmentInput) (shipping.BuyInput, error) {
	caller := ex.Principal
	order, oneParcel, invalid := in.order()
	out := shipping.BuyInput{
		Tenant:            caller.Tenant,
		Account:           caller.Account,
		Key:               caller.Key,
		Limits:            caller.Limits,
		Order:             order,
		OneParcel:         oneParcel,
		Carrier:           in.Carrier,
		Service:           in.Service,
		Connection:        ship.ConnectionID(in.ConnectionID),
		RateID:            in.RateID,
		MaxAmount:         in.MaxAmount.money("/maxAmount", &invalid),
		OnDuplicate:       in.OnDuplicateOrder,
		AddressValidation: shipping.AddressValidation(in.AddressValidation),
		IdempotencyKey:    ex.Idempotency,
	}

	out.Fingerprint = fingerprintOf(ex)
	if out.RateID != "" && out.IdempotencyKey != "" {
		out.WithoutRate = httpkit.FingerprintWithout("rateId", http.MethodPost, ex.Path, ex.JSON)
	}
	return out, ship.InvalidFields(invalid)
}

// fingerprintOf identifies the request of a purchase. A live purchase without an
// idempotency key is recognized by its body when it is sent again.
func fingerprintOf(ex *httpkit.Exchange) [32]byte {
	if ex.Idempotency == "" && !ex.Principal.Tenant.Livemode {
		return [32]byte{}
	}
	return httpkit.Fingerprint(http.MethodPost, ex.Path, ex.JSON)
}

// createShipment handles POST /v1/shipments.
func (s *server) createShipment(ctx context.Context, in *createShipmentRequest) (reply, error) {
	ex := httpkit.From(ctx)
	input, err := buyInput(ex, &in.Body)
	if err != nil {
		return reply{}, err
	}

	bought, err := s.Shipping.Buy(ctx, input)
	return s.bought(ctx, ex, input, bought, err)
}

// bought answers a purchase with its outcome.
func (s *server) bought(ctx context.Context, ex *httpkit.Exchange, input shipping.BuyInput, bought shipping.Bought, err error) (reply, error) {
	if err != nil {
		return s.refusalReply(ctx, ex, input, err)
	}

	// A pending purchase has no definite answer yet, so none is reported or
	// stored.
	out, err := s.purchaseReply(bought)
	if err != nil || bought.Pending {
		return out, err
	}
	out.after = s.reportAnswered(ctx, ex, input)

	// The shipment was bought under another request, so its row does not answer
	// for this key: the answer is stored under it.
	if bought.Existing && ex.Idempotency != "" {
		return out, s.rememberAnswer(ctx, ex, input, out)
	}
	return out, nil
}

// rememberAnswer makes the idempotency key of a purchase repeat the answer, byte
// for byte.
func (s *server) rememberAnswer(ctx context.Context, ex *httpkit.Exchange, input shipping.BuyInput, out reply) error {
	// The client may have disconnected; its next try must still get the same
	// answer.
	ctx = context.WithoutCancel(ctx)
	answer := ship.Answer{Status: out.status, Body: out.body}
	return s.Account.RecordRefusal(ctx, input.Tenant, ex.Idempotency, input.Fingerprint, answer)
}

// purchaseReply answers a purchase that did not fail. The status of the shipment
// in it is always created: reads that follow show that the label is generated.
func (s *server) purchaseReply(bought shipping.Bought) (reply, error) {
	if bought.Answer != nil {
		out := reply{status: bought.Answer.Status, body: bought.Answer.Body}
		if out.status >= http.StatusBadRequest {
			out.kind = httpkit.ProblemType
		}
		return out.with(httpkit.ReplayedHeader, "true"), nil
	}

	status := http.StatusCreated
	switch {
	case bought.Existing:
		status = http.StatusOK
	case bought.Pending:
		status = http.StatusAccepted
	}
	created := wire.CreatedShipmentOf(bought.Shipment, s.BaseURL, s.firstTrackingPage(bought.Shipment))

	out, err := jsonReply(status, &created)
	out = out.with("Location", "/v1/shipments/"+created.ID)
	if bought.Pending {
		out = out.with("Retry-After", "5")
	}
	if bought.Replayed {
		out = out.with(httpkit.ReplayedHeader, "true")
	}
	return out, err
}

// refusalReply answers a purchase that failed. A definite refusal under an
// idempotency key is stored, with exactly the bytes that are sent.
func (s *server) refusalReply(ctx context.Context, ex *httpkit.Exchange, input shipping.BuyInput, err error) (reply, error) {
	// Only these are definite. After any other failure a repeat tries again.
	switch ship.CodeOf(err) {
	case "carrier_rejected", "price_changed", "approval_denied", "approval_expired":
	default:
		return reply{}, err
	}

	problem := ex.Problem(err)
	out := reply{
		status: problem.Status,
		kind:   httpkit.ProblemType,
		body:   problem.Bytes(),
		after:  s.reportAnswered(ctx, ex, input),
	}
	if ex.Idempotency == "" {
		return out, nil
	}
	return out, s.rememberAnswer(ctx, ex, input, out)
}

// reportAnswered returns a function that reports the purchase as answered if the
// answer reached the client's connection.
func (s *server) reportAnswered(ctx context.Context, ex *httpkit.Exchange, input shipping.BuyInput) func() {
	if s.Answered == nil {
		return nil
	}
	return func() {
		if ex.Delivered(ctx) {
			s.Answered(context.WithoutCancel(ctx), input)
		}
	}
}

type shipmentRequest struct {
	ID string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
}

// shipmentID reads the id in a path. Text that is not an id is not found, as the
// id of another account's shipment is.
func shipmentID(text string) (ship.ShipmentID, error) {
	id, ok := ship.ParseShipmentID(text)
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

	shipment, err := s.Shipping.Shipment(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	return s.showShipment(ctx, shipment)
}

type changeShipmentRequest struct {
	ID   string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Body struct {
		Metadata metadataInput `json:"metadata" doc:"Custom key-value pairs of your own, up to 50. They replace all that the shipment has; an empty object removes them."`
	}
}

// changeShipment handles PATCH /v1/shipments/{id}.
func (s *server) changeShipment(ctx context.Context, in *changeShipmentRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	shipment, err := s.Shipping.ChangeMetadata(ctx, httpkit.From(ctx).Principal.Tenant, id, in.Body.Metadata)
	if err != nil {
		return reply{}, err
	}
	return s.showShipment(ctx, shipment)
}

// showShipment answers with the current state of a shipment.
func (s *server) showShipment(ctx context.Context, shipment ship.Shipment) (reply, error) {
	page := ""
	if s.hasTrackingPage(shipment) {
		path, err := s.Tracking.CurrentPagePath(ctx, shipment)
		if err != nil {
			return reply{}, err
		}
		page = s.BaseURL + path
	}
	shown := wire.WholeShipmentOf(shipment, s.BaseURL, page)
	if err := s.addSubmissions(ctx, shipment, &shown); err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, shown)
}

// firstTrackingPage returns the first address of the recipient's page: the
// answers to a creation and to a void are the same whenever they are repeated.
func (s *server) firstTrackingPage(shipment ship.Shipment) string {
	if !s.hasTrackingPage(shipment) {
		return ""
	}
	return s.BaseURL + s.Tracking.PagePath(shipment.Tenant, shipment.ID)
}

// hasTrackingPage reports whether recipients have a page: not for a shipment
// without a tracking number.
func (s *server) hasTrackingPage(shipment ship.Shipment) bool {
	return s.Tracking != nil && shipment.Purchase.TrackingNumber != ""
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
	return jsonReply(http.StatusOK, wire.CreationOf(order))
}

// voidShipment handles POST /v1/shipments/{id}/void.
func (s *server) voidShipment(ctx context.Context, in *shipmentRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	shipment, err := s.Shipping.Void(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}

	status := http.StatusOK
	if shipment.State != ship.StateVoided {
		status = http.StatusAccepted
	}
	return jsonReply(status, wire.WholeShipmentOf(shipment, s.BaseURL, s.firstTrackingPage(shipment)))
}

type listShipmentsRequest struct {
	OrderID        string    `query:"orderId" minLength:"1" maxLength:"100" doc:"Only shipments of this order."`
	Reference      string    `query:"reference" minLength:"1" maxLength:"100" doc:"Only shipments with this reference."`
	TrackingNumber string    `query:"trackingNumber" minLength:"1" maxLength:"100" doc:"Only shipments with this tracking number, of any piece. Spaces and case are ignored."`
	Query          string    `query:"query" minLength:"1" maxLength:"200" doc:"Only shipments whose order or tracking number contains this (at least three characters; punctuation and case are ignored), or whose recipient has these words in the name, company, e-mail address (whole, or either side of the @) or city."`
	Status         string    `query:"status" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception" doc:"Only shipments with this status."`
	LabelStatus    []string  `query:"labelStatus" enum:"pending,ready,failed,needs_review,voiding,refund_pending,voided" maxItems:"7" doc:"Only shipments with one of these label statuses, separated by commas."`
	Carrier        string    `query:"carrier" minLength:"1" maxLength:"50" doc:"Only shipments of this carrier."`
	CreatedAfter   time.Time `query:"createdAfter" doc:"Only shipments created at or after this time."`
	CreatedBefore  time.Time `query:"createdBefore" doc:"Only shipments created before this time."`
	PageRequest
}

// listShipments handles GET /v1/shipments.
func (s *server) listShipments(ctx context.Context, in *listShipmentsRequest) (reply, error) {
	filter := shipping.Filter{
		OrderID:       in.OrderID,
		Reference:     in.Reference,
		Number:        in.TrackingNumber,
		Query:         in.Query,
		Status:        ship.Status(in.Status),
		States:        ship.StatesOf(in.LabelStatus),
		Carrier:       in.Carrier,
		CreatedAfter:  in.CreatedAfter,
		CreatedBefore: in.CreatedBefore,
		Page:          ship.Page{Limit: in.Limit},
	}
	if in.Cursor != "" {
		id, ok := ship.ParseShipmentID(in.Cursor)
		if !ok {
			return reply{}, invalidCursor()
		}
		filter.Page.Before = id.Raw()
	}

	list, more, err := s.Shipping.Shipments(ctx, httpkit.From(ctx).Principal.Tenant, filter)
	if err != nil {
		return reply{}, err
	}

	data := make([]wire.Shipment, len(list))
	last := ""
	for i, shipment := range list {
		data[i] = wire.ShipmentOf(shipment, s.BaseURL)
		last = data[i].ID
	}
	return jsonReply(http.StatusOK, pageOf(data, more, last))
}

// PageRequest asks for a part of a list. It is exported because it is embedded
// where only exported fields are read.
type PageRequest struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of items to return."`
	Cursor string `query:"cursor" minLength:"1" maxLength:"100" doc:"nextCursor of the previous page."`
}

func invalidCursor() error {
	return &ship.Error{
		Kind:    ship.Invalid,
		Code:    "invalid_cursor",
		Message: "the cursor is not valid; send the nextCursor of an earlier response",
		Fields:  []ship.FieldError{{Pointer: httpkit.ParameterPrefix + "cursor", Code: "invalid", Detail: "is not a valid cursor"}},
	}
}
