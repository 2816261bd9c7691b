package royalmail

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void deletes the order. Click & Drop does so until the order is on a manifest;
// one that was deleted before is not there any more.
func (d driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	answer, err := d.deleteOrder(ctx, purchase.CarrierRef)
	if isAbsent(err) {
		return d.confirmVoided(ctx)
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
		return d.confirmVoided(ctx)
	}
	return carrier.VoidResult{}, &ship.Error{Kind: ship.Invalid, Message: "Royal Mail did not delete the order", Refusal: refusal}
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

// confirmVoided takes an order that is not there for one that was deleted before,
// once it is certain that Click & Drop said so.
func (d driver) confirmVoided(ctx context.Context) (carrier.VoidResult, error) {
	if err := d.confirmAbsence(ctx); ship.KindOf(err) != ship.NotFound {
		return carrier.VoidResult{}, uncertain("Royal Mail did not confirm whether the order was deleted")
	}
	return carrier.VoidResult{State: ship.StateVoided}, nil
}
