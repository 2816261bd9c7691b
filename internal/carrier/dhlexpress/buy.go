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
	now := time.Now()
	p, request, err := d.shipment(b, now)
	if err != nil {
		return ship.Purchase{}, err
	}
	call := d.call(http.MethodPost, "/shipments", nil, b.Reference)
	call.Body, call.Effect = request, true
	var a shipmentAnswer
	if err := call.Do(ctx, d.via, &a); err != nil {
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
	r := shipmentRequest{
		PlannedShippingDateAndTime: moment(p.at),
		ProductCode:                code,
		GetRateEstimates:           true,
		Accounts:                   p.accounts,
		ValueAddedServices:         p.extras,
		OutputImageProperties:      imagesOf(b.Order, p.lane),
		CustomerReferences:         referencesOf(b),
		CustomerDetails:            parties{partyOf(p.from), partyOf(p.to)},
		Content: content{
			Packages: p.packages, IsCustomsDeclarable: p.lane == goods, Description: describe(b.Order, p.lane),
			Incoterm: "DAP", UnitOfMeasurement: "metric",
		},
		EstimatedDeliveryDate: estimateRequest{true, "QDDC"},
	}
	if p.lane == goods {
		d.dutiable(&r, b, p, now)
	}
	return p, r, nil
}

// dutiable adds what customs wants to know.
func (d driver) dutiable(r *shipmentRequest, b carrier.BuyOrder, p plan, now time.Time) {
	c := &r.Content
	c.DeclaredValue, c.DeclaredValueCurrency = json.Number(p.declared.Amount()), p.declared.Currency
	c.ExportDeclaration = declare(b, p, now)
	c.Incoterm = cmp.Or(b.Order.Customs.Incoterm, "DAP")
	r.CustomerDetails.ShipperDetails.RegistrationNumbers = registrations(b.Order.Customs.TaxIDs, p.from.Country)
	if dutiesPaid(b.Order, p.lane) {
		r.Accounts = append(slices.Clone(r.Accounts), account{"duties-taxes", d.account})
	}
}

// productOf is DHL's code of one of our services on a lane.
func productOf(code string, l lane) (string, error) {
	i := slices.IndexFunc(serviceTable, func(s service) bool { return s.code == code })
	if i < 0 {
		return "", ship.Errorf(ship.Invalid, "DHL Express has no service %q", code)
	}
	s := serviceTable[i]
	if s.product(l) == "" {
		return "", ship.Errorf(ship.Invalid, "%s does not go from the origin to the destination with these contents", s.name)
	}
	return s.product(l), nil
}

// imagesOf asks for the label alone, as a PDF with a page a piece, and for the
// invoice where customs wants one. The waybill document is the courier's copy.
func imagesOf(o ship.Order, l lane) images {
	yes, no := true, false
	i := images{
		EncodingFormat: "pdf",
		ImageOptions: []imageOption{
			{TypeCode: "label", TemplateName: labelTemplate},
			{TypeCode: "waybillDoc", IsRequested: &no},
		},
		SplitTransportAndWaybillDocLabels: true,
	}
	if l == goods {
		i.ImageOptions = append(i.ImageOptions, imageOption{
			TypeCode: "invoice", TemplateName: invoiceTemplate, IsRequested: &yes, InvoiceType: reasonOf(o).invoice, LanguageCode: "eng",
		})
	}
	return i
}

// referencesOf are our own reference, which a look-up asks for, the shipment's
// id, and the client's order where it fits.
func referencesOf(b carrier.BuyOrder) []reference {
	list := []reference{{b.Reference, "CU"}}
	if id := firstFitting(string(b.Shipment)); id != "" {
		list = append(list, reference{id, "FF"})
	}
	if id := firstFitting(b.Order.OrderID); id != "" {
		list = append(list, reference{id, "CO"})
	}
	return list
}

func partyOf(a carrierkit.FittedAddress) party {
	p := party{
		PostalAddress: postal(a),
		ContactInformation: contact{
			Email: a.Email, Phone: a.Phone, CompanyName: cmp.Or(a.Company, a.Name), FullName: cmp.Or(a.Name, a.Company),
		},
	}
	if a.Residential {
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
		DeliveryAt: localTime(a.EstimatedDeliveryDate.EstimatedDeliveryDate, zoneOf(p.to.Country, p.to.State)),
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
