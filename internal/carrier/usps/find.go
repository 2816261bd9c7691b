package usps

import (
	"context"
	"errors"
	"net/http"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find has the label of the idempotency key printed again. It does not repeat
// the purchase, which would buy if nothing was bought before, unless USPS says
// that it sold the label and prints it no more: then the same request under the
// same key answers with that label, for nothing.
//
// A label that was cancelled, or whose money is being returned, is not found:
// nothing that is paid for is left. A label that USPS does not give again at
// all is a conflict: it was bought, and only a person can get it.
func (d *driver) Find(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	c, s := recall(b)
	var a reprintAnswer
	err := d.pay(ctx, carrierkit.Call{
		Method: http.MethodPost, URL: d.base + s.path("label-reprint"), Body: reprintRequest{ImageInfo: c.image()},
		Header: http.Header{"Accept": {labelJSON}, "X-Idempotency-Key": {keyOf(b.Reference)}},
	}, &a)
	if refusedWith(err, codeReprintTooLate, codeReprintTooMany) {
		if p, again := d.Buy(ctx, b); again == nil {
			return p, nil
		}
	}
	if err != nil {
		return ship.Purchase{}, notFound(err)
	}
	p, ok := c.purchase(s, a.Metadata, a.LabelImage)
	if !ok {
		return ship.Purchase{}, ship.Errorf(ship.Unavailable, "the carrier answered with something else than the label")
	}
	return p, nil
}

// recall is as much of the consignment as a look-up needs. It refuses nothing:
// the order was sent once, by whatever rules were then in force.
func recall(b carrier.BuyOrder) (*consignment, service) {
	c := &consignment{order: b.Order, abroad: isAbroad(b.Order.Destination)}
	c.from.State = stateOf(b.Order.Origin)
	c.to.State = stateOf(b.Order.Destination)
	if c.abroad {
		c.to.State = b.Order.Destination.State
	}
	s, ok := serviceBy(func(s service) bool { return s.code == b.Service })
	if !ok {
		s = service{code: b.Service, abroad: c.abroad}
	}
	return c, s
}

// notFound tells the refusals that prove that no live label is there from all
// others. A path that is not there (404) proves nothing: an older USPS has no
// look-up by key.
func notFound(err error) error {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	told := *e
	switch {
	case e.Kind == ship.NotFound:
		told.Kind, told.Message = ship.Unavailable, "the carrier cannot look the purchase up"
	case refusedWith(err, codeLabelUnknown, codeOrderUnknown, wordsLabelUnknown, wordsOrderUnknown):
		told.Kind, told.Message = ship.NotFound, "the carrier sold nothing under this reference"
	case refusedWith(err, codeReprintVoid, codeReprintRefund):
		told.Kind, told.Message = ship.NotFound, "the label of this reference was cancelled"
	case refusedWith(err, codeReprintTooLate, codeReprintTooMany):
		told.Kind, told.Message = ship.Conflict, "the carrier sold the label and does not print it again"
	}
	return &told
}
