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

// Buy draws a barcode and confirms a label under it, which announces the parcel.
func (d driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	sent, warnings, err := d.prepare(ctx, request, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}

	barcode, err := d.drawBarcode(ctx, d.customerCode, request.Order.Destination.Country != "NL")
	if err != nil {
		return ship.Sale{}, err
	}
	bought, err := d.confirm(ctx, sent, barcode)
	if err != nil {
		return ship.Sale{}, explain(err, request.Order)
	}
	bought.Warnings = append(warnings, bought.Warnings...)
	return bought, nil
}

const labelPath = "/shipment/v2_2/label"

// confirm buys a label under a barcode that was drawn for it. One barcode is one
// parcel. PostNL does not document what it answers about a barcode that is announced
// already, so a purchase is not repeated.
func (d driver) confirm(ctx context.Context, sent labelRequest, barcode string) (ship.Sale, error) {
	sent.Shipments[0].Barcode = barcode
	call := d.call(http.MethodPost, labelPath, url.Values{"confirm": {"true"}})
	call.Body = sent
	call.Effect = true
	var answer labelAnswer
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return ship.Sale{}, err
	}

	label, ok := answer.labelOf(barcode)
	if refused := answer.refusal(); refused != nil && !ok {
		return ship.Sale{}, refused
	}
	if !ok {
		return ship.Sale{}, &ship.Error{Kind: ship.Uncertain, Message: "PostNL did not confirm the label of the parcel"}
	}
	return ship.Sale{
		CarrierRef:     barcode,
		TrackingNumber: barcode,
		Label:          label,
		Warnings:       answer.warnings(),
	}, nil
}

// anyBarcode is what a barcode looks like.
var anyBarcode = regexp.MustCompile(`^[0-9A-Z]{11,15}$`)

// drawBarcode returns a barcode of the customer's code that nobody else gets. It is
// worth nothing until a label is confirmed under it.
func (d driver) drawBarcode(ctx context.Context, customerCode string, isAbroad bool) (string, error) {
	query := url.Values{
		"CustomerCode":   {customerCode},
		"CustomerNumber": {d.customerNumber},
		"Type":           {barcodeType},
		"Serie":          {barcodeSerie(customerCode, isAbroad)},
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
