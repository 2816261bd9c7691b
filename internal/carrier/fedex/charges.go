package fedex

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// rateTypes are the prices of a service, the account's own first.
var rateTypes = []string{"ACCOUNT", "INCENTIVE", "PREFERRED_CURRENCY", "PREFERRED", "LIST"}

// accountPrice returns the price that the account pays, and what it consists
// of.
func accountPrice(rated []ratedShipment) (paid ratedShipment, price ship.Money, ok bool) {
	for _, kind := range rateTypes {
		i := slices.IndexFunc(rated, func(r ratedShipment) bool { return r.RateType == kind })
		if i < 0 {
			continue
		}
		if price, ok := rated[i].price(); ok {
			return rated[i], price, true
		}
	}
	return ratedShipment{}, ship.Money{}, false
}

// listPrice returns the published price, where FedEx returns it.
func listPrice(rated []ratedShipment) (ship.Money, bool) {
	i := slices.IndexFunc(rated, func(r ratedShipment) bool { return r.RateType == "LIST" })
	if i < 0 {
		return ship.Money{}, false
	}
	return rated[i].price()
}

// price returns the charge with its taxes.
func (r ratedShipment) price() (ship.Money, bool) {
	currency := r.Currency
	if currency == "" {
		currency = r.Detail.Currency
	}
	return parseMoney(r.TotalNetCharge, isoCurrency(currency))
}

// price returns what is charged: one of the answer's rates is marked as such.
func (r rating) price() (ship.Money, bool) {
	for _, detail := range r.Details {
		if detail.RateType == r.ActualRateType {
			return detail.price()
		}
	}
	return ship.Money{}, false
}

// charges returns the parts of a price, which add up to it: what FedEx does not
// list is one more part. Nil if it lists nothing.
func (r ratedShipment) charges(price ship.Money) []ship.Charge {
	var list []ship.Charge
	left := price.Minor
	add := func(kind ship.ChargeType, n json.Number, sign int64) {
		minor, ok := minorUnits(n, price.Currency)
		if !ok || minor == 0 {
			return
		}
		list = append(list, ship.Charge{
			Type:   kind,
			Amount: ship.Money{Minor: sign * minor, Currency: price.Currency},
		})
		left -= sign * minor
	}

	add(ship.BaseCharge, r.TotalBaseCharge, 1)
	if list == nil {
		return nil
	}

	// FedEx gives the discount of the shipment twice, and in some answers once.
	discount := r.TotalDiscounts
	if minor, ok := minorUnits(discount, price.Currency); !ok || minor == 0 {
		discount = r.Detail.Discount
	}
	add(ship.DiscountCharge, discount, -1)

	for _, surcharge := range r.Detail.Surcharges {
		add(chargeTypeOf(surcharge.Type), surcharge.Amount, 1)
	}
	for _, tax := range r.Detail.Taxes {
		add(ship.TaxCharge, tax.Amount, 1)
	}
	if left != 0 {
		list = append(list, ship.Charge{
			Type:   ship.OtherCharge,
			Amount: ship.Money{Minor: left, Currency: price.Currency},
		})
	}
	return list
}

// chargeTypes are what FedEx's surcharges are for; others are "other".
var chargeTypes = map[string]ship.ChargeType{
	"FUEL":                        ship.FuelCharge,
	"RESIDENTIAL_DELIVERY":        ship.ResidentialCharge,
	"RESIDENTIAL_PICKUP":          ship.ResidentialCharge,
	"DELIVERY_AREA":               ship.DeliveryArea,
	"OUT_OF_DELIVERY_AREA":        ship.DeliveryArea,
	"OUT_OF_PICKUP_AREA":          ship.DeliveryArea,
	"OFFSHORE":                    ship.DeliveryArea,
	"INTERHAWAII":                 ship.DeliveryArea,
	"SIGNATURE_OPTION":            ship.SignatureCharge,
	"DELIVERY_CONFIRMATION":       ship.SignatureCharge,
	"INSURED_VALUE":               ship.InsuranceCharge,
	"EXCESS_VALUE":                ship.InsuranceCharge,
	"SATURDAY_DELIVERY":           ship.SaturdayCharge,
	"OVERSIZE":                    ship.OversizeCharge,
	"OVERWEIGHT":                  ship.OversizeCharge,
	"OVER_DIMENSION":              ship.OversizeCharge,
	"OVER_LENGTH":                 ship.OversizeCharge,
	"EXTREME_LENGTH":              ship.OversizeCharge,
	"ADDITIONAL_HANDLING":         ship.OversizeCharge,
	"NON_MACHINABLE":              ship.OversizeCharge,
	"DEMAND":                      ship.PeakCharge,
	"DEMAND_ADDITIONAL_HANDLING":  ship.PeakCharge,
	"DEMAND_OVERSIZE":             ship.PeakCharge,
	"DEMAND_RESIDENTIAL_DELIVERY": ship.PeakCharge,
}

// chargeTypeOf returns what a surcharge is for. Demand surcharges used to be
// called peak, and still are in some answers.
func chargeTypeOf(kind string) ship.ChargeType {
	if rest, peak := strings.CutPrefix(kind, "PEAK"); peak {
		kind = "DEMAND" + rest
	}
	if known, ok := chargeTypes[kind]; ok {
		return known
	}
	return ship.OtherCharge
}

// minorUnits reads an amount, which may be zero or negative.
func minorUnits(n json.Number, currency string) (int64, bool) {
	value, ok := parseNumber(n)
	if !ok {
		return 0, false
	}

	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(ship.Exponent(currency))), nil)
	return roundInt(value.Mul(value, new(big.Rat).SetInt(scale)))
}

// roundInt returns the nearest whole number.
func roundInt(value *big.Rat) (int64, bool) {
	whole, ok := new(big.Int).SetString(value.FloatString(0), 10)
	if !ok || !whole.IsInt64() {
		return 0, false
	}
	return whole.Int64(), true
}

// billableGrams returns what FedEx charges for: the weight, or the size as
// weight.
func (r ratedShipment) billableGrams() int64 {
	value, ok := parseNumber(r.Detail.BillingWeight.Value)
	if !ok || value.Sign() <= 0 {
		return 0
	}

	gramsInUnit := big.NewRat(1000, 1)
	if r.Detail.BillingWeight.Units == "LB" {
		gramsInUnit = big.NewRat(gramsInPound, 100_000)
	}
	grams, _ := roundInt(value.Mul(value, gramsInUnit))
	return grams
}

// parseMoney reads an amount exactly as it is written, rounded to the
// currency's smallest unit. Zero or less is not a price.
func parseMoney(n json.Number, currency string) (ship.Money, bool) {
	value, ok := parseNumber(n)
	if !ok || value.Sign() <= 0 {
		return ship.Money{}, false
	}
	return ship.ParseMoney(value.FloatString(ship.Exponent(currency)), currency)
}

// parseNumber reads a number as it is written.
func parseNumber(n json.Number) (*big.Rat, bool) {
	const maxDigits, maxExponent = 40, 18

	// A large exponent would make a number of as many digits.
	text := string(n)
	if _, exponent, isScientific := strings.Cut(strings.ToUpper(text), "E"); isScientific {
		if power, err := strconv.Atoi(exponent); err != nil || power > maxExponent || power < -maxExponent {
			return nil, false
		}
	}
	value, ok := new(big.Rat).SetString(text)
	return value, ok && len(text) <= maxDigits
}
