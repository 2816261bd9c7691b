package royalmail

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find looks for an order by our reference and prints its label again.
func (d driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	if request.Order.IsReturn {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "Royal Mail cannot look up returns over its API: see whether Click & Drop has one under the reference %s", request.Reference)
	}
	orders, err := d.lookUp(ctx, quoted(request.Reference))
	if err != nil {
		return ship.Sale{}, err
	}

	// References are unique for each attempt. If there are several orders
	// nevertheless, the first is the purchase.
	slices.SortFunc(orders, func(x, y shownOrder) int { return cmp.Compare(x.OrderIdentifier, y.OrderIdentifier) })
	for _, order := range orders {
		found := order.sale(request.Service)
		switch {
		case order.OrderReference != request.Reference || found.CarrierRef == "":
			continue
		case found.TrackingNumber == "":
			// The order exists. Buying again would make a second one, to which
			// postage may be applied as well.
			return ship.Sale{}, ship.Errorf(ship.Unavailable, "Royal Mail has the order and has not applied postage to it: apply it in Click & Drop, or delete the order there, and %s", postageHint)
		}

		label, err := d.fetchLabel(ctx, found.CarrierRef)
		if err != nil {
			return ship.Sale{}, err
		}
		found.Label = label
		if crossesAbroad(request.Order) {
			d.addCustomsForm(ctx, &found)
		}
		return found, nil
	}
	return ship.Sale{}, ship.Errorf(ship.Unavailable, "Royal Mail did not confirm whether the order exists")
}

// lookUp returns the orders under a number or a quoted reference, or an error of
// kind ship.NotFound if there are none. Click & Drop says so with 404, or with a
// list of errors in the place of orders.
func (d driver) lookUp(ctx context.Context, order string) ([]shownOrder, error) {
	var orders []shownOrder
	err := d.call(http.MethodGet, "/orders/"+order).Do(ctx, d.via, &orders)
	isMissing := func(o shownOrder) bool {
		return o.OrderIdentifier == 0 && saysNotFound(ship.Refusal{Code: o.Code, Message: o.Message})
	}
	switch {
	case isAbsent(err):
		return nil, d.confirmAbsence(ctx)
	case err != nil:
		return nil, explainAccount(err)
	case len(orders) > 0 && !slices.ContainsFunc(orders, func(o shownOrder) bool { return !isMissing(o) }):
		return nil, d.confirmAbsence(ctx)
	}
	return orders, nil
}

// confirmAbsence returns that there is no such order, once it is certain that
// Click & Drop said so: its 404 has no body, and a proxy or a wrong address
// answers 404 too. Taking that for Royal Mail's answer would buy a second label.
func (d driver) confirmAbsence(ctx context.Context) error {
	if err := d.checkKey(ctx); err != nil {
		if kind := ship.KindOf(err); kind == ship.NotFound || kind == ship.Invalid {
			return ship.Errorf(ship.Unavailable, "the response did not come from Royal Mail; check the configured URL")
		}
		return err
	}
	return ship.Errorf(ship.NotFound, "Royal Mail has no order under the reference")
}

// labelCall asks for the label of an order, and for its customs forms.
func (d driver) labelCall(order string) carrierkit.Call {
	call := d.call(http.MethodGet, "/orders/"+order+"/label?documentType=postageLabel&includeReturnsLabel=false&includeCN=true")
	call.Header.Set("Accept", "application/pdf, application/json")
	return call
}

// fetchLabel prints the label of an order. The order exists, so a refusal is not
// one of the purchase.
func (d driver) fetchLabel(ctx context.Context, order string) (ship.Label, error) {
	var file carrierkit.File
	if err := d.labelCall(order).Do(ctx, d.via, &file); err != nil {
		return ship.Label{}, explainLabel(err)
	}
	if !carrierkit.IsWholePDF(file.Data) {
		return ship.Label{}, ship.Errorf(ship.Unavailable, "Royal Mail sent a label that is not complete")
	}
	return ship.Label{Format: "pdf", Data: file.Data}, nil
}

// crossesAbroad reports whether Royal Mail prints a customs form for an order.
func crossesAbroad(order ship.Order) bool {
	return !isInland(order.Destination.Country) && carrierkit.NeedsCustoms(order.Origin, order.Destination)
}

// formTime bounds the requests for a customs form: the order is sold, and its
// label is worth more than the form.
const formTime = 8 * time.Second

// addCustomsForm adds the customs form of an order as a document of its own, or a
// warning. Some label formats of the account do not print it with the label. Royal
// Mail chooses between the two forms, and declines the other.
func (d driver) addCustomsForm(ctx context.Context, sold *ship.Sale) {
	ctx, cancel := context.WithTimeout(ctx, formTime)
	defer cancel()

	for _, form := range []string{"CN22", "CN23"} {
		call := d.call(http.MethodGet, "/orders/"+sold.CarrierRef+"/label?documentType="+form)
		call.Header.Set("Accept", "application/pdf, application/json")
		var file carrierkit.File
		err := call.Do(ctx, d.via, &file)
		if err == nil && carrierkit.IsWholePDF(file.Data) {
			sold.Documents = append(sold.Documents, ship.Document{Type: "customs_form", Format: "pdf", Data: file.Data})
			return
		}
		if !isDeclined(err) {
			break
		}
	}
	sold.Warnings = append(sold.Warnings, "Royal Mail did not confirm that it printed the customs form (CN22 or CN23); if it is not in the file of the label, print it in Click & Drop")
}
