package fedex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

const shipPath = "/ship/v1/shipments"

// shipLimit bounds the answer to a purchase: forty labels fit.
const shipLimit = 8 << 20

// The references that FedEx keeps with a package, all of which it prints on
// the label. The first is the one that a look-up finds.
const (
	ourReference     = "CUSTOMER_REFERENCE"
	orderNumber      = "P_O_NUMBER"
	clientReference  = "INVOICE_NUMBER"
	departmentNumber = "DEPARTMENT_NUMBER"
	returnNumber     = "RMA_ASSOCIATION"
)

// Buy purchases the order. The label is always a PNG, whatever the client
// prints: all other formats are made from it.
func (d *driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	order, unprinted, err := carrierkit.FitTexts(request.Order, Spec.Address.Charset, Spec.Address.Charset)
	if err != nil {
		return ship.Sale{}, err
	}
	request.Order = order

	body, warnings, err := d.shipRequest(&request)
	if err != nil {
		return ship.Sale{}, err
	}
	warnings = append(unprinted, warnings...)

	var answer shipAnswer
	transaction := transactionOf(&request)
	err = d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + shipPath,
		Body:   body,
		Effect: true,
		Limit:  shipLimit,
		Header: http.Header{"X-Customer-Transaction-Id": {transaction}},
	}, &answer)
	if err != nil {
		err = withoutParcelIndex(err, &request.Order)
		return ship.Sale{}, d.withoutPaperless(&request.Order, body.isPaperless(), err)
	}

	// The test environment may answer with a recorded shipment, which does not
	// match the order.
	purchase, err := answer.sale(&request, transaction)
	if err != nil && !d.live && answer.isVirtual() {
		return ship.Sale{}, notTestable(ship.Refusal{Code: virtualResponse})
	}
	purchase.Warnings = append(warnings, purchase.Warnings...)
	if body.isPaperless() && !answer.tookDocuments() {
		purchase.Warnings = append(purchase.Warnings, "FedEx did not confirm that it received the invoice electronically: print it and attach it to the parcel")
	}
	return purchase, err
}

// rehearsalPath is where FedEx checks a shipment without selling it.
const rehearsalPath = shipPath + "/packages/validate"

// Rehearse has FedEx check a purchase. FedEx checks shipments of one parcel, so it is
// shown the first alone.
func (d *driver) Rehearse(ctx context.Context, request carrier.BuyOrder) error {
	order, _, err := carrierkit.FitTexts(request.Order, Spec.Address.Charset, Spec.Address.Charset)
	if err != nil {
		return err
	}
	order.Parcels = order.Parcels[:1]
	request.Order = order

	body, _, err := d.shipRequest(&request)
	if err != nil {
		return err
	}
	shipment := body.RequestedShipment
	shipment.TotalPackageCount = 0
	shipment.TotalDeclaredValue = nil
	if weight, err := shipment.TotalWeight.Float64(); err == nil { // a whole number here
		shipment.TotalWeight = json.Number(strconv.Itoa(int(math.Ceil(weight))))
	}

	var answer rehearsalAnswer
	err = d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + rehearsalPath,
		Body:   rehearsalRequest{AccountNumber: body.AccountNumber, RequestedShipment: shipment},
		Header: http.Header{"X-Customer-Transaction-Id": {transactionOf(&request)}},
	}, &answer)
	switch {
	case err != nil:
		return withoutParcelIndex(err, &request.Order)
	case answer.Output == nil:
		return ship.Errorf(ship.Unavailable, "FedEx did not confirm that it checked the shipment")
	}
	return nil
}

// transactionOf returns what FedEx repeats in its answer and prints nowhere.
func transactionOf(request *carrier.BuyOrder) string {
	return cmp.Or(string(request.Shipment), request.Reference)
}

func (d *driver) shipRequest(request *carrier.BuyOrder) (shipRequest, []string, error) {
	order := &request.Order
	if err := checkReturn(order); err != nil {
		return shipRequest{}, nil, err
	}

	var bad problems
	packaging := packagingType(order, &bad)
	chosen, err := d.serviceFor(request, packaging, &bad)
	if err != nil {
		return shipRequest{}, nil, err
	}

	from, to, warnings := parties(order, &bad)
	to.Address.Residential = to.Address.Residential || chosen.kind == homeDelivery

	checkOptions(order, &bad)
	units := measureOf(order)
	list := pieces(order, units, packaging, false, &bad)
	printed, cut := references(request)
	warnings = append(warnings, cut...)
	for i := range list {
		list[i].CustomerReferences = printed
	}

	shipment := shipOrder{
		ShipDatestamp:     string(order.ShipDate),
		Shipper:           from,
		Recipients:        []party{to},
		PickupType:        dropOff,
		ServiceType:       chosen.kind,
		PackagingType:     packaging,
		TotalWeight:       totalWeight(order, units),
		TotalPackageCount: len(list),
		Payment:           billing(order.Billing),
		SpecialServices:   specials(order, false),
		Label:             labelSpec{ImageType: "PNG", LabelStockType: "PAPER_4X6"},
		RateRequestType:   []string{"ACCOUNT"},
		Packages:          list,
	}
	if value := order.Options.InsuredValue; !value.IsZero() {
		shipment.TotalDeclaredValue = amountOf(value)
	}
	if chosen.kind == groundEconomy {
		shipment.Economy = d.economy(order)
	}
	if laneOf(order).isInternational() {
		warnings = append(warnings, d.declare(&shipment, order, units, &bad)...)
	}
	if err := bad.err(); err != nil {
		return shipRequest{}, nil, err
	}

	return shipRequest{
		AccountNumber:        account{d.account},
		LabelResponseOptions: "LABEL",
		ProcessingOptionType: "SYNCHRONOUS_ONLY",
		RequestedShipment:    shipment,
	}, warnings, nil
}

// declare adds what is in the parcels, for whom, and which documents FedEx
// makes from it.
func (d *driver) declare(shipment *shipOrder, order *ship.Order, units measure, bad *problems) (warnings []string) {
	shipment.Customs = d.declaration(order, units, bad)

	numbers := taxNumbersOf(order, bad)
	shipment.Shipper.Tins = numbers.sender
	shipment.Recipients[0].Tins = numbers.recipient
	shipment.Customs.RecipientID = numbers.customsID
	if len(numbers.importer) > 0 {
		shipment.Customs.Importer = importerOf(shipment, order, numbers.importer)
	}

	if !laneOf(order).crossesCustoms() || shipment.Customs.DocumentOnly {
		return nil
	}
	if order.Destination.Country == "BR" && numbers.customsID == nil {
		warnings = append(warnings, "customs.taxIdentifiers has no cnpj, cpf or passport of the recipient: Brazilian customs hold parcels without one")
	}

	shipment.Documents = invoiceByFedEx()
	if d.usesPaperless(order) {
		if shipment.SpecialServices == nil {
			shipment.SpecialServices = &special{}
		}
		shipment.SpecialServices.Types = append(shipment.SpecialServices.Types, paperlessService)
		shipment.SpecialServices.ETD = &etdDetail{Requested: []string{commercialInvoice}}
		if order.Customs.DocumentsFollow {
			shipment.SpecialServices.ETD.Attributes = []string{documentsAfter}
		}
	}
	return warnings
}

// importerOf returns who imports the goods: the recipient, or the sender who
// delivers them with duties paid.
func importerOf(shipment *shipOrder, order *ship.Order, numbers []tin) *party {
	importer := shipment.Recipients[0]
	if order.Customs.Incoterm == "DDP" {
		importer = shipment.Shipper
	}
	importer.Tins = numbers
	return &importer
}

// serviceFor returns the service of the purchase, under the name by which it
// was quoted.
func (d *driver) serviceFor(request *carrier.BuyOrder, packaging string, bad *problems) (service, error) {
	order := &request.Order
	chosen, ok := serviceByCode(request.Service)
	if !ok {
		return chosen, ship.Errorf(ship.Invalid, "FedEx has no service %q", request.Service)
	}
	if quoted, known := serviceByCarrierCode(request.Selection); known && quoted.code == chosen.code {
		chosen.kind = request.Selection
	}

	residential := order.Destination.Residential
	inUSA := countryOf(laneOf(order).to) == "US"
	switch {
	case isOneRate(order) && !slices.Contains(oneRateServices, chosen.code):
		bad.add("/service", "unsupported", "%s has no FedEx One Rate: use one of %s", chosen.name, strings.Join(oneRateServices, ", "))
	case chosen.ownBoxOnly && packaging != ownPackaging:
		bad.add("/parcels/0/packaging", "invalid", "%s does not allow FedEx packaging", chosen.name)
	case chosen.kind == ground && inUSA && residential != nil && *residential:
		bad.add("/destination/residential", "invalid", "FedEx Ground delivers to businesses in the United States: use home_delivery for residential addresses")
	case chosen.kind == homeDelivery && residential != nil && !*residential:
		bad.add("/destination/residential", "invalid", "FedEx Home Delivery delivers to residential addresses: use ground for businesses")
	case chosen.kind == groundEconomy:
		return chosen, d.checkEconomy(order, packaging)
	}
	return chosen, nil
}

// references are printed on the label of every package, ours first, so that a
// look-up finds them all; then the order number and the client's reference.
func references(request *carrier.BuyOrder) (list []reference, warnings []string) {
	list = []reference{{ourReference, request.Reference}}
	add := func(kind, field, text string) {
		printed, warning := printable(kind, text, field)
		if printed != "" {
			list = append(list, reference{kind, printed})
		}
		if warning != "" {
			warnings = append(warnings, warning)
		}
	}

	order := &request.Order
	add(orderNumber, "orderId", order.OrderID)
	if order.Reference == "" || order.Reference == order.OrderID {
		return list, warnings
	}

	// FedEx prints the number of the customs invoice under the same name. The
	// reference of a return is the number under which the shop expects it.
	kind := clientReference
	switch {
	case order.IsReturn:
		kind = returnNumber
	case order.Customs != nil && order.Customs.InvoiceNumber != "":
		kind = departmentNumber
	}
	add(kind, "reference", order.Reference)
	return list, warnings
}

// printable returns as much of a reference as FedEx prints.
func printable(kind, text, field string) (printed, warning string) {
	limit := maxReference
	if kind == returnNumber {
		limit = maxReturnNumber
	}
	if fits(text, limit) {
		return text, ""
	}
	return string([]rune(text)[:limit]), fmt.Sprintf("%s is truncated on the label: FedEx prints %d characters", field, limit)
}

// billing returns who pays FedEx.
func billing(given *ship.Billing) payment {
	if given == nil || given.Type == "sender" {
		return payment{PaymentType: "SENDER"}
	}
	return payment{
		PaymentType: strings.ToUpper(given.Type),
		Payor:       &payor{payingParty{account{digits(given.Account)}}},
	}
}

// uncertain is the error of an answer that does not match the order: money may
// have been spent.
func uncertain(format string, args ...any) error { return ship.Errorf(ship.Uncertain, format, args...) }

// sale reads what was sold.
func (a *shipAnswer) sale(request *carrier.BuyOrder, transaction string) (ship.Sale, error) {
	if len(a.Output.Shipments) != 1 {
		return ship.Sale{}, uncertain("FedEx answered with %d shipments", len(a.Output.Shipments))
	}
	sold := &a.Output.Shipments[0]
	if len(sold.Pieces) != len(request.Order.Parcels) {
		return ship.Sale{}, uncertain("FedEx answered with %d pieces for %d parcels", len(sold.Pieces), len(request.Order.Parcels))
	}
	if a.CustomerTransactionID != "" && a.CustomerTransactionID != transaction {
		return ship.Sale{}, uncertain("FedEx returned a different purchase")
	}

	slices.SortStableFunc(sold.Pieces, func(x, y soldPiece) int { return cmp.Compare(x.SequenceNumber, y.SequenceNumber) })
	number := cmp.Or(sold.MasterTrackingNumber, sold.Pieces[0].TrackingNumber)
	purchase := ship.Sale{
		Service:        request.Service,
		CarrierRef:     number,
		TrackingNumber: number,
	}
	if err := sold.addDocuments(request, &purchase); err != nil {
		return ship.Sale{}, err
	}

	// FedEx leaves the price out for some shipments that another account pays.
	if price, ok := sold.Completed.Rating.price(); ok {
		purchase.Price = price
	} else {
		purchase.Warnings = append(purchase.Warnings, "FedEx did not return a price")
	}

	dates := sold.Completed.Operational
	for _, text := range []string{dates.CommitDate, dates.DeliveryDate, dates.PublishedDeliveryTime} {
		if at, ok := parseTime(text); ok && purchase.DeliveryAt.IsZero() {
			purchase.DeliveryAt = at
		}
	}
	for _, alert := range slices.Concat(sold.Alerts, a.Output.Alerts) {
		purchase.Warnings = append(purchase.Warnings, "FedEx: "+cmp.Or(alert.Message, alert.Code))
	}
	return purchase, nil
}

var pngMagic = []byte("\x89PNG\r\n\x1a\n")

// addDocuments adds the labels and the other documents of all pieces to the
// purchase.
func (s *soldShipment) addDocuments(request *carrier.BuyOrder, purchase *ship.Sale) error {
	var pages [][]byte
	others := slices.Clone(s.Documents)
	for _, sold := range s.Pieces {
		// FedEx repeats our reference with every piece: the label of another
		// parcel must never be taken for this one.
		for _, printed := range sold.References {
			if printed.Type == ourReference && printed.Value != request.Reference {
				return uncertain("FedEx returned a label with a different reference")
			}
		}
		if sold.TrackingNumber == "" {
			return uncertain("FedEx returned a piece without a tracking number")
		}
		if len(s.Pieces) > 1 {
			purchase.Pieces = append(purchase.Pieces, sold.TrackingNumber)
		}

		before := len(pages)
		for _, document := range sold.Documents {
			if document.ContentType != "LABEL" {
				others = append(others, document)
				continue
			}
			if !bytes.HasPrefix(document.EncodedLabel, pngMagic) {
				return uncertain("FedEx sent a label that is not a PNG image")
			}
			pages = append(pages, document.EncodedLabel)
		}
		if len(pages) == before {
			return uncertain("FedEx sent a piece without its label")
		}
	}
	purchase.Label = ship.Label{Format: "png", Data: label.Join(pages)}

	for _, document := range others {
		if len(document.EncodedLabel) > 0 {
			purchase.Documents = append(purchase.Documents, ship.Document{
				Type:   strings.ToLower(document.ContentType),
				Format: strings.ToLower(document.DocType),
				Data:   document.EncodedLabel,
			})
		}
	}
	return nil
}
