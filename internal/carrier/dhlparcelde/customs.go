package dhlparcelde

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// fact: customs-limits
const (
	maxItems       = 99
	maxDescription = 256
)

// customs returns the declaration of goods that leave the customs area of the
// European Union; nil if none do.
func (c *checker) customs(order ship.Order, chosen service) *customsDetails {
	if !carrierkit.NeedsCustoms(order.Origin, order.Destination) {
		return nil
	}

	given := order.Customs
	if given == nil || len(given.Items) == 0 || len(given.Items) > maxItems {
		c.refuse("/customs", "required", fmt.Sprintf("DHL Parcel DE needs a customs declaration with 1 to %d items for goods that leave the European Union", maxItems))
		return nil
	}

	declared := &customsDetails{
		InvoiceNo:  fitting(given.InvoiceNumber, maxReference),
		ExportType: exportTypes[given.ContentsType],
		// DHL makes no label if its currency differs from that of the items.
		// fact: postal-charges-currency
		PostalCharges:       amount{Currency: given.Items[0].Value.Currency, Value: "0"},
		ShipperCustomsRef:   taxNumber(given, "sender"),
		ConsigneeCustomsRef: taxNumber(given, "recipient", "importer"),
	}
	if declared.ExportType == "" {
		c.refuse("/customs/contentsType", "invalid", "must be one of "+strings.Join(ship.ContentsTypes, ", "))
	}
	if declared.ExportType == "OTHER" {
		declared.ExportDescription = "Other"
	}
	if chosen.product == europaket {
		declared.ShippingConditions = "DAP"
		if given.Incoterm == "DDP" {
			declared.ShippingConditions = "DDP"
		}
	}

	weights := carrierkit.ItemWeights(order)
	for i, item := range given.Items {
		pointer := fmt.Sprintf("/customs/items/%d", i)
		declared.Items = append(declared.Items, c.item(pointer, item, weights[i], given.Items[0].Value.Currency))
	}
	return declared
}

// item returns one line of the declaration: weight and value are those of one
// piece.
func (c *checker) item(pointer string, item ship.CustomsItem, weight int64, currency string) commodity {
	code := strings.NewReplacer(".", "", " ", "").Replace(item.HSCode)
	switch {
	case utf8.RuneCountInString(item.Description) > maxDescription:
		c.refuse(pointer+"/description", "too_long", fmt.Sprintf("is longer than the %d characters that the carrier accepts", maxDescription))
	case code != "" && (len(code) < 6 || len(code) > 11):
		c.refuse(pointer+"/hsCode", "invalid", "must be 6 to 11 digits, such as 610910")
	case item.Quantity < 1:
		c.refuse(pointer+"/quantity", "invalid", "must be at least 1")
	case len(item.Value.Currency) != 3:
		c.refuse(pointer+"/value", "required", "DHL Parcel DE needs the value of each item with its currency")
	case item.Value.Currency != currency:
		c.refuse(pointer+"/value/currency", "invalid", "must be "+currency+": DHL Parcel DE accepts one currency for all items of a declaration")
	}

	origin := ""
	if item.OriginCountry != "" {
		origin = countryOf(carrierkit.Place{Country: item.OriginCountry})
	}
	return commodity{
		Description: item.Description,
		Origin:      origin,
		HSCode:      code,
		Quantity:    item.Quantity,
		Value:       amount{Currency: item.Value.Currency, Value: json.Number(item.Value.Amount())},
		Weight:      grams(weight),
	}
}

// fitting returns the value, or nothing if it is too long.
func fitting(value string, limit int) string {
	if utf8.RuneCountInString(value) > limit {
		return ""
	}
	return value
}
