package usps

import (
	"context"
	"encoding/json"
	"math"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rates asks for all mail classes at once: one call of sixty an hour.
func (d *driver) Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error) {
	c, err := consignQuote(o, time.Now())
	if err != nil {
		return nil, err
	}
	var a optionsAnswer
	err = d.ask(ctx, carrierkit.Call{
		Method: http.MethodPost, URL: d.base + "/shipments/v3/options/search", Body: d.optionsRequest(c),
	}, &a)
	if err != nil {
		return nil, err
	}
	rates := ratesOf(c, a)
	if len(rates) == 0 && a.offersAny() {
		return nil, ship.Errorf(ship.Invalid, "USPS has no service for this parcel with these options")
	}
	return rates, nil
}

// offersAny reports whether the answer has offers at all, for whatever parcel.
func (a optionsAnswer) offersAny() bool {
	for _, p := range a.PricingOptions {
		for _, class := range p.ShippingOptions {
			if len(class.RateOptions) > 0 {
				return true
			}
		}
	}
	return false
}

func (d *driver) optionsRequest(c *consignment) optionsRequest {
	price := pricing{PriceType: "COMMERCIAL"}
	if d.contract {
		price = pricing{PriceType: "CONTRACT", PaymentAccount: &paymentAccount{AccountType: "EPS", AccountNumber: d.account}}
	}
	r := optionsRequest{
		PricingOptions: []pricing{price},
		OriginZIPCode:  c.from.Zip,
		PackageDescription: optionsPackage{
			Weight: c.weight, Length: c.length, Width: c.width, Height: c.height,
			PackageValue: c.value, MailingDate: c.quoteDate(), ExtraServices: c.allExtras(),
		},
	}
	if c.abroad {
		r.DestinationCountryCode, r.ForeignPostalCode = c.to.Country, c.to.Zip
		r.PackageDescription.MailClass = "ALL"
	} else {
		r.DestinationZIPCode, r.EntryFacilityType = c.to.Zip, "NONE"
		r.PackageDescription.MailClass = "ALL_OUTBOUND"
	}
	return r
}

// quoteDate is the mailing date, as far ahead as USPS quotes.
func (c *consignment) quoteDate() string {
	latest := string(ship.DateOf(c.now.AddDate(0, 0, 29)))
	return min(c.mailingDate, latest)
}

// allExtras are the extra services that any of the classes would need: they
// have different codes for the same thing.
func (c *consignment) allExtras() []int {
	var all []int
	for _, s := range services {
		if codes, ok := c.extras(s); ok && s.abroad == c.abroad {
			all = append(all, codes...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ratesOf picks from all that USPS offers the one offer of each service that
// the purchase will be charged by.
func ratesOf(c *consignment, a optionsAnswer) []ship.Rate {
	var rates []ship.Rate
	for _, s := range services {
		if c.takes(s) != nil {
			continue
		}
		var best ship.Rate
		rank := -1
		for _, p := range a.PricingOptions {
			for _, class := range p.ShippingOptions {
				for _, o := range class.RateOptions {
					if class.MailClass != s.class {
						continue
					}
					rate, ok := c.rateOf(s, o)
					r := c.rank(s, o)
					if ok && r >= 0 && (rank < 0 || r < rank || r == rank && rate.Price.Minor < best.Price.Minor) {
						best, rank = rate, r
					}
				}
			}
		}
		if rank >= 0 {
			rates = append(rates, best)
		}
	}
	return rates
}

// rank says how well an offer describes the parcel: 0 is best, -1 is another
// packaging, or a discount for what is brought to a further post office.
func (c *consignment) rank(s service, o rateOption) int {
	if len(o.Rates) == 0 {
		return -1
	}
	r := o.Rates[0]
	wanted := c.indicators(s)
	rank := 4 * slices.Index(wanted, r.RateIndicator)
	if r.RateIndicator == cubicBox && !c.abroad && wanted[0] == s.single && c.box == nil {
		rank = 0 // as good as the usual one: the cheaper is taken
	}
	if rank < 0 {
		return -1
	}
	if r.ProcessingCategory != c.category {
		rank += 2
	}
	switch {
	case r.EntryFacilityType == "NONE":
	case c.abroad && r.EntryFacilityType == "INTERNATIONAL_SERVICE_CENTER":
		rank++
	default:
		return -1
	}
	return rank
}

// cubicBox is the rate indicator of a box that is priced by its volume. USPS
// offers it where its rules allow; the indicators of soft packs are not for
// boxes.
const cubicBox = "CP"

// indicators are the rate indicators that describe the parcel, best first. USPS
// itself chooses from them when the label is made in a box of the client's.
func (c *consignment) indicators(s service) []string {
	switch {
	case c.box != nil && s.flat == flatEnvelopes:
		return []string{c.box.express}
	case c.box != nil:
		return []string{c.box.indicator}
	case c.long+c.girth() > maxInchesEach:
		return []string{"OS", s.single, "DR"}
	case c.long*c.wide*c.thick > cubicFoot:
		return []string{"DR", s.single, "OS"}
	}
	return []string{s.single, "DR", "OS"}
}

// rateOf reads an offer. It is none if it lacks an extra service that the
// order needs.
func (c *consignment) rateOf(s service, o rateOption) (ship.Rate, bool) {
	price, ok := money(o.TotalBasePrice)
	if !ok {
		return ship.Rate{}, false
	}

	charges := o.baseCharges(price)
	codes, _ := c.extras(s)
	for _, code := range codes {
		more, ok := o.extraPrice(code)
		if !ok {
			return ship.Rate{}, false
		}
		price.Minor += more.Minor
		if more.Minor > 0 {
			charges = append(charges, ship.Charge{Type: extraCharge(code), Amount: more})
		}
	}

	rate := ship.Rate{
		Service:     s.code,
		ServiceName: s.name,
		Price:       price,
		DeliveryAt:  o.Commitment.at(),
		Guaranteed:  o.Commitment.IsGuaranteed == "true",
		Charges:     charges,
	}
	if days, _, ok := strings.Cut(strings.ReplaceAll(o.Commitment.Name, "-", " "), " "); ok {
		rate.TransitDays, _ = strconv.Atoi(days) // "2 Days", "1-day"; others are no number
	}
	if len(o.Rates) > 0 {
		r := o.Rates[0]
		weight, _ := r.Weight.Float64() // absent is zero
		volumetric, _ := r.DimWeight.Float64()
		rate.BillableWeightGrams = int64(math.Round(max(weight, volumetric) * 453.59237))
		if c.box == nil {
			rate.Selection = r.RateIndicator
		}
	}
	return rate, true
}

// extraPrice is what an extra service costs in the offer.
func (o rateOption) extraPrice(code int) (ship.Money, bool) {
	for _, e := range o.ExtraServices {
		if string(e.Code) != strconv.Itoa(code) {
			continue
		}
		if price, ok := money(e.Price); ok {
			return price, true
		}
	}
	return ship.Money{}, false
}

// baseCharges are the postage and its fees; their sum is the base price.
func (o rateOption) baseCharges(total ship.Money) []ship.Charge {
	left := total
	var fees []ship.Charge
	if len(o.Rates) > 0 {
		for _, f := range o.Rates[0].Fees {
			price, ok := money(f.Price)
			if !ok || price.Minor == 0 || price.Minor > left.Minor {
				continue
			}
			kind := ship.OtherCharge
			if name := strings.ToLower(f.Name); strings.Contains(name, "nonstandard") || strings.Contains(name, "dimension") {
				kind = ship.OversizeCharge
			}
			fees = append(fees, ship.Charge{Type: kind, Amount: price})
			left.Minor -= price.Minor
		}
	}
	return append([]ship.Charge{{Type: ship.BaseCharge, Amount: left}}, fees...)
}

// extraCharge is what an extra service is for.
func extraCharge(code int) ship.ChargeType {
	switch code {
	case 921, 922, 981:
		return ship.SignatureCharge
	case 925, 930, 931:
		return ship.InsuranceCharge
	}
	return ship.OtherCharge
}

// deliveryHour stands for the end of the delivery day: USPS promises a day
// alone. It is an hour at which every part of the country has that date.
const deliveryHour = 20

func (c commitment) at() time.Time {
	for _, day := range []string{c.Expected, c.Scheduled} {
		if t, err := time.Parse(time.DateOnly, day); err == nil {
			return t.Add(deliveryHour * time.Hour)
		}
	}
	return time.Time{}
}

// money reads an amount in dollars from the text of a JSON number. USPS adds
// amounts in binary at times ("12.350000000000001"): the cent nearest to the
// text is the amount.
func money(n json.Number) (ship.Money, bool) {
	text := n.String()
	if text == "" || len(text) > 30 || strings.Trim(text, "0123456789.") != "" {
		return ship.Money{}, false
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return ship.Money{}, false
	}
	return ship.ParseMoney(r.FloatString(2), "USD")
}
