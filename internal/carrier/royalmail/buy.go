package royalmail

import (
	"context"
	"net/http"
	"strconv"
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

	sold, err := answer.sale(request.Reference)
	if err != nil {
		return ship.Sale{}, err
	}
	sold.Warnings = warnings
	return sold, nil
}

// sale returns what was sold under the reference. An order without its label is
// uncertain: it exists, and a look-up asks for the label again.
func (a createAnswer) sale(reference string) (ship.Sale, error) {
	if len(a.CreatedOrders) != 1 {
		return ship.Sale{}, uncertain("Royal Mail did not confirm whether the order was created")
	}

	created := a.CreatedOrders[0]
	switch {
	case created.OrderReference != reference:
		return ship.Sale{}, uncertain("Royal Mail answered about another order")
	case len(created.LabelErrors) > 0 && len(created.Label) == 0:
		failed := uncertain("Royal Mail created the order without its label")
		failed.Refusal = ship.Refusal{Code: created.LabelErrors[0].Code, Message: created.LabelErrors[0].Message}
		return ship.Sale{}, failed
	case !carrierkit.IsWholePDF(created.Label):
		return ship.Sale{}, uncertain("Royal Mail sent a label that is not complete")
	}

	sold := created.sale()
	sold.Label = ship.Label{Format: "pdf", Data: created.Label}
	return sold, nil
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
