package canadapost

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Buy purchases a label, and fetches its file. The sale is made before the file
// is fetched: whatever goes wrong from then on leaves it uncertain, and Find gets
// the same file.
func (d driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	order, warnings, err := carrierkit.FitTexts(request.Order, addressLimits.Charset, addressLimits.Charset)
	if err != nil {
		return ship.Sale{}, err
	}
	request.Order = order

	draft, body, err := d.shipRequest(request, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}

	call := d.call(http.MethodPost, d.shipmentPath(), mediaShipment)
	call.Body = body
	call.Effect = true
	var answer shipmentInfo
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return ship.Sale{}, explain(err)
	}
	if answer.RequestID != "" && answer.RequestID != request.Reference {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "Canada Post answered with a different shipment")
	}

	sold, err := d.sale(ctx, answer.soldShipment, request)
	if err != nil {
		return ship.Sale{}, uncertain(err)
	}
	sold.Warnings = append(warnings, draft.warnings...)
	return sold, nil
}

// shipRequest returns the body of the request that buys the label.
func (d driver) shipRequest(request carrier.BuyOrder, now time.Time) (draft, shipmentRequest, error) {
	// A lost purchase is looked up by this reference, so it must reach Canada
	// Post unchanged.
	if request.Reference == "" || len(request.Reference) > maxReference {
		return draft{}, shipmentRequest{}, ship.Errorf(ship.Internal, "a reference of %d characters does not fit Canada Post", len(request.Reference))
	}

	order := request.Order
	p, err := newDraft(order, now)
	if err != nil {
		return draft{}, shipmentRequest{}, err
	}
	sold, err := p.service(request.Service)
	if err != nil {
		return draft{}, shipmentRequest{}, err
	}
	declared, err := p.customs(order)
	if err != nil {
		return draft{}, shipmentRequest{}, err
	}

	body := shipmentRequest{
		RequestID:     request.Reference,
		IsTransmitted: true,
		ShippingPoint: p.from.Zip,
		MailingDate:   p.mailingDate,
		HasPrice:      true,
		Delivery: deliverySpec{
			Service: sold.own,
			Sender: sender{
				Name:    p.from.Name,
				Company: companyOf(p.from),
				Phone:   p.from.Phone,
				Address: addressOf(p.from),
			},
			Destination: destination{
				Name:    p.to.Name,
				Company: p.to.Company,
				Phone:   p.to.Phone,
				Address: addressOf(p.to),
			},
			Parcel:     p.parcel,
			Print:      printing{Format: "4x6", Encoding: encodingOf(order)},
			References: referencesOf(order),
			Customs:    declared,
			Settlement: settlement{Contract: d.contract, Payment: d.payment},
		},
	}
	if p.isAbroad {
		p.options = append(p.options, instructionOf(sold))
	}
	if len(p.options) > 0 {
		body.Delivery.Options = &optionList{p.options}
	}
	return p, body, nil
}

// service returns the service of a code of ours on the lane of the order.
func (p draft) service(code string) (service, error) {
	sold, ok := serviceBy(func(s service) bool { return s.code == code })
	switch {
	case !ok:
		return service{}, refusedService("Canada Post has no service \"" + code + "\"; GET /v1/carriers lists its services")
	case sold.isDomestic() == p.isAbroad:
		return service{}, refusedService("Canada Post " + sold.name + " is not available to this destination")
	}
	return sold, nil
}

func refusedService(detail string) error {
	return carrierkit.InvalidOrder("Canada Post", []ship.FieldError{{Pointer: "/service", Code: "invalid", Detail: detail}})
}

// encodingOf asks for the format that the client wants, where Canada Post has it.
func encodingOf(order ship.Order) string {
	if order.LabelFormat == "zpl" {
		return "ZPL"
	}
	return "PDF"
}

// referencesOf returns the order number and the client's reference, which the
// label prints, where they fit.
func referencesOf(order ship.Order) references {
	fitting := func(text string) string {
		if utf8.RuneCountInString(text) > maxReference {
			return ""
		}
		return text
	}
	printed := references{First: fitting(order.OrderID)}
	if order.Reference != order.OrderID {
		printed.Second = fitting(order.Reference)
	}
	return printed
}

// sale reads a shipment that was sold, and fetches its files.
func (d driver) sale(ctx context.Context, sold soldShipment, request carrier.BuyOrder) (ship.Sale, error) {
	if sold.ID == "" || sold.PIN == "" {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "Canada Post sent no tracking number")
	}

	zone := carrierkit.PlaceOf(request.Order.Destination).ClosestZone()
	bought := ship.Sale{
		CarrierRef:     sold.ID,
		TrackingNumber: sold.PIN,
		DeliveryAt:     endOfDay(sold.Price.Date, zone),
	}
	bought.Price, _ = ship.ParseMoney(sold.Price.Due, "CAD") // an account may not be shown prices

	for _, to := range sold.Links {
		switch to.Relation {
		case "label":
			file, format, err := d.fetchFile(ctx, to)
			if err != nil {
				return ship.Sale{}, err
			}
			bought.Label = ship.Label{Format: format, Data: file}

		case "commercialInvoice":
			file, format, err := d.fetchFile(ctx, to)
			if err != nil {
				return ship.Sale{}, err
			}
			bought.Documents = append(bought.Documents, ship.Document{Type: "commercial_invoice", Format: format, Data: file})
		}
	}
	return bought, nil
}

// fileWaits are the pauses between requests for a file that is not ready.
var fileWaits = []time.Duration{400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond}

// fetchFile follows a link to a file. Canada Post answers 202 until it has
// made it.
func (d driver) fetchFile(ctx context.Context, to link) (data []byte, format string, err error) {
	path, err := pathOf(to)
	if err != nil {
		return nil, "", err
	}
	call := d.call(http.MethodGet, path, to.MediaType)

	for _, wait := range fileWaits {
		var file carrierkit.File
		if err := call.Do(ctx, d.via, &file); err != nil {
			return nil, "", explain(err)
		}
		if file.Status != http.StatusAccepted {
			format, ok := formatOf(file.Data)
			if !ok {
				return nil, "", ship.Errorf(ship.Unavailable, "Canada Post sent no label")
			}
			return file.Data, format, nil
		}

		select {
		case <-ctx.Done():
			return nil, "", &ship.Error{Kind: ship.Unavailable, Message: "the label of Canada Post is not ready yet", Err: ctx.Err()}
		case <-time.After(wait):
		}
	}
	return nil, "", ship.Errorf(ship.Unavailable, "the label of Canada Post is not ready yet")
}

// pathOf returns the path of a link. Its host is ignored: the credentials go only
// to the host of the connection.
func pathOf(to link) (string, error) {
	address, err := url.Parse(to.Address)
	if err != nil || !strings.HasPrefix(address.Path, "/") {
		return "", ship.Errorf(ship.Unavailable, "Canada Post sent a link that is not an address")
	}
	return address.RequestURI(), nil
}

// formatOf returns the format of a file that was not cut off; not ok for any other.
func formatOf(data []byte) (format string, ok bool) {
	switch {
	case carrierkit.IsWholePDF(data):
		return "pdf", true
	case bytes.Contains(data[:min(len(data), 200)], []byte("^XA")) && bytes.HasSuffix(bytes.TrimSpace(data), []byte("^XZ")):
		return "zpl", true
	}
	return "", false
}

// uncertain is the error of something that failed after the sale: the label was
// bought, whatever the reason.
func uncertain(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	unsure := *failed
	unsure.Kind = ship.Uncertain
	unsure.Code = ""
	unsure.Fields = nil
	return &unsure
}
