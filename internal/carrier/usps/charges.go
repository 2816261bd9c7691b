package usps

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// baseCharges returns the postage and its fees; their sum is the base price.
func (o rateOption) baseCharges(total ship.Money) []ship.Charge {
	if len(o.Rates) == 0 {
		return []ship.Charge{{Type: ship.BaseCharge, Amount: total}}
	}

	postage := total
	var fees []ship.Charge
	for _, fee := range o.Rates[0].Fees {
		price, ok := parseMoney(fee.Price)
		if !ok || price.Minor == 0 || price.Minor > postage.Minor {
			continue
		}

		kind := ship.OtherCharge
		if name := strings.ToLower(fee.Name); strings.Contains(name, "nonstandard") || strings.Contains(name, "dimension") {
			kind = ship.OversizeCharge
		}
		fees = append(fees, ship.Charge{Type: kind, Amount: price})
		postage.Minor -= price.Minor
	}
	return append([]ship.Charge{{Type: ship.BaseCharge, Amount: postage}}, fees...)
}

// extraPrice returns what an extra service costs in the offer.
func (o rateOption) extraPrice(code int) (ship.Money, bool) {
	for _, extra := range o.ExtraServices {
		if string(extra.Code) != strconv.Itoa(code) {
			continue
		}
		if price, ok := parseMoney(extra.Price); ok {
			return price, true
		}
	}
	return ship.Money{}, false
}

// extraCharge returns what an extra service is for.
func extraCharge(code int) ship.ChargeType {
	switch code {
	case 921, 922, 981:
		return ship.SignatureCharge
	case 925, 930, 931:
		return ship.InsuranceCharge
	}
	return ship.OtherCharge
}

// parseMoney reads an amount in dollars from the text of a JSON number. USPS
// adds some amounts in binary ("12.350000000000001"): the cent nearest to the
// text is the amount.
func parseMoney(n json.Number) (ship.Money, bool) {
	text := n.String()
	if text == "" || len(text) > 30 || strings.Trim(text, "0123456789.") != "" {
		return ship.Money{}, false
	}

	amount, ok := new(big.Rat).SetString(text)
	if !ok {
		return ship.Money{}, false
	}
	return ship.ParseMoney(amount.FloatString(2), "USD")
}
