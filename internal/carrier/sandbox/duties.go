package sandbox

import (
	"context"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// clearanceFee is what the carrier charges for paying customs, in cents.
const clearanceFee = 1250

// dutyPercent is the duty on goods by the chapter of their HS code. The real rates
// depend on the whole code and both countries.
var dutyPercent = map[string]int64{
	"42": 6,  // leather goods
	"49": 0,  // books
	"61": 12, // knitted clothes
	"62": 12, // other clothes
	"64": 10, // shoes
	"84": 0,  // machines
	"85": 0,  // electronics
	"95": 0,  // toys
}

const usualDutyPercent = 5

// importTax is the tax on imports of a country.
type importTax struct {
	name    string
	percent int64
}

// importTaxOf returns the tax of a country; none where the simulation knows none.
func importTaxOf(country string) importTax {
	switch country {
	case "AU":
		return importTax{"GST", 10}
	case "NZ":
		return importTax{"GST", 15}
	case "CA":
		return importTax{"GST", 5}
	case "JP":
		return importTax{"Consumption tax", 10}
	}
	if country == "GB" || carrierkit.IsEUMember(country) {
		return importTax{"VAT", 20}
	}
	return importTax{}
}

// duties estimates what customs will ask for: plausible, and the same for the same
// declaration. The fee is in the carrier's currency, as at the real carriers.
func (m *model) duties(order *ship.Order) (ship.LandedCost, error) {
	if order.Customs == nil || !carrierkit.NeedsCustoms(order.Origin, order.Destination) {
		return ship.LandedCost{}, m.decline("estimate", m.refusals.value, "duties are estimated for orders that cross a customs border with a declaration")
	}

	cost := ship.LandedCost{
		Messages: []string{"This estimate is simulated: real duties depend on the full HS code and on both countries."},
	}
	add := func(kind, name string, item int, minor int64, currency string) {
		if minor > 0 {
			cost.Charges = append(cost.Charges, ship.LandedCharge{
				Type:   kind,
				Name:   name,
				Item:   item,
				Amount: ship.Money{Minor: minor, Currency: currency},
			})
		}
	}

	tax := importTaxOf(order.Destination.Country)
	for i, item := range order.Customs.Items {
		value := item.Value.Minor * int64(item.Quantity)
		duty := value * dutyPercentOf(item.HSCode) / 100
		add("duty", "Duty", i, duty, item.Value.Currency)
		add("tax", tax.name, i, (value+duty)*tax.percent/100, item.Value.Currency)
	}
	add("fee", "Clearance fee", -1, clearanceFee, "USD")
	return cost, nil
}

func dutyPercentOf(hsCode string) int64 {
	if len(hsCode) >= 2 {
		if percent, ok := dutyPercent[hsCode[:2]]; ok {
			return percent
		}
	}
	return usualDutyPercent
}

// estimateDuties is duties, at a magic destination with the faults of quotes.
func (d direct) estimateDuties(ctx context.Context, order *ship.Order) (ship.LandedCost, error) {
	if err := d.quoteFault(ctx, order); err != nil {
		return ship.LandedCost{}, err
	}
	return d.duties(order)
}

// estimateDuties estimates over the wire.
func (r remote) estimateDuties(ctx context.Context, order ship.Order) (ship.LandedCost, error) {
	var cost ship.LandedCost
	if err := r.call(ctx, "duties", false, order, &cost); err != nil {
		return ship.LandedCost{}, err
	}
	if len(cost.Charges) == 0 {
		return ship.LandedCost{}, ship.Errorf(ship.Unavailable, "the carrier did not send its estimate")
	}
	return cost, nil
}
