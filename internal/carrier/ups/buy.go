package ups

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// Buy purchases the label in one call. UPS bills what it sells, and sells again
// if it is asked again.
func (d *driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	order, warnings, err := carrierkit.FitTexts(request.Order, "ascii", Spec.Address.Charset)
	if err != nil {
		return ship.Sale{}, err
	}
	request.Order = order

	draft, err := d.newDraft(request.Order, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}
	draft.warnings = append(warnings, draft.warnings...)
	if draft.shipment.AlternateDeliveryAddress != nil {
		point, err := d.findPoint(ctx, order.Options.ServicePoint, order.Destination)
		if err != nil {
			return ship.Sale{}, err
		}
		draft.deliverTo(point)
	}
	body, err := d.shipRequest(draft, request)
	if err != nil {
		return ship.Sale{}, err
	}

	var answer shipAnswer
	reasons, err := d.exchange(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/shipments/v2409/ship",
		Body:   body,
		Header: http.Header{"Transactionsrc": {strings.TrimSpace(caller + " " + string(request.Shipment))}},
		Effect: true,
	}, &answer)
	if err != nil {
		return ship.Sale{}, draft.explain(err, reasons)
	}

	purchase, err := d.sale(answer, request)
	purchase.Warnings = append(draft.warnings, purchase.Warnings...)
	return purchase, err
}

// shipRequest returns the body of a purchase. Its error lists everything that
// UPS would refuse.
func (d *driver) shipRequest(w *draft, request carrier.BuyOrder) (body shipRequest, err error) {
	if request.Reference == "" || len(request.Reference) > maxReference {
		return body, ship.Errorf(ship.Internal, "a UPS reference has 1 to %d characters", maxReference)
	}

	shipment := &w.shipment
	shipment.Service = &coded{Code: w.serviceCode(request.Service)}
	shipment.PaymentInformation = &payment{ShipmentCharge: d.charges(w)}
	w.requireContacts(request.Service)
	w.checkProvinces()
	w.addAlcohol()
	w.groundDryIce(request.Service)
	w.declare()
	shipment.ShipmentDate = w.shipmentDate()
	w.addReferences(request)
	if request.Order.IsReturn {
		shipment.ReturnService = &coded{Code: returnServiceCode}
		for i := range shipment.Package {
			shipment.Package[i].Description = shorten(w.describeGoods(), maxGoodsLine)
		}
	}
	if err := w.err(); err != nil {
		return body, err
	}

	// UPS repeats the reference in its answer, which shows that the answer is
	// to this purchase.
	sent := &body.ShipmentRequest
	sent.Request.RequestOption = "nonvalidate"
	sent.Request.TransactionReference.CustomerContext = request.Reference
	sent.Shipment = *shipment
	sent.LabelSpecification = gif()
	return body, nil
}

// gif asks for the label as an image, the one format of UPS's from which every
// other can be made. UPS would also send ZPL, but nothing here renders a PDF
// from ZPL, and every label has a PDF.
func gif() labelSpecification {
	return labelSpecification{
		LabelImageFormat: coded{Code: "GIF", Description: "GIF"},
		HTTPUserAgent:    "Mozilla/4.5",
		LabelStockSize:   stock{Height: "6", Width: "4"},
	}
}

// serviceCode returns UPS's code of the service, if it is sold on this lane.
func (w *draft) serviceCode(ours string) string {
	chosen, ok := serviceByCode(ours)
	if !ok {
		w.problems = append(w.problems, ship.FieldError{
			Pointer:    "/service",
			Code:       "unknown_service",
			Detail:     "is not a UPS service; GET /v1/carriers lists its services",
			Suggestion: ship.Nearest(ours, serviceCodes()),
		})
		return ""
	}

	code := chosen.codeOn(w.lane)
	switch {
	case code == "":
		w.refuse("/service", "unsupported", "%s is not sold from %s to %s", chosen.name, w.from, w.to)
	case w.order.IsReturn && slices.Contains(noReturns, code):
		w.refuse("/service", "unsupported", "%s is not sold for returns", chosen.name)
	}
	return code
}

// requireContacts adds contact names and refuses an order without a phone
// number, where UPS needs both.
func (w *draft) requireContacts(service string) {
	reason := "shipments to another country or across a customs border"
	if w.from == w.to && !w.crosses {
		if service != "next_day_air_early" {
			return
		}
		reason = "UPS Next Day Air Early"
	}

	require := func(p *party, whose, pointer string) {
		if p.AttentionName == "" {
			p.AttentionName = p.Name
		}
		if p.Phone == nil && pointer != "" {
			w.refuse(pointer, "required", "UPS needs the %s's phone number for %s", whose, reason)
		}
	}
	require(&w.shipment.ShipTo, "recipient", "/destination/phone")
	if w.order.IsReturn {
		require(&w.shipment.Shipper, "recipient", "") // it is the destination
		require(w.shipment.ShipFrom, "sender", "/origin/phone")
		return
	}
	require(&w.shipment.Shipper, "sender", "/origin/phone")
}

// checkProvinces refuses a Vietnamese address without its province, which UPS
// takes as a code.
func (w *draft) checkProvinces() {
	check := func(given ship.Address, pointer string) {
		if given.Country == "VN" && given.State == "" {
			w.refuse(pointer, "required", "UPS needs the province of addresses in Vietnam, by name or as a code such as VN-44")
		}
	}
	check(w.order.Origin, "/origin/state")
	check(w.order.Destination, "/destination/state")
}

// maxDaysAhead is how far ahead UPS sells labels.
const maxDaysAhead = 7

// shipmentDate returns the ship date if it is in the future; UPS takes no date
// for today.
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

// addReferences puts our references where UPS takes them: on every parcel
// inside the United States and inside Puerto Rico, else on the shipment.
//
// UPS takes two references, prints both, and finds a shipment by either; no
// field is found without being printed. So the first line has what people in a
// warehouse look for, the order number and the client's own reference, and the
// second the reference of this attempt, without which a lost answer could not
// be looked up and the label might be bought twice. The shipment id travels in
// the header that names the source of the request, for UPS's support only.
func (w *draft) addReferences(request carrier.BuyOrder) {
	var list []referenceNumber
	printed, complete := printedReference(request.Order.OrderID, request.Order.Reference)
	if printed != "" {
		list = append(list, referenceNumber{Value: printed})
	}
	if !complete {
		w.warnings = append(w.warnings, fmt.Sprintf("orderId and reference do not both fit on the UPS label, which prints %d characters of them", maxReference))
	}
	list = append(list, referenceNumber{Value: request.Reference})

	if w.lane != laneUS {
		w.shipment.ReferenceNumber = list
		return
	}
	for i := range w.shipment.Package {
		w.shipment.Package[i].ReferenceNumber = list
	}
}

// printedReference returns the reference line for people: the order number, and
// the reference if both fit and differ. It is not complete if a part of them is
// missing.
func printedReference(orderID, reference string) (text string, complete bool) {
	complete = true
	switch both := orderID + " / " + reference; {
	case orderID == "" || reference == "" || orderID == reference:
		text = cmp.Or(orderID, reference)
	case len(both) <= maxReference:
		text = both
	default:
		text = orderID
		complete = false
	}
	if len(text) > maxReference {
		text = strings.TrimSpace(text[:maxReference])
		complete = false
	}
	return text, complete
}

// sale reads the answer of a sale. Money has been spent in any case, so its
// errors are of kind ship.Uncertain.
func (d *driver) sale(answer shipAnswer, request carrier.BuyOrder) (ship.Sale, error) {
	if reference := answer.ShipmentResponse.Response.context(); reference != "" && reference != request.Reference {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "UPS returned a different purchase")
	}

	sold := answer.ShipmentResponse.ShipmentResults
	purchase := ship.Sale{
		Service:    request.Service,
		CarrierRef: sold.ShipmentIdentificationNumber,
		Price:      price(sold.ShipmentCharges.TotalCharges, sold.NegotiatedRateCharges),
	}
	labels := make([]piece, len(sold.PackageResults))
	for i, result := range sold.PackageResults {
		labels[i] = piece{result.TrackingNumber, result.ShippingLabel.ImageFormat.Code, result.ShippingLabel.GraphicImage}
	}

	isSample := isPlaceholder(purchase.CarrierRef) || slices.ContainsFunc(labels, func(p piece) bool { return isPlaceholder(p.number) })
	if d.live && isSample {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "UPS returned a tracking number of its test environment for a live purchase")
	}
	renumber(&purchase, labels, request.Reference)
	if err := addPieces(&purchase, labels, len(request.Order.Parcels)); err != nil {
		return ship.Sale{}, withKind(ship.Uncertain, err.Error(), err)
	}

	for _, form := range sold.Form {
		purchase.Documents = appendDocument(purchase.Documents, "commercial_invoice", form.Image)
	}
	for _, receipt := range sold.ControlLogReceipt {
		purchase.Documents = appendDocument(purchase.Documents, "high_value_report", receipt)
	}
	for _, alert := range answer.ShipmentResponse.Response.Alert {
		purchase.Warnings = append(purchase.Warnings, "UPS says: "+alert.Description)
	}
	return purchase, nil
}

// A piece is a parcel that was sold.
type piece struct{ number, format, image string }

// addPieces adds the numbers and labels of the pieces, one for every parcel.
// The error is of kind ship.Unavailable.
func addPieces(purchase *ship.Sale, pieces []piece, parcels int) error {
	if len(pieces) != parcels {
		return ship.Errorf(ship.Unavailable, "UPS sent %d labels for %d parcels", len(pieces), parcels)
	}

	pages := make([][]byte, len(pieces))
	for i, sold := range pieces {
		page, err := base64.StdEncoding.DecodeString(sold.image)
		if err != nil || sold.number == "" || !strings.EqualFold(sold.format, "GIF") || !bytes.HasPrefix(page, []byte("GIF8")) {
			return ship.Errorf(ship.Unavailable, "UPS sent a label without a tracking number or not as a GIF image")
		}
		pages[i] = page
		if parcels > 1 {
			purchase.Pieces = append(purchase.Pieces, sold.number)
		}
	}
	purchase.TrackingNumber = pieces[0].number
	purchase.Label = ship.Label{Format: "gif", Data: label.Join(pages)}
	return nil
}

// appendDocument adds a document. One that cannot be read is no reason to lose
// the label, so it is left out.
func appendDocument(list []ship.Document, kind string, image picture) []ship.Document {
	data, err := base64.StdEncoding.DecodeString(image.GraphicImage)
	if err != nil || len(data) == 0 {
		return list
	}
	return append(list, ship.Document{Type: kind, Format: strings.ToLower(image.ImageFormat.Code), Data: data})
}

// placeholder is the number of every parcel and every shipment that UPS's test
// environment sells. It has no check digit, and cannot be tracked, voided or
// looked up.
//
// fact: test-placeholder
const placeholder = "1ZXXXXXXXXXXXXXXXX"

// isPlaceholder reports whether a number is the placeholder, or one of ours
// that begins with it.
func isPlaceholder(number string) bool {
	return strings.HasPrefix(strings.ToUpper(number), placeholder)
}

// placeholderSuffix is how much of the attempt's reference makes placeholders
// unique: 70 bits of it, which leaves room for the number of a piece.
const placeholderSuffix = 14

// renumber makes placeholders unique, because numbers are kept and looked up as
// if they were. The rest is the end of the attempt's reference, so that the
// same purchase always has the same numbers.
func renumber(purchase *ship.Sale, pieces []piece, reference string) {
	unique := reference[max(len(reference)-placeholderSuffix, 0):]
	if isPlaceholder(purchase.CarrierRef) {
		purchase.CarrierRef = placeholder + unique
	}

	for i := range pieces {
		if !isPlaceholder(pieces[i].number) {
			continue
		}
		pieces[i].number = placeholder + unique
		if i > 0 {
			pieces[i].number += strconv.FormatInt(int64(i), 36)
		}
	}
}
