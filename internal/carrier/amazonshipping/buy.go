package amazonshipping

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Buy purchases a label: it asks for a quote, which is what Amazon sells, and buys
// the chosen offer of it. Whatever fails before the purchase itself has bought
// nothing.
func (d *driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	order, warnings, err := carrierkit.FitTexts(request.Order, addressLimits.Charset, addressLimits.Charset)
	if err != nil {
		return ship.Sale{}, err
	}
	request.Order = order

	draft, err := d.newDraft(order, request.Reference, false)
	if err != nil {
		return ship.Sale{}, err
	}
	quoted, offers, err := d.quote(ctx, draft)
	if err != nil {
		return ship.Sale{}, err
	}
	chosen, err := choose(quoted, offers, request)
	if err != nil {
		return ship.Sale{}, err
	}

	body := purchaseRequest{Token: quoted.Token, RateID: chosen.rated.ID}
	for _, e := range chosen.extras {
		body.Extras = append(body.Extras, requestedExtra{e.ID})
	}
	document, ok := documentOf(chosen.rated, order.LabelFormat)
	if !ok {
		return ship.Sale{}, ship.Errorf(ship.Invalid, "Amazon Shipping offers no label that can be printed for this service")
	}
	body.Document = document

	answer, err := d.purchase(ctx, body, request.Reference)
	if err != nil {
		return ship.Sale{}, err
	}
	sold, err := chosen.sale(answer, request.Reference)
	if err != nil {
		return ship.Sale{}, err
	}
	sold.Warnings = append(warnings, draft.warnings...)
	if chosen.rated.CarrierID != d.carrierID {
		sold.Warnings = append(sold.Warnings, "Amazon's carrier ID is "+chosen.rated.CarrierID+": set tracking_carrier_id of the connection to it, or the parcel cannot be tracked")
	}
	return sold, nil
}

// purchase buys an offer of a quote. Amazon recognizes a repetition by its key, as long
// as the quote lives, so the key is the reference of the attempt and nothing else: the
// same request under it is the same shipment.
//
// fact: idempotency-key
func (d *driver) purchase(ctx context.Context, body purchaseRequest, reference string) (purchaseAnswer, error) {
	var answer purchaseAnswer
	err := d.do(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/shipping/v2/shipments",
		Header: http.Header{"X-Amzn-Idempotencykey": {reference}},
		Body:   body,
		Effect: true,
	}, &answer)
	return answer, err
}

// choose returns the offer that the client chose, or the cheapest of the service
// if it chose none.
func choose(quoted quote, offers []offer, request carrier.BuyOrder) (offer, error) {
	if !slices.ContainsFunc(services, func(s service) bool { return s.code == request.Service }) {
		return offer{}, carrierkit.InvalidOrder("Amazon Shipping", []ship.FieldError{{
			Pointer: "/service",
			Code:    "invalid",
			Detail:  "Amazon Shipping has no service \"" + request.Service + "\"; GET /v1/carriers lists its services",
		}})
	}

	wanted, wasChosen := parseSelection(request.Selection)
	i := slices.IndexFunc(offers, func(o offer) bool {
		if wasChosen {
			return o.rated.ServiceID == wanted.serviceID
		}
		return o.service.code == request.Service
	})
	if i < 0 {
		return offer{}, noOffer(quoted)
	}

	// The quote that the client saw has ended, so the price may be another.
	chosen := offers[i]
	if wasChosen && chosen.isDearer(wanted.price) {
		return offer{}, &ship.Error{
			Kind:    ship.Invalid,
			Message: "the price of Amazon Shipping has risen to " + chosen.price.String() + " since it was quoted; ask for rates again",
		}
	}
	return chosen, nil
}

// isDearer reports whether the offer costs more than the price that was quoted.
func (o offer) isDearer(quoted string) bool {
	amount, ok := strings.CutSuffix(quoted, o.price.Currency)
	price, valid := ship.ParseMoney(amount, o.price.Currency)
	return !ok || !valid || o.price.Minor > price.Minor
}

// documentOf chooses among the labels that the rate can have, as the purchase must
// name one of them: the wanted format first, and a size of four by six inches.
func documentOf(offered rate, wanted string) (requestedDocument, bool) {
	for _, format := range []string{strings.ToUpper(wanted), "PDF", "ZPL", "PNG"} {
		var best *requestedDocument
		for _, supported := range offered.Documents {
			if supported.Format != format {
				continue
			}
			found, ok := supported.label()
			if ok && (best == nil || supported.Size.isLabel()) {
				best = &found
			}
			if supported.Size.isLabel() && ok {
				break
			}
		}
		if best != nil {
			return *best, true
		}
	}
	return requestedDocument{}, false
}

// isLabel reports whether the size is four by six inches, or nearly that.
func (s documentSize) isLabel() bool {
	width, err := s.Width.Float64()
	length, err2 := s.Length.Float64()
	if err != nil || err2 != nil {
		return false
	}
	if s.Unit == "CENTIMETER" {
		width /= 2.54
		length /= 2.54
	}
	return width > 3.8 && width < 4.3 && length > 5.5 && length < 6.3
}

// label returns how to ask for a label of the kind; not ok if it has none.
func (s supportedDocument) label() (requestedDocument, bool) {
	for _, option := range s.Options {
		asked := requestedDocument{Format: s.Format, Size: s.Size}
		for _, detail := range option.Details {
			if detail.Name == "LABEL" || detail.IsMandatory {
				asked.Types = append(asked.Types, detail.Name)
			}
		}
		if !slices.Contains(asked.Types, "LABEL") {
			continue
		}

		if len(option.Layouts) > 0 {
			asked.Layout = option.Layouts[0]
		}
		asked.IsJoined = len(option.Joining) > 0 && !slices.Contains(option.Joining, false)
		for _, resolution := range []int{300, 203} {
			if slices.Contains(option.Resolutions, resolution) {
				asked.Resolution = resolution // printers that people have, the usual last
			}
		}
		if asked.Resolution == 0 && len(option.Resolutions) > 0 {
			asked.Resolution = option.Resolutions[0]
		}
		return asked, true
	}
	return requestedDocument{}, false
}

// sale reads the answer. One without a label or a number, or about another
// package, is uncertain: Amazon has sold something.
func (o offer) sale(answer purchaseAnswer, reference string) (ship.Sale, error) {
	if answer.Payload == nil || len(answer.Payload.Packages) != 1 {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "Amazon Shipping did not confirm the purchase")
	}
	parcel := answer.Payload.Packages[0]
	if string(parcel.Reference) != reference {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "Amazon Shipping answered with a different parcel")
	}

	sold := ship.Sale{
		Service:        o.service.code,
		ServiceName:    o.service.name,
		CarrierRef:     string(answer.Payload.ShipmentID),
		TrackingNumber: string(parcel.TrackingID),
		Price:          o.price,
		DeliveryAt:     timeOf(answer.Payload.Promise.Value.Delivery.End),
	}
	for _, received := range parcel.Documents {
		document := received.Value
		format := strings.ToLower(document.Format)
		switch {
		case document.Type == "LABEL":
			sold.Label = ship.Label{Format: format, Data: document.Contents}
		case len(document.Contents) > 0:
			sold.Documents = append(sold.Documents, ship.Document{Type: strings.ToLower(document.Type), Format: format, Data: document.Contents})
		}
	}
	return sold, nil
}
