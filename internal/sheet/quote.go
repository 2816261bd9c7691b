package sheet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// The lines that every sheet may have.
const (
	freightLine = "freight"
	fuelLine    = "fuel"
)

// CodeNoRate is the code of the error that Quote returns.
const CodeNoRate = "no_rate"

// maxReasons bounds the sentence that says why there is no rate.
const maxReasons = 5

// Quote prices the order with every service of the sheet that takes it, in the
// sheet's order. Carrier and Connection are left to the caller. If there is no
// rate, the error is of kind ship.Invalid and code CodeNoRate, and says why.
//
// Percentages are rounded half up to the minor unit, each line on its own.
// DeliveryAt is the end of the working day that is TransitDays after the ship
// date, if the sheet has the days and the order the date.
func (s Sheet) Quote(order ship.Order) ([]ship.Rate, error) {
	offers, _, err := s.offers(&order)
	if err != nil {
		return nil, err
	}
	rates := make([]ship.Rate, len(offers))
	for i := range offers {
		rates[i] = offers[i].Rate
	}
	return rates, nil
}

// Explain is Quote with the parts of every price.
func (s Sheet) Explain(order ship.Order) ([]Offer, error) {
	offers, billed, err := s.offers(&order)
	for i := range offers {
		offers[i].Billed = billed[i].format(s.terms.weightUnit)
	}
	return offers, err
}

// offers also returns the weights that are charged for.
func (s *Sheet) offers(order *ship.Order) (offers []Offer, weights []weight, err error) {
	q, err := s.newQuotation(order)
	if err != nil {
		return nil, nil, err
	}

	var reasons []string
	offers = make([]Offer, 0, min(len(s.Services), 32))
	for id := range s.Services {
		offer, billed, reason := q.offer(id)
		switch {
		case reason == "":
			offers = append(offers, offer)
			weights = append(weights, billed)
		case len(reasons) < maxReasons:
			reasons = append(reasons, s.Services[id].Code+" "+reason)
		}
	}

	if len(offers) == 0 {
		return nil, nil, ship.Coded(ship.Invalid, CodeNoRate, "no rate to zone %s: %s", s.Zones[q.zone], strings.Join(reasons, "; "))
	}
	return offers, weights, nil
}

// A piece is a parcel as the sheet measures it.
type piece struct {
	weight  weight
	sides   [3]length // the longest first; zeros if they are not known
	rounded [3]length // the sides as they are multiplied
}

// girth is the length and the way around.
func (p *piece) girth() length { return p.sides[0] + 2*(p.sides[1]+p.sides[2]) }

// A quotation is an order that is priced with a sheet.
type quotation struct {
	sheet  *Sheet
	order  *ship.Order
	zone   int
	to     location
	pieces []piece
	steps  [][]*surchargeStep // of each surcharge, those that apply to the order
}

func (s *Sheet) newQuotation(order *ship.Order) (*quotation, error) {
	if len(order.Parcels) == 0 {
		return nil, ship.Coded(ship.Invalid, CodeNoRate, "the order has no parcel")
	}
	if !s.Covers(order.ShipDate) {
		return nil, ship.Coded(ship.Invalid, CodeNoRate, "the rate sheet is not valid on %s", order.ShipDate)
	}

	to := locationOf(&order.Destination)
	zone, ok := s.zoneOf(locationOf(&order.Origin), to)
	if !ok {
		return nil, ship.Coded(ship.Invalid, CodeNoRate, "no zone for %s%s", describeAddress(&order.Destination), s.describeOrigin(&order.Origin))
	}

	// What does not depend on the service is found once for all services.
	q := &quotation{
		sheet:  s,
		order:  order,
		zone:   zone,
		to:     to,
		pieces: make([]piece, len(order.Parcels)),
		steps:  make([][]*surchargeStep, len(s.surcharges)),
	}
	for i := range order.Parcels {
		q.pieces[i] = s.measure(&order.Parcels[i])
	}
	for i := range s.surcharges {
		q.steps[i] = q.applicableSteps(&s.surcharges[i])
	}
	return q, nil
}

// describeAddress names the parts of an address that zones depend on.
func describeAddress(address *ship.Address) string {
	return strings.Join(strings.Fields(cmp.Or(address.Country, "no country")+" "+address.Zip), " ")
}

// describeOrigin names the origin too, if zones depend on it.
func (s *Sheet) describeOrigin(address *ship.Address) string {
	if len(s.origins) == 1 && s.origins[0].country == anywhere {
		return ""
	}
	return " from " + describeAddress(address)
}

// measure converts a parcel to the sheet's measures.
func (s *Sheet) measure(parcel *ship.Parcel) piece {
	measured := piece{weight: parcelWeight(parcel)}
	dimensions := parcel.Dimensions
	if dimensions == nil {
		return measured
	}

	measured.sides = [3]length{
		parcelSide(dimensions.Unit, dimensions.Length, dimensions.LengthMM),
		parcelSide(dimensions.Unit, dimensions.Width, dimensions.WidthMM),
		parcelSide(dimensions.Unit, dimensions.Height, dimensions.HeightMM),
	}
	slices.SortFunc(measured.sides[:], func(a, b length) int { return cmp.Compare(b, a) })
	for i, side := range measured.sides {
		measured.rounded[i] = s.terms.lengths.apply(side)
	}
	return measured
}

// offer prices the order with a service, or says why it cannot.
func (q *quotation) offer(id int) (_ Offer, billed weight, reason string) {
	sheet := q.sheet
	service := &sheet.Services[id]
	tables := sheet.tables[id]
	at, ok := slices.BinarySearchFunc(tables, q.zone, func(table table, zone int) int { return cmp.Compare(table.zone, zone) })
	if !ok {
		return Offer{}, 0, "does not serve this zone"
	}
	table := &tables[at]

	if reason := q.exceededLimit(service); reason != "" {
		return Offer{}, 0, reason
	}
	freight, billed, ok := q.freight(service, table)
	if !ok {
		return Offer{}, 0, "is limited to " + table.heaviest().format(sheet.terms.weightUnit)
	}
	lines, reason := q.lines(id, freight)
	if reason != "" {
		return Offer{}, 0, reason
	}

	// Sums are cut to maxAmount, so a total that reaches it is not a price.
	total := int64(0)
	for _, line := range lines {
		total = addAmounts(total, line.Minor)
	}
	if total == maxAmount {
		return Offer{}, 0, "has a total price that is out of range"
	}

	rate := ship.Rate{
		Service:     service.Code,
		ServiceName: service.Name,
		Price:       ship.Money{Minor: total, Currency: sheet.Currency},
		TransitDays: table.days,
		Guaranteed:  service.Guaranteed,
		Source:      "sheet",
	}
	if table.days > 0 && q.order.ShipDate != "" {
		rate.DeliveryAt = deliveryTime(q.order.ShipDate.Time(), table.days, q.order.Options.SaturdayDelivery)
	}
	return Offer{Rate: rate, Zone: sheet.Zones[q.zone], Lines: lines}, billed, ""
}

// exceededLimit says which limit of the service a piece exceeds.
func (q *quotation) exceededLimit(service *Service) string {
	terms := &q.sheet.terms
	for i := range q.pieces {
		piece := &q.pieces[i]
		switch {
		case service.maxWeight > 0 && piece.weight > service.maxWeight:
			return "is limited to " + service.maxWeight.format(terms.weightUnit) + " per piece"
		case service.maxLength > 0 && piece.sides[0] > service.maxLength:
			return "is limited to a length of " + service.maxLength.format(terms.lengthUnit)
		case service.maxGirth > 0 && piece.girth() > service.maxGirth:
			return "is limited to a length plus girth of " + service.maxGirth.format(terms.lengthUnit)
		}
	}
	return ""
}

// freight is the price of the weight that is charged for, and that weight.
func (q *quotation) freight(service *Service, table *table) (minor int64, billed weight, ok bool) {
	divisor := q.sheet.terms.divisor
	if service.divisor != nil {
		divisor = *service.divisor
	}

	for i := range q.pieces {
		piece := &q.pieces[i]
		heavier := max(piece.weight, divisor.volumeWeight(piece.rounded[0], piece.rounded[1], piece.rounded[2]))

		// The minimum and the rounding are of what is priced: of each piece, or
		// of all together.
		if service.byShipment {
			billed = min(billed+heavier, maxWeight)
			continue
		}
		charged := q.chargedWeight(service, heavier)
		price, ok := table.price(charged)
		if !ok {
			return 0, 0, false
		}
		minor = addAmounts(minor, price)
		billed = min(billed+charged, maxWeight)
	}

	if service.byShipment {
		billed = q.chargedWeight(service, billed)
		minor, ok = table.price(billed)
		return minor, billed, ok
	}
	return minor, billed, true
}

// chargedWeight is the weight that is charged for an actual one.
func (q *quotation) chargedWeight(service *Service, actual weight) weight {
	minimum := q.sheet.terms.minimum
	if service.minimum != nil {
		minimum = *service.minimum
	}
	step := q.sheet.terms.step
	if service.step != nil {
		step = *service.step
	}
	return max(actual, minimum).roundUp(step)
}

// lines adds the surcharges and the fuel to the freight. If the order asks for
// an option that the sheet has no price for, the reason says so.
func (q *quotation) lines(id int, freight int64) (lines []Line, reason string) {
	lines = append(make([]Line, 0, 4), Line{freightLine, freight})
	fuelBase := freight
	priced := pricedOptions{}
	for i := range q.sheet.surcharges {
		charge := &q.sheet.surcharges[i]
		minor, applies := q.surcharge(charge, q.steps[i], id, freight, &priced)
		if !applies {
			continue
		}
		lines = append(lines, Line{charge.name, minor})
		if charge.fuel {
			fuelBase = addAmounts(fuelBase, minor)
		}
	}
	if reason := priced.missing(q.order.Options); reason != "" {
		return nil, reason
	}

	// Fuel comes last: it is charged on surcharges too.
	steps := q.sheet.ownFuel[id]
	if len(steps) == 0 {
		steps = q.sheet.fuel
	}
	if percent := fuelOn(steps, q.order.ShipDate); percent > 0 {
		lines = append(lines, Line{fuelLine, percentOf(fuelBase, percent)})
	}
	return lines, ""
}

// deliveryTime is the end of the working day that is days after the ship date. A
// parcel that is shipped on a weekend leaves on Monday. Saturday is a working
// day if the parcel may be delivered then.
func deliveryTime(day time.Time, days int, saturday bool) time.Time {
	isWorkingDay := func(day time.Time) bool {
		return day.Weekday() != time.Sunday && (day.Weekday() != time.Saturday || saturday)
	}

	for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	for ; days > 0; days-- {
		for day = day.AddDate(0, 0, 1); !isWorkingDay(day); {
			day = day.AddDate(0, 0, 1)
		}
	}
	return day.Add(20 * time.Hour)
}
