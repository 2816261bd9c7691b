package easypost

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

func (s *server) buyShipment(ctx context.Context, in *request) (answer, error) {
	object, d, err := s.find(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	// Most clients send an object with the id, some the id alone.
	rate := in.body.text("rate")
	if given := in.body.object("rate"); given != nil {
		rate = given.text("id")
	}
	if rate == "" {
		return answer{}, required("rate")
	}

	object, d, err = s.buy(ctx, in, object, d, rate, in.body.text("insurance"))
	if err != nil {
		return answer{}, err
	}
	shown, err := s.shipment(ctx, in, object, d)
	return answer{status: http.StatusOK, body: shown}, err
}

// buy buys a rate of a shipment, once. A repeat of the purchase answers with what
// was bought; a request for another rate of a shipment that is bought is refused.
func (s *server) buy(ctx context.Context, in *request, object compat.Object, d draft, rate, insurance string) (compat.Object, draft, error) {
	i := slices.IndexFunc(d.Rates, func(quoted draftRate) bool { return quoted.ID == rate })
	switch {
	case object.Shipment != "":
		bought, err := s.Shipping.Shipment(ctx, in.tenant, object.Shipment)
		if err == nil && (i < 0 || !isOffer(bought.Purchase, d.Rates[i].Rate)) {
			err = alreadyBought()
		}
		return object, d, err
	case i < 0:
		return object, d, invalid("rate", "is not a rate of this shipment; retrieve or rerate it, and buy one of its rates")
	}

	if insurance != "" {
		d.Insurance = insurance
	}
	input, err := s.purchase(in, object, d, d.Rates[i], insurance != "")
	if err != nil {
		return object, d, err
	}
	bought, err := s.Shipping.Buy(ctx, input)
	if ship.CodeOf(err) == "rate_expired" {
		// The carrier is asked again, and may charge what was shown.
		input.RateID = ""
		input.MaxAmount = d.Rates[i].Rate.Price
		setOffer(&input, d.Rates[i].Rate)
		bought, err = s.Shipping.Buy(ctx, input)
	}
	if err != nil {
		return object, d, s.declined(ctx, in, object, err)
	}
	if bought.Pending {
		if bought.Shipment, err = s.await(ctx, bought.Shipment); err != nil {
			return object, d, s.declined(ctx, in, object, err)
		}
	}

	// The client may have left; its next try must find what was bought.
	ctx = context.WithoutCancel(ctx)
	body, err := d.encode(time.Now())
	if err != nil {
		return object, d, err
	}
	object, err = s.Compat.Bought(ctx, in.tenant, object, bought.Shipment.ID, body)
	if err == nil && !isOffer(bought.Shipment.Purchase, d.Rates[i].Rate) {
		err = alreadyBought() // by an earlier request, at another rate
	}
	return object, d, err
}

// purchase is the request that buys a rate. A shipment that is insured at its
// purchase was quoted without it, so the rate's service is bought at its present
// price.
func (s *server) purchase(in *request, object compat.Object, d draft, quoted draftRate, isInsured bool) (shipping.BuyInput, error) {
	caller := in.caller
	order, err := d.order(in.tenant, caller.Account, object.ID.IDWithPrefix(prefixShipment), object.Reference)
	if err != nil {
		return shipping.BuyInput{}, err
	}
	name, former := compat.PurchaseNames(object)
	input := shipping.BuyInput{
		Tenant:         in.tenant,
		Account:        caller.Account,
		Key:            caller.Key,
		Limits:         caller.Limits,
		Order:          order,
		OneParcel:      true,
		RateID:         quoted.Token,
		IdempotencyKey: name.Key,
		Fingerprint:    name.Fingerprint,
		FormerName:     former,
	}
	if isInsured {
		input.RateID = ""
		setOffer(&input, quoted.Rate)
	}
	return input, nil
}

// setOffer asks for the service of a rate without its token.
func setOffer(input *shipping.BuyInput, rate ship.Rate) {
	input.Carrier = rate.Carrier
	input.Service = rate.Service
	input.Connection = rate.Connection
}

// isOffer reports whether a purchase is that of the rate.
func isOffer(bought ship.Purchase, rate ship.Rate) bool {
	return bought.Carrier == rate.Carrier && bought.Service == rate.Service && bought.Connection == rate.Connection
}

func alreadyBought() error {
	return ship.Coded(ship.Invalid, "already_bought", "postage already exists for this shipment; retrieve it")
}

// declined lets the shipment be bought again if the carrier has declined for good:
// the client then chooses another rate. After any other failure the next purchase
// is a repeat of this one.
func (s *server) declined(ctx context.Context, in *request, object compat.Object, err error) error {
	switch ship.CodeOf(err) {
	case "carrier_rejected", "price_changed", "approval_denied", "approval_expired":
		if failed := s.Compat.Declined(context.WithoutCancel(ctx), in.tenant, object); failed != nil {
			return failed
		}
	}
	return err
}

// answerMargin is what is left of a request's time when waiting ends.
const answerMargin = 2 * time.Second

// await waits for a purchase whose carrier is slow: the official clients wait for a
// minute and have no word for "pending". If it takes longer, the same request finds
// out later.
func (s *server) await(ctx context.Context, bought ship.Shipment) (ship.Shipment, error) {
	deadline, ok := ctx.Deadline()
	if bought.State == ship.StateAwaitingApproval {
		ok = false // people take longer than clients wait
	}
	for ok && time.Until(deadline) > answerMargin {
		select {
		case <-ctx.Done():
			return ship.Shipment{}, ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}

		shipment, err := s.Shipping.Shipment(ctx, bought.Tenant, bought.ID)
		switch {
		case err != nil:
			return shipment, err
		case shipment.State.Bought():
			return shipment, nil
		case shipment.State == ship.StateFailed:
			return shipment, ship.Coded(ship.Invalid, "carrier_rejected", "the carrier did not sell the label")
		case shipment.State == ship.StateNeedsReview:
			return shipment, ship.Coded(ship.Uncertain, "outcome_unknown", "the carrier could not confirm the purchase; it is under review, and nothing is bought again before that")
		}
	}

	if bought.State == ship.StateAwaitingApproval {
		return ship.Shipment{}, ship.Coded(ship.Conflict, "approval_required",
			"the purchase costs more than the key may spend without a person, who must approve it in the dashboard; buy the same rate again after that: it is bought once")
	}
	pending := ship.Coded(ship.Conflict, "purchase_in_progress", "the carrier has not answered yet; retrieve the shipment later, or buy the same rate again: it is bought once")
	pending.RetryAfter = 5 * time.Second
	return ship.Shipment{}, pending
}

func (s *server) refundShipment(ctx context.Context, in *request) (answer, error) {
	object, d, err := s.find(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	if object.Shipment == "" {
		return answer{}, ship.Coded(ship.Invalid, "label_not_ready", "the shipment has no postage to refund")
	}
	voided, err := s.Shipping.Void(ctx, in.tenant, object.Shipment)
	if err != nil {
		return answer{}, err
	}

	shown, err := s.shipment(ctx, in, object, d)
	if err != nil {
		return answer{}, err
	}
	// There, a refund is never done at once, and programs compare with this word.
	if voided.State.Bought() && voided.State != ship.StatePurchased {
		shown.RefundStatus = new("submitted")
	}
	return answer{status: http.StatusOK, body: shown}, nil
}

// refundObject is the refund of a label.
type refundObject struct {
	head
	TrackingCode       string  `json:"tracking_code"`
	ConfirmationNumber *string `json:"confirmation_number"`
	Status             string  `json:"status"`
	Carrier            string  `json:"carrier"`
	ShipmentID         string  `json:"shipment_id"`
}

func (s *server) createRefunds(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("refund")
	codes := given.names("tracking_codes")
	if len(codes) == 0 {
		return answer{}, required("tracking_codes")
	}
	if len(codes) > maxRefunds {
		return answer{}, invalid("tracking_codes", "must have at most 50 codes")
	}

	out := []refundObject{}
	for _, code := range codes {
		tracked, err := s.Tracking.Track(ctx, in.tenant, code, ownCarrier(given.text("carrier")))
		if err == nil && tracked.Shipment == "" || ship.KindOf(err) == ship.NotFound {
			return answer{}, invalid("tracking_codes", "has a code that no shipment of this account has")
		}
		if err != nil {
			return answer{}, err
		}
		voided, err := s.Shipping.Void(ctx, in.tenant, tracked.Shipment)
		if err != nil {
			return answer{}, err
		}
		refund := refundOf(voided)
		if refund.Status == "refunded" {
			refund.Status = "submitted" // there, a refund is never done at once
		}
		out = append(out, refund)
	}
	return answer{status: http.StatusCreated, body: out}, nil
}

// maxRefunds is how many labels one request gives back: each asks its carrier.
const maxRefunds = 50

func refundOf(voided ship.Shipment) refundObject {
	status := refundStatuses[voided.State]
	if status == "" {
		status = "rejected"
	}
	return refundObject{
		head:         headOf(voided.Tenant, "Refund", prefixRefund, voided.ID.Raw()),
		TrackingCode: voided.Purchase.TrackingNumber,
		Status:       status,
		Carrier:      theirCarrier(voided.Purchase.Carrier),
		ShipmentID:   theirShipmentID(voided),
	}
}

// theirShipmentID is the id under which a client knows a shipment: that of the rated
// one if it was bought here, else its own.
func theirShipmentID(shipment ship.Shipment) string {
	if id := shipment.Order.Metadata[shipmentKey]; id != "" {
		return id
	}
	return string(shipment.ID)
}

func (s *server) getRefund(ctx context.Context, in *request) (answer, error) {
	id, ok := parseID(in.id, prefixRefund)
	if !ok {
		return answer{}, notFound()
	}
	shipment, err := s.Shipping.Shipment(ctx, in.tenant, ship.ShipmentIDOf(id))
	if err != nil {
		return answer{}, err
	}
	if refundStatuses[shipment.State] == "" {
		return answer{}, notFound()
	}
	return answer{status: http.StatusOK, body: refundOf(shipment)}, nil
}

func (s *server) listRefunds(ctx context.Context, in *request) (answer, error) {
	limit, err := pageSize(in)
	if err != nil {
		return answer{}, err
	}

	filter := shipping.Filter{
		States: []ship.State{ship.StateVoiding, ship.StateRefundPending, ship.StateVoided},
		Page:   ship.Page{Limit: limit},
	}
	if given := in.query.Get("before_id"); given != "" {
		id, ok := parseID(given, prefixRefund)
		if !ok {
			return answer{}, invalid("before_id", "is not the id of a refund")
		}
		filter.Page.Before = id
	}

	list, more, err := s.Shipping.Shipments(ctx, in.tenant, filter)
	if err != nil {
		return answer{}, err
	}

	out := make([]refundObject, len(list))
	for i, shipment := range list {
		out[i] = refundOf(shipment)
	}
	return answer{status: http.StatusOK, body: map[string]any{"refunds": out, "has_more": more}}, nil
}

// check asks the account's carriers about an address.
func (s *server) check(ctx context.Context, t ship.Tenant, address ship.Address) (ship.AddressCheck, error) {
	return s.Addresses.Validate(ctx, addresscheck.Request{Tenant: t, Address: address})
}
