package dhlexpress

import (
	"bytes"
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

// Templates of the papers: the label is the one that fits a 4 by 6 inch
// printer.
const (
	labelTemplate   = "ECOM26_A6_002"
	invoiceTemplate = "COMMERCIAL_INVOICE_P_10"
)

// Buy buys a label, and no courier. The label is in the answer and nowhere
// else: a purchase whose answer is lost can be found but not printed.
func (d driver) Buy(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	p, request, err := d.shipment(b, time.Now())
	if err != nil {
		return ship.Purchase{}, err
	}

	call := d.call(http.MethodPost, "/shipments", nil, b.Reference)
	call.Body = request
	call.Effect = true
	var a shipmentAnswer
	if err := d.do(ctx, call, &a, b.Order, request.ValueAddedServices); err != nil {
		return ship.Purchase{}, err
	}
	return p.purchase(a)
}

// shipment is the request that buys b.
func (d driver) shipment(b carrier.BuyOrder, now time.Time) (plan, shipmentRequest, error) {
	if b.Reference == "" || len(b.Reference) > maxReference {
		return plan{}, shipmentRequest{}, ship.Errorf(ship.Internal, "a reference of %d characters does not fit DHL Express", len(b.Reference))
	}
	p, err := d.plan(b.Order, now)
	if err != nil {
		return plan{}, shipmentRequest{}, err
	}
	code, err := productOf(b.Service, p.lane)
	if err != nil {
		return plan{}, shipmentRequest{}, err
	}
	chosen := readSelection(b.Selection)

	r := shipmentRequest{
		PlannedShippingDateAndTime: moment(p.at),
		ProductCode:                code,
		LocalProductCode:           chosen.localProduct,
		GetRateEstimates:           true,
		Accounts:                   p.accounts,
		ValueAddedServices:         p.extras,
		OutputImageProperties:      imagesOf(b.Order, p.declarable),
		CustomerReferences:         referencesOf(b),
		CustomerDetails: parties{
			ShipperDetails:  partyOf(p.from, b.Order.Origin.Type, "private"),
			ReceiverDetails: partyOf(p.to, b.Order.Destination.Type, "direct_consumer"),
		},
		Content: content{
			Packages:            p.packages,
			IsCustomsDeclarable: p.declarable,
			Description:         describe(b.Order, p.declarable),
			Incoterm:            "DAP",
			UnitOfMeasurement:   "metric",
		},
		EstimatedDeliveryDate: estimateRequest{true, "QDDC"},
	}
	if p.declarable {
		d.declare(&r, &p, b, chosen, now)
	}
	return p, r, nil
}

// declare adds what customs wants to know. The invoice is rendered by DHL, to
// be sent as data where the quote offered paperless trade, else to be printed.
func (d driver) declare(r *shipmentRequest, p *plan, b carrier.BuyOrder, chosen selection, now time.Time) {
	customs := b.Order.Customs
	c := &r.Content
	c.DeclaredValue = json.Number(p.declared.Amount())
	c.DeclaredValueCurrency = p.declared.Currency
	c.ExportDeclaration = declarationOf(b, *p, now)
	c.Incoterm = cmp.Or(customs.Incoterm, "DAP")

	switch {
	case chosen.paperless && customs.Paperless != "off":
		r.ValueAddedServices = append(slices.Clone(r.ValueAddedServices), extra{ServiceCode: extraPaperless})
	case customs.Paperless != "off":
		p.warnings = append(p.warnings, "paperless trade is not offered for this shipment: print the commercial invoice and attach it to the parcel")
	}

	numbers := registrations(customs, *p)
	r.CustomerDetails.ShipperDetails.RegistrationNumbers = numbers["sender"]
	r.CustomerDetails.ReceiverDetails.RegistrationNumbers = numbers["recipient"]
	if of := numbers["importer"]; of != nil {
		// An importer is a party of its own to DHL, with an address.
		importer := r.CustomerDetails.ReceiverDetails
		importer.RegistrationNumbers = of
		r.CustomerDetails.ImporterDetails = &importer
	}

	if dutiesPaid(b.Order, *p) {
		r.Accounts = append(slices.Clone(r.Accounts), account{"duties-taxes", d.account})
	}
}

// A selection is what a purchase repeats of its quote.
type selection struct {
	localProduct string // the product's code in the country of origin
	paperless    bool   // paperless trade is offered
}

// String writes the selection for the rate: "P" or "P WY".
func (s selection) String() string {
	text := cmp.Or(s.localProduct, "-")
	if s.paperless {
		text += " " + extraPaperless
	}
	return text
}

// readSelection reads what String wrote; a purchase without a quote has none.
func readSelection(text string) selection {
	local, rest, _ := strings.Cut(text, " ")
	if local == "-" {
		local = ""
	}
	return selection{
		localProduct: local,
		paperless:    rest == extraPaperless,
	}
}

// productOf is DHL's code of one of our services on a lane.
func productOf(code string, l lane) (string, error) {
	i := slices.IndexFunc(serviceTable, func(s service) bool { return s.code == code })
	if i < 0 {
		return "", refusedService("DHL Express has no service \"" + code + "\"; GET /v1/carriers lists its services")
	}
	s := serviceTable[i]
	if s.product(l) == "" {
		return "", refusedService(s.name + " does not go from the origin to the destination with these contents")
	}
	return s.product(l), nil
}

func refusedService(detail string) error {
	return carrierkit.InvalidOrder("DHL Express", []ship.FieldError{{
		Pointer: "/service",
		Code:    "invalid",
		Detail:  detail,
	}})
}

// imagesOf asks for the label alone, as a PDF with a page a piece, and for the
// invoice where customs wants one. The waybill document is the courier's copy.
func imagesOf(o ship.Order, declarable bool) images {
	yes, no := true, false
	i := images{
		EncodingFormat: "pdf",
		ImageOptions: []imageOption{
			{TypeCode: "label", TemplateName: labelTemplate, LabelFreeText: printedReference(o)},
			{TypeCode: "waybillDoc", IsRequested: &no},
		},
		SplitTransportAndWaybillDocLabels: true,
	}
	if declarable {
		i.ImageOptions = append(i.ImageOptions, imageOption{
			TypeCode:     "invoice",
			TemplateName: invoiceTemplate,
			IsRequested:  &yes,
			InvoiceType:  reasonOf(o).invoice,
			LanguageCode: "eng",
		})
	}
	return i
}

// printedReference is what the people who pack and receive know the parcel by:
// the order number, then the client's reference.
func printedReference(o ship.Order) string {
	const limit = 150 // of the free text on the label
	text := o.OrderID
	if o.Reference != "" && o.Reference != o.OrderID {
		text = strings.TrimSpace(text + " / " + o.Reference)
	}
	if utf8.RuneCountInString(text) > limit {
		text = string([]rune(text)[:limit])
	}
	return text
}

// referencesOf are our own reference first, which a look-up asks for, then the
// client's order and reference where they fit, and the shipment's id last. The
// label has the order in its free text.
func referencesOf(b carrier.BuyOrder) []reference {
	list := []reference{{b.Reference, "CU"}}
	for _, more := range []reference{
		{b.Order.OrderID, "CO"},
		{b.Order.Reference, "AAO"},
		{string(b.Shipment), "FF"},
	} {
		if firstFitting(more.Value) != "" {
			list = append(list, more)
		}
	}
	return list
}

// partyOf is a party of the shipment. DHL has a word for a consumer that
// depends on the side.
func partyOf(a carrierkit.FittedAddress, kind, consumer string) party {
	p := party{
		PostalAddress: postal(a),
		ContactInformation: contact{
			Email:       a.Email,
			Phone:       a.Phone,
			CompanyName: cmp.Or(a.Company, a.Name),
			FullName:    cmp.Or(a.Name, a.Company),
		},
	}
	switch {
	case kind == "business":
		p.TypeCode = "business"
	case kind == "consumer":
		p.TypeCode = consumer
	case a.Residential:
		p.TypeCode = "private"
	}
	return p
}

// purchase reads the answer. An answer without a label, or with fewer pieces
// than were sent, is uncertain: DHL has sold something.
func (p plan) purchase(a shipmentAnswer) (ship.Purchase, error) {
	waybill := strings.TrimSpace(string(a.ShipmentTrackingNumber))
	if waybill == "" {
		return ship.Purchase{}, ship.Errorf(ship.Uncertain, "DHL Express sent no waybill number")
	}
	bought := ship.Purchase{
		CarrierRef: waybill, TrackingNumber: waybill, Warnings: append(slices.Clone(p.warnings), a.Warnings...),
		DeliveryAt: localTime(a.EstimatedDeliveryDate.EstimatedDeliveryDate, p.toPlace.ClosestZone()),
	}
	bought.Price, _ = billed(a.ShipmentCharges) // an account without rates has none
	if len(p.packages) > 1 {
		if len(a.Packages) != len(p.packages) {
			return ship.Purchase{}, ship.Errorf(ship.Uncertain, "DHL Express sold %d pieces instead of %d", len(a.Packages), len(p.packages))
		}
		slices.SortStableFunc(a.Packages, func(x, y soldPackage) int { return cmp.Compare(x.ReferenceNumber, y.ReferenceNumber) })
		for _, piece := range a.Packages {
			bought.Pieces = append(bought.Pieces, string(piece.TrackingNumber))
		}
	}
	return papersOf(bought, a.Documents, len(p.packages))
}

// papersOf sorts the papers of a purchase into its label and its documents.
func papersOf(bought ship.Purchase, documents []soldDocument, pieces int) (ship.Purchase, error) {
	var labels [][]byte
	slices.SortStableFunc(documents, func(x, y soldDocument) int { return cmp.Compare(x.PackageReferenceNumber, y.PackageReferenceNumber) })
	for _, doc := range documents {
		if !isPDF(doc) {
			return ship.Purchase{}, ship.Errorf(ship.Uncertain, "DHL Express sent a %s that is not a whole PDF", doc.TypeCode)
		}
		switch doc.TypeCode {
		case "label":
			labels = append(labels, doc.Content)
		case "invoice":
			bought.Documents = append(bought.Documents, ship.Document{Type: "commercial_invoice", Format: "pdf", Data: doc.Content})
		default:
			bought.Documents = append(bought.Documents, ship.Document{Type: doc.TypeCode, Format: "pdf", Data: doc.Content})
		}
	}
	if len(labels) == 0 {
		return ship.Purchase{}, ship.Errorf(ship.Uncertain, "DHL Express sent no label")
	}
	if pieces == 1 {
		// The courier's copy may come unasked, and calls itself a label too.
		for _, copied := range labels[1:] {
			bought.Documents = append(bought.Documents, ship.Document{Type: "courier_copy", Format: "pdf", Data: copied})
		}
		labels = labels[:1]
	}
	bought.Label = ship.Label{Format: "pdf", Data: label.Join(labels)}
	return bought, nil
}

// isPDF reports whether a document is what was asked for, from its first byte
// to its last.
func isPDF(d soldDocument) bool {
	tail := d.Content[max(0, len(d.Content)-1024):]
	return strings.EqualFold(d.ImageFormat, "PDF") && bytes.HasPrefix(d.Content, []byte("%PDF-")) && bytes.Contains(tail, []byte("%%EOF"))
}
