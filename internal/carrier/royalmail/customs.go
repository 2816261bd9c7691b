package royalmail

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// categories say why goods cross a border, by the API's type of contents.
var categories = map[string]string{
	"merchandise":    "saleOfGoods",
	"gift":           "gift",
	"sample":         "commercialSample",
	"documents":      "documents",
	"returned_goods": "returnedGoods",
	"other":          "other",
}

const (
	maxDescription = 50
	maxExtended    = 300
	maxInvoice     = 35
	maxTariff      = 10
	maxQuantity    = 999_999
	maxMoney       = 999_999_00 // in pence
)

// declare adds the customs declaration to an order.
func (c *checker) declare(order ship.Order, sent *orderRequest, isRequired bool) {
	customs := order.Customs
	if customs == nil || len(customs.Items) == 0 {
		if isRequired {
			c.refuse("/customs", "required", "Royal Mail needs a customs declaration with at least one item for this destination")
		}
		return
	}

	if customs.Incoterm == "DDP" {
		c.refuse("/customs/incoterm", "unsupported", "Royal Mail cannot be asked to prepay duties over this connection; use DAP")
	}
	category, ok := categories[customs.ContentsType]
	if !ok {
		c.refuse("/customs/contentsType", "invalid", "must be one of "+strings.Join(ship.ContentsTypes, ", "))
	}
	c.limitLength("/customs/invoiceNumber", customs.InvoiceNumber, maxInvoice)
	sent.Postage.InvoiceNumber = customs.InvoiceNumber

	total := ship.Money{Currency: customs.Items[0].Value.Currency}
	lines := make([]productItem, len(customs.Items))
	weights := carrierkit.ItemWeights(order)
	for i, item := range customs.Items {
		item.WeightGrams = weights[i] // Royal Mail refuses items without one
		lines[i] = c.item(fmt.Sprintf("/customs/items/%d", i), item, category, &total)
	}
	sent.Packages[0].Contents = lines
	sent.Subtotal = amountOf(total)
	sent.Total = amountOf(total)
	if total.Currency != "" {
		sent.Currency = total.Currency
	}
	c.taxNumbers(order, sent)
}

// item returns a line of the declaration and adds its value to the total.
func (c *checker) item(pointer string, item ship.CustomsItem, category string, total *ship.Money) productItem {
	description := strings.TrimSpace(item.Description)
	tariff := strings.NewReplacer(".", "", " ", "").Replace(item.HSCode)
	if item.Quantity < 1 || item.Quantity > maxQuantity {
		c.refuse(pointer+"/quantity", "invalid", fmt.Sprintf("must be between 1 and %d", maxQuantity))
		return productItem{}
	}
	if description == "" {
		c.refuse(pointer+"/description", "required", "Royal Mail needs a description of each item")
	}
	if len(tariff) > maxTariff || strings.Trim(tariff, "0123456789") != "" {
		c.refuse(pointer+"/hsCode", "invalid", "must be 6 to 10 digits, such as 610910")
	}
	c.limitLength(pointer+"/description", description, maxExtended)

	switch value := item.Value; {
	case len(value.Currency) != 3:
		c.refuse(pointer+"/value", "required", "Royal Mail needs the value of each item with its currency")
	case value.Currency != total.Currency:
		c.refuse(pointer+"/value/currency", "invalid", "must be "+total.Currency+": Royal Mail accepts one currency for all items")
	case value.Minor < 0 || value.Minor > (maxMoney-total.Minor)/int64(item.Quantity):
		c.refuse(pointer+"/value", "invalid", "is above the largest amount that Royal Mail accepts")
	default:
		total.Minor += value.Minor * int64(item.Quantity)
	}

	// The SKU stays here: Click & Drop would overwrite the product of the
	// account that has it.
	line := productItem{
		Name:                description,
		Quantity:            item.Quantity,
		UnitValue:           amountOf(item.Value),
		UnitWeightInGrams:   item.WeightGrams,
		CustomsDescription:  shorten(description, maxDescription),
		CustomsCode:         tariff,
		OriginCountryCode:   item.OriginCountry,
		DeclarationCategory: category,
	}
	if line.CustomsDescription != description {
		line.ExtendedDescription = description
	}
	return line
}

// shorten returns as many whole words as fit; customs read the whole text in
// another field.
func shorten(text string, limit int) string {
	if len([]rune(text)) <= limit {
		return text
	}
	cut := string([]rune(text)[:limit+1])
	if end := strings.LastIndex(cut, " "); end > 0 {
		return strings.TrimRight(cut[:end], " ,;")
	}
	return string([]rune(text)[:limit])
}

// amountOf writes money as a number.
func amountOf(m ship.Money) json.Number {
	if m.IsZero() {
		return "0"
	}
	return json.Number(m.Amount())
}
