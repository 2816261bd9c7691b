package sandbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// load is what an order asks of a carrier: all that prices depend on.
type load struct {
	lane     lane
	home     bool
	saturday bool
	pieces   int64
	heaviest int64 // grams
	units    int64 // of weight, in thousandths, of all pieces
	billable int64 // grams that are charged for, of all pieces
	day      int64 // of shipping, counted from 1970

	// In cents, for what does not depend on the service.

	insurance   int64
	signature   int64
	residential int64
}

// rates quotes every service that takes the order.
func (m *model) rates(o *ship.Order, now time.Time) ([]ship.Rate, error) {
	l, err := m.weigh(o, now)
	if err != nil {
		return nil, err
	}
	list := make([]ship.Rate, 0, len(m.services))
	for i := range m.services {
		s := &m.services[i]
		days := s.transit(&l)
		if days == 0 {
			continue
		}
		at := s.arrival(&l, days)
		price := m.price(s, &l, at)
		list = append(list, ship.Rate{
			Carrier:             m.name,
			Service:             s.code,
			ServiceName:         s.name,
			Price:               price,
			TransitDays:         days,
			DeliveryAt:          at,
			Guaranteed:          s.express,
			ListPrice:           listPrice(price),
			Charges:             l.charges(price, m.saturdayFee(s, &l, at)),
			BillableWeightGrams: l.billable,
		})
	}
	if len(list) == 0 {
		return nil, m.refuse(m.refusals.lane, "no service between these addresses")
	}
	return list, nil
}

// service returns the service of the code, if it takes the load.
func (m *model) service(code string, l *load) (*service, error) {
	for i := range m.services {
		if s := &m.services[i]; s.code == code {
			if s.transit(l) == 0 {
				return nil, m.refuse(m.refusals.lane, "%s does not take this parcel to its destination", s.name)
			}
			return s, nil
		}
	}
	return nil, m.refuse(m.refusals.service, "the service does not exist")
}

// weigh checks the order against the carrier's limits.
func (m *model) weigh(o *ship.Order, now time.Time) (load, error) {
	l := load{
		lane: laneOf(&o.Origin, &o.Destination), home: o.Destination.Residential != nil && *o.Destination.Residential,
		saturday: o.Options.SaturdayDelivery, pieces: int64(len(o.Parcels)), day: shipDay(o.ShipDate, now),
	}
	if err := m.checkOrder(o, &l, now); err != nil {
		return load{}, err
	}
	for i := range o.Parcels {
		p := &o.Parcels[i]
		grams, err := m.charged(p)
		if err != nil {
			return load{}, err
		}
		l.heaviest = max(l.heaviest, p.WeightGrams)
		l.units += m.units(grams)
		l.billable += grams
	}
	if v := o.Options.InsuredValue; !v.IsZero() {
		if v.Currency != "USD" {
			return load{}, m.refuse(m.refusals.value, "the insured value must be in USD")
		}
		l.insurance = (max(v.Minor, 10000) - 1) / 10000 * m.insurance // the first 100 dollars are free
	}
	switch o.Options.Signature {
	case "":
	case "adult":
		l.signature = m.adult * l.pieces
	default:
		l.signature = m.signature * l.pieces
	}
	if l.home {
		l.residential = m.residential * l.pieces
	}
	return l, nil
}

// charged is the weight that a parcel is charged for: its own or that of its
// volume.
func (m *model) charged(p *ship.Parcel) (int64, error) {
	if p.WeightGrams > m.maxGrams {
		return 0, m.refuse(m.refusals.weight, "a piece may weigh %s at most", p.WeightUnit.Format(m.maxGrams))
	}
	if p.Packaging != "" && p.Packaging != "custom" {
		if !slices.ContainsFunc(m.packagings, func(v carrier.Packaging) bool { return v.Code == p.Packaging }) {
			return 0, m.refuse(m.refusals.packaging, "the packaging is not one of %s", m.title)
		}
		return p.WeightGrams, nil // the carrier's own boxes have no volume
	}
	d := p.Dimensions
	if d == nil {
		return p.WeightGrams, nil
	}
	long := max(d.LengthMM, d.WidthMM, d.HeightMM)
	// Bounded first, so that the product below cannot overflow.
	if long > m.maxSideMM || long+2*(d.LengthMM+d.WidthMM+d.HeightMM-long) > m.maxGirthMM {
		return 0, m.refuse(m.refusals.size, "the longest side may be %s, length and girth together %s", d.Unit.Format(m.maxSideMM), d.Unit.Format(m.maxGirthMM))
	}
	return max(p.WeightGrams, d.LengthMM*d.WidthMM*d.HeightMM/m.volume), nil
}

// units is a weight in thousandths of the carrier's unit, rounded up to whole
// units, or for light parcels to quarters.
func (m *model) units(grams int64) int64 {
	if m.lightUnit > 0 && grams <= m.unit {
		return (max(grams, 1) + m.lightUnit - 1) / m.lightUnit * 250
	}
	return (max(grams, 1) + m.unit - 1) / m.unit * 1000
}

// price is what the service charges for a load that arrives then.
func (m *model) price(s *service, l *load, at time.Time) ship.Money {
	zone := int64(l.lane.zone)
	cents := l.pieces*(s.base+s.farther*zone) + ((s.unit+s.longer*zone)*l.units+500)/1000
	cents += l.insurance + l.signature + l.residential + m.saturdayFee(s, l, at)
	return ship.Money{Minor: cents, Currency: "USD"}
}

// saturdayFee is what a delivery on a Saturday costs in addition, in cents.
func (m *model) saturdayFee(s *service, l *load, at time.Time) int64 {
	if !s.express || at.Weekday() != time.Saturday {
		return 0
	}
	return m.saturday * l.pieces
}

// listPrice is the published price: simulated accounts have a discount of a
// fifth on it.
func listPrice(price ship.Money) ship.Money {
	return ship.Money{Minor: price.Minor * 5 / 4, Currency: price.Currency}
}

// charges divides a price into its parts.
func (l *load) charges(price ship.Money, saturdayFee int64) []ship.Charge {
	base := price.Minor - saturdayFee - l.insurance - l.signature - l.residential
	parts := []struct {
		kind  ship.ChargeType
		cents int64
	}{
		{ship.BaseCharge, base},
		{ship.ResidentialCharge, l.residential},
		{ship.SignatureCharge, l.signature},
		{ship.InsuranceCharge, l.insurance},
		{ship.SaturdayCharge, saturdayFee},
	}

	charges := make([]ship.Charge, 0, 1)
	for _, part := range parts {
		if part.cents > 0 {
			charges = append(charges, ship.Charge{
				Type:   part.kind,
				Amount: ship.Money{Minor: part.cents, Currency: price.Currency},
			})
		}
	}
	return charges
}

// transit is how many days of delivery the way takes; zero if the service does
// not take the load.
func (s *service) transit(l *load) int {
	switch {
	case s.reach&l.lane.kind == 0,
		s.reach&homes != 0 && !l.home,
		s.reach&offices != 0 && l.home,
		s.maxGrams > 0 && l.heaviest > s.maxGrams,
		l.lane.zone >= len(s.days):
		return 0
	}
	return int(s.days[l.lane.zone] - '0')
}

// arrival counts the days of delivery from the day of shipping: no Sundays,
// and no Saturdays for an express service unless they are paid for.
func (s *service) arrival(l *load, days int) time.Time {
	day := l.day
	for days > 0 {
		day++
		switch weekday(day) {
		case time.Sunday:
			continue
		case time.Saturday:
			if s.express && !l.saturday {
				continue
			}
		}
		days--
	}
	return time.Unix(day*86400+int64(s.hour)*3600, 0).UTC()
}

// weekday is the day of the week of a day counted from 1970, a Thursday.
func weekday(day int64) time.Weekday { return time.Weekday((day + int64(time.Thursday)) % 7) }

// shipDay is the day of shipping, counted from 1970: the order's, else today.
func shipDay(d ship.Date, now time.Time) int64 {
	if d != "" {
		now = d.Time()
	}
	return now.Unix() / 86400
}

// refuse is the carrier saying no in its own words.
func (m *model) refuse(code, format string, args ...any) error {
	return &ship.Error{
		Kind: ship.Invalid, Message: m.title + " refused the order",
		Refusal: ship.Refusal{Code: code, Message: fmt.Sprintf(format, args...)},
	}
}
