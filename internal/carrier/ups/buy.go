package ups

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// maxReference is the longest reference that UPS keeps.
const maxReference = 35

// Buy sells in one call. UPS bills what it sells, and would sell again if it
// were asked again.
func (d *driver) Buy(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	w, err := d.draft(b.Order, time.Now())
	if err != nil {
		return ship.Purchase{}, err
	}
	body, err := d.shipRequest(w, b)
	if err != nil {
		return ship.Purchase{}, err
	}
	var a shipAnswer
	err = d.call(ctx, carrierkit.Call{
		Method: http.MethodPost, URL: d.base + "/shipments/v2409/ship", Body: body, Effect: true,
	}, &a)
	if err != nil {
		return ship.Purchase{}, err
	}
	p, err := purchaseOf(a, b)
	p.Warnings = append(w.warnings, p.Warnings...)
	return p, err
}

// shipRequest is the body of a purchase.
func (d *driver) shipRequest(w *draft, b carrier.BuyOrder) (body shipRequest, err error) {
	code, err := w.serviceCode(b.Service)
	if err != nil {
		return body, err
	}
	if b.Reference == "" || len(b.Reference) > maxReference {
		return body, ship.Errorf(ship.Internal, "a UPS reference has 1 to %d characters", maxReference)
	}
	s := &w.shipment
	s.Service = &coded{Code: code}
	charges, err := d.charges(w)
	if err != nil {
		return body, err
	}
	s.PaymentInformation = &payment{ShipmentCharge: charges}
	if err := w.contacts(b.Service); err != nil {
		return body, err
	}
	if err := w.declare(); err != nil {
		return body, err
	}
	if s.ShipmentDate, err = w.shipmentDate(); err != nil {
		return body, err
	}
	w.refer(b)
	if b.Order.IsReturn {
		s.ReturnService = &coded{Code: returnServiceCode}
		for i := range s.Package {
			s.Package[i].Description = shorten(w.goods(), maxGoodsLine)
		}
	}
	r := &body.ShipmentRequest
	r.Request.RequestOption = "nonvalidate"
	r.Request.TransactionReference.CustomerContext = b.Reference
	r.Shipment = *s
	r.LabelSpecification = gif()
	return body, nil
}

// gif asks for the label as a picture: of all that UPS sends it is the one
// from which every other format can be made.
func gif() labelSpecification {
	return labelSpecification{
		LabelImageFormat: coded{Code: "GIF", Description: "GIF"},
		HTTPUserAgent:    "Mozilla/4.5",
		LabelStockSize:   stock{Height: "6", Width: "4"},
	}
}

// serviceCode is UPS's code of the service, if it is sold on this lane.
func (w *draft) serviceCode(ours string) (string, error) {
	s, ok := serviceNamed(ours)
	if !ok {
		return "", invalid("/service", "unknown_service", "is not a service of UPS")
	}
	code := s.on(w.lane)
	if code == "" {
		return "", invalid("/service", "unsupported", s.name+" does not go between these countries")
	}
	if w.order.IsReturn && slices.Contains(noReturns, ours) {
		return "", invalid("/service", "unsupported", s.name+" is not sold for returns")
	}
	return code, nil
}

// contacts adds whom to ask for and refuses an order without a phone number,
// where UPS wants both.
func (w *draft) contacts(service string) error {
	s := &w.shipment
	if w.from == w.to && service != "next_day_air_early" {
		return nil
	}
	var wrong []ship.FieldError
	need := func(p *party, pointer string) {
		if p == nil {
			return
		}
		if p.AttentionName == "" {
			p.AttentionName = p.Name
		}
		if p.Phone == nil && pointer != "" {
			wrong = append(wrong, ship.FieldError{Pointer: pointer, Code: "required", Detail: "UPS needs a phone number for this"})
		}
	}
	need(&s.ShipTo, "/destination/phone")
	if w.order.IsReturn {
		need(&s.Shipper, "") // it is the destination
		need(s.ShipFrom, "/origin/phone")
	} else {
		need(&s.Shipper, "/origin/phone")
	}
	return ship.InvalidFields(wrong)
}

// shipmentDate is a day ahead; UPS takes no date for today.
func (w *draft) shipmentDate() (string, error) {
	ahead := w.shipDay().Sub(w.today.Truncate(24 * time.Hour))
	switch {
	case w.order.ShipDate == "", ahead <= 0:
		return "", nil
	case ahead > 7*24*time.Hour:
		return "", invalid("/shipDate", "invalid", "UPS sells labels up to seven days ahead")
	}
	return compact(w.shipDay()), nil
}

// refer puts our references where UPS takes them: on every parcel inside the
// United States and inside Puerto Rico, else on the shipment.
func (w *draft) refer(b carrier.BuyOrder) {
	list := []referenceNumber{{Value: b.Reference}}
	if b.Shipment != "" && len(b.Shipment) <= maxReference {
		list = append(list, referenceNumber{Value: string(b.Shipment)})
	}
	if w.lane != laneUS {
		w.shipment.ReferenceNumber = list
		return
	}
	for i := range w.shipment.Package {
		w.shipment.Package[i].ReferenceNumber = list
	}
}

// purchaseOf reads the answer of a sale. Whatever is wrong with it, money is
// spent.
func purchaseOf(a shipAnswer, b carrier.BuyOrder) (ship.Purchase, error) {
	r := a.ShipmentResponse.ShipmentResults
	if said := a.ShipmentResponse.Response.context(); said != "" && said != b.Reference {
		return ship.Purchase{}, ship.Errorf(ship.Uncertain, "UPS answered about another purchase")
	}
	p := ship.Purchase{
		Service:    b.Service,
		CarrierRef: r.ShipmentIdentificationNumber,
		Price:      price(r.ShipmentCharges.TotalCharges, r.NegotiatedRateCharges),
	}
	labels := make([]piece, len(r.PackageResults))
	for i, one := range r.PackageResults {
		labels[i] = piece{one.TrackingNumber, one.ShippingLabel.ImageFormat.Code, one.ShippingLabel.GraphicImage}
	}
	if err := fill(&p, labels, len(b.Order.Parcels)); err != nil {
		return ship.Purchase{}, as(ship.Uncertain, err.Error(), err)
	}
	for _, f := range r.Form {
		p.Documents = appendDocument(p.Documents, "commercial_invoice", f.Image)
	}
	for _, f := range r.ControlLogReceipt {
		p.Documents = appendDocument(p.Documents, "high_value_report", f)
	}
	for _, alert := range a.ShipmentResponse.Response.Alert {
		p.Warnings = append(p.Warnings, "UPS says: "+alert.Description)
	}
	return p, nil
}

// A piece is a parcel that was sold.
type piece struct{ number, format, image string }

// fill adds the numbers and labels of the pieces, one for every parcel. The
// error is of kind ship.Unavailable.
func fill(p *ship.Purchase, pieces []piece, parcels int) error {
	if len(pieces) != parcels {
		return ship.Errorf(ship.Unavailable, "UPS sent %d labels for %d parcels", len(pieces), parcels)
	}
	pages := make([][]byte, len(pieces))
	for i, one := range pieces {
		page, err := base64.StdEncoding.DecodeString(one.image)
		if err != nil || one.number == "" || !strings.EqualFold(one.format, "GIF") || !bytes.HasPrefix(page, []byte("GIF8")) {
			return ship.Errorf(ship.Unavailable, "UPS sent a label that is not the one asked for")
		}
		pages[i] = page
		if parcels > 1 {
			p.Pieces = append(p.Pieces, one.number)
		}
	}
	p.TrackingNumber = pieces[0].number
	p.Label = ship.Label{Format: "gif", Data: label.Join(pages)}
	return nil
}

// appendDocument adds a paper that can be read; one that cannot is no reason
// to lose the label.
func appendDocument(list []ship.Document, kind string, p picture) []ship.Document {
	data, err := base64.StdEncoding.DecodeString(p.GraphicImage)
	if err != nil || len(data) == 0 {
		return list
	}
	return append(list, ship.Document{Type: kind, Format: strings.ToLower(p.ImageFormat.Code), Data: data})
}
