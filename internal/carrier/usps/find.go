package usps

import (
	"context"
	"errors"
	"net/http"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find reprints the label of the idempotency key. It does not repeat the
// purchase, which would buy if nothing was bought before.
//
// A label that was cancelled or is being refunded counts as not found: nothing
// remains that was paid for. A label that USPS does not give out again at all
// is a conflict: it was bought, and only a person can get it.
func (d *driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	c, mailClass := lookupDraft(request)

	var answer reprintAnswer
	err := d.callWithPayment(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + mailClass.path("label-reprint"),
		Body:   reprintRequest{ImageInfo: c.image()},
		Header: http.Header{"Accept": {labelJSON}, "X-Idempotency-Key": {keyOf(request.Reference)}},
	}, &answer)

	// These two refusals say that USPS sold the label but no longer reprints
	// it. Only then is the purchase repeated: the same request under the same
	// key answers with the label that was sold, at no charge.
	if isRefusedWith(err, codeReprintTooLate, codeReprintTooMany) {
		if purchase, err := d.Buy(ctx, request); err == nil {
			return purchase, nil
		}
	}
	if err != nil {
		return ship.Sale{}, lookupError(err)
	}

	metadata, image := answer.Metadata, answer.LabelImage
	if request.Order.IsReturn {
		metadata, image = answer.ReturnMetadata, answer.ReturnLabelImage
	}
	purchase, ok := c.sale(mailClass, metadata, image)
	if !ok {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "the carrier's response does not contain the label")
	}
	return purchase, nil
}

// lookupDraft returns as much of the draft as a look-up needs. It refuses
// nothing: the order was sent once, under the rules that were then in force.
func lookupDraft(request carrier.BuyOrder) (*draft, service) {
	order := request.Order
	c := &draft{order: order, abroad: isAbroad(order.Destination)}
	c.from.State = stateOf(order.Origin)
	c.to.State = stateOf(order.Destination)
	if c.abroad {
		c.to.State = order.Destination.State
	}

	mailClass, ok := serviceBy(func(s service) bool { return s.code == request.Service })
	if !ok {
		mailClass = service{code: request.Service, abroad: c.abroad}
	}
	return c, mailClass
}

// lookupError distinguishes the refusals which prove that no live label exists
// from all others.
func lookupError(err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}

	explained := *refused
	switch {
	case refused.Kind == ship.NotFound:
		// A path that does not exist (404) proves nothing: an older USPS has no
		// look-up by key.
		explained.Kind = ship.Unavailable
		explained.Message = "the carrier cannot look up the purchase"

	case isRefusedWith(err, codeLabelUnknown, codeOrderUnknown, wordsLabelUnknown, wordsOrderUnknown):
		explained.Kind = ship.NotFound
		explained.Message = "the carrier has no purchase with this reference"

	case isRefusedWith(err, codeReprintVoid, codeReprintRefund):
		explained.Kind = ship.NotFound
		explained.Message = "the label of this reference was cancelled"

	case isRefusedWith(err, codeReprintTooLate, codeReprintTooMany):
		explained.Kind = ship.Conflict
		explained.Message = "the carrier sold the label but no longer reprints it"
	}
	return &explained
}
