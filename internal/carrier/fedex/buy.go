package fedex

import (
	"bytes"
	"cmp"
	"context"
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

// The references that FedEx keeps with a package. The first is looked for.
const (
	ourReference    = "CUSTOMER_REFERENCE"
	shipmentNumber  = "P_O_NUMBER"
	clientReference = "INVOICE_NUMBER"
)

// Buy purchases the order. The label is a picture whatever the client prints:
// all other formats are made of it.
func (d *driver) Buy(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	body, warnings, err := d.shipRequest(&b)
	if err != nil {
		return ship.Purchase{}, err
	}
	var answer shipAnswer
	err = d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPost, URL: d.base + shipPath, Body: body, Effect: true, Limit: shipLimit,
		Header: http.Header{"X-Customer-Transaction-Id": {b.Reference}},
	}, &answer)
	if err != nil {
		return ship.Purchase{}, err
	}
	p, err := answer.purchase(&b)
	p.Warnings = append(warnings, p.Warnings...)
	return p, err
}

func (d *driver) shipRequest(b *carrier.BuyOrder) (shipRequest, []string, error) {
	o := &b.Order
	s, err := d.serviceFor(b)
	if err != nil {
		return shipRequest{}, nil, err
	}
	from, to, warnings, err := parties(o)
	if err != nil {
		return shipRequest{}, nil, err
	}
	to.Address.Residential = to.Address.Residential || s.kind == homeDelivery
	packaging, err := packagingType(o)
	if err != nil {
		return shipRequest{}, nil, err
	}
	m := measureOf(o)
	list, err := pieces(o, m, packaging)
	if err != nil {
		return shipRequest{}, nil, err
	}
	for i := range list {
		list[i].CustomerReferences = references(b)
	}
	r := shipOrder{
		ShipDatestamp: string(o.ShipDate), Shipper: from, Recipients: []party{to}, PickupType: dropOff, ServiceType: s.kind,
		PackagingType: packaging, TotalWeight: totalWeight(o, m), TotalPackageCount: len(list), Payment: billing(o.Billing), SpecialServices: specials(o),
		Label: labelSpec{ImageType: "PNG", LabelStockType: "PAPER_4X6"}, RateRequestType: []string{"ACCOUNT"}, Packages: list,
	}
	if s.kind == groundEconomy {
		r.Economy = d.economy(o)
	}
	if err := r.declare(o, m); err != nil {
		return shipRequest{}, nil, err
	}
	return shipRequest{
		AccountNumber: account{d.account}, LabelResponseOptions: "LABEL", ProcessingOptionType: "SYNCHRONOUS_ONLY", RequestedShipment: r,
	}, warnings, nil
}

// declare adds what the parcels are worth, to FedEx and to the customs.
func (r *shipOrder) declare(o *ship.Order, m measure) (err error) {
	if v := o.Options.InsuredValue; !v.IsZero() {
		r.TotalDeclaredValue = amountOf(v)
	}
	if !crosses(o) {
		return nil
	}
	if r.Customs, err = declaration(o, m); err != nil {
		return err
	}
	r.Shipper.Tins = taxNumbers(o)
	r.Documents = papers(r.Customs)
	return nil
}

// serviceFor is the service of the purchase, if it takes the order.
func (d *driver) serviceFor(b *carrier.BuyOrder) (service, error) {
	o := &b.Order
	s, ok := serviceOf(b.Service)
	if !ok {
		return s, ship.Errorf(ship.Invalid, "FedEx has no service %q", b.Service)
	}
	if err := returnable(o); err != nil {
		return s, err
	}
	packaging, err := packagingType(o)
	if err != nil {
		return s, err
	}
	home := o.Destination.Residential
	switch {
	case s.ownBoxOnly && packaging != ownPackaging:
		return s, invalid("/parcels/0/packaging", "invalid", "%s takes no packaging of FedEx", s.name)
	case s.kind == ground && o.Destination.Country == "US" && home != nil && *home:
		return s, invalid("/destination/residential", "invalid", "FedEx Ground goes to businesses in the United States: homes are served by home_delivery")
	case s.kind == homeDelivery && home != nil && !*home:
		return s, invalid("/destination/residential", "invalid", "FedEx Home Delivery goes to homes: businesses are served by ground")
	case s.kind == groundEconomy:
		return s, d.takesEconomy(o, packaging)
	}
	return s, nil
}

// references are ours on every package, so that a look-up finds them all.
func references(b *carrier.BuyOrder) []reference {
	list := []reference{{ourReference, b.Reference}}
	if b.Shipment != "" {
		list = append(list, reference{shipmentNumber, string(b.Shipment)})
	}
	if said := cmp.Or(b.Order.Reference, b.Order.OrderID); said != "" && fits(said, maxReference) {
		list = append(list, reference{clientReference, said})
	}
	return list
}

// billing is who pays FedEx.
func billing(b *ship.Billing) payment {
	if b == nil || b.Type == "sender" {
		return payment{PaymentType: "SENDER"}
	}
	return payment{PaymentType: strings.ToUpper(b.Type), Payor: &payor{payingParty{account{digits(b.Account)}}}}
}

// papers asks for the invoice; documents need none.
func papers(c *customs) *documentSpec {
	if c.DocumentOnly {
		return nil
	}
	return &documentSpec{
		Types:   []string{"COMMERCIAL_INVOICE"},
		Invoice: invoiceSpec{documentFormat{StockType: "PAPER_LETTER", DocType: "PDF"}},
	}
}

// doubt is the error of an answer that is not about what was ordered: money
// may be spent.
func doubt(format string, args ...any) error { return ship.Errorf(ship.Uncertain, format, args...) }

// purchase reads what was sold.
func (a *shipAnswer) purchase(b *carrier.BuyOrder) (ship.Purchase, error) {
	if len(a.Output.Shipments) != 1 {
		return ship.Purchase{}, doubt("FedEx answered with %d shipments", len(a.Output.Shipments))
	}
	sold := &a.Output.Shipments[0]
	if len(sold.Pieces) != len(b.Order.Parcels) {
		return ship.Purchase{}, doubt("FedEx answered with %d pieces for %d parcels", len(sold.Pieces), len(b.Order.Parcels))
	}
	if a.CustomerTransactionID != "" && a.CustomerTransactionID != b.Reference {
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
