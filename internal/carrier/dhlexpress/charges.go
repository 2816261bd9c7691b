package dhlexpress

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// billedPrice returns the total in the currency that the account is billed in.
// The other rows may have a price of zero and no currency.
func billedPrice(prices []price) (ship.Money, bool) {
	for _, total := range prices {
		if total.CurrencyType == "BILLC" {
			amount, ok := parseMoney(total.Price, total.PriceCurrency)
			return amount, ok && amount.Minor > 0
		}
	}
	return ship.Money{}, false
}

// charges returns the parts of a price in the currency of the bill. What they
// leave of the total is a charge of its own, so that their sum is the price.
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
	for _, detailed := range o.DetailedPrices {
		// DHL repeats the breakdown in other currencies.
		if detailed.CurrencyType != "BILLC" || detailed.PriceCurrency != total.Currency {
			continue
		}

		for _, part := range detailed.Parts {
			price, ok := parseMoney(part.Price, total.Currency)
			if !ok || price.Minor == 0 {
				continue // a service that is offered, not charged
			}
			kind, known := chargeTypes[part.ServiceCode]
			if !known {
				kind = ship.OtherCharge
			}
			add(kind, price.Minor)

			for _, levied := range part.Taxes {
				if amount, ok := parseMoney(levied.Price, total.Currency); ok && levied.PriceType == "TAX" {
					tax += amount.Minor
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

// billableGrams returns the heavier of the weight and the volumetric weight.
func (o product) billableGrams() int64 {
	grams := 1000.0
	if o.Weight.UnitOfMeasurement == "imperial" {
		grams = 453.59237
	}
	provided, _ := o.Weight.Provided.Float64() // absent is zero
	volumetric, _ := o.Weight.Volumetric.Float64()
	return int64(math.Round(max(provided, volumetric) * grams))
}

// parseMoney reads an amount. DHL computes some with more decimals than the
// currency has: these are rounded half up.
func parseMoney(n json.Number, currency string) (ship.Money, bool) {
	units, fraction, _ := strings.Cut(n.String(), ".")
	places := ship.Exponent(currency)
	if len(fraction) <= places {
		return ship.ParseMoney(n.String(), currency)
	}
	if !isDigits(fraction) {
		return ship.Money{}, false
	}

	short := units
	if places > 0 {
		short += "." + fraction[:places]
	}
	amount, ok := ship.ParseMoney(short, currency)
	if ok && fraction[places] >= '5' {
		amount.Minor++
	}
	return amount, ok
}
