package royalmail

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void deletes the order. Click & Drop does so until the order is on a manifest;
// one that was deleted before is not there any more.
func (d driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	if strings.HasPrefix(purchase.CarrierRef, returnRef) {
		return carrier.VoidResult{}, &ship.Error{
			Kind:    ship.Invalid,
			Message: "Royal Mail does not void returns over its API: do not use the label",
			Refusal: ship.Refusal{Code: "not_supported", Message: "returns cannot be deleted"},
		}
	}
	answer, err := d.deleteOrder(ctx, purchase.CarrierRef)
	if isAbsent(err) {
		return d.confirmVoided(ctx, purchase.CarrierRef, ship.ErrorOf(err).Refusal)
	}
	if err != nil {
		return carrier.VoidResult{}, explainVoid(err)
	}

	if answer.has(purchase.CarrierRef) {
		return carrier.VoidResult{State: ship.StateVoided}, nil
	}
	if len(answer.Errors) == 0 {
		return carrier.VoidResult{}, uncertain("Royal Mail did not confirm whether the order was deleted")
	}

	refusal := ship.Refusal{Code: answer.Errors[0].Code, Message: answer.Errors[0].Message}
	if saysNotFound(refusal) {
		return d.confirmVoided(ctx, purchase.CarrierRef, refusal)
	}
	return carrier.VoidResult{}, notDeleted(refusal)
}

func notDeleted(refusal ship.Refusal) error {
	return &ship.Error{Kind: ship.Invalid, Message: "Royal Mail did not delete the order", Refusal: refusal}
}

// deleteOrder asks Click & Drop to delete an order. Its answer says whether it
// did.
func (d driver) deleteOrder(ctx context.Context, order string) (deleteAnswer, error) {
	call := d.call(http.MethodDelete, "/orders/"+order)
	call.Effect = true
	var answer deleteAnswer
	err := call.Do(ctx, d.via, &answer)
	return answer, err
}

// has reports whether an order is among the deleted ones.
func (a deleteAnswer) has(order string) bool {
	return slices.ContainsFunc(a.DeletedOrders, func(o deletedOrder) bool {
		return strconv.FormatInt(o.OrderIdentifier, 10) == order
	})
}

// confirmVoided takes an order that Click & Drop did not find for one that was
// deleted before, once a look-up does not find it either. The words of a refusal
// prove nothing: Royal Mail does not publish them, and something else than the
// order may not have been found.
func (d driver) confirmVoided(ctx context.Context, order string, refusal ship.Refusal) (carrier.VoidResult, error) {
	orders, err := d.lookUp(ctx, order)
	isOrder := func(o shownOrder) bool { return strconv.FormatInt(o.OrderIdentifier, 10) == order }
	switch {
	case ship.KindOf(err) == ship.NotFound:
		return carrier.VoidResult{State: ship.StateVoided}, nil
	case err == nil && refusal.Message != "" && slices.ContainsFunc(orders, isOrder):
		return carrier.VoidResult{}, notDeleted(refusal)
	}
	return carrier.VoidResult{}, uncertain("Royal Mail did not confirm whether the order was deleted")
}
