package sandbox

import (
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// faultMark separates our reference from a fault that the void will need.
const faultMark = "~"

// noCustoms is shared by all purchases; nobody appends to it.
var noCustoms = []string{"customs data is missing: a live carrier refuses a parcel that crosses a border without it"}

// sell is the purchase of b: always the same for the same b.
func (m *model) sell(b *carrier.BuyOrder) (ship.Purchase, error) {
	l, err := m.weigh(&b.Order, momentOf(b))
	if err != nil {
		return ship.Purchase{}, err
	}
	s, err := m.service(b.Service, &l)
	if err != nil {
		return ship.Purchase{}, err
	}
	at := s.arrival(&l, s.transit(&l))
	p := ship.Purchase{
		Carrier: m.name, Service: s.code, ServiceName: s.name, CarrierRef: b.Reference, Price: m.price(s, &l, at), DeliveryAt: at,
	}
	switch f := faultOf(&b.Order.Destination); f {
	case FaultPriceChanged:
		p.Price.Minor += p.Price.Minor / 10
	case FaultVoidRefused, FaultVoidPending, FaultVoidLost:
		p.CarrierRef += faultMark + string(f) // a void knows the purchase but not the order
	}
	if l.lane.kind == across && b.Order.Customs == nil {
		p.Warnings = noCustoms[:1:1]
	}
	numbers := make([]string, max(len(b.Order.Parcels), 1))
	for i := range numbers {
		numbers[i] = m.number(seed(b.Reference, i), s)
	}
	p.TrackingNumber = numbers[0]
	if len(numbers) > 1 {
		p.Pieces = numbers
	}
	p.Label = m.label(b, s, &l, numbers)
	p.Documents = Documents(&b.Order, m.title, p.TrackingNumber)
	return p, nil
}

// momentOf is when the order was made: the shipment's id tells, so that a
// purchase that is looked up on the next day is still the same.
func momentOf(b *carrier.BuyOrder) time.Time {
	if b.Order.ShipDate == "" && b.Shipment != "" {
		return b.Shipment.Raw().Time()
	}
	return time.Now()
}

// void takes a label back, as the destination of its order demands.
func (m *model) void(d ship.Deal) (carrier.VoidResult, error) {
	_, fault, _ := strings.Cut(d.CarrierRef, faultMark)
	switch Fault(fault) {
	case FaultVoidRefused:
		return carrier.VoidResult{}, m.refuse(m.refusals.void, "the label can no longer be voided")
	case FaultVoidPending:
		return carrier.VoidResult{State: ship.StateRefundPending}, nil
	case FaultVoidLost:
		return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "%s did not answer", m.title)
	}
	return carrier.VoidResult{State: ship.StateVoided}, nil
}

// label is the label as data; pictures are made when somebody wants them.
func (m *model) label(b *carrier.BuyOrder, s *service, l *load, numbers []string) ship.Label {
	o := &b.Order
	border := l.lane.kind == across
	from, to := o.Origin.Lines(border), o.Destination.Lines(border)
	var references []string
	for _, r := range [...]string{o.OrderID, o.Reference} {
		if r != "" {
			references = append(references, r)
		}
	}
	day := string(ship.DateOf(time.Unix(l.day*86400, 0)))
	route := routing(&o.Destination, s)
	doc := label.Document{Sample: true, Pages: make([]label.Page, len(numbers))}
	for i, number := range numbers {
		doc.Pages[i] = label.Page{
			Carrier: m.title, Service: s.name, From: from, To: to, Tracking: number, Routing: route,
			Reference: references, Piece: i + 1, Pieces: len(numbers), ShipDate: day,
		}
		if i < len(o.Parcels) {
			doc.Pages[i].Weight = weightText(&o.Parcels[i])
		}
	}
	return ship.Label{Format: "scene", Data: doc.Marshal()}
}

// routing is the large sort code.
func routing(to *ship.Address, s *service) string {
	area := to.Zip
	if len(area) > 3 {
		area = area[:3]
	}
	isLetters := strings.Trim(to.State, "0123456789") != ""
	if isLetters && len(to.State) <= 3 {
		return to.State + " " + area + " " + s.mark
	}
	return to.Country + " " + area + " " + s.mark
}

func weightText(p *ship.Parcel) string {
	var buf [32]byte
	b := strconv.AppendFloat(buf[:0], p.Weight, 'f', -1, 64)
	b = append(b, ' ')
	return string(append(b, p.WeightUnit...))
}
