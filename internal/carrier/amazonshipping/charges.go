package amazonshipping

import (
	"encoding/json"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// charges divides the price into its parts. What the parts do not explain is the
// base price.
func (o offer) charges() []ship.Charge {
	base := o.price
	var parts []ship.Charge
	add := func(kind ship.ChargeType, given money) {
		digits, isNegative := strings.CutPrefix(given.Value.String(), "-")
		amount, ok := parseMoney(money{Value: json.Number(digits), Unit: given.Unit})
		if !ok || amount.Minor == 0 || amount.Currency != base.Currency {
			return
		}
		if isNegative {
			amount.Minor = -amount.Minor
		}
		base.Minor -= amount.Minor
		parts = append(parts, ship.Charge{Type: kind, Amount: amount})
	}

	for _, part := range o.rated.Items {
		kind, known := chargeTypes[part.ID]
		switch {
		case kind == ship.BaseCharge:
		case known:
			add(kind, part.Charge)
		default:
			add(ship.OtherCharge, part.Charge)
		}
	}
	for _, e := range o.extras {
		add(ship.SignatureCharge, e.Cost)
	}

	if base.Minor <= 0 {
		return []ship.Charge{{Type: ship.BaseCharge, Amount: o.price}} // they do not add up
	}
	return append([]ship.Charge{{Type: ship.BaseCharge, Amount: base}}, parts...)
}
