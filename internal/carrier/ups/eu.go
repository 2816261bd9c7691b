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

// partyType is who a party is to customs. What the client says wins.
func partyType(a ship.Address, unknown string) string {
	switch a.Type {
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

// enterEU adds what UPS wants to know of a shipment from outside into the
// European Union. It wants the types of the parties in two places.
func (w *draft) enterEU(value ship.Money) {
	s := &w.shipment
	s.ShipperType = w.shipperType()
	s.ConsigneeType = w.consigneeType()
	tax := w.globalTax()
	tax.ShipperTypeValue = s.ShipperType
	tax.ConsigneeTypeValue = s.ConsigneeType

	// UPS asks for a yes or no. There are no exchange rates here, and a wrong
	// yes would declare expensive goods under the rules for cheap ones, while a
	// wrong no only has customs look closer. So in other currencies the answer
	// is no, unless an IOSS number says that the seller has judged the value:
	// IOSS is for consignments of up to 150 EUR alone.
	options := w.serviceOptions()
	ioss := w.hasIOSS()
	switch {
	case value.Currency == "EUR" && value.Minor > lowValue:
		options.EUDeMinimisIndicator = "N"
		s.ShipmentValueThresholdCode = "02"
		if ioss {
			w.warnings = append(w.warnings, "customs.taxIdentifiers has an IOSS number, which counts for goods worth up to 150 EUR; these are worth more")
		}
	case value.IsZero(), value.Currency == "EUR", ioss:
		options.EUDeMinimisIndicator = "Y"
		s.ShipmentValueThresholdCode = "01"
	default:
		options.EUDeMinimisIndicator = "N"
		s.ShipmentValueThresholdCode = "NA"
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

// identify adds the identifiers of a product that customs of the European
// Union ask for. The seller's own number stands in for a merchant's.
func (w *draft) identify(p *product, i int, item ship.CustomsItem) {
	at := fmt.Sprintf("/customs/items/%d/productIdentifiers", i)
	has := map[string]bool{}
	statesNone := false
	for n, id := range item.ProductIdentifiers {
		code, ok := productTypes[id.Type]
		switch {
		case id.Type == "none":
			statesNone = true
		case !ok:
		case len([]rune(id.Number)) > maxProductID:
			w.refuse(fmt.Sprintf("%s/%d/number", at, n), "too_long", "UPS takes product identifiers of at most %d characters", maxProductID)
		default:
			has[code] = true
			p.ProductIdentifier = append(p.ProductIdentifier, productIdentifier{ProductID: id.Number, ProductIDTypeCode: code})
		}
	}
	if item.SKU != "" && !has[merchantProduct] && len([]rune(item.SKU)) <= maxProductID {
		p.ProductIdentifier = append(p.ProductIdentifier, productIdentifier{ProductID: item.SKU, ProductIDTypeCode: merchantProduct})
	}
	if n := len(p.ProductIdentifier); n > maxProductIDs {
		w.refuse(at, "too_long", "UPS takes at most %d product identifiers for an item; this one has %d", maxProductIDs, n)
	}

	// The identifiers are asked for in sales to consumers alone.
	isSale := w.order.Customs.ContentsType == "merchandise" && w.consigneeType() == partyConsumer
	if has[standardProduct] || !isSale && !statesNone {
		return
	}
	p.CommodityFieldSpecialConditionCode = noStandardProduct
	if !statesNone {
		w.warnings = append(w.warnings, fmt.Sprintf(
			"customs.items.%d is declared as a product without a standardized identifier, because it has none; give its GTIN, or an identifier of type none to confirm", i))
	}
}
