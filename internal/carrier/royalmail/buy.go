package royalmail

import (
	"context"
	"errors"
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
	if request.Order.IsReturn {
		return d.buyReturn(ctx, request)
	}
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

	sold, err := d.soldOrder(ctx, answer, request)
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
func (d driver) soldOrder(ctx context.Context, answer createAnswer, request carrier.BuyOrder) (ship.Sale, error) {
	if len(answer.CreatedOrders) != 1 {
		return ship.Sale{}, uncertain("Royal Mail did not confirm whether the order was created")
	}

	created := answer.CreatedOrders[0]
	switch {
	case created.OrderReference != request.Reference:
		return ship.Sale{}, uncertain("Royal Mail answered about another order")
	case len(created.LabelErrors) > 0 && len(created.Label) == 0:
		return d.printOrDelete(ctx, created, request.Service)
	case !carrierkit.IsWholePDF(created.Label):
		return ship.Sale{}, uncertain("Royal Mail sent a label that is not complete")
	}

	sold := created.sale(request.Service)
	sold.Label = ship.Label{Format: "pdf", Data: created.Label}
	return sold, nil
}

// printOrDelete asks once more for the label of an order that was created without
// it. If Royal Mail declines, the order is deleted: nobody could post it, and no
// look-up would ever find it complete. Whatever is not certain is left to a
// look-up.
func (d driver) printOrDelete(ctx context.Context, created createdOrder, service string) (ship.Sale, error) {
	failed := uncertain("Royal Mail created the order without its label")
	failed.Refusal = created.LabelErrors[0].refusal()
	sold := created.sale(service)
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
	if refusal := ship.ErrorOf(err).Refusal; saysNoPostage(refusal) {
		failed.Refusal = refusal
	}

	deleted, err := d.deleteOrder(ctx, sold.CarrierRef)
	if err != nil || !deleted.has(sold.CarrierRef) {
		return ship.Sale{}, failed
	}
	refused := &ship.Error{
		Kind:    ship.Invalid,
		Message: "Royal Mail could not create the label, and the order was deleted",
		Refusal: failed.Refusal,
	}
	if saysNoPostage(failed.Refusal) {
		refused.Message = "Royal Mail did not apply postage to the order, which was deleted; " + postageHint
	}
	return ship.Sale{}, refused
}

// postageHint is what to do if orders stay without postage.
const postageHint = `turn on "Apply postage automatically on orders imported via API" in the settings of Click & Drop`

// saysNoPostage recognizes that the account does not apply postage to orders that
// are imported: they exist, and nothing is paid for them. fact: postage-not-applied
func saysNoPostage(refusal ship.Refusal) bool {
	text := strings.ToLower(refusal.Code + " " + refusal.Message)
	return strings.Contains(text, "postage applied") || strings.Contains(text, "postage has not been applied") || strings.Contains(text, "postagenotapplied")
}

// untracked precedes the number of the order where Royal Mail gives no number to
// track a parcel by. No number of Royal Mail's has the hyphen, so none is asked for.
const untracked = "CD-"

// sale returns the numbers of an order for a service.
func (o createdOrder) sale(service string) ship.Sale {
	sold := ship.Sale{TrackingNumber: o.TrackingNumber}
	if o.OrderIdentifier != 0 {
		sold.CarrierRef = strconv.FormatInt(o.OrderIdentifier, 10)
	}
	if sold.TrackingNumber == "" && len(o.Packages) > 0 {
		sold.TrackingNumber = o.Packages[0].TrackingNumber
	}
	if chosen, _ := serviceByCode(service); chosen.untracked && sold.TrackingNumber == "" && sold.CarrierRef != "" {
		sold.TrackingNumber = untracked + sold.CarrierRef
	}
	return sold
}

func uncertain(message string) *ship.Error {
	return &ship.Error{Kind: ship.Uncertain, Message: message}
}

// returnRef precedes Royal Mail's id of a return, which is no order: it can be
// neither looked up nor deleted.
const returnRef = "return:"

// buyReturn creates a return, with its label and the code that a post office prints
// the label from. fact: returns-path
func (d driver) buyReturn(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	body, warnings, err := d.newReturn(request)
	if err != nil {
		return ship.Sale{}, err
	}

	call := d.call(http.MethodPost, "/returns")
	call.Body = body
	call.Effect = true
	var answer returnAnswer
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return ship.Sale{}, explainAccount(err)
	}

	switch {
	case answer.Shipment == nil || answer.Shipment.TrackingNumber == "":
		return ship.Sale{}, uncertain("Royal Mail did not confirm whether the return was created")
	case !carrierkit.IsWholePDF(answer.Label):
		return ship.Sale{}, uncertain("Royal Mail sent a return label that is not complete")
	}
	sold := ship.Sale{
		TrackingNumber: answer.Shipment.TrackingNumber,
		CarrierRef:     returnRef + answer.Shipment.TrackingNumber,
		Label:          ship.Label{Format: "pdf", Data: answer.Label},
		Warnings:       warnings,
	}
	if format := formatOf(answer.QRCode); format != "" {
		sold.Documents = []ship.Document{{Type: "qr_code", Format: format, Data: answer.QRCode}}
	}
	return sold, nil
}

// newReturn returns the request for a return. Royal Mail asks for no weight.
func (d driver) newReturn(request carrier.BuyOrder) (_ returnRequest, warnings []string, _ error) {
	chosen, ok := serviceByCode(request.Service)
	var c checker
	if !ok || !chosen.isReturn {
		c.refuse("/service", "invalid", "Royal Mail brings parcels back with tracked_returns_24 and tracked_returns_48 only")
	}
	code := d.codeOf(chosen)
	if chosen.isReturn {
		c.code(chosen, code)
	}

	order := request.Order
	from, warnings := c.returnParty(order.Origin, "/origin")
	to, more := c.returnParty(order.Destination, "/destination")
	if len(order.Parcels) != 1 {
		c.refuse("/parcels", "invalid", "Royal Mail sells a label for each parcel: create one return per parcel")
	}
	for i, parcel := range order.Parcels {
		if parcel.WeightGrams > maxAtHome {
			c.refuse(carrierkit.ParcelPointer(order, i)+"/weight", "invalid", "must be at most 20 kg for a return with Royal Mail")
		}
	}
	c.options(order.Options, chosen)
	if order.Options.HoldAtLocation {
		c.refuse("/options/holdAtLocation", "unsupported", "Royal Mail delivers returns to their address")
	}
	c.rest(order)

	body := returnRequest{
		Service: returnService{Code: code.service, Register: code.register},
		Shipment: returnShipment{
			From:      from,
			To:        to,
			Reference: returnReference{request.Reference},
		},
	}
	return body, append(warnings, more...), carrierkit.InvalidOrder("Royal Mail", c.invalid)
}

// returnParty returns the customer, or where the parcel goes. Both must be in the
// United Kingdom.
func (c *checker) returnParty(given ship.Address, pointer string) (returnAddress, []string) {
	if given.Country != "GB" {
		c.refuse(pointer+"/country", "invalid", "must be GB: Royal Mail brings parcels back within the United Kingdom")
	}
	fitted, warnings, err := carrierkit.Fit(Spec.Address, given, pointer)
	if unfit, ok := errors.AsType[*ship.Error](err); ok {
		c.invalid = append(c.invalid, unfit.Fields...)
		return returnAddress{}, nil
	}

	lines := append(fitted.Lines, "", "", "")
	for _, needed := range [][2]string{{"address1", lines[0]}, {"city", fitted.City}, {"zip", fitted.Zip}} {
		if needed[1] == "" {
			c.refuse(pointer+"/"+needed[0], "required", "Royal Mail needs it of both addresses of a return")
		}
	}
	first, last, _ := strings.Cut(fitted.Name, " ")
	return returnAddress{
		FirstName:   first,
		LastName:    strings.TrimSpace(last),
		CompanyName: fitted.Company,
		Line1:       lines[0],
		Line2:       lines[1],
		Line3:       lines[2],
		City:        fitted.City,
		County:      fitted.State,
		Postcode:    fitted.Zip,
		Country:     "United Kingdom",
		CountryCode: "GBR",
	}, warnings
}
