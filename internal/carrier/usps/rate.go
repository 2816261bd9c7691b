package usps

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rates asks for all mail classes at once, which takes one of the sixty calls
// that an account has in an hour.
func (d *driver) Rates(ctx context.Context, order ship.Order) ([]ship.Rate, error) {
	c, err := newQuoteDraft(order, time.Now())
	if err != nil {
		return nil, err
	}
	c.media = d.media

	var answer optionsAnswer
	err = d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/shipments/v3/options/search",
		Body:   d.rateRequest(c),
	}, &answer)
	if err != nil {
		return nil, err
	}

	rates := ratesOf(c, answer)
	if len(rates) == 0 && answer.offersAny() {
		return nil, ship.Errorf(ship.Invalid, "USPS has no service for this parcel with these options")
	}
	return rates, nil
}

// offersAny reports whether the answer has any offers at all.
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

func (d *driver) rateRequest(c *draft) optionsRequest {
	price := pricing{PriceType: "COMMERCIAL"}
	if d.contract {
		price = pricing{PriceType: "CONTRACT", PaymentAccount: &paymentAccount{AccountType: "EPS", AccountNumber: d.account}}
	}

	request := optionsRequest{
		PricingOptions: []pricing{price},
		OriginZIPCode:  c.from.Zip,
		PackageDescription: optionsPackage{
			Weight:        c.weight,
			Length:        c.length,
			Width:         c.width,
			Height:        c.height,
			PackageValue:  c.value,
			MailingDate:   c.quoteDate(),
			ExtraServices: c.allExtraServices(),
		},
	}
	if c.abroad {
		request.DestinationCountryCode = c.to.Country
		request.ForeignPostalCode = c.to.Zip
		request.PackageDescription.MailClass = "ALL"
		return request
	}
	request.DestinationZIPCode = c.to.Zip
	request.EntryFacilityType = "NONE"
	request.PackageDescription.MailClass = "ALL_OUTBOUND"
	if c.order.IsReturn {
		request.PackageDescription.MailClass = "ALL_RETURNS"
	}
	return request
}

// quoteDate returns the mailing date, as far ahead as USPS quotes.
func (c *draft) quoteDate() string {
	latest := string(ship.DateOf(c.now.AddDate(0, 0, 29)))
	return min(c.mailingDate, latest)
}

// allExtraServices returns the extra services that any of the classes would
// need: the classes have different codes for the same thing.
func (c *draft) allExtraServices() []int {
	var all []int
	for _, mailClass := range services {
		if codes, ok := c.extraServices(mailClass); ok && mailClass.abroad == c.abroad {
			all = append(all, codes...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ratesOf picks, from everything that USPS offers, the one offer of each
// service that the purchase will be charged by.
func ratesOf(c *draft, answer optionsAnswer) []ship.Rate {
	var rates []ship.Rate
	for _, mailClass := range services {
		if c.checkService(mailClass) != nil {
			continue
		}
		if rate, ok := c.bestRate(mailClass, answer.optionsOf(c.className(mailClass))); ok {
			rates = append(rates, rate)
		}
	}
	return rates
}

// optionsOf returns the offers of a mail class.
func (a optionsAnswer) optionsOf(name string) []rateOption {
	var options []rateOption
	for _, priced := range a.PricingOptions {
		for _, class := range priced.ShippingOptions {
			if class.MailClass == name {
				options = append(options, class.RateOptions...)
			}
		}
	}
	return options
}

// bestRate returns the offer that describes the parcel best, and the cheapest
// of those that describe it equally well.
func (c *draft) bestRate(mailClass service, options []rateOption) (best ship.Rate, ok bool) {
	bestRank := -1
	for _, option := range options {
		rank := c.rank(mailClass, option)
		rate, isRate := c.rateOf(mailClass, option)
		if rank < 0 || !isRate {
			continue
		}

		isBetter := bestRank < 0 || rank < bestRank
		if isBetter || rank == bestRank && rate.Price.Minor < best.Price.Minor {
			best = rate
			bestRank = rank
		}
	}
	return best, bestRank >= 0
}

// rank says how well an offer describes the parcel: 0 is best, -1 is another
// packaging, or a discount for parcels that are brought to a more distant post
// office.
func (c *draft) rank(mailClass service, option rateOption) int {
	if len(option.Rates) == 0 {
		return -1
	}

	offered := option.Rates[0]
	wanted := c.indicators(mailClass)
	rank := 4 * slices.Index(wanted, offered.RateIndicator)
	if offered.RateIndicator == cubicBox && !c.abroad && !mailClass.media && wanted[0] == mailClass.single && c.box == nil {
		rank = 0 // as good as the usual one: the cheaper is taken
	}
	if rank < 0 {
		return -1
	}

	if offered.ProcessingCategory != c.category {
		rank += 2
	}
	switch {
	case offered.EntryFacilityType == "NONE":
	case c.abroad && offered.EntryFacilityType == "INTERNATIONAL_SERVICE_CENTER":
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

// indicators returns the rate indicators that describe the parcel, best first.
// For a box of the client's own, USPS itself chooses among them when the label
// is made.
func (c *draft) indicators(mailClass service) []string {
	switch {
	case c.box != nil && mailClass.flat == flatEnvelopes:
		return []string{c.box.express}
	case c.box != nil:
		return []string{c.box.indicator}
	case c.long+c.girth() > maxInchesEach:
		return []string{"OS", mailClass.single, "DR"}
	case c.long*c.wide*c.thick > cubicFoot:
		return []string{"DR", mailClass.single, "OS"}
	}
	return []string{mailClass.single, "DR", "OS"}
}

// rateOf reads an offer. It reports false if the offer lacks an extra service
// that the order needs.
func (c *draft) rateOf(mailClass service, option rateOption) (ship.Rate, bool) {
	price, ok := parseMoney(option.TotalBasePrice)
	if !ok {
		return ship.Rate{}, false
	}

	charges := option.baseCharges(price)
	codes, _ := c.extraServices(mailClass)
	for _, code := range codes {
		extra, ok := option.extraPrice(code)
		if !ok {
			return ship.Rate{}, false
		}
		price.Minor += extra.Minor
		if extra.Minor > 0 {
			charges = append(charges, ship.Charge{Type: extraCharge(code), Amount: extra})
		}
	}

	rate := ship.Rate{
		Service:     mailClass.code,
		ServiceName: mailClass.name,
		Price:       price,
		DeliveryAt:  option.Commitment.deliveryAt(),
		Guaranteed:  option.Commitment.IsGuaranteed == "true",
		Charges:     charges,
	}
	if days, _, ok := strings.Cut(strings.ReplaceAll(option.Commitment.Name, "-", " "), " "); ok {
		rate.TransitDays, _ = strconv.Atoi(days) // "2 Days", "1-day"; others are no number
	}
	if len(option.Rates) > 0 {
		offered := option.Rates[0]
		weight, _ := offered.Weight.Float64() // absent is zero
		volumetric, _ := offered.DimWeight.Float64()
		rate.BillableWeightGrams = int64(math.Round(max(weight, volumetric) * 453.59237))

		// The label of a box of the client's own is sold by this indicator, so
		// that it costs what was quoted.
		if c.box == nil {
			rate.Selection = offered.RateIndicator
		}
	}
	return rate, true
}

// deliveryHour stands for the end of the delivery day, as USPS promises a day
// and no hour. At this hour every part of the country has that date.
const deliveryHour = 20

func (c commitment) deliveryAt() time.Time {
	for _, day := range []string{c.Expected, c.Scheduled} {
		if t, err := time.Parse(time.DateOnly, day); err == nil {
			return t.Add(deliveryHour * time.Hour)
		}
	}
	return time.Time{}
}
