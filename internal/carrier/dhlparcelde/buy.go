package dhlparcelde

import (
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

// Buy purchases a label. DHL has no key that makes a purchase unique and no
// search for one, so a purchase whose answer is lost stays uncertain until a
// person decides.
func (d *driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	order, warnings, err := carrierkit.FitTexts(request.Order, Spec.Address.Charset, Spec.Address.Charset)
	if err != nil {
		return ship.Sale{}, err
	}
	request.Order = order

	ordered, more, err := d.shipmentOf(request, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}

	// One shipment is sent per call: of several, DHL could sell some.
	query := url.Values{
		"includeDocs": {"include"},
		"docFormat":   {"PDF"},
		"printFormat": {labelSize},
		"mustEncode":  {"false"},
	}
	if order.LabelFormat == "zpl" {
		query.Set("docFormat", "ZPL2")
	}
	var answer orderAnswer
	refusal, err := d.exchange(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.address(shippingPath+"/orders", query),
		Body:   orderRequest{Profile: d.profile, Shipments: []shipment{ordered}},
		Effect: true,
	}, &answer)
	if err != nil {
		return ship.Sale{}, explain(err, messagesOf(refusal), order)
	}
	return answer.sale(request, append(warnings, more...))
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
	if form, ok := sold.CustomsDoc.label(); ok {
		bought.Documents = append(bought.Documents, ship.Document{Type: "customs_form", Format: form.Format, Data: form.Data})
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
