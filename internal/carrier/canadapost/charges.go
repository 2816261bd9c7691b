package canadapost

import (
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// charges divides a price into its parts. What is left of it after taxes, options
// and adjustments is the base price.
func (q priceQuote) charges(price ship.Money) []ship.Charge {
	base := price
	var parts []ship.Charge
	add := func(kind ship.ChargeType, text string) {
		digits, isNegative := strings.CutPrefix(text, "-")
		amount, ok := ship.ParseMoney(digits, price.Currency)
		if !ok || amount.Minor == 0 {
			return
		}
		if isNegative {
			amount.Minor = -amount.Minor
		}
		base.Minor -= amount.Minor
		parts = append(parts, ship.Charge{Type: kind, Amount: amount})
	}

	for _, chosen := range q.Price.Options {
		add(chargeOf(chosen.Code), chosen.Price)
	}
	for _, adjustment := range q.Price.Adjustments {
		kind := ship.OtherCharge
		switch {
		case adjustment.Code == adjustmentFuel:
			kind = ship.FuelCharge
		case strings.HasPrefix(adjustment.Cost, "-"):
			kind = ship.DiscountCharge
		}
		add(kind, adjustment.Cost)
	}
	for _, tax := range []string{q.Price.GST, q.Price.PST, q.Price.HST} {
		add(ship.TaxCharge, tax)
	}

	if base.Minor <= 0 {
		return []ship.Charge{{Type: ship.BaseCharge, Amount: price}} // they do not add up
	}
	return append([]ship.Charge{{Type: ship.BaseCharge, Amount: base}}, parts...)
}

// chargeOf returns what an option is paid for.
func chargeOf(option string) ship.ChargeType {
	switch option {
	case optionSignature, optionAdult:
		return ship.SignatureCharge
	case optionCoverage:
		return ship.InsuranceCharge
	}
	return ship.OtherCharge
}
