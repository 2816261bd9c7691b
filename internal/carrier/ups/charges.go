package ups

import (
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// price returns the account's own where UPS has agreed on one, else the
// published one. It is the zero Money if neither can be read.
func price(published money, own *negotiated) ship.Money {
	if own != nil {
		if agreed, ok := ship.ParseMoney(own.TotalCharge.MonetaryValue, own.TotalCharge.CurrencyCode); ok && agreed.Minor > 0 {
			return agreed
		}
	}
	amount, _ := ship.ParseMoney(published.MonetaryValue, published.CurrencyCode)
	return amount
}

// chargesOf returns what the price consists of. UPS itemizes published and
// agreed prices separately.
func chargesOf(price ship.Money, rated ratedShipment) []ship.Charge {
	sum := charges{price: price}
	if own := rated.NegotiatedRateCharges; own != nil {
		sum.add(own.ItemizedCharges)
		for _, parcel := range rated.RatedPackage {
			if parcel.NegotiatedCharges != nil {
				sum.add(parcel.NegotiatedCharges.ItemizedCharges)
			}
		}

		// Where UPS does not itemize the agreed price, its parts are the
		// published ones and a discount.
		if len(sum.list) == 0 {
			return sum.discounted(rated)
		}
		return sum.withBase()
	}

	sum.add(rated.ItemizedCharges)
	for _, parcel := range rated.RatedPackage {
		sum.add(parcel.ItemizedCharges)
	}
	if len(sum.list) == 0 {
		sum.addAmount(ship.OtherCharge, rated.ServiceOptionsCharges)
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
	for _, item := range items {
		c.addAmount(item.kind(), money{CurrencyCode: item.CurrencyCode, MonetaryValue: string(item.MonetaryValue)})
	}
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

// chargeCodes are the surcharges whose codes UPS publishes with its samples.
// Others are recognized by their descriptions.
var chargeCodes = map[string]ship.ChargeType{
	"375": ship.FuelCharge,
	"376": ship.DeliveryArea,
}

// chargeWords are parts of the descriptions of surcharges, the more specific
// first.
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

// addAmount adds to the part of the kind. Zero and amounts in other currencies
// are left out.
func (c *charges) addAmount(kind ship.ChargeType, amount money) {
	parsed, ok := ship.ParseMoney(amount.MonetaryValue, amount.CurrencyCode)
	if !ok || parsed.Minor == 0 || parsed.Currency != c.price.Currency {
		return
	}

	c.total += parsed.Minor
	for i := range c.list {
		if c.list[i].Type == kind {
			c.list[i].Amount.Minor += parsed.Minor
			return
		}
	}
	c.list = append(c.list, ship.Charge{Type: kind, Amount: parsed})
}

// withBase puts transportation first: what is left of the price. Parts that
// add up to more than the price cannot be its parts.
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

// discounted returns the parts of the published price and the discount on it.
func (c *charges) discounted(rated ratedShipment) []ship.Charge {
	c.addAmount(ship.BaseCharge, rated.TransportationCharges)
	c.addAmount(ship.OtherCharge, rated.ServiceOptionsCharges)
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

// gramsOf returns a weight of UPS's in grams; zero if it cannot be read.
func gramsOf(given answeredWeight) int64 {
	weight, err := strconv.ParseFloat(string(given.Weight), 64)
	if err != nil || weight <= 0 || weight > 1e6 {
		return 0
	}
	if given.UnitOfMeasurement.Code == "KGS" {
		return ship.Kilogram.Grams(weight)
	}
	return ship.Pound.Grams(weight)
}
