package ups

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// How much text about the goods UPS prints.
const (
	maxDescription = 50 // of the whole shipment
	maxGoodsLine   = 35 // of a line of one article
	maxGoodsLines  = 3
	maxArticles    = 50
	maxPartNumber  = 35
)

// isDocuments reports whether the shipment is documents without a value.
func (w *draft) isDocuments() bool {
	return w.order.Customs != nil && w.order.Customs.ContentsType == "documents"
}

// declare adds what customs need to know to a purchase.
func (w *draft) declare() {
	if w.order.IsReturn || w.from == w.to && !w.crosses {
		return
	}
	if w.order.Customs == nil && w.crosses {
		w.refuse("/customs", "required", "UPS needs a customs declaration between these addresses")
		return
	}

	shipment := &w.shipment
	shipment.Description = w.describeGoods()
	value := w.goodsValue()
	if w.from == "US" && (w.to == "CA" || w.to == "PR") {
		if value.IsZero() {
			w.refuse("/customs", "required", "UPS needs the value of goods shipped to Canada or Puerto Rico")
		} else {
			shipment.InvoiceLineTotal = wholeUnits(value)
		}
	}
	if !w.crosses {
		return
	}

	w.addTaxNumbers()
	if w.entersEU {
		w.declareForEU(value)
	}
	if w.isDocuments() {
		// From the United States, and to its neighbours, UPS recognizes
		// documents by their description.
		shipment.DocumentsOnlyIndicator = present(w.from != "US" && !slices.Contains([]string{"CA", "PR", "MX"}, w.to))
		return
	}
	w.serviceOptions().InternationalForms = w.invoice(value)
}

// describeGoods describes the whole shipment in a few words.
func (w *draft) describeGoods() string {
	var list []string
	if w.order.Customs != nil {
		for _, item := range w.order.Customs.Items {
			list = append(list, item.Description)
		}
	}
	if text := shorten(strings.Join(list, ", "), maxDescription); text != "" {
		return text
	}
	return "Merchandise"
}

// invoice returns the data of a commercial invoice. UPS sends it to customs
// electronically where the account has paperless invoices and the destination
// takes them, and prints it otherwise.
func (w *draft) invoice(value ship.Money) *forms {
	customs := w.order.Customs
	if n := len(customs.Items); n > maxArticles {
		w.refuse("/customs/items", "too_long", "UPS prints at most %d items on an invoice; this one has %d", maxArticles, n)
	}
	if customs.Incoterm != "" && !slices.Contains(terms, customs.Incoterm) {
		w.refuse("/customs/incoterm", "unsupported", "must be one of %s for UPS", strings.Join(terms, ", "))
	}
	if value.IsZero() && len(customs.Items) == 0 {
		w.refuse("/customs/items", "required", "UPS needs the value of the goods that cross the border")
	}

	invoice := &forms{
		FormType:        []string{"01"},
		InvoiceNumber:   shorten(cmp.Or(customs.InvoiceNumber, w.order.OrderID), maxGoodsLine),
		InvoiceDate:     compact(w.shipDay()),
		TermsOfShipment: customs.Incoterm,
		ReasonForExport: cmp.Or(exportReasons[customs.ContentsType], "OTHER"),
		CurrencyCode:    value.Currency,
		// UPS always sends a copy of the invoice. With this indicator, an
		// account with paperless invoices gets the documents to print instead.
		OverridePaperlessIndicator: present(customs.Paperless == "off"),
	}
	invoice.Contacts.SoldTo = w.shipment.ShipTo
	invoice.Contacts.SoldTo.Address.ResidentialAddressIndicator = false

	for i, item := range customs.Items {
		invoice.Product = append(invoice.Product, w.article(i, item))
	}
	return invoice
}

// article returns one line of an invoice.
func (w *draft) article(i int, item ship.CustomsItem) product {
	lines, complete := wrap(item.Description, maxGoodsLine, maxGoodsLines)
	if !complete {
		w.warnings = append(w.warnings, fmt.Sprintf("customs.items.%d.description is truncated on the UPS invoice, which prints %d lines of %d characters", i, maxGoodsLines, maxGoodsLine))
	}

	line := product{
		Description:       lines,
		PartNumber:        strconv.Itoa(i + 1),
		OriginCountryCode: cmp.Or(item.OriginCountry, w.order.Origin.Country),
		Unit: unit{
			Number:            strconv.Itoa(item.Quantity),
			UnitOfMeasurement: coded{Code: "PCS"},
			Value:             item.Value.Amount(),
		},
	}
	if item.SKU != "" && len(item.SKU) <= maxPartNumber {
		line.PartNumber = item.SKU
	}
	if code := strings.NewReplacer(".", "", " ", "").Replace(item.HSCode); len(code) >= 6 && len(code) <= 15 {
		line.CommodityCode = code
	}
	if w.entersEU {
		w.addProductIdentifiers(&line, i, item)
	}
	return line
}

// goodsValue returns what the goods are worth together; zero if nobody said, or
// if it cannot be added up, which is a problem of the order.
func (w *draft) goodsValue() ship.Money {
	if w.order.Customs == nil {
		return w.order.Options.InsuredValue
	}

	var total ship.Money
	for i, item := range w.order.Customs.Items {
		pointer := fmt.Sprintf("/customs/items/%d/value", i)
		quantity := int64(item.Quantity)
		switch value := item.Value; {
		case value.Minor < 1:
			w.refuse(pointer, "required", "UPS needs the value of every item")
		case total.Currency != "" && value.Currency != total.Currency:
			w.refuse(pointer, "invalid", "UPS prints one currency on an invoice; this item is in %s and the first in %s", value.Currency, total.Currency)
		case quantity < 1 || value.Minor > (math.MaxInt64-total.Minor)/quantity:
			w.refuse(pointer, "invalid", "is above the largest amount that UPS accepts")
		default:
			total = ship.Money{Minor: total.Minor + quantity*value.Minor, Currency: value.Currency}
		}
	}
	return total
}

// wholeUnits returns an amount without decimals, rounded up, as UPS takes the
// total of an invoice.
func wholeUnits(amount ship.Money) *money {
	unit := int64(math.Pow10(ship.Exponent(amount.Currency)))
	return &money{CurrencyCode: amount.Currency, MonetaryValue: strconv.FormatInt((amount.Minor-1)/unit+1, 10)}
}

// shorten cuts a text to so many characters, at a word if there is one.
func shorten(text string, limit int) string {
	lines, _ := wrap(text, limit, 1)
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimRight(lines[0], ",")
}

// wrap puts the words of a text on lines, and reports whether all have room.
// A word that is longer than a line is divided.
func wrap(text string, limit, most int) (lines []string, complete bool) {
	words := strings.Fields(text)
	for len(words) > 0 {
		if len(lines) == most {
			return lines, false
		}

		line := ""
		for len(words) > 0 {
			longer := strings.TrimSpace(line + " " + words[0])
			if utf8.RuneCountInString(longer) > limit {
				break
			}
			line = longer
			words = words[1:]
		}
		if line == "" {
			long := []rune(words[0])
			line = string(long[:limit])
			words[0] = string(long[limit:])
		}
		lines = append(lines, line)
	}
	return lines, true
}

// Who a party is to customs.
const (
	partyBusiness = "01"
	partyConsumer = "02"
)

// partyType returns the type of a party for customs. What the client says takes
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

// shipperType returns the type of a business unless the client says otherwise:
// the sender has an account with UPS.
func (w *draft) shipperType() string { return partyType(w.order.Origin, partyBusiness) }

// consigneeType returns the type of a business if a company is named, else that
// of a consumer: of the two, customs ask more about sales to consumers.
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
// European Union ask for. The seller's own number is sent as the merchant's.
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
