package ups

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
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
	said, err := d.exchange(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/shipments/v2409/ship",
		Body:   body,
		Header: http.Header{"Transactionsrc": {strings.TrimSpace(caller + " " + string(b.Shipment))}},
		Effect: true,
	}, &a)
	if err != nil {
		return ship.Purchase{}, w.explain(err, said)
	}

	p, err := d.purchaseOf(a, b)
	p.Warnings = append(w.warnings, p.Warnings...)
	return p, err
}

// shipRequest is the body of a purchase. Its error lists all that UPS would
// refuse.
func (d *driver) shipRequest(w *draft, b carrier.BuyOrder) (body shipRequest, err error) {
	if b.Reference == "" || len(b.Reference) > maxReference {
		return body, ship.Errorf(ship.Internal, "a UPS reference has 1 to %d characters", maxReference)
	}

	s := &w.shipment
	s.Service = &coded{Code: w.serviceCode(b.Service)}
	s.PaymentInformation = &payment{ShipmentCharge: d.charges(w)}
	w.contacts(b.Service)
	w.checkProvinces()
	w.declare()
	s.ShipmentDate = w.shipmentDate()
	w.refer(b)
	if b.Order.IsReturn {
		s.ReturnService = &coded{Code: returnServiceCode}
		for i := range s.Package {
			s.Package[i].Description = shorten(w.goods(), maxGoodsLine)
		}
	}
	if err := w.err(); err != nil {
		return body, err
	}

	r := &body.ShipmentRequest
	r.Request.RequestOption = "nonvalidate"
	r.Request.TransactionReference.CustomerContext = b.Reference
	r.Shipment = *s
	r.LabelSpecification = gif()
	return body, nil
}

// gif asks for the label as a picture: of all that UPS sends it is the one from
// which every other format can be made. That holds for labels in ZPL too: UPS
// would send them, but nothing here draws a PDF from ZPL, and every label has a
// PDF.
func gif() labelSpecification {
	return labelSpecification{
		LabelImageFormat: coded{Code: "GIF", Description: "GIF"},
		HTTPUserAgent:    "Mozilla/4.5",
		LabelStockSize:   stock{Height: "6", Width: "4"},
	}
}

// serviceCode is UPS's code of the service, if it is sold on this lane.
func (w *draft) serviceCode(ours string) string {
	s, ok := serviceNamed(ours)
	if !ok {
		w.problems = append(w.problems, ship.FieldError{
			Pointer:    "/service",
			Code:       "unknown_service",
			Detail:     "is not a service of UPS",
			Suggestion: ship.Nearest(ours, serviceCodes()),
		})
		return ""
	}

	code := s.on(w.lane)
	switch {
	case code == "":
		w.refuse("/service", "unsupported", "%s is not sold from %s to %s", s.name, w.from, w.to)
	case w.order.IsReturn && slices.Contains(noReturns, ours):
		w.refuse("/service", "unsupported", "%s is not sold for returns", s.name)
	}
	return code
}

// contacts adds whom to ask for and refuses an order without a phone number,
// where UPS wants both.
func (w *draft) contacts(service string) {
	s := &w.shipment
	reason := "shipments to another country or across a customs border"
	if w.from == w.to && !w.crosses {
		if service != "next_day_air_early" {
			return
		}
		reason = "UPS Next Day Air Early"
	}

	need := func(p *party, whose, pointer string) {
		if p.AttentionName == "" {
			p.AttentionName = p.Name
		}
		if p.Phone == nil && pointer != "" {
			w.refuse(pointer, "required", "UPS needs the %s's phone number for %s", whose, reason)
		}
	}
	need(&s.ShipTo, "recipient", "/destination/phone")
	if w.order.IsReturn {
		need(&s.Shipper, "recipient", "") // it is the destination
		need(s.ShipFrom, "sender", "/origin/phone")
		return
	}
	need(&s.Shipper, "sender", "/origin/phone")
}

// checkProvinces refuses a Vietnamese address without its province, which UPS
// wants as a code.
func (w *draft) checkProvinces() {
	need := func(a ship.Address, pointer string) {
		if a.Country == "VN" && a.State == "" {
			w.refuse(pointer, "required", "UPS needs the province of addresses in Vietnam, by name or as a code such as VN-44")
		}
	}
	need(w.order.Origin, "/origin/state")
	need(w.order.Destination, "/destination/state")
}

// maxDaysAhead is how far ahead UPS sells labels.
const maxDaysAhead = 7

// shipmentDate is a day ahead; UPS takes no date for today.
func (w *draft) shipmentDate() string {
	ahead := w.shipDay().Sub(w.today)
	if w.order.ShipDate == "" || ahead <= 0 {
		return ""
	}
	if days := int(ahead / (24 * time.Hour)); days > maxDaysAhead {
		w.refuse("/shipDate", "invalid", "UPS sells labels at most %d days ahead; this date is %d days ahead", maxDaysAhead, days)
	}
	return compact(w.shipDay())
}

// UPS's bounds of references.
const (
	maxReference  = 35 // characters
	maxReferences = 2
)

// refer puts our references where UPS takes them: on every parcel inside the
// United States and inside Puerto Rico, else on the shipment.
//
// UPS takes two references, prints both, and finds a shipment by either; no
// field is found without being printed. So the first line has what people in a
// warehouse look for, the order number and the client's own reference, and the
// second the reference of this attempt, without which a lost answer could not
// be looked up and the label might be bought twice. The shipment id travels in
// the header that names the source of the request, for UPS's support alone.
func (w *draft) refer(b carrier.BuyOrder) {
	var list []referenceNumber
	printed, complete := printedReference(b.Order.OrderID, b.Order.Reference)
	if printed != "" {
		list = append(list, referenceNumber{Value: printed})
	}
	if !complete {
		w.warnings = append(w.warnings, fmt.Sprintf("orderId and reference do not both fit on the UPS label, which prints %d characters of them", maxReference))
	}
	list = append(list, referenceNumber{Value: b.Reference})

	if w.lane != laneUS {
		w.shipment.ReferenceNumber = list
		return
	}
	for i := range w.shipment.Package {
		w.shipment.Package[i].ReferenceNumber = list
	}
}

// printedReference is the line for people: the order number, and the reference
// if both fit and differ. It is not complete if something of them is missing.
func printedReference(orderID, reference string) (text string, complete bool) {
	clean := func(s string) string {
		out := strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return -1 // references are printed in ASCII
			}
			return r
		}, s)
		return strings.Join(strings.Fields(out), " ")
	}
	id := clean(orderID)
	ref := clean(reference)
	complete = id == orderID && ref == reference

	switch both := id + " / " + ref; {
	case id == "" || ref == "" || id == ref:
		text = cmp.Or(id, ref)
	case len(both) <= maxReference:
		text = both
	default:
		text, complete = id, false
	}
	if len(text) > maxReference {
		text, complete = strings.TrimSpace(text[:maxReference]), false
	}
	return text, complete
}

// purchaseOf reads the answer of a sale. Whatever is wrong with it, money is
// spent.
func (d *driver) purchaseOf(a shipAnswer, b carrier.BuyOrder) (ship.Purchase, error) {
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
	if d.live && (isPlaceholder(p.CarrierRef) || slices.ContainsFunc(labels, func(one piece) bool { return isPlaceholder(one.number) })) {
		return ship.Purchase{}, ship.Errorf(ship.Uncertain, "UPS sent the number of its test environment for a live purchase")
	}
	renumber(&p, labels, b.Reference)
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
