package fedex

import (
	"fmt"
	"math"

	"github.com/waybillhq/waybill/internal/ship"
)

// The most that FedEx takes of a declaration.
const (
	maxDescription = 450
	maxInvoiceName = 35
	maxReference   = 30
)

// crosses reports whether the order needs a declaration.
func crosses(o *ship.Order) bool {
	return needsCustoms(countryOf(o.Origin.Country, o.Origin.State), countryOf(o.Destination.Country, o.Destination.State))
}

// declaration is what FedEx tells the customs.
func declaration(o *ship.Order, m measure) (*customs, error) {
	c := o.Customs
	if c == nil || len(c.Items) == 0 {
		return nil, invalid("/customs", "required", "a parcel that crosses a border is declared to the customs")
	}
	list, total, err := commodities(o, m)
	if err != nil {
		return nil, err
	}
	out := &customs{
		Invoice:       invoice{TermsOfSale: c.Incoterm, ShipmentPurpose: purposeOf(c.ContentsType)},
		DutiesPayment: payment{PaymentType: "RECIPIENT"},
		Commodities:   list,
		DocumentOnly:  c.ContentsType == "documents",
		TotalValue:    amountOf(total),
	}
	if c.Incoterm == "DDP" {
		out.DutiesPayment.PaymentType = "SENDER"
	}
	if fits(c.Signer, maxInvoiceName) {
		out.Invoice.OriginatorName = c.Signer
	}
	if c.InvoiceNumber != "" && fits(c.InvoiceNumber, maxReference) {
		out.Invoice.References = []reference{{"INVOICE_NUMBER", c.InvoiceNumber}}
	}
	return out, nil
}

// quoted is the declaration of a request for rates: FedEx wants one there too,
// and clients have none yet. The price does not depend on what it says.
func quoted(o *ship.Order, m measure) (*customs, error) {
	out := &customs{DutiesPayment: payment{PaymentType: "SENDER"}, Invoice: invoice{ShipmentPurpose: "SOLD"}}
	if c := o.Customs; c != nil && len(c.Items) > 0 {
		list, _, err := commodities(o, m)
		out.Commodities, out.DocumentOnly, out.Invoice.ShipmentPurpose = list, c.ContentsType == "documents", purposeOf(c.ContentsType)
		return out, err
	}
	value := amountOf(ship.Money{Minor: 100, Currency: "USD"})
	if v := o.Options.InsuredValue; !v.IsZero() {
		value = amountOf(v) // the declared value may not exceed that of the goods
	}
	out.Commodities = []commodity{{
		Description: "Merchandise", CountryOfManufacture: o.Origin.Country, Quantity: 1, QuantityUnits: "PCS",
		UnitPrice: *value, CustomsValue: *value, Weight: m.weigh(allHundredths(o, m)),
	}}
	return out, nil
}

// commodities are the lines of the declaration and their value together.
func commodities(o *ship.Order, m measure) ([]commodity, ship.Money, error) {
	items := o.Customs.Items
	total := ship.Money{Currency: items[0].Value.Currency}
	rest := share(o, m)
	list := make([]commodity, len(items))
	for i, item := range items {
		pointer := fmt.Sprintf("/customs/items/%d", i)
		switch {
		case item.Value.Currency != total.Currency:
			return nil, total, invalid(pointer+"/value/currency", "invalid", "all items of a FedEx shipment are valued in the same currency")
		case !fits(item.Description, maxDescription):
			return nil, total, invalid(pointer+"/description", "too_long", "FedEx takes %d characters", maxDescription)
		case item.Value.Minor > maxValue(total.Currency)/int64(item.Quantity):
			return nil, total, invalid(pointer+"/value", "invalid", "FedEx takes no value of more than 11 digits")
		}
		value := ship.Money{Minor: item.Value.Minor * int64(item.Quantity), Currency: item.Value.Currency}
		total.Minor += value.Minor
		weight := rest
		if item.WeightGrams > 0 {
			weight = m.hundredths(lineGrams(item))
		}
		list[i] = commodity{
			Description: item.Description, CountryOfManufacture: item.OriginCountry, HarmonizedCode: item.HSCode,
			Quantity: item.Quantity, QuantityUnits: "PCS",
			UnitPrice: *amountOf(item.Value), CustomsValue: *amountOf(value), Weight: m.weigh(weight),
		}
		if item.OriginCountry == "" {
			list[i].CountryOfManufacture = o.Origin.Country
		}
	}
	return list, total, nil
}

// maxValue is the largest value of a line, in minor units.
func maxValue(currency string) int64 {
	return 99_999_999_999 * int64(math.Pow10(ship.Exponent(currency)))
}

// lineGrams is the weight of all items of a line, bounded by what no parcel
// weighs.
func lineGrams(item ship.CustomsItem) int64 {
	const thousandTons = 1_000_000_000
	return min(min(item.WeightGrams, thousandTons)*int64(min(item.Quantity, thousandTons)), thousandTons)
}

// share is the weight of a line that has none: an equal part of what the
// others leave of the parcels.
func share(o *ship.Order, m measure) int64 {
	left, without := allHundredths(o, m), int64(0)
	for _, item := range o.Customs.Items {
		if item.WeightGrams > 0 {
			left -= m.hundredths(lineGrams(item))
		} else {
			without++
		}
	}
	return max(left/max(without, 1), 1)
}

func allHundredths(o *ship.Order, m measure) int64 {
	sum := int64(0)
	for i := range o.Parcels {
		sum += hundredths(&o.Parcels[i], m)
	}
	return sum
}

// taxNumbers are the sender's.
func taxNumbers(o *ship.Order) []tin {
	if o.Customs == nil {
		return nil
	}
	kind := "BUSINESS_NATIONAL"
	if o.Origin.Country == "US" {
		kind = "FEDERAL"
	}
	var list []tin
	for _, number := range o.Customs.TaxIDs {
		list = append(list, tin{Number: number, Type: kind})
	}
	return list
}

func fits(text string, limit int) bool { return len([]rune(text)) <= limit }
