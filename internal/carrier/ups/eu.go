package ups

import (
	"fmt"

	"github.com/waybillhq/waybill/internal/ship"
)

// Who a party is to customs.
const (
	partyBusiness = "01"
	partyConsumer = "02"
)

// partyType is who a party is to customs. What the client says takes
// precedence.
func partyType(party ship.Address, unknown string) string {
	switch party.Type {
	case "business":
		return partyBusiness
	case "consumer":
		return partyConsumer
	}
	return unknown
}

// shipperType is a business unless the client says otherwise: the sender has an
// account with UPS.
func (w *draft) shipperType() string { return partyType(w.order.Origin, partyBusiness) }

// consigneeType is a business if a company is named, else a consumer: of the
// two, customs ask more about sales to consumers.
func (w *draft) consigneeType() string {
	if w.order.Destination.Company != "" {
		return partyType(w.order.Destination, partyBusiness)
	}
	return partyType(w.order.Destination, partyConsumer)
}

// lowValue is up to which value, in cents of the euro, a consignment into the
// European Union has a low value.
const lowValue = 150_00

// declareForEU adds what UPS asks about a shipment from outside into the
// European Union.
func (w *draft) declareForEU(value ship.Money) {
	// UPS takes the types of the parties in two places.
	shipment := &w.shipment
	shipment.ShipperType = w.shipperType()
	shipment.ConsigneeType = w.consigneeType()
	tax := w.globalTax()
	tax.ShipperTypeValue = shipment.ShipperType
	tax.ConsigneeTypeValue = shipment.ConsigneeType

	// UPS asks for a yes or no. There are no exchange rates here, and a wrong
	// yes would declare expensive goods under the rules for cheap ones, while a
	// wrong no only makes customs look closer. So in other currencies the answer
	// is no, unless an IOSS number says that the seller has judged the value:
	// IOSS is only for consignments of up to 150 EUR.
	options := w.serviceOptions()
	hasIOSS := w.hasIOSS()
	switch {
	case value.Currency == "EUR" && value.Minor > lowValue:
		options.EUDeMinimisIndicator = "N"
		shipment.ShipmentValueThresholdCode = "02"
		if hasIOSS {
			w.warnings = append(w.warnings, "customs.taxIdentifiers has an IOSS number, which is valid only for goods worth up to 150 EUR; these are worth more")
		}
	case value.IsZero(), value.Currency == "EUR", hasIOSS:
		options.EUDeMinimisIndicator = "Y"
		shipment.ShipmentValueThresholdCode = "01"
	default:
		options.EUDeMinimisIndicator = "N"
		shipment.ShipmentValueThresholdCode = "NA"
	}
}

func (w *draft) hasIOSS() bool {
	for _, id := range w.order.Customs.TaxNumbers() {
		if id.Type == "ioss" {
			return true
		}
	}
	return false
}

// UPS's codes of product identifiers, and its bounds.
const (
	merchantProduct     = "0100"
	manufacturerProduct = "0200"
	standardProduct     = "0300"
	noStandardProduct   = "01" // there is no standardized identifier

	maxProductIDs = 6
	maxProductID  = 100
)

var productTypes = map[string]string{
	"merchant":     merchantProduct,
	"manufacturer": manufacturerProduct,
	"gtin":         standardProduct,
}

// addProductIdentifiers adds the identifiers of a product that customs of the
// European Union ask for. The seller's own number stands in for a merchant's.
func (w *draft) addProductIdentifiers(line *product, i int, item ship.CustomsItem) {
	pointer := fmt.Sprintf("/customs/items/%d/productIdentifiers", i)
	add := func(number, code string) {
		line.ProductIdentifier = append(line.ProductIdentifier, productIdentifier{ProductID: number, ProductIDTypeCode: code})
	}

	has := map[string]bool{}
	statesNone := false
	for n, id := range item.ProductIdentifiers {
		code, ok := productTypes[id.Type]
		switch {
		case id.Type == "none":
			statesNone = true
		case !ok:
		case len([]rune(id.Number)) > maxProductID:
			w.refuse(fmt.Sprintf("%s/%d/number", pointer, n), "too_long", "UPS accepts product identifiers of at most %d characters", maxProductID)
		default:
			has[code] = true
			add(id.Number, code)
		}
	}
	if item.SKU != "" && !has[merchantProduct] && len([]rune(item.SKU)) <= maxProductID {
		add(item.SKU, merchantProduct)
	}
	if n := len(line.ProductIdentifier); n > maxProductIDs {
		w.refuse(pointer, "too_long", "UPS accepts at most %d product identifiers per item; this one has %d", maxProductIDs, n)
	}

	// The identifiers are asked for only in sales to consumers.
	isSale := w.order.Customs.ContentsType == "merchandise" && w.consigneeType() == partyConsumer
	if has[standardProduct] || !isSale && !statesNone {
		return
	}
	line.CommodityFieldSpecialConditionCode = noStandardProduct
	if !statesNone {
		w.warnings = append(w.warnings, fmt.Sprintf(
			"customs.items.%d is declared as a product without a standardized identifier, because it has none; add its GTIN, or an identifier of type none to confirm this", i))
	}
}
