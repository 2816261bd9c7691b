package gls

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// Buy purchases a label for each parcel. GLS has no key that makes a purchase
// unique: one whose answer is lost is looked up by its reference.
func (d *driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	ordered, warnings, err := d.shipmentOf(request, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}

	var answer createdAnswer
	err = d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + shippingPath + "/rs/shipments",
		Header: shipItHeader(),
		Body:   createRequest{Shipment: ordered, Printing: printingOf(request)},
		Effect: true,
	}, &answer)
	if err != nil {
		return ship.Sale{}, explain(err, request.Order)
	}

	// An answer that is not complete is uncertain: GLS has sold something.
	sale, problem := answer.Created.sale(request)
	if problem != "" {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "%s", problem)
	}
	sale.Warnings = append(warnings, sale.Warnings...)
	return sale, nil
}

// printingOf asks for labels of about 4 by 6 inches. fact: label-formats
func printingOf(request carrier.BuyOrder) printing {
	if request.Order.LabelFormat == "zpl" {
		return printing{labelFormat{Template: "ZPL_200", Format: "ZEBRA"}}
	}
	return printing{labelFormat{Template: "NONE", Format: "PDF"}}
}

// sale reads a shipment that GLS created, or says what is missing.
func (s *createdShipment) sale(request carrier.BuyOrder) (_ ship.Sale, problem string) {
	switch {
	case s == nil || len(s.Parcels) == 0:
		return ship.Sale{}, "GLS did not confirm the parcels"
	case len(s.Parcels) != len(request.Order.Parcels):
		return ship.Sale{}, "GLS answered with another number of parcels"
	case len(s.References) > 0 && !slices.Contains(s.References, request.Reference):
		return ship.Sale{}, "GLS answered with the reference of a different shipment"
	}

	var numbers, ids []string
	for i := range request.Order.Parcels {
		parcel := s.parcel(request.Reference, i)
		if parcel.TrackID == "" || parcel.Number == "" {
			return ship.Sale{}, "GLS sent a parcel without its number"
		}
		numbers = append(numbers, parcel.Number)
		ids = append(ids, parcel.TrackID)
	}

	sale := ship.Sale{
		// A void needs the track ids; tracking and people use the numbers.
		CarrierRef:     strings.Join(ids, ","),
		TrackingNumber: numbers[0],
	}
	if len(numbers) > 1 {
		sale.Pieces = numbers
	}
	var ok bool
	if sale.Label, ok = s.label(); !ok {
		return ship.Sale{}, "GLS sent no complete label"
	}

	// The parcels are sold, whatever was printed.
	if pages, ok := label.CountPages(sale.Label.Format, sale.Label.Data); ok && pages < len(numbers) {
		sale.Warnings = append(sale.Warnings, fmt.Sprintf("GLS sent %d pages for %d parcels: check which label is missing, and print it in GLS's own tools", pages, len(numbers)))
	}
	return sale, ""
}

// parcel returns the i-th parcel: the one with its reference, where GLS repeats
// it.
func (s *createdShipment) parcel(reference string, i int) parcelData {
	ours := unitReference(reference, i)
	at := slices.IndexFunc(s.Parcels, func(p parcelData) bool { return slices.Contains(p.References, ours) })
	if at >= 0 {
		return s.Parcels[at]
	}
	return s.Parcels[i]
}

// label joins the labels: GLS sends one document with all pages, or one each.
func (s *createdShipment) label() (ship.Label, bool) {
	var files [][]byte
	format := ""
	for _, printed := range s.Printed {
		for _, data := range printed.Data {
			files = append(files, data)
			format = printed.Format
		}
	}
	if len(files) == 0 {
		return ship.Label{}, false
	}

	switch format {
	case "PDF":
		for _, file := range files {
			if !carrierkit.IsWholePDF(file) {
				return ship.Label{}, false
			}
		}
		return ship.Label{Format: "pdf", Data: label.Join(files)}, true
	case "ZEBRA":
		for _, file := range files {
			text := bytes.TrimSpace(file)
			if !bytes.HasPrefix(text, []byte("^XA")) || !bytes.HasSuffix(text, []byte("^XZ")) {
				return ship.Label{}, false
			}
		}
		return ship.Label{Format: "zpl", Data: bytes.Join(files, []byte("\n"))}, true
	}
	return ship.Label{}, false
}
