package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// load is the part of an order that determines the price.
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
	extras      int64
}

// rates quotes every service that takes the order.
func (m *model) rates(order *ship.Order, now time.Time) ([]ship.Rate, error) {
	load, err := m.weigh(order, now)
	if err != nil {
		return nil, err
	}

	list := make([]ship.Rate, 0, len(m.services))
	for i := range m.services {
		offered := &m.services[i]
		days := offered.transit(&load)
		if days == 0 {
			continue
		}

		at := offered.arrival(&load, days)
		price := m.price(offered, &load, at)
		list = append(list, ship.Rate{
			Carrier:             m.name,
			Service:             offered.code,
			ServiceName:         offered.name,
			Price:               price,
			TransitDays:         days,
			DeliveryAt:          at,
			Guaranteed:          offered.express,
			ListPrice:           listPrice(price),
			Charges:             load.charges(price, m.saturdayFee(offered, &load, at)),
			BillableWeightGrams: load.billable,
		})
	}
	if len(list) == 0 {
		return nil, m.refuse(m.refusals.lane, "no service between these addresses")
	}
	return list, nil
}

// service returns the service of the code, if it takes the load.
func (m *model) service(code string, load *load) (*service, error) {
	for i := range m.services {
		if offered := &m.services[i]; offered.code == code {
			if offered.transit(load) == 0 {
				return nil, m.refuse(m.refusals.lane, "%s is not available for this parcel and destination", offered.name)
			}
			return offered, nil
		}
	}
	return nil, m.refuse(m.refusals.service, "the service does not exist")
}

// weigh checks the order against the carrier's limits.
func (m *model) weigh(order *ship.Order, now time.Time) (load, error) {
	weighed := load{
		lane:     laneOf(&order.Origin, &order.Destination),
		home:     order.Destination.Residential != nil && *order.Destination.Residential,
		saturday: order.Options.SaturdayDelivery,
		pieces:   int64(len(order.Parcels)),
		day:      shipDay(order.ShipDate, now),
	}
	if err := m.checkOrder(order, &weighed, now); err != nil {
		return load{}, err
	}

	for i := range order.Parcels {
		parcel := &order.Parcels[i]
		grams, err := m.billableWeight(parcel, i)
		if err != nil {
			return load{}, err
		}
		weighed.heaviest = max(weighed.heaviest, parcel.WeightGrams)
		weighed.units += m.units(grams)
		weighed.billable += grams
	}

	if insured := order.Options.InsuredValue; !insured.IsZero() {
		if insured.Currency != "USD" {
			return load{}, m.refuseField(m.refusals.value, "/options/insuredValue/currency", "the insured value must be in USD")
		}
		weighed.insurance = (max(insured.Minor, 10000) - 1) / 10000 * m.insurance // the first 100 dollars are free
	}
	switch order.Options.Signature {
	case "":
	case "adult":
		weighed.signature = m.adult * weighed.pieces
	default:
		weighed.signature = m.signature * weighed.pieces
	}
	if weighed.home && order.Options.ServicePoint == "" {
		weighed.residential = m.residential * weighed.pieces
	}
	weighed.extras = extrasFee(&order.Options) * weighed.pieces
	return weighed, nil
}

// billableWeight returns the weight that a parcel is charged for: its own or
// that of its volume. It is the i-th parcel.
func (m *model) billableWeight(parcel *ship.Parcel, i int) (int64, error) {
	if parcel.WeightGrams > m.maxGrams {
		return 0, m.refuseField(m.refusals.weight, parcelPointer(i, "weight"), "a parcel may weigh at most %s", parcel.WeightUnit.Format(m.maxGrams))
	}
	if parcel.Packaging != "" && parcel.Packaging != "custom" {
		if !slices.ContainsFunc(m.packagings, func(p carrier.Packaging) bool { return p.Code == parcel.Packaging }) {
			return 0, m.refuseField(m.refusals.packaging, parcelPointer(i, "packaging"), "the packaging is not a packaging type of %s; %s", m.title, m.packagingWords())
		}
		return parcel.WeightGrams, nil // the carrier's own boxes have no volume
	}

	sides := parcel.Dimensions
	if sides == nil {
		return parcel.WeightGrams, nil
	}

	// The sides are bounded first, so that the product below cannot overflow.
	longest := max(sides.LengthMM, sides.WidthMM, sides.HeightMM)
	girth := 2 * (sides.LengthMM + sides.WidthMM + sides.HeightMM - longest)
	if longest > m.maxSideMM || longest+girth > m.maxGirthMM {
		return 0, m.refuseField(m.refusals.size, parcelPointer(i, "dimensions"), "the longest side may be at most %s, and length plus girth at most %s", sides.Unit.Format(m.maxSideMM), sides.Unit.Format(m.maxGirthMM))
	}
	return max(parcel.WeightGrams, sides.LengthMM*sides.WidthMM*sides.HeightMM/m.volume), nil
}

// parcelPointer points to a field of the i-th parcel.
func parcelPointer(i int, field string) string { return fmt.Sprintf("/parcels/%d/%s", i, field) }

// packagingWords lists the carrier's own packaging types.
func (m *model) packagingWords() string {
	if len(m.packagings) == 0 {
		return "it has none of its own: send custom, or leave packaging out"
	}
	codes := []string{"custom"}
	for _, packaging := range m.packagings {
		codes = append(codes, packaging.Code)
	}
	return "it must be one of " + strings.Join(codes, ", ")
}

// units returns a weight in thousandths of the carrier's unit, rounded up to
// whole units, or for light parcels to quarters.
func (m *model) units(grams int64) int64 {
	if m.lightUnit > 0 && grams <= m.unit {
		return (max(grams, 1) + m.lightUnit - 1) / m.lightUnit * 250
	}
	return (max(grams, 1) + m.unit - 1) / m.unit * 1000
}

// price returns what the service charges for a load that arrives then.
func (m *model) price(sold *service, load *load, at time.Time) ship.Money {
	zone := int64(load.lane.zone)
	cents := load.pieces * (sold.base + sold.farther*zone)
	cents += ((sold.unit+sold.longer*zone)*load.units + 500) / 1000 // units are thousandths
	cents += load.insurance + load.signature + load.residential + load.extras + m.saturdayFee(sold, load, at)
	return ship.Money{Minor: cents, Currency: "USD"}
}

// saturdayFee returns what a delivery on a Saturday costs in addition, in
// cents.
func (m *model) saturdayFee(sold *service, load *load, at time.Time) int64 {
	if !sold.express || at.Weekday() != time.Saturday {
		return 0
	}
	return m.saturday * load.pieces
}

// listPrice returns the published price: simulated accounts have a discount of
// a fifth on it.
func listPrice(price ship.Money) ship.Money {
	return ship.Money{Minor: price.Minor * 5 / 4, Currency: price.Currency}
}

// charges divides a price into its parts.
func (l *load) charges(price ship.Money, saturdayFee int64) []ship.Charge {
	base := price.Minor - saturdayFee - l.insurance - l.signature - l.residential - l.extras
	parts := []struct {
		kind  ship.ChargeType
		cents int64
	}{
		{ship.BaseCharge, base},
		{ship.ResidentialCharge, l.residential},
		{ship.SignatureCharge, l.signature},
		{ship.InsuranceCharge, l.insurance},
		{ship.SaturdayCharge, saturdayFee},
		{ship.OtherCharge, l.extras},
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

// transit returns how many delivery days the service needs; zero if it does not
// take the load.
func (s *service) transit(load *load) int {
	switch {
	case s.reach&load.lane.kind == 0,
		s.reach&homes != 0 && !load.home,
		s.reach&offices != 0 && load.home,
		s.maxGrams > 0 && load.heaviest > s.maxGrams,
		load.lane.zone >= len(s.days):
		return 0
	}
	return int(s.days[load.lane.zone] - '0')
}

// arrival counts the days of delivery from the day of shipping: no Sundays,
// and no Saturdays for an express service unless they are paid for.
func (s *service) arrival(load *load, days int) time.Time {
	day := load.day
	for days > 0 {
		day++
		switch weekday(day) {
		case time.Sunday:
			continue
		case time.Saturday:
			if s.express && !load.saturday {
				continue
			}
		}
		days--
	}
	return time.Unix(day*86400+int64(s.hour)*3600, 0).UTC()
}

// weekday returns the day of the week of a day counted from 1970, a Thursday.
func weekday(day int64) time.Weekday { return time.Weekday((day + int64(time.Thursday)) % 7) }

// shipDay returns the day of shipping, counted from 1970: the order's, else
// today.
func shipDay(date ship.Date, now time.Time) int64 {
	if date != "" {
		now = date.Time()
	}
	return now.Unix() / 86400
}

// refuse is a refusal of an order in the carrier's own words.
func (m *model) refuse(code, format string, args ...any) error {
	return m.decline("order", code, fmt.Sprintf(format, args...))
}

// decline is a refusal of anything in the carrier's own words.
func (m *model) decline(what, code, reason string) error {
	return &ship.Error{
		Kind:    ship.Invalid,
		Message: m.title + " refused the " + what,
		Refusal: ship.Refusal{Code: code, Message: reason},
	}
}
