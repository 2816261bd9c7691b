package dhlexpress

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rates quotes every service that DHL offers for the order and that Buy would
// buy: products that the lane does not call for are left out.
func (d driver) Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error) {
	p, err := d.quotePlan(o, time.Now())
	if err != nil {
		return nil, err
	}

	call := d.call(http.MethodPost, "/rates", nil, "")
	call.Body = rateRequestOf(p)
	var a rateAnswer
	if err := d.do(ctx, call, &a, o, p.extras); err != nil {
		return nil, unserved(err)
	}

	list := p.rates(a)
	if len(list) == 0 && len(a.Products) > 0 {
		return nil, ship.Errorf(ship.Invalid, "DHL Express offers this account no service with a price between these addresses")
	}
	return list, nil
}

func rateRequestOf(p plan) rateRequest {
	r := rateRequest{
		CustomerDetails: rateParties{
			ShipperDetails:  ratedPlace(p.from),
			ReceiverDetails: ratedPlace(p.to),
		},
		Accounts:                   p.accounts,
		ValueAddedServices:         p.extras,
		PlannedShippingDateAndTime: moment(p.at),
		UnitOfMeasurement:          "metric",
		IsCustomsDeclarable:        p.declarable,
		EstimatedDeliveryDate:      estimateRequest{true, "QDDC"},
		NextBusinessDay:            true,
		Packages:                   p.packages,
	}
	if p.declarable {
		// The services say whether customs take the invoice as data.
		r.GetAdditionalInformation = []information{{TypeCode: "allValueAddedServices", IsRequested: true}}
	}
	if !p.declared.IsZero() {
		r.MonetaryAmount = []amount{{"declaredValue", json.Number(p.declared.Amount()), p.declared.Currency}}
	}
	return r
}

// ratedPlace is an address as far as a price depends on it.
func ratedPlace(a carrierkit.FittedAddress) postalAddress {
	a.Lines = nil
	return postal(a)
}

func (p plan) rates(a rateAnswer) []ship.Rate {
	var list []ship.Rate
	zone := p.toPlace.ClosestZone()
	for _, offer := range a.Products {
		s, known := serviceOf(offer.ProductCode, p.lane)
		cost, priced := billed(offer.TotalPrice)
		if !known || !priced {
			continue // not for this account, or not a parcel service
		}

		days, _ := strconv.Atoi(offer.DeliveryCapabilities.TotalTransitDays.String()) // none is none
		list = append(list, ship.Rate{
			Service:             s.code,
			ServiceName:         s.name,
			Price:               cost,
			TransitDays:         days,
			DeliveryAt:          localTime(offer.DeliveryCapabilities.EstimatedDeliveryDateAndTime, zone),
			Guaranteed:          s.timed && offer.NetworkTypeCode == "TD",
			Charges:             offer.charges(cost),
			BillableWeightGrams: offer.billableGrams(),
			Selection:           offer.selection().String(),
		})
	}
	return list
}

// selection is what the purchase repeats of the offer.
func (o product) selection() selection {
	s := selection{localProduct: o.LocalProductCode}
	for _, b := range o.DetailedPrices {
		s.paperless = s.paperless || slices.ContainsFunc(b.Parts, func(part breakdownPrice) bool {
			return part.ServiceCode == extraPaperless
		})
	}
	return s
}

// chargeTypes are what DHL's codes of extra charges are for.
var chargeTypes = map[string]ship.ChargeType{
	"":                    ship.BaseCharge,
	"FF":                  ship.FuelCharge,
	"CR":                  ship.PeakCharge, // emergency situation
	"OO":                  ship.DeliveryArea,
	"OB":                  ship.DeliveryArea,
	"TK":                  ship.ResidentialCharge,
	"YB":                  ship.OversizeCharge,
	"YE":                  ship.OversizeCharge,
	"YK":                  ship.OversizeCharge,
	"YY":                  ship.OversizeCharge,
	extraSaturday:         ship.SaturdayCharge,
	extraSaturdayDomestic: ship.SaturdayCharge,
	extraSignature:        ship.SignatureCharge,
	extraAdultSignature:   ship.SignatureCharge,
	extraInsurance:        ship.InsuranceCharge,
	extraLiability:        ship.InsuranceCharge,
}

// charges are the parts of a price in the currency of the bill. What they leave
// of the total is a charge of its own, so that their sum is the price.
func (o product) charges(total ship.Money) []ship.Charge {
	var list []ship.Charge
	left := total.Minor
	add := func(kind ship.ChargeType, minor int64) {
		left -= minor
		i := slices.IndexFunc(list, func(c ship.Charge) bool { return c.Type == kind })
		if i >= 0 {
			list[i].Amount.Minor += minor
			return
		}
		list = append(list, ship.Charge{Type: kind, Amount: ship.Money{Minor: minor, Currency: total.Currency}})
	}

	var tax int64
	for _, b := range o.DetailedPrices {
		if b.CurrencyType != "BILLC" || b.PriceCurrency != total.Currency {
			continue
		}
		for _, part := range b.Parts {
			price, ok := money(part.Price, total.Currency)
			if !ok || price.Minor == 0 {
				continue // a service that is offered, not charged
			}
			kind, known := chargeTypes[part.ServiceCode]
			if !known {
				kind = ship.OtherCharge
			}
			add(kind, price.Minor)
			for _, t := range part.Taxes {
				if more, ok := money(t.Price, total.Currency); ok && t.PriceType == "TAX" {
					tax += more.Minor
				}
			}
		}
		break
	}
	if list == nil {
		return nil
	}

	switch {
	case left == 0:
	case left == tax:
		add(ship.TaxCharge, left)
	case left < 0:
		add(ship.DiscountCharge, left)
	default:
		add(ship.OtherCharge, left)
	}
	return list
}

// billableGrams is the heavier of the weight and the volumetric weight.
func (o product) billableGrams() int64 {
	grams := 1000.0
	if o.Weight.UnitOfMeasurement == "imperial" {
		grams = 453.59237
	}
	provided, _ := o.Weight.Provided.Float64() // absent is zero
	volumetric, _ := o.Weight.Volumetric.Float64()
	return int64(math.Round(max(provided, volumetric) * grams))
}

// billed is the total in the currency that the account is billed in. The
// other rows may have a price of zero and no currency.
func billed(prices []price) (ship.Money, bool) {
	for _, p := range prices {
		if p.CurrencyType == "BILLC" {
			m, ok := money(p.Price, p.PriceCurrency)
			return m, ok && m.Minor > 0
		}
	}
	return ship.Money{}, false
}

// money reads an amount. DHL computes some with more decimals than the
// currency has: half and more is rounded up.
func money(n json.Number, currency string) (ship.Money, bool) {
	whole, frac, _ := strings.Cut(n.String(), ".")
	places := ship.Exponent(currency)
	if len(frac) <= places {
		return ship.ParseMoney(n.String(), currency)
	}
	if !digits(frac) {
		return ship.Money{}, false
	}
	short := whole
	if places > 0 {
		short += "." + frac[:places]
	}
	m, ok := ship.ParseMoney(short, currency)
	if ok && frac[places] >= '5' {
		m.Minor++
	}
	return m, ok
}

// localTime reads a time of delivery, which is local where it happens whatever
// zone it claims. A day without a time lasts until its end, as DHL's own 23:59.
func localTime(s string, zone *time.Location) time.Time {
	s, _, _ = strings.Cut(strings.TrimSuffix(s, "Z"), ".")
	if t, err := time.ParseInLocation("2006-01-02T15:04:05", s, zone); err == nil {
		return t
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return t.Add(23*time.Hour + 59*time.Minute)
	}
	return time.Time{}
}

// unserved turns "not found", which is how DHL says that it has no product for
// a lane, into a refusal.
func unserved(err error) error {
	e, ok := errors.AsType[*ship.Error](err)
	if ok && e.Kind == ship.NotFound && e.Refusal.Message != "" {
		refused := *e
		refused.Kind, refused.Message = ship.Invalid, "DHL Express offers no service between these addresses"
		return &refused
	}
	return err
}
