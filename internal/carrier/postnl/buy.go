package postnl

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Buy draws a barcode and asks for the label of a parcel with it, which announces
// the parcel. A barcode without a label is worth nothing, so only the second
// request is a purchase.
func (d driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	sent, warnings, err := d.newRequest(request, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}

	barcode, err := d.drawBarcode(ctx)
	if err != nil {
		return ship.Sale{}, err
	}
	sent.Shipments[0].Barcode = barcode

	call := d.call(http.MethodPost, labelPath, url.Values{"confirm": {"true"}})
	call.Body = sent
	call.Effect = true
	var answer labelAnswer
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return ship.Sale{}, explain(err, request.Order)
	}
	label, ok := answer.labelOf(barcode)
	if refused := answer.refusal(); refused != nil && !ok {
		return ship.Sale{}, explain(refused, request.Order)
	}
	if !ok {
		return ship.Sale{}, &ship.Error{Kind: ship.Uncertain, Message: "PostNL did not confirm the label of the parcel"}
	}
	return ship.Sale{
		CarrierRef:     barcode,
		TrackingNumber: barcode,
		Label:          label,
		Warnings:       append(warnings, answer.warnings()...),
	}, nil
}

const labelPath = "/shipment/v2_2/label"

// anyBarcode is what a barcode looks like.
var anyBarcode = regexp.MustCompile(`^[0-9A-Z]{11,15}$`)

// drawBarcode returns a barcode that nobody else gets.
func (d driver) drawBarcode(ctx context.Context) (string, error) {
	query := url.Values{
		"CustomerCode":   {d.customerCode},
		"CustomerNumber": {d.customerNumber},
		"Type":           {barcodeType},
		"Serie":          {barcodeSerie},
	}
	var answer barcodeAnswer
	if err := d.call(http.MethodGet, "/shipment/v1_1/barcode", query).Do(ctx, d.via, &answer); err != nil {
		return "", explainBarcode(err)
	}
	if !anyBarcode.MatchString(answer.Barcode) {
		return "", ship.Errorf(ship.Unavailable, "PostNL sent no barcode")
	}
	return answer.Barcode, nil
}

// refusal returns why PostNL did not make the label, which it also says with
// status 200; nil if it made one, even a broken one: the parcel is announced then.
func (a labelAnswer) refusal() error {
	for _, shipment := range a.ResponseShipments {
		if len(shipment.Errors) > 0 && len(shipment.Labels) == 0 {
			return &ship.Error{Kind: ship.Invalid, Message: "PostNL refused the shipment", Refusal: shipment.Errors[0].refusal()}
		}
	}
	return nil
}

// labelOf returns the label of a barcode; not ok if the answer does not have it
// whole.
func (a labelAnswer) labelOf(barcode string) (ship.Label, bool) {
	for _, shipment := range a.ResponseShipments {
		if shipment.Barcode != barcode {
			continue
		}
		for _, label := range shipment.Labels {
			if format := formatOf(label.Content); format != "" {
				return ship.Label{Format: format, Data: label.Content}, true
			}
		}
	}
	return ship.Label{}, false
}

func (a labelAnswer) warnings() []string {
	var list []string
	for _, shipment := range a.ResponseShipments {
		for _, warning := range shipment.Warnings {
			if text := warning.refusal().Message; text != "" {
				list = append(list, "PostNL: "+text)
			}
		}
	}
	return list
}

// formatOf returns the format of a label that is whole; "" for any other.
func formatOf(label []byte) string {
	const longestEnd = 32
	end := label[max(0, len(label)-longestEnd):]
	switch {
	case carrierkit.IsWholePDF(label):
		return "pdf"
	case bytes.HasPrefix(bytes.TrimSpace(label), []byte("^XA")) && bytes.Contains(end, []byte("^XZ")):
		return "zpl"
	}
	return ""
}
