package dhlexpress

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// Templates of the documents. fact: label-template. The one of the label fits a 4 by 6 inch printer.
const (
	labelTemplate         = "ECOM26_A6_002"
	invoiceTemplate       = "COMMERCIAL_INVOICE_P_10"
	returnInvoiceTemplate = "RET_COM_INVOICE_A4_01"
)

// Buy purchases a label, and no courier. The label is in the answer and nowhere
// else: a purchase whose answer is lost can be found but not printed.
func (d driver) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	order, warnings, err := carrierkit.FitTexts(request.Order, Spec.Address.Charset, Spec.Address.Charset)
	if err != nil {
		return ship.Sale{}, err
	}
	request.Order = order

	draft, body, err := d.shipRequest(request, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}
	draft.warnings = append(warnings, draft.warnings...)

	call := d.call(http.MethodPost, "/shipments", nil, request.Reference)
	call.Body = body
	call.Effect = true

	var answer shipmentAnswer
	if err := d.do(ctx, call, &answer, request.Order, body.ValueAddedServices); err != nil {
		return ship.Sale{}, err
	}
	return draft.sale(answer)
}

// shipRequest returns the body of the request that buys the label.
func (d driver) shipRequest(request carrier.BuyOrder, now time.Time) (draft, shipmentRequest, error) {
	// A lost purchase is looked up by this reference, so it must reach DHL
	// unchanged.
	if request.Reference == "" || len(request.Reference) > maxReference {
		return draft{}, shipmentRequest{}, ship.Errorf(ship.Internal, "a reference of %d characters does not fit DHL Express", len(request.Reference))
	}

	p, err := d.newDraft(request.Order, now)
	if err != nil {
		return draft{}, shipmentRequest{}, err
	}
	code, err := productOf(request.Service, p.lane)
	if err != nil {
		return draft{}, shipmentRequest{}, err
	}

	order := request.Order
	chosen := readSelection(request.Selection)
	body := shipmentRequest{
		PlannedShippingDateAndTime: formatTime(p.at),
		ProductCode:                code,
		LocalProductCode:           chosen.localProduct,
		GetRateEstimates:           true,
		Accounts:                   p.accounts,
		ValueAddedServices:         p.extras,
		OutputImageProperties:      imagesOf(order, p.declarable),
		CustomerReferences:         references(request),
		CustomerDetails: parties{
			ShipperDetails:  partyOf(p.from, order.Origin.Type, "private"),
			ReceiverDetails: partyOf(p.to, order.Destination.Type, "direct_consumer"),
		},
		Content: content{
			Packages:            p.packages,
			IsCustomsDeclarable: p.declarable,
			Description:         describe(order, p.declarable),
			Incoterm:            "DAP",
			UnitOfMeasurement:   "metric",
		},
		EstimatedDeliveryDate: estimateRequest{true, "QDDC"},
	}
	if p.declarable {
		d.declare(&body, &p, request, chosen, now)
	}
	if order.IsReturn {
		keepReturn(&body, &p, chosen)
	}
	deliverToPoint(&body, order)
	return p, body, nil
}

// keepReturn asks DHL to keep the data of a return until the customer sends it,
// where the quote offered that. Without it, DHL drops the data after some days.
func keepReturn(body *shipmentRequest, p *draft, chosen selection) {
	if chosen.staging == "" {
		p.warnings = append(p.warnings, "the return must be sent within a few days: data staging, which keeps it for months, is not offered for this account and shipment")
		return
	}
	body.ValueAddedServices = append(slices.Clone(body.ValueAddedServices), extra{ServiceCode: chosen.staging})
}

// declare adds what customs need to know. The invoice is rendered by DHL, to be
// sent as data where the quote offered paperless trade, else to be printed.
func (d driver) declare(body *shipmentRequest, p *draft, request carrier.BuyOrder, chosen selection, now time.Time) {
	customs := request.Order.Customs
	goods := &body.Content
	goods.DeclaredValue = json.Number(p.declared.Amount())
	goods.DeclaredValueCurrency = p.declared.Currency
	goods.ExportDeclaration = declarationOf(request, *p, now)
	goods.Incoterm = cmp.Or(customs.Incoterm, "DAP")

	switch {
	case chosen.paperless && customs.Paperless != "off":
		body.ValueAddedServices = append(slices.Clone(body.ValueAddedServices), extra{ServiceCode: extraPaperless})
	case customs.Paperless != "off":
		p.warnings = append(p.warnings, "paperless trade is not offered for this shipment: print the commercial invoice and attach it to the parcel")
	}

	numbers := registrations(customs, *p)
	body.CustomerDetails.ShipperDetails.RegistrationNumbers = numbers["sender"]
	body.CustomerDetails.ReceiverDetails.RegistrationNumbers = numbers["recipient"]
	if registered := numbers["importer"]; registered != nil {
		// An importer is a party of its own to DHL, with an address.
		importer := body.CustomerDetails.ReceiverDetails
		importer.RegistrationNumbers = registered
		body.CustomerDetails.ImporterDetails = &importer
	}

	if hasPrepaidDuties(request.Order, *p) {
		body.Accounts = append(slices.Clone(body.Accounts), account{"duties-taxes", d.account})
	}
}

// A selection is the part of a quote that the purchase must repeat.
type selection struct {
	localProduct string // the product's code in the country of origin
	paperless    bool   // paperless trade is offered
	staging      string // the service that keeps a return; "" if none is offered
}

// String writes the selection for the rate: "P", "P WY" or "P WY PT".
func (s selection) String() string {
	text := cmp.Or(s.localProduct, "-")
	if s.paperless {
		text += " " + extraPaperless
	}
	if s.staging != "" {
		text += " " + s.staging
	}
	return text
}

// readSelection reads what String wrote; a purchase without a quote has none.
func readSelection(text string) selection {
	local, rest, _ := strings.Cut(text, " ")
	if local == "-" {
		local = ""
	}

	chosen := selection{localProduct: local}
	for _, code := range strings.Fields(rest) {
		switch {
		case code == extraPaperless:
			chosen.paperless = true
		case slices.Contains(stagings, code):
			chosen.staging = code
		}
	}
	return chosen
}

// productOf returns DHL's code of one of our services on a route.
func productOf(code string, lane lane) (string, error) {
	i := slices.IndexFunc(services, func(s service) bool { return s.code == code })
	if i < 0 {
		return "", refusedService("DHL Express has no service \"" + code + "\"; GET /v1/carriers lists its services")
	}

	offered := services[i]
	if offered.product(lane) == "" {
		return "", refusedService(offered.name + " is not available from this origin to this destination for these contents")
	}
	return offered.product(lane), nil
}

func refusedService(detail string) error {
	return carrierkit.InvalidOrder("DHL Express", []ship.FieldError{{
		Pointer: "/service",
		Code:    "invalid",
		Detail:  detail,
	}})
}

// imagesOf asks for the label alone, as a PDF with one page per piece, and for
// the invoice where customs need one. The waybill document is the courier's
// copy.
func imagesOf(order ship.Order, declarable bool) images {
	yes := true
	no := false
	requested := images{
		EncodingFormat: "pdf",
		ImageOptions: []imageOption{
			{TypeCode: "label", TemplateName: labelTemplate, LabelFreeText: printedReference(order)},
			{TypeCode: "waybillDoc", IsRequested: &no},
		},
		SplitTransportAndWaybillDocLabels: true,
	}

	if declarable {
		// Invoices of returns have a template of their own.
		template := invoiceTemplate
		if order.IsReturn {
			template = returnInvoiceTemplate
		}
		requested.ImageOptions = append(requested.ImageOptions, imageOption{
			TypeCode:     "invoice",
			TemplateName: template,
			IsRequested:  &yes,
			InvoiceType:  reasonOf(order).invoice,
			LanguageCode: "eng",
		})
	}
	return requested
}

// printedReference returns what identifies the parcel to the people who pack
// and receive it: the order number, then the client's reference.
func printedReference(order ship.Order) string {
	const limit = 150 // of the free text on the label

	text := order.OrderID
	if order.Reference != "" && order.Reference != order.OrderID {
		text = strings.TrimSpace(text + " / " + order.Reference)
	}
	if utf8.RuneCountInString(text) > limit {
		text = string([]rune(text)[:limit])
	}
	return text
}

// references returns our own reference first, by which a purchase is looked up,
// then the client's order and reference where they fit, and the shipment's id
// last. The label has the order in its free text.
func references(request carrier.BuyOrder) []reference {
	list := []reference{{request.Reference, "CU"}}
	for _, further := range []reference{
		{request.Order.OrderID, "CO"},
		{request.Order.Reference, "AAO"},
		{string(request.Shipment), "FF"},
	} {
		if firstFitting(further.Value) != "" {
			list = append(list, further)
		}
	}
	return list
}

// sale reads the answer. An answer without a label, or with fewer pieces
// than were sent, is uncertain: DHL has sold something.
func (p draft) sale(answer shipmentAnswer) (ship.Sale, error) {
	waybill := strings.TrimSpace(string(answer.ShipmentTrackingNumber))
	if waybill == "" {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Express sent no waybill number")
	}

	bought := ship.Sale{
		CarrierRef:     waybill,
		TrackingNumber: waybill,
		Warnings:       append(slices.Clone(p.warnings), answer.Warnings...),
		DeliveryAt:     localTime(answer.EstimatedDeliveryDate.EstimatedDeliveryDate, p.toPlace.ClosestZone()),
	}
	bought.Price, _ = billedPrice(answer.ShipmentCharges) // an account without rates has none

	if len(p.packages) > 1 {
		if len(answer.Packages) != len(p.packages) {
			return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Express sold %d pieces instead of %d", len(answer.Packages), len(p.packages))
		}
		slices.SortStableFunc(answer.Packages, func(x, y soldPackage) int { return cmp.Compare(x.ReferenceNumber, y.ReferenceNumber) })
		for _, piece := range answer.Packages {
			bought.Pieces = append(bought.Pieces, string(piece.TrackingNumber))
		}
	}
	return addDocuments(bought, answer.Documents, len(p.packages))
}

// addDocuments adds the label and the documents to a purchase.
func addDocuments(bought ship.Sale, documents []soldDocument, pieces int) (ship.Sale, error) {
	// The labels are joined in the order of the pieces.
	slices.SortStableFunc(documents, func(x, y soldDocument) int { return cmp.Compare(x.PackageReferenceNumber, y.PackageReferenceNumber) })

	var labels [][]byte
	for _, document := range documents {
		// A damaged document is uncertain and not a refusal: DHL has sold the
		// shipment.
		if !isPDF(document) {
			return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Express sent a %s that is not a complete PDF", document.TypeCode)
		}

		switch document.TypeCode {
		case "label":
			labels = append(labels, document.Content)
		case "invoice":
			bought.Documents = append(bought.Documents, ship.Document{Type: "commercial_invoice", Format: "pdf", Data: document.Content})
		default:
			bought.Documents = append(bought.Documents, ship.Document{Type: document.TypeCode, Format: "pdf", Data: document.Content})
		}
	}
	if len(labels) == 0 {
		return ship.Sale{}, ship.Errorf(ship.Uncertain, "DHL Express sent no label")
	}

	if pieces == 1 {
		// The courier's copy may come unasked, and its type is label too.
		for _, courierCopy := range labels[1:] {
			bought.Documents = append(bought.Documents, ship.Document{Type: "courier_copy", Format: "pdf", Data: courierCopy})
		}
		labels = labels[:1]
	}
	bought.Label = ship.Label{Format: "pdf", Data: label.Join(labels)}
	return bought, nil
}

// isPDF reports whether a document is a PDF that arrived in full.
func isPDF(document soldDocument) bool {
	return strings.EqualFold(document.ImageFormat, "PDF") && carrierkit.IsWholePDF(document.Content)
}
