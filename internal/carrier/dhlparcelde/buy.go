package dhlparcelde

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// labelSize is 103 by 150 mm, DHL's size for label printers of 4 by 6 inches.
// Without it, the portal's setting decides.
const labelSize = "910-300-400"

// Buy purchases a label. DHL has no key that makes a purchase unique: one whose answer
// is lost is looked up by its reference.
func (d *driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	order, warnings, err := carrierkit.FitTexts(request.Order, Spec.Address.Charset, Spec.Address.Charset)
	if err != nil {
		return ship.Sale{}, err
	}
	request.Order = order
	if order.IsReturn {
		return d.buyReturn(ctx, request, warnings)
	}

	ordered, more, err := d.shipmentOf(request, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}

	query := labelQuery(order.LabelFormat)
	query.Set("mustEncode", "false")
	call := d.orderCall(query, ordered)
	call.Effect = true
	var answer orderAnswer
	refusal, err := d.exchange(ctx, call, &answer)
	if err != nil {
		return ship.Sale{}, explain(err, messagesOf(refusal), order)
	}
	return answer.sale(request, append(warnings, more...))
}

// orderCall returns the call that orders a shipment. One is sent per call: of
// several, DHL could sell some.
func (d *driver) orderCall(query url.Values, ordered shipment) carrierkit.Call {
	return carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.address(shippingPath+"/orders", query),
		Body:   orderRequest{Profile: d.profile, Shipments: []shipment{ordered}},
	}
}

// Rehearse has DHL check a purchase: also whether the profile and the billing number
// of the service are the account's, which nothing else shows.
func (d *driver) Rehearse(ctx context.Context, request carrier.BuyOrder) error {
	order, _, err := carrierkit.FitTexts(request.Order, Spec.Address.Charset, Spec.Address.Charset)
	if err != nil {
		return err
	}
	request.Order = order
	ordered, _, err := d.shipmentOf(request, time.Now())
	if err != nil {
		return err
	}

	var answer orderAnswer
	refusal, err := d.exchange(ctx, d.orderCall(url.Values{"validate": {"true"}}, ordered), &answer)
	if err != nil {
		return explain(err, messagesOf(refusal), order)
	}
	if len(answer.Items) == 0 {
		return ship.Errorf(ship.Unavailable, "DHL Parcel DE did not confirm that it checked the shipment")
	}
	checked := answer.Items[0]
	switch code := checked.Status.code(); {
	case code >= 400 && code < 500:
		refused := &ship.Error{Kind: ship.Invalid, Message: "DHL Parcel DE refused the shipment", Refusal: checked.refusal()}
		return explain(refused, checked.Messages, order)
	case code < 200 || code > 299:
		return ship.Errorf(ship.Unavailable, "DHL Parcel DE did not confirm that it checked the shipment")
	}
	return nil
}

// sale reads the answer. An answer without a number or a label is uncertain: DHL
// has sold something.
func (a orderAnswer) sale(request carrier.BuyOrder, warnings []string) (ship.Sale, error) {
	if len(a.Items) == 0 {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE did not confirm whether the label was sold")
	}

	// An item is judged by its own status: that of the answer may differ.
	sold := a.Items[0]
	switch code := sold.Status.code(); {
	case code >= 400 && code < 500 && sold.ShipmentNo != "":
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE refused the shipment and gave it the number %s", sold.ShipmentNo)
	case code >= 400 && code < 500:
		refused := &ship.Error{Kind: ship.Invalid, Message: "DHL Parcel DE refused the shipment", Refusal: sold.refusal()}
		return ship.Sale{}, explain(refused, sold.Messages, request.Order)
	case code < 200 || code > 299:
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE did not confirm whether the label was sold")
	}

	number := strings.TrimSpace(string(sold.ShipmentNo))
	switch {
	case number == "":
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE sent no shipment number")
	case sold.RefNo != "" && sold.RefNo != request.Reference:
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE answered with the reference of a different shipment")
	}

	bought := ship.Sale{
		CarrierRef:     number,
		TrackingNumber: number,
		Warnings:       append(warnings, sold.warnings()...),
	}
	var ok bool
	if bought.Label, ok = sold.Label.label(); !ok {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE sent no complete label")
	}
	switch form, ok := sold.CustomsDoc.label(); {
	case ok:
		bought.Documents = append(bought.Documents, ship.Document{Type: "customs_form", Format: form.Format, Data: form.Data})
	case sold.CustomsDoc != nil:
		bought.Warnings = append(bought.Warnings, "The customs form of DHL could not be read: print it in the business customer portal and attach it to the parcel")
	}
	return bought, nil
}

// label returns a document if it arrived in full. ZPL is plain text, and PDF is
// encoded.
func (d *document) label() (ship.Label, bool) {
	switch {
	case d == nil:
		return ship.Label{}, false
	case strings.HasPrefix(strings.TrimSpace(d.ZPL), "^XA") && strings.HasSuffix(strings.TrimSpace(d.ZPL), "^XZ"):
		return ship.Label{Format: "zpl", Data: []byte(d.ZPL)}, true
	case carrierkit.IsWholePDF(d.Encoded):
		return ship.Label{Format: "pdf", Data: d.Encoded}, true
	}
	return ship.Label{}, false
}

// returnRef precedes the number of a return, which is no order: it can be neither
// looked up nor deleted.
const returnRef = "return:"

// buyReturn buys the label of a return, and the code that a post office prints it
// from.
func (d *driver) buyReturn(ctx context.Context, request carrier.BuyOrder, warnings []string) (ship.Sale, error) {
	ordered, more, err := d.returnOf(request)
	if err != nil {
		return ship.Sale{}, err
	}

	var answer returnAnswer
	err = d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.address(returnsPath+"/orders", url.Values{"labelType": {"BOTH"}}), // fact: return-label-type
		Body:   ordered,
		Effect: true,
	}, &answer)
	if err != nil {
		return ship.Sale{}, explainReturn(err)
	}

	number := strings.TrimSpace(string(answer.ShipmentNo))
	if number == "" {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE sent no number for the return")
	}
	label, ok := answer.Label.label()
	if !ok {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE sent no complete label for the return %s", number)
	}
	sold := ship.Sale{
		CarrierRef:     returnRef + number,
		TrackingNumber: number,
		Label:          label,
		Warnings: append(append(warnings, more...),
			"DHL brings the parcel to the address that it has for the receiver "+d.receiver+"; it does not read the destination of a return"),
	}
	if code := answer.QRLabel; code != nil && isWholePNG(code.Encoded) {
		sold.Documents = []ship.Document{{Type: "qr_code", Format: "png", Data: code.Encoded}}
	}
	return sold, nil
}

// isWholePNG reports whether a picture arrived in full.
func isWholePNG(picture []byte) bool {
	return bytes.HasPrefix(picture, []byte("\x89PNG")) && bytes.HasSuffix(picture, []byte("IEND\xaeB`\x82"))
}
