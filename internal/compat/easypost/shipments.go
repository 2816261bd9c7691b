package easypost

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
)

// feeObject is a part of what was charged.
type feeObject struct {
	Object   string `json:"object"`
	Type     string `json:"type"`
	Amount   string `json:"amount"`
	Charged  bool   `json:"charged"`
	Refunded bool   `json:"refunded"`
}

// shipmentObject is a shipment.
type shipmentObject struct {
	head
	Reference      *string            `json:"reference"`
	IsReturn       bool               `json:"is_return"`
	ToAddress      *addressObject     `json:"to_address"`
	FromAddress    *addressObject     `json:"from_address"`
	ReturnAddress  *addressObject     `json:"return_address"`
	BuyerAddress   *addressObject     `json:"buyer_address"`
	Parcel         *parcelObject      `json:"parcel"`
	CustomsInfo    *customsInfoObject `json:"customs_info"`
	Options        map[string]any     `json:"options"`
	Rates          []rateObject       `json:"rates"`
	SelectedRate   *rateObject        `json:"selected_rate"`
	PostageLabel   *labelObject       `json:"postage_label"`
	TrackingCode   *string            `json:"tracking_code"`
	Tracker        *trackerObject     `json:"tracker"`
	Status         string             `json:"status"`
	RefundStatus   *string            `json:"refund_status"`
	Insurance      *string            `json:"insurance"`
	Messages       []messageObject    `json:"messages"`
	Fees           []feeObject        `json:"fees"`
	Forms          []any              `json:"forms"`
	Zone           *int               `json:"usps_zone"`
	ScanForm       any                `json:"scan_form"`
	OrderID        *string            `json:"order_id"`
	BatchID        *string            `json:"batch_id"`
	BatchStatus    *string            `json:"batch_status"`
	BatchMessage   *string            `json:"batch_message"`
	TaxIdentifiers []any              `json:"tax_identifiers"`
}

func (s *server) createShipment(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("shipment")
	if given == nil {
		return answer{}, required("shipment")
	}
	service := given.text("service")
	if service != "" && !in.caller.Can("shipments:write") {
		return answer{}, ship.Coded(ship.Forbidden, "insufficient_scope", "the key lacks the scope shipments:write; use a key that has it")
	}

	if service == "" {
		object, d, err := s.newShipment(ctx, in, given, nil)
		if err != nil {
			return answer{}, err
		}
		shown, err := s.shipment(ctx, in, object, d)
		return answer{status: http.StatusCreated, body: shown}, err
	}

	// The client names the service: the shipment is bought in the same call. If the
	// client repeats it because the answer was lost, the first shipment is bought.
	pending := compat.NewPending(in.tenant, in.caller.Key, in.raw, time.Now().UTC())
	object, d, err := s.pendingShipment(ctx, in, pending)
	if ship.KindOf(err) == ship.NotFound {
		object, d, err = s.newShipment(ctx, in, given, &pending)
		if ship.KindOf(err) == ship.Conflict {
			object, d, err = s.pendingShipment(ctx, in, pending)
		}
	}
	if err != nil {
		return answer{}, err
	}

	carrier := ownCarrier(given.text("carrier"))
	i := slices.IndexFunc(d.Rates, func(quoted draftRate) bool {
		return isService(service, quoted.Rate.Carrier, quoted.Rate.Service) && (carrier == "" || carrier == quoted.Rate.Carrier)
	})
	if i < 0 {
		// There is nothing to buy of it, so a repeat must not find it: it asks the
		// carriers again.
		if err := s.Compat.Forget(ctx, in.tenant, pending); err != nil {
			return answer{}, err
		}
		return answer{}, ship.Coded(ship.Invalid, "no_rate", "no connected carrier account offers this service for this shipment")
	}
	object, d, err = s.buy(ctx, in, object, d, d.Rates[i].ID, "")
	if err != nil {
		return answer{}, err
	}
	shown, err := s.shipment(ctx, in, object, d)
	return answer{status: http.StatusCreated, body: shown, after: func(ctx context.Context) {
		if err := s.Compat.Forget(ctx, in.tenant, pending); err != nil {
			s.Log.WarnContext(ctx, "purchase answered but left open for its retry", "error", err)
		}
	}}, err
}

// pendingShipment returns the shipment of an earlier request to create and buy whose
// answer may have been lost; ship.NotFound if there was none.
func (s *server) pendingShipment(ctx context.Context, in *request, pending compat.Object) (compat.Object, draft, error) {
	first, err := s.Compat.Object(ctx, in.tenant, pending.Kind, pending.ID)
	if err != nil {
		return first, draft{}, err
	}
	var id string
	if err := json.Unmarshal(first.Body, &id); err != nil {
		return first, draft{}, err
	}
	return s.find(ctx, in, id)
}

// newShipment stores a shipment with its rates, and the objects that it is made of.
// A request to create and buy is stored with it.
func (s *server) newShipment(ctx context.Context, in *request, given values, pending *compat.Object) (compat.Object, draft, error) {
	created := s.newDrafts(in.tenant)
	d, err := created.draftFrom(ctx, given)
	if err != nil {
		return compat.Object{}, d, err
	}

	object := compat.NewObject(in.tenant, compat.Shipment, created.now)
	object.Reference = given.text("reference")
	if len(object.Reference) > 200 {
		return object, d, invalid("reference", "must have at most 200 characters")
	}
	if err := s.quote(ctx, in, &d, object.ID.IDWithPrefix(prefixShipment), object.Reference); err != nil {
		return object, d, err
	}
	if object.Body, err = d.encode(created.now); err != nil {
		return object, d, err
	}
	if len(object.Body) > 2*maxObject {
		return object, d, invalid("shipment", "is too large: "+strconv.Itoa(2*maxObject>>10)+" KiB is the most, with its rates")
	}
	created.created = append(created.created, object)
	if pending != nil {
		if pending.Body, err = json.Marshal(object.ID.IDWithPrefix(prefixShipment)); err != nil {
			return object, d, err
		}
		created.created = append(created.created, *pending)
	}
	return object, d, created.store(ctx)
}

// find returns a shipment by its id or its reference.
func (s *server) find(ctx context.Context, in *request, name string) (compat.Object, draft, error) {
	var object compat.Object
	var err error
	if id, ok := parseID(name, prefixShipment); ok {
		object, err = s.Compat.Object(ctx, in.tenant, compat.Shipment, id)
	} else {
		object, err = s.Compat.ByReference(ctx, in.tenant, compat.Shipment, name)
	}
	if ship.KindOf(err) == ship.NotFound {
		return object, draft{}, notFound()
	}
	if err != nil {
		return object, draft{}, err
	}
	var d draft
	err = json.Unmarshal(object.Body, &d)
	return object, d, err
}

func (s *server) getShipment(ctx context.Context, in *request) (answer, error) {
	object, d, err := s.find(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	shown, err := s.shipment(ctx, in, object, d)
	return answer{status: http.StatusOK, body: shown}, err
}

func (s *server) listShipments(ctx context.Context, in *request) (answer, error) {
	filter, err := filterOf(in, compat.Shipment, prefixShipment)
	if err != nil {
		return answer{}, err
	}
	// There, a list shows what was bought unless the client says otherwise.
	filter.Bought = new(true)
	if given := in.query.Get("purchased"); given != "" && !isAsked(given) {
		filter.Bought = nil
	}

	objects, more, err := s.Compat.Objects(ctx, in.tenant, filter)
	if err != nil {
		return answer{}, err
	}
	list := make([]*shipmentObject, len(objects))
	for i, object := range objects {
		var d draft
		if err := json.Unmarshal(object.Body, &d); err != nil {
			return answer{}, err
		}
		if list[i], err = s.shipment(ctx, in, object, d); err != nil {
			return answer{}, err
		}
	}
	return answer{status: http.StatusOK, body: map[string]any{"shipments": list, "has_more": more}}, nil
}

// shipment is a shipment as clients see it.
func (s *server) shipment(ctx context.Context, in *request, object compat.Object, d draft) (*shipmentObject, error) {
	id := object.ID.IDWithPrefix(prefixShipment)
	out := &shipmentObject{
		head:           headOf(in.tenant, "Shipment", prefixShipment, object.ID),
		Reference:      orNull(object.Reference),
		IsReturn:       d.IsReturn,
		ToAddress:      d.To,
		FromAddress:    d.From,
		ReturnAddress:  d.Return,
		BuyerAddress:   d.Buyer,
		Parcel:         d.Parcel,
		CustomsInfo:    d.CustomsInfo,
		Options:        d.Options,
		Rates:          ratesOf(in.tenant, id, d.Rates),
		Status:         "unknown",
		Insurance:      orNull(d.Insurance),
		Messages:       d.Messages,
		Fees:           []feeObject{},
		Forms:          []any{},
		TaxIdentifiers: d.TaxIdentifiers,
	}
	out.UpdatedAt = orNull(d.UpdatedAt)
	if out.TaxIdentifiers == nil {
		out.TaxIdentifiers = []any{}
	}
	if object.Shipment == "" {
		return out, nil
	}

	bought, err := s.Shipping.Shipment(ctx, in.tenant, object.Shipment)
	if err != nil {
		return nil, err
	}
	return out, s.showPurchase(ctx, in, out, d, bought)
}

// showPurchase adds what was bought.
func (s *server) showPurchase(ctx context.Context, in *request, out *shipmentObject, d draft, bought ship.Shipment) error {
	purchase := bought.Purchase
	out.TrackingCode = orNull(purchase.TrackingNumber)
	out.RefundStatus = orNull(refundStatuses[bought.State])
	out.SelectedRate = selectedRate(in.tenant, out.ID, d, bought)
	out.Fees = []feeObject{{
		Object:   "Fee",
		Type:     "PostageFee",
		Amount:   purchase.Price.Amount(),
		Charged:  true,
		Refunded: bought.State == ship.StateVoided,
	}}
	for i, kind := range purchase.Documents {
		out.Forms = append(out.Forms, map[string]any{
			"object":    "Form",
			"form_type": kind,
			"form_url":  s.BaseURL + "/v1/shipments/" + string(bought.ID) + "/documents/" + strconv.Itoa(i+1),
		})
	}

	tracked, err := s.Tracking.Track(ctx, in.tenant, string(bought.ID), "")
	if ship.KindOf(err) == ship.NotFound {
		tracked = tracking.Tracked{TrackingNumber: purchase.TrackingNumber, Carrier: purchase.Carrier, Shipment: bought.ID, Progress: bought.Progress}
	} else if err != nil {
		return err
	}
	if out.Tracker, err = s.tracker(ctx, in.tenant, tracked, &bought); err != nil {
		return err
	}
	out.Status = out.Tracker.Status

	if bought.State != ship.StatePurchased {
		return nil
	}
	out.PostageLabel, err = s.postageLabel(ctx, in, bought, strings.ToUpper(values(d.Options).text("label_format")))
	return err
}

// refundStatuses are the states of a label that was given back.
var refundStatuses = map[ship.State]string{
	ship.StateVoiding:       "submitted",
	ship.StateRefundPending: "submitted",
	ship.StateVoided:        "refunded",
}
