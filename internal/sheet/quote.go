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
// date, if the sheet knows the days and the order the date.
func (s Sheet) Quote(o ship.Order) ([]ship.Rate, error) {
	offers, _, err := s.offers(&o)
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
func (s Sheet) Explain(o ship.Order) ([]Offer, error) {
	offers, billed, err := s.offers(&o)
	for i := range offers {
		offers[i].Billed = billed[i].text(s.terms.weightUnit)
	}
	return offers, err
}

// offers also returns the weights that are charged for.
func (s *Sheet) offers(o *ship.Order) (offers []Offer, weights []weight, err error) {
	q, err := s.question(o)
	if err != nil {
		return nil, nil, err
	}
	var reasons []string
	offers = make([]Offer, 0, min(len(s.Services), 32))
	for id := range s.Services {
		offer, billed, reason := q.offer(id)
		switch {
		case reason == "":
			offers, weights = append(offers, offer), append(weights, billed)
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
	weight weight
	sides  [3]length // the longest first; zeros if they are not known
	boxed  [3]length // rounded
}

// girth is the length and the way around.
func (p *piece) girth() length { return p.sides[0] + 2*(p.sides[1]+p.sides[2]) }

// A question is an order, put to a sheet.
type question struct {
	sheet  *Sheet
	order  *ship.Order
	zone   int
	to     spot
	pieces []piece
	steps  [][]*step // of each surcharge, those that concern the order
}

func (s *Sheet) question(o *ship.Order) (*question, error) {
	if len(o.Parcels) == 0 {
		return nil, ship.Coded(ship.Invalid, CodeNoRate, "no parcel")
	}
	if !s.Covers(o.ShipDate) {
		return nil, ship.Coded(ship.Invalid, CodeNoRate, "the rate sheet is not valid on %s", o.ShipDate)
	}
	from, to := spotOf(&o.Origin), spotOf(&o.Destination)
	zone, ok := s.zoneOf(from, to)
	if !ok {
		return nil, ship.Coded(ship.Invalid, CodeNoRate, "no zone for %s%s", place(&o.Destination), s.origin(&o.Origin))
	}
	q := &question{sheet: s, order: o, zone: zone, to: to, pieces: make([]piece, len(o.Parcels))}
	for i := range o.Parcels {
		q.pieces[i] = s.measure(&o.Parcels[i])
	}
	q.steps = make([][]*step, len(s.surcharges))
	for i := range s.surcharges {
		q.steps[i] = q.concerning(&s.surcharges[i])
	}
	return q, nil
}

// place names an address as far as zones see it.
func place(a *ship.Address) string {
	return strings.Join(strings.Fields(cmp.Or(a.Country, "no country")+" "+a.Zip), " ")
}

// origin names the origin too, if it matters.
func (s *Sheet) origin(a *ship.Address) string {
	if len(s.origins) == 1 && s.origins[0].country == anywhere {
		return ""
	}
	return " from " + place(a)
}

func (s *Sheet) measure(p *ship.Parcel) piece {
	out := piece{weight: weightOf(p)}
	d := p.Dimensions
	if d == nil {
		return out
	}
	out.sides = [3]length{sideOf(d.Unit, d.Length, d.LengthMM), sideOf(d.Unit, d.Width, d.WidthMM), sideOf(d.Unit, d.Height, d.HeightMM)}
	slices.SortFunc(out.sides[:], func(a, b length) int { return cmp.Compare(b, a) })
	for i, side := range out.sides {
		out.boxed[i] = s.terms.lengths.apply(side)
	}
	return out
}

// offer prices the order with a service, or says why not.
func (q *question) offer(id int) (_ Offer, billed weight, reason string) {
	s := q.sheet
	service := &s.Services[id]
	tables := s.tables[id]
	at, ok := slices.BinarySearchFunc(tables, q.zone, func(t table, zone int) int { return cmp.Compare(t.zone, zone) })
	if !ok {
		return Offer{}, 0, "does not go there"
	}
	t := &tables[at]
	if reason := q.tooLarge(service); reason != "" {
		return Offer{}, 0, reason
	}
	freight, billed, ok := q.freight(service, t)
	if !ok {
		return Offer{}, 0, "takes " + t.top().text(s.terms.weightUnit) + " at most"
	}
	lines, reason := q.lines(id, freight)
	if reason != "" {
		return Offer{}, 0, reason
	}
	total := int64(0)
	for _, l := range lines {
		total = plus(total, l.Minor)
	}
	if total == dearest {
		return Offer{}, 0, "has no price for so much"
	}
	rate := ship.Rate{
		Service: service.Code, ServiceName: service.Name, Price: ship.Money{Minor: total, Currency: s.Currency},
		TransitDays: t.days, Guaranteed: service.Guaranteed, Source: "sheet",
	}
	if t.days > 0 && q.order.ShipDate != "" {
		rate.DeliveryAt = arrival(q.order.ShipDate.Time(), t.days, q.order.Options.SaturdayDelivery)
	}
	return Offer{Rate: rate, Zone: s.Zones[q.zone], Lines: lines}, billed, ""
}

// tooLarge says which limit of the service a piece exceeds.
func (q *question) tooLarge(v *Service) string {
	t := &q.sheet.terms
	for i := range q.pieces {
		p := &q.pieces[i]
		switch {
		case v.maxWeight > 0 && p.weight > v.maxWeight:
			return "takes " + v.maxWeight.text(t.weightUnit) + " a piece at most"
		case v.maxLength > 0 && p.sides[0] > v.maxLength:
			return "takes " + v.maxLength.text(t.lengthUnit) + " of length at most"
		case v.maxGirth > 0 && p.girth() > v.maxGirth:
			return "takes " + v.maxGirth.text(t.lengthUnit) + " of length and girth at most"
		}
	}
	return ""
}

// freight is the price of the weight that is charged for, and that weight.
func (q *question) freight(v *Service, t *table) (minor int64, billed weight, ok bool) {
	by := q.sheet.terms.divisor
	if v.divisor != nil {
		by = *v.divisor
	}
	for i := range q.pieces {
		p := &q.pieces[i]
		w := max(p.weight, by.weigh(p.boxed[0], p.boxed[1], p.boxed[2]))
		if v.byShipment {
			billed = min(billed+w, heaviest)
			continue
		}
		w = q.charged(v, w)
		price, ok := t.price(w)
		if !ok {
			return 0, 0, false
		}
		minor, billed = plus(minor, price), min(billed+w, heaviest)
	}
	if v.byShipment {
		billed = q.charged(v, billed)
		minor, ok = t.price(billed)
		return minor, billed, ok
	}
	return minor, billed, true
}

// charged is the weight that is charged for w.
func (q *question) charged(v *Service, w weight) weight {
	least, step := q.sheet.terms.minimum, q.sheet.terms.step
	if v.minimum != nil {
		least = *v.minimum
	}
	if v.step != nil {
		step = *v.step
	}
	return max(w, least).up(step)
}

// lines adds the surcharges and the fuel to the freight. What the order asks
// for and the sheet has no price for is not to be had.
func (q *question) lines(id int, freight int64) (lines []Line, reason string) {
	lines = append(make([]Line, 0, 4), Line{freightLine, freight})
	fueled := freight
	granted := options{}
	for i := range q.sheet.surcharges {
		c := &q.sheet.surcharges[i]
		minor, applies := q.surcharge(c, q.steps[i], id, freight, &granted)
		if !applies {
			continue
		}
		lines = append(lines, Line{c.name, minor})
		if c.fuel {
			fueled = plus(fueled, minor)
		}
	}
	if reason := granted.lack(q.order.Options); reason != "" {
		return nil, reason
	}
	steps := q.sheet.ownFuel[id]
	if len(steps) == 0 {
		steps = q.sheet.fuel
	}
	if percent := fuelOn(steps, q.order.ShipDate); percent > 0 {
		lines = append(lines, Line{fuelLine, share(fueled, percent)})
	}
	return lines, ""
}

// arrival is the end of the working day that is days after the ship date. A
// parcel that is shipped on a weekend leaves on Monday. Saturday is a working
// day if the parcel may be delivered then.
func arrival(day time.Time, days int, saturday bool) time.Time {
	works := func(t time.Time) bool {
		return t.Weekday() != time.Sunday && (t.Weekday() != time.Saturday || saturday)
	}
	for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	for ; days > 0; days-- {
		for day = day.AddDate(0, 0, 1); !works(day); {
			day = day.AddDate(0, 0, 1)
		}
	}
	return day.Add(20 * time.Hour)
}
