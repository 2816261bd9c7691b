package fedex

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// The most that FedEx takes of a declaration.
const (
	maxDescription = 450
	maxInvoiceName = 35
	maxReference   = 30
	maxLines       = 999
)

// maxReturnNumber is how much FedEx prints of the number of a return.
const maxReturnNumber = 20

// declaration describes the contents of parcels that leave a country. Goods
// that pass customs must be declared by the client. FedEx asks for a
// declaration of the others too, inside the European Union and between the
// United States and Puerto Rico, where one line for the parcels is enough.
func (d *driver) declaration(order *ship.Order, units measure, bad *problems) *customs {
	out := &customs{
		Invoice:       invoice{ShipmentPurpose: "SOLD"},
		DutiesPayment: d.senderPays(),
	}

	declared := order.Customs
	lane := laneOf(order)
	switch {
	case declared != nil && len(declared.Items) > 0:
		lines, total := commodities(order, units, bad)
		describeForImport(order, lines)
		out.Commodities = lines
		out.TotalValue = amountOf(total)

	case lane.crossesCustoms():
		bad.add("/customs", "required", "FedEx needs a customs declaration for parcels that cross a customs border: add customs.items")
		return out

	default:
		line := parcelsAsGoods(order, units)
		out.Commodities = []commodity{line}
		out.TotalValue = &line.CustomsValue
	}
	if declared == nil {
		return out
	}

	out.DocumentOnly = declared.ContentsType == "documents"
	out.Invoice.ShipmentPurpose = purposeOf(declared.ContentsType)
	out.Invoice.TermsOfSale = declared.Incoterm
	if fits(declared.Signer, maxInvoiceName) {
		out.Invoice.OriginatorName = declared.Signer
	}
	if declared.InvoiceNumber != "" && fits(declared.InvoiceNumber, maxReference) {
		out.Invoice.References = []reference{{"INVOICE_NUMBER", declared.InvoiceNumber}}
	}

	// FedEx refuses a recipient who pays together with an account number: it
	// sends the recipient a bill.
	if lane.crossesCustoms() && declared.Incoterm != "DDP" {
		out.DutiesPayment = payment{PaymentType: "RECIPIENT"}
	}
	return out
}

// senderPays has duties and taxes charged to the account.
func (d *driver) senderPays() payment {
	return payment{
		PaymentType: "SENDER",
		Payor:       &payor{payingParty{account{d.account}}},
	}
}

// quotedDeclaration returns the declaration of a request for rates. FedEx needs
// one there too, and clients have none yet. The price does not depend on it, so
// a declaration that a purchase would refuse is no reason not to quote.
func quotedDeclaration(order *ship.Order, units measure) *customs {
	// The sender pays the duties: FedEx accepts nothing else in a quote.
	out := &customs{
		Invoice:       invoice{ShipmentPurpose: "SOLD"},
		DutiesPayment: payment{PaymentType: "SENDER"},
	}

	if declared := order.Customs; declared != nil && len(declared.Items) > 0 {
		var bad problems
		if lines, _ := commodities(order, units, &bad); len(bad) == 0 {
			out.Commodities = lines
			out.DocumentOnly = declared.ContentsType == "documents"
			out.Invoice.ShipmentPurpose = purposeOf(declared.ContentsType)
			return out
		}
	}

	out.Commodities = []commodity{parcelsAsGoods(order, units)}
	return out
}

// parcelsAsGoods returns one line for all parcels of an order that declares
// nothing.
func parcelsAsGoods(order *ship.Order, units measure) commodity {
	value := ship.Money{Minor: 100, Currency: "USD"}
	if laneOf(order).from.InEU() {
		value.Currency = "EUR"
	}
	if insured := order.Options.InsuredValue; !insured.IsZero() {
		value = insured // what FedEx is liable for may not exceed the value of the goods
	}

	return commodity{
		Description:          "Merchandise",
		CountryOfManufacture: order.Origin.Country,
		Quantity:             1,
		QuantityUnits:        "PCS",
		UnitPrice:            *amountOf(value),
		CustomsValue:         *amountOf(value),
		Weight:               units.weigh(allHundredths(order, units)),
	}
}

// commodities returns the lines of the declaration and their value together.
func commodities(order *ship.Order, units measure, bad *problems) ([]commodity, ship.Money) {
	items := order.Customs.Items
	total := ship.Money{Currency: items[0].Value.Currency}
	if len(items) > maxLines {
		bad.add("/customs/items", "too_many", "FedEx accepts at most %d lines in a declaration", maxLines)
		return nil, total
	}

	rest := share(order, units)
	lines := make([]commodity, len(items))
	for i, item := range items {
		pointer := fmt.Sprintf("/customs/items/%d", i)
		if item.Value.Currency != total.Currency {
			bad.add(pointer+"/value/currency", "invalid", "FedEx accepts one currency for all items of a shipment: this item must be in %s like the first one", total.Currency)
		}
		if !fits(item.Description, maxDescription) {
			bad.add(pointer+"/description", "too_long", "FedEx allows at most %d characters in the description of an item", maxDescription)
		}
		if item.Value.Minor > maxValue(total.Currency)/int64(item.Quantity) {
			bad.add(pointer+"/value", "invalid", "FedEx allows at most 11 digits in the value of an item")
			continue
		}

		value := ship.Money{Minor: item.Value.Minor * int64(item.Quantity), Currency: item.Value.Currency}
		total.Minor += value.Minor

		weight := rest
		if item.WeightGrams > 0 {
			weight = units.hundredths(lineGrams(item))
		}
		lines[i] = commodity{
			Description:          item.Description,
			CountryOfManufacture: cmp.Or(item.OriginCountry, order.Origin.Country),
			HarmonizedCode:       item.HSCode,
			Quantity:             item.Quantity,
			QuantityUnits:        "PCS",
			UnitPrice:            *amountOf(item.Value),
			CustomsValue:         *amountOf(value),
			Weight:               units.weigh(weight),
		}
	}
	return lines, total
}

// describeForImport adds what customs of the destination ask for: for whom the
// goods are and, in the European Union, by which numbers they are known.
func describeForImport(order *ship.Order, lines []commodity) {
	lane := laneOf(order)
	if !lane.crossesCustoms() {
		return
	}

	for i, item := range order.Customs.Items {
		if i >= len(lines) {
			return
		}
		switch order.Destination.Type {
		case "business":
			lines[i].Purpose = "BUSINESS"
		case "consumer":
			lines[i].Purpose = "CONSUMER"
		}

		// Older gateways may not know the field, so it is sent where it is
		// asked for and nowhere else.
		if lane.entersEU() {
			lines[i].Regulatory = productNumbers(item)
		}
	}
}

// productNumberTypes are FedEx's types of product identifiers.
var productNumberTypes = map[string]string{
	"merchant":     "SKU",
	"manufacturer": "MPN",
	"gtin":         "GTIN",
}

// productNumbers returns the identifiers of a product under the rules of the
// European Union for goods of low value. That a product has no standardized one
// cannot be stated: FedEx has no field for it.
func productNumbers(item ship.CustomsItem) []regulatoryDetail {
	var list []regulatoryDetail
	add := func(kind, number string) {
		list = append(list, regulatoryDetail{
			Regulation:    "EU_DE_MINIMIS",
			ProductID:     number,
			ProductIDType: kind,
		})
	}

	hasMerchant := false
	for _, id := range item.ProductIdentifiers {
		kind, ok := productNumberTypes[id.Type]
		if !ok {
			continue
		}
		add(kind, id.Number)
		hasMerchant = hasMerchant || id.Type == "merchant"
	}
	if !hasMerchant && item.SKU != "" {
		add("SKU", item.SKU)
	}
	return list
}

// maxValue returns the largest value of a line, in minor units.
func maxValue(currency string) int64 {
	return 99_999_999_999 * int64(math.Pow10(ship.Exponent(currency)))
}

// lineGrams returns the weight of all items of a line, limited to a weight that
// no parcel has.
func lineGrams(item ship.CustomsItem) int64 {
	const thousandTons = 1_000_000_000
	return min(min(item.WeightGrams, thousandTons)*int64(min(item.Quantity, thousandTons)), thousandTons)
}

// share returns the weight of a line that has none: an equal part of what the
// others leave of the parcels.
func share(order *ship.Order, units measure) int64 {
	left := allHundredths(order, units)
	unknown := int64(0)
	for _, item := range order.Customs.Items {
		if item.WeightGrams > 0 {
			left -= units.hundredths(lineGrams(item))
		} else {
			unknown++
		}
	}
	return max(left/max(unknown, 1), 1)
}

func allHundredths(order *ship.Order, units measure) int64 {
	sum := int64(0)
	for i := range order.Parcels {
		sum += hundredths(&order.Parcels[i], units)
	}
	return sum
}

func fits(text string, limit int) bool { return len([]rune(text)) <= limit }

const (
	paperlessService  = "ELECTRONIC_TRADE_DOCUMENTS"
	commercialInvoice = "COMMERCIAL_INVOICE"
)

// invoiceByFedEx asks FedEx to make the invoice of the declaration. It does so
// for paperless shipments too, and sends it to customs itself.
func invoiceByFedEx() *documentSpec {
	return &documentSpec{
		Types:   []string{commercialInvoice},
		Invoice: invoiceSpec{documentFormat{StockType: "PAPER_LETTER", DocType: "PDF"}},
	}
}

// usesPaperless reports whether customs get the documents of the order
// electronically: unless the client wants them printed, or FedEx refused them
// for this account and lane before.
func (d *driver) usesPaperless(order *ship.Order) bool {
	if order.Customs == nil || order.Customs.Paperless == "off" {
		return false
	}
	_, refused := d.printedLanes.Load(printedLane(order))
	return !refused
}

// printedLane returns the key of a lane on which documents are printed.
func printedLane(order *ship.Order) string {
	lane := laneOf(order)
	return countryOf(lane.from) + "-" + countryOf(lane.to)
}

// withoutPaperless looks for a refusal of electronic documents among the errors
// of a purchase. FedEx cannot be asked beforehand whether an account is
// enrolled or a lane allows them: the refusal is remembered, and the next
// attempt has its documents printed.
func (d *driver) withoutPaperless(order *ship.Order, isPaperless bool, err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || !isPaperless || refused.Kind != ship.Invalid || !refusesPaperless(refused.Refusal) {
		return err
	}

	d.printedLanes.Store(printedLane(order), true)
	return &ship.Error{
		Kind:    ship.Unavailable,
		Message: "FedEx does not accept customs documents electronically from this account on this lane; nothing was bought: try again to buy with a printed invoice",
		Refusal: refused.Refusal,
		Err:     refused.Err,
	}
}

// refusesPaperless reads a refusal of the special service. FedEx does not
// publish its codes.
func refusesPaperless(refusal ship.Refusal) bool {
	text := strings.ToUpper(refusal.Code + " " + refusal.Message)
	words := strings.FieldsFunc(text, func(r rune) bool { return r < 'A' || r > 'Z' })
	return slices.Contains(words, "ETD") || slices.Contains(words, "ETDDETAIL") ||
		strings.Contains(strings.Join(words, " "), "ELECTRONIC TRADE DOCUMENT")
}

// isPaperless reports whether the purchase asks for electronic documents.
func (r *shipRequest) isPaperless() bool {
	extra := r.RequestedShipment.SpecialServices
	return extra != nil && slices.Contains(extra.Types, paperlessService)
}

// tookDocuments reports whether FedEx says that it has the documents.
func (a *shipAnswer) tookDocuments() bool {
	return slices.ContainsFunc(a.Output.Shipments, func(s soldShipment) bool {
		etd := s.Completed.ETD
		return etd != nil && (etd.FolderID != "" || etd.Type != "" || len(etd.Documents) > 0)
	})
}
