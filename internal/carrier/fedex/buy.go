package fedex

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
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
)

// Buy purchases the order. The label is a picture whatever the client prints:
// all other formats are made of it.
func (d *driver) Buy(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	body, warnings, err := d.shipRequest(&b)
	if err != nil {
		return ship.Purchase{}, err
	}

	var answer shipAnswer
	transaction := transactionOf(&b)
	err = d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + shipPath,
		Body:   body,
		Effect: true,
		Limit:  shipLimit,
		Header: http.Header{"X-Customer-Transaction-Id": {transaction}},
	}, &answer)
	if err != nil {
		err = ofWhichParcel(err, &b.Order)
		return ship.Purchase{}, d.withoutPaperless(&b.Order, body.isPaperless(), err)
	}

	p, err := answer.purchase(&b, transaction)
	if err != nil && !d.live && answer.isVirtual() {
		return ship.Purchase{}, notTestable(ship.Refusal{Code: virtualResponse})
	}
	p.Warnings = append(warnings, p.Warnings...)
	if body.isPaperless() && !answer.tookDocuments() {
		p.Warnings = append(p.Warnings, "FedEx did not confirm that it has the invoice electronically: print it and put it on the parcel")
	}
	return p, err
}

// transactionOf is what FedEx repeats in its answer and prints nowhere.
func transactionOf(b *carrier.BuyOrder) string { return cmp.Or(string(b.Shipment), b.Reference) }

func (d *driver) shipRequest(b *carrier.BuyOrder) (shipRequest, []string, error) {
	o := &b.Order
	if err := returnable(o); err != nil {
		return shipRequest{}, nil, err
	}

	var bad problems
	packaging := packagingType(o, &bad)
	s, err := d.serviceFor(b, packaging, &bad)
	if err != nil {
		return shipRequest{}, nil, err
	}

	from, to, warnings := parties(o, &bad)
	to.Address.Residential = to.Address.Residential || s.kind == homeDelivery

	m := measureOf(o)
	list := pieces(o, m, packaging, &bad)
	printed, more := references(b)
	warnings = append(warnings, more...)
	for i := range list {
		list[i].CustomerReferences = printed
	}

	r := shipOrder{
		ShipDatestamp:     string(o.ShipDate),
		Shipper:           from,
		Recipients:        []party{to},
		PickupType:        dropOff,
		ServiceType:       s.kind,
		PackagingType:     packaging,
		TotalWeight:       totalWeight(o, m),
		TotalPackageCount: len(list),
		Payment:           billing(o.Billing),
		SpecialServices:   specials(o),
		Label:             labelSpec{ImageType: "PNG", LabelStockType: "PAPER_4X6"},
		RateRequestType:   []string{"ACCOUNT"},
		Packages:          list,
	}
	if v := o.Options.InsuredValue; !v.IsZero() {
		r.TotalDeclaredValue = amountOf(v)
	}
	if s.kind == groundEconomy {
		r.Economy = d.economy(o)
	}
	if laneOf(o).isInternational() {
		warnings = append(warnings, d.declare(&r, o, m, &bad)...)
	}
	if err := bad.err(); err != nil {
		return shipRequest{}, nil, err
	}

	return shipRequest{
		AccountNumber:        account{d.account},
		LabelResponseOptions: "LABEL",
		ProcessingOptionType: "SYNCHRONOUS_ONLY",
		RequestedShipment:    r,
	}, warnings, nil
}

// declare adds what is in the parcels, for whom, and which papers FedEx makes
// of it.
func (d *driver) declare(r *shipOrder, o *ship.Order, m measure, bad *problems) (warnings []string) {
	r.Customs = d.declaration(o, m, bad)

	numbers := taxNumbersOf(o, bad)
	r.Shipper.Tins = numbers.sender
	r.Recipients[0].Tins = numbers.recipient
	r.Customs.RecipientID = numbers.customsID
	if len(numbers.importer) > 0 {
		r.Customs.Importer = importerOf(r, o, numbers.importer)
	}

	if !laneOf(o).crossesCustoms() || r.Customs.DocumentOnly {
		return nil
	}
	if o.Destination.Country == "BR" && numbers.customsID == nil {
		warnings = append(warnings, "customs.taxIdentifiers has no cnpj, cpf or passport of the recipient: customs of Brazil hold parcels without one")
	}

	r.Documents = invoiceByFedEx()
	if d.usesPaperless(o) {
		if r.SpecialServices == nil {
			r.SpecialServices = &special{}
		}
		r.SpecialServices.Types = append(r.SpecialServices.Types, paperlessService)
		r.SpecialServices.ETD = &etdDetail{Requested: []string{commercialInvoice}}
	}
	return warnings
}

// importerOf is who imports the goods: the recipient, or the sender who
// delivers them with duties paid.
func importerOf(r *shipOrder, o *ship.Order, numbers []tin) *party {
	importer := r.Recipients[0]
	if o.Customs.Incoterm == "DDP" {
		importer = r.Shipper
	}
	importer.Tins = numbers
	return &importer
}

// serviceFor is the service of the purchase, by the name under which it was
// quoted.
func (d *driver) serviceFor(b *carrier.BuyOrder, packaging string, bad *problems) (service, error) {
	o := &b.Order
	s, ok := serviceOf(b.Service)
	if !ok {
		return s, ship.Errorf(ship.Invalid, "FedEx has no service %q", b.Service)
	}
	if quoted, known := serviceNamed(b.Selection); known && quoted.code == s.code {
		s.kind = b.Selection
	}

	home := o.Destination.Residential
	inUSA := countryOf(laneOf(o).to) == "US"
	switch {
	case s.ownBoxOnly && packaging != ownPackaging:
		bad.add("/parcels/0/packaging", "invalid", "%s takes no packaging of FedEx", s.name)
	case s.kind == ground && inUSA && home != nil && *home:
		bad.add("/destination/residential", "invalid", "FedEx Ground goes to businesses in the United States: use home_delivery for homes")
	case s.kind == homeDelivery && home != nil && !*home:
		bad.add("/destination/residential", "invalid", "FedEx Home Delivery goes to homes: use ground for businesses")
	case s.kind == groundEconomy:
		return s, d.takesEconomy(o, packaging)
	}
	return s, nil
}

// references are printed on the label of every package, ours first, so that a
// look-up finds them all; then the order number and the client's reference.
func references(b *carrier.BuyOrder) (list []reference, warnings []string) {
	list = []reference{{ourReference, b.Reference}}
	add := func(kind, field, text string) {
		printed, warning := printable(text, field)
		if printed != "" {
			list = append(list, reference{kind, printed})
		}
		if warning != "" {
			warnings = append(warnings, warning)
		}
	}

	o := &b.Order
	add(orderNumber, "orderId", o.OrderID)
	if o.Reference == "" || o.Reference == o.OrderID {
		return list, warnings
	}

	// FedEx prints the number of the customs invoice under the same name.
	kind := clientReference
	if o.Customs != nil && o.Customs.InvoiceNumber != "" {
		kind = departmentNumber
	}
	add(kind, "reference", o.Reference)
	return list, warnings
}

// printable is as much of a reference as FedEx prints.
func printable(text, field string) (printed, warning string) {
	if text == "" {
		return "", ""
	}

	fitted, _, err := carrierkit.Fit(carrier.AddressLimits{Charset: Spec.Address.Charset}, ship.Address{Company: text}, "")
	if err != nil {
		return "", field + " is not on the label: FedEx cannot print its characters"
	}
	if fits(fitted.Company, maxReference) {
		return fitted.Company, ""
	}
	return string([]rune(fitted.Company)[:maxReference]), fmt.Sprintf("%s is cut on the label: FedEx prints %d characters", field, maxReference)
}

// billing is who pays FedEx.
func billing(b *ship.Billing) payment {
	if b == nil || b.Type == "sender" {
		return payment{PaymentType: "SENDER"}
	}
	return payment{PaymentType: strings.ToUpper(b.Type), Payor: &payor{payingParty{account{digits(b.Account)}}}}
}

// doubt is the error of an answer that is not about what was ordered: money
// may be spent.
func doubt(format string, args ...any) error { return ship.Errorf(ship.Uncertain, format, args...) }

// purchase reads what was sold.
func (a *shipAnswer) purchase(b *carrier.BuyOrder, transaction string) (ship.Purchase, error) {
	if len(a.Output.Shipments) != 1 {
		return ship.Purchase{}, doubt("FedEx answered with %d shipments", len(a.Output.Shipments))
	}
	sold := &a.Output.Shipments[0]
	if len(sold.Pieces) != len(b.Order.Parcels) {
		return ship.Purchase{}, doubt("FedEx answered with %d pieces for %d parcels", len(sold.Pieces), len(b.Order.Parcels))
	}
	if a.CustomerTransactionID != "" && a.CustomerTransactionID != transaction {
		return ship.Purchase{}, doubt("FedEx answered another purchase")
	}
	slices.SortStableFunc(sold.Pieces, func(x, y soldPiece) int { return cmp.Compare(x.SequenceNumber, y.SequenceNumber) })
	p := ship.Purchase{Service: b.Service, CarrierRef: sold.MasterTrackingNumber, TrackingNumber: sold.MasterTrackingNumber}
	if p.CarrierRef == "" {
		p.CarrierRef, p.TrackingNumber = sold.Pieces[0].TrackingNumber, sold.Pieces[0].TrackingNumber
	}
	if err := sold.papers(b, &p); err != nil {
		return ship.Purchase{}, err
	}
	if price, ok := sold.Completed.Rating.price(); ok {
		p.Price = price
	} else {
		p.Warnings = append(p.Warnings, "FedEx did not tell the price")
	}
	op := sold.Completed.Operational
	for _, said := range []string{op.CommitDate, op.DeliveryDate, op.PublishedDeliveryTime} {
		if at, ok := parseTime(said); ok && p.DeliveryAt.IsZero() {
			p.DeliveryAt = at
		}
	}
	for _, said := range slices.Concat(sold.Alerts, a.Output.Alerts) {
		p.Warnings = append(p.Warnings, "FedEx: "+cmp.Or(said.Message, said.Code))
	}
	return p, nil
}

var pngMagic = []byte("\x89PNG\r\n\x1a\n")

// papers takes the labels and the other papers of all pieces.
func (s *soldShipment) papers(b *carrier.BuyOrder, p *ship.Purchase) error {
	var pages [][]byte
	others := slices.Clone(s.Documents)
	for _, sold := range s.Pieces {
		for _, r := range sold.References {
			if r.Type == ourReference && r.Value != b.Reference {
				return doubt("FedEx answered with a label of another reference")
			}
		}
		if sold.TrackingNumber == "" {
			return doubt("FedEx answered with a piece that has no number")
		}
		if len(s.Pieces) > 1 {
			p.Pieces = append(p.Pieces, sold.TrackingNumber)
		}
		printed := len(pages)
		for _, paper := range sold.Documents {
			if paper.ContentType != "LABEL" {
				others = append(others, paper)
				continue
			}
			if !bytes.HasPrefix(paper.EncodedLabel, pngMagic) {
				return doubt("FedEx sent a label that is no PNG")
			}
			pages = append(pages, paper.EncodedLabel)
		}
		if len(pages) == printed {
			return doubt("FedEx sent a piece without its label")
		}
	}
	p.Label = ship.Label{Format: "png", Data: label.Join(pages)}
	for _, paper := range others {
		if len(paper.EncodedLabel) > 0 {
			p.Documents = append(p.Documents, ship.Document{
				Type: strings.ToLower(paper.ContentType), Format: strings.ToLower(paper.DocType), Data: paper.EncodedLabel,
			})
		}
	}
	return nil
}

// price is what is charged: one of the answer's rates is marked as such.
func (r rating) price() (ship.Money, bool) {
	for _, detail := range r.Details {
		if detail.RateType == r.ActualRateType {
			return detail.price()
		}
	}
	return ship.Money{}, false
}
