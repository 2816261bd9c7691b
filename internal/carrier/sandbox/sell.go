package sandbox

import (
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// faultMark separates our reference from a fault that the void will need.
const faultMark = "~"

// noCustoms is shared by all purchases; nobody appends to it.
var noCustoms = []string{"customs data is missing: a live carrier rejects parcels that cross a border without it"}

// sell returns the purchase of the request: always the same for the same
// request.
func (m *model) sell(request *carrier.BuyOrder) (ship.Sale, error) {
	order := &request.Order
	load, err := m.weigh(order, orderedAt(request))
	if err != nil {
		return ship.Sale{}, err
	}
	sold, err := m.service(request.Service, &load)
	if err != nil {
		return ship.Sale{}, err
	}

	at := sold.arrival(&load, sold.transit(&load))
	purchase := ship.Sale{
		Carrier:     m.name,
		Service:     sold.code,
		ServiceName: sold.name,
		CarrierRef:  request.Reference,
		Price:       m.price(sold, &load, at),
		DeliveryAt:  at,
	}
	switch fault := faultOf(&order.Destination); fault {
	case FaultPriceChanged:
		purchase.Price.Minor += purchase.Price.Minor / 10
	case FaultVoidRefused, FaultVoidPending, FaultVoidLost:
		// A void knows the purchase but not the order, so the fault travels in
		// the reference.
		purchase.CarrierRef += faultMark + string(fault)
	}
	if order.Customs == nil && carrierkit.NeedsCustoms(order.Origin, order.Destination) {
		purchase.Warnings = noCustoms[:1:1]
	}

	// The numbers follow from the reference, so a look-up finds the same ones
	// without anything being stored.
	numbers := make([]string, max(len(order.Parcels), 1))
	for i := range numbers {
		numbers[i] = m.number(seed(request.Reference, i), sold)
	}
	purchase.TrackingNumber = numbers[0]
	if len(numbers) > 1 {
		purchase.Pieces = numbers
	}
	purchase.Label = m.label(order, sold, &load, numbers)
	purchase.Documents = m.documents(order, purchase.TrackingNumber)
	return purchase, nil
}

// orderedAt returns when the order was made. The shipment's id holds that, so a
// purchase that is looked up on the next day is still the same.
func orderedAt(request *carrier.BuyOrder) time.Time {
	if request.Order.ShipDate == "" && request.Shipment != "" {
		return request.Shipment.Raw().Time()
	}
	return time.Now()
}

// void voids a label, as the destination of its order demands.
func (m *model) void(purchase ship.Purchase) (carrier.VoidResult, error) {
	_, fault, _ := strings.Cut(purchase.CarrierRef, faultMark)
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

// label returns the label as data; it is rendered when somebody asks for it.
func (m *model) label(order *ship.Order, sold *service, load *load, numbers []string) ship.Label {
	crossesBorder := load.lane.kind == across
	from := order.Origin.Lines(crossesBorder)
	to := order.Destination.Lines(crossesBorder)
	var references []string
	for _, reference := range [...]string{order.OrderID, order.Reference} {
		if reference != "" {
			references = append(references, reference)
		}
	}

	day := string(ship.DateOf(time.Unix(load.day*86400, 0)))
	route := routing(&order.Destination, sold)
	document := label.Document{Sample: true, Pages: make([]label.Page, len(numbers))}
	for i, number := range numbers {
		document.Pages[i] = label.Page{
			Carrier:   m.title,
			Service:   sold.name,
			From:      from,
			To:        to,
			Tracking:  number,
			Routing:   route,
			Reference: references,
			Piece:     i + 1,
			Pieces:    len(numbers),
			ShipDate:  day,
		}
		if i < len(order.Parcels) {
			document.Pages[i].Weight = weightText(&order.Parcels[i])
		}
	}
	return ship.Label{Format: "scene", Data: document.Marshal()}
}

// routing returns the large sort code.
func routing(to *ship.Address, sold *service) string {
	area := to.Zip
	if len(area) > 3 {
		area = area[:3]
	}

	isLetters := strings.Trim(to.State, "0123456789") != ""
	if isLetters && len(to.State) <= 3 {
		return to.State + " " + area + " " + sold.mark
	}
	return to.Country + " " + area + " " + sold.mark
}

func weightText(parcel *ship.Parcel) string {
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], parcel.Weight, 'f', -1, 64)
	text = append(text, ' ')
	return string(append(text, parcel.WeightUnit...))
}
