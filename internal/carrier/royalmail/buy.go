package royalmail

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Buy creates an order with postage and asks for its label. Click & Drop answers
// 200 also if it created nothing.
func (d driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	order, warnings, err := d.newOrder(request, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}

	call := d.call(http.MethodPost, "/orders")
	call.Body = ordersRequest{Items: []orderRequest{order}}
	call.Effect = true
	var answer createAnswer
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return ship.Sale{}, explainAccount(err)
	}
	if len(answer.CreatedOrders) == 0 && len(answer.FailedOrders) > 0 {
		return ship.Sale{}, explainFailed(answer.FailedOrders[0].Errors, request.Order)
	}

	sold, err := d.soldOrder(ctx, answer, request.Reference)
	if err != nil {
		return ship.Sale{}, err
	}
	sold.Warnings = warnings
	if crossesAbroad(request.Order) && sold.CarrierRef != "" && !answer.CreatedOrders[0].hasCustomsForm() {
		d.addCustomsForm(ctx, &sold)
	}
	return sold, nil
}

// hasCustomsForm reports whether Royal Mail says that the customs form is in the
// file of the label.
func (o createdOrder) hasCustomsForm() bool {
	return slices.ContainsFunc(o.Generated, func(document string) bool {
		return strings.HasPrefix(strings.ToUpper(document), "CN2")
	})
}

// soldOrder returns what was sold under the reference.
func (d driver) soldOrder(ctx context.Context, answer createAnswer, reference string) (ship.Sale, error) {
	if len(answer.CreatedOrders) != 1 {
		return ship.Sale{}, uncertain("Royal Mail did not confirm whether the order was created")
	}

	created := answer.CreatedOrders[0]
	switch {
	case created.OrderReference != reference:
		return ship.Sale{}, uncertain("Royal Mail answered about another order")
	case len(created.LabelErrors) > 0 && len(created.Label) == 0:
		return d.printOrDelete(ctx, created)
	case !carrierkit.IsWholePDF(created.Label):
		return ship.Sale{}, uncertain("Royal Mail sent a label that is not complete")
	}

	sold := created.sale()
	sold.Label = ship.Label{Format: "pdf", Data: created.Label}
	return sold, nil
}

// printOrDelete asks once more for the label of an order that was created without
// it. If Royal Mail declines, the order is deleted: nobody could post it, and no
// look-up would ever find it complete. Whatever is not certain is left to a
// look-up.
func (d driver) printOrDelete(ctx context.Context, created createdOrder) (ship.Sale, error) {
	failed := uncertain("Royal Mail created the order without its label")
	failed.Refusal = created.LabelErrors[0].refusal()
	sold := created.sale()
	if sold.CarrierRef == "" {
		return ship.Sale{}, failed
	}

	var file carrierkit.File
	err := d.labelCall(sold.CarrierRef).Do(ctx, d.via, &file)
	switch {
	case err == nil && carrierkit.IsWholePDF(file.Data):
		sold.Label = ship.Label{Format: "pdf", Data: file.Data}
		return sold, nil
	case !isDeclined(err):
		return ship.Sale{}, failed
	}

	deleted, err := d.deleteOrder(ctx, sold.CarrierRef)
	if err != nil || !deleted.has(sold.CarrierRef) {
		return ship.Sale{}, failed
	}
	return ship.Sale{}, &ship.Error{
		Kind:    ship.Invalid,
		Message: "Royal Mail could not create the label, and the order was deleted",
		Refusal: failed.Refusal,
	}
}

// sale returns the numbers of an order.
func (o createdOrder) sale() ship.Sale {
	sold := ship.Sale{TrackingNumber: o.TrackingNumber}
	if o.OrderIdentifier != 0 {
		sold.CarrierRef = strconv.FormatInt(o.OrderIdentifier, 10)
	}
	if sold.TrackingNumber == "" && len(o.Packages) > 0 {
		sold.TrackingNumber = o.Packages[0].TrackingNumber
	}
	return sold
}

func uncertain(message string) *ship.Error {
	return &ship.Error{Kind: ship.Uncertain, Message: message}
}
