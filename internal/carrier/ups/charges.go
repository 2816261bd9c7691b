package ups

import (
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// chargeCodes are the surcharges whose codes UPS publishes with its samples.
// Others are recognized by their descriptions.
var chargeCodes = map[string]ship.ChargeType{
	"375": ship.FuelCharge,
	"376": ship.DeliveryArea,
}

// chargeWords are what descriptions of surcharges have in common, the more
// particular first.
var chargeWords = []struct {
	word string
	kind ship.ChargeType
}{
	{"fuel", ship.FuelCharge},
	{"delivery area", ship.DeliveryArea},
	{"extended area", ship.DeliveryArea},
	{"remote area", ship.DeliveryArea},
	{"residential", ship.ResidentialCharge},
	{"signature", ship.SignatureCharge},
	{"delivery confirmation", ship.SignatureCharge},
	{"declared value", ship.InsuranceCharge},
	{"insur", ship.InsuranceCharge},
	{"saturday", ship.SaturdayCharge},
	{"additional handling", ship.OversizeCharge},
	{"large package", ship.OversizeCharge},
	{"over maximum", ship.OversizeCharge},
	{"demand", ship.PeakCharge},
	{"peak", ship.PeakCharge},
	{"tax", ship.TaxCharge},
}

func (c itemizedCharge) kind() ship.ChargeType {
	if kind, ok := chargeCodes[string(c.Code)]; ok {
		return kind
	}
	description := strings.ToLower(c.Description)
	for _, known := range chargeWords {
		if strings.Contains(description, known.word) {
			return known.kind
		}
	}
	return ship.OtherCharge
}

// chargesOf is what the price consists of. UPS itemizes published and agreed
// prices apart. Where it does not itemize the agreed one, its parts are the
// published ones and a discount.
func chargesOf(price ship.Money, r ratedShipment) []ship.Charge {
	sum := charges{price: price}
	if own := r.NegotiatedRateCharges; own != nil {
		sum.add(own.ItemizedCharges)
		for _, one := range r.RatedPackage {
			if one.NegotiatedCharges != nil {
				sum.add(one.NegotiatedCharges.ItemizedCharges)
			}
		}
		if len(sum.list) == 0 {
			return sum.discounted(r)
		}
		return sum.withBase()
	}

	sum.add(r.ItemizedCharges)
	for _, one := range r.RatedPackage {
		sum.add(one.ItemizedCharges)
	}
	if len(sum.list) == 0 {
		sum.addAmount(ship.OtherCharge, r.ServiceOptionsCharges)
	}
	return sum.withBase()
}

// charges are the parts of a price that are known.
type charges struct {
	price ship.Money
	list  []ship.Charge
	total int64
}

func (c *charges) add(items []itemizedCharge) {
	for _, one := range items {
		c.addAmount(one.kind(), money{CurrencyCode: one.CurrencyCode, MonetaryValue: string(one.MonetaryValue)})
	}
}

// addAmount adds to the part of the kind; nothing and other currencies add
// nothing.
func (c *charges) addAmount(kind ship.ChargeType, amount money) {
	m, ok := ship.ParseMoney(amount.MonetaryValue, amount.CurrencyCode)
	if !ok || m.Minor == 0 || m.Currency != c.price.Currency {
		return
	}
	c.total += m.Minor
	for i := range c.list {
		if c.list[i].Type == kind {
			c.list[i].Amount.Minor += m.Minor
			return
		}
	}
	c.list = append(c.list, ship.Charge{Type: kind, Amount: m})
}

// withBase puts transportation first: what is left of the price. Parts that
// are more than the price are not its parts.
func (c *charges) withBase() []ship.Charge {
	base := ship.Charge{
		Type:   ship.BaseCharge,
		Amount: ship.Money{Minor: c.price.Minor - c.total, Currency: c.price.Currency},
	}
	switch {
	case c.price.Minor <= 0 || base.Amount.Minor < 0:
		return nil
	case base.Amount.Minor == 0:
		return c.list
	}
	return append([]ship.Charge{base}, c.list...)
}

// discounted are the parts of the published price and the discount on it.
func (c *charges) discounted(r ratedShipment) []ship.Charge {
	c.addAmount(ship.BaseCharge, r.TransportationCharges)
	c.addAmount(ship.OtherCharge, r.ServiceOptionsCharges)
	if len(c.list) == 0 || c.total < c.price.Minor {
		return nil
	}
	if off := c.price.Minor - c.total; off != 0 {
		c.list = append(c.list, ship.Charge{
			Type:   ship.DiscountCharge,
			Amount: ship.Money{Minor: off, Currency: c.price.Currency},
		})
	}
	return c.list
}
