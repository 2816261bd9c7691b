package ups

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// What UPS prints of the goods.
const (
	maxDescription = 50 // of the whole shipment
	maxGoodsLine   = 35 // of a line of one article
	maxGoodsLines  = 3
	maxArticles    = 50
)

// documents reports whether the shipment is papers without a value.
func (w *draft) documents() bool {
	return w.order.Customs != nil && w.order.Customs.ContentsType == "documents"
}

// declare adds what customs want to know to a purchase.
func (w *draft) declare() error {
	s, customs := &w.shipment, w.order.Customs
	switch {
	case w.from == w.to || w.order.IsReturn:
		return nil
	case customs == nil && declared(w.from, w.to):
		return invalid("/customs", "required", "UPS needs to know what crosses the border")
	}
	s.Description = w.goods()
	if w.from == "US" && (w.to == "CA" || w.to == "PR") {
		value, err := w.value()
		if err != nil {
			return err
		}
		if value.IsZero() {
			return invalid("/customs", "required", "UPS needs the value of what it brings to Canada and Puerto Rico")
		}
		s.InvoiceLineTotal = wholeUnits(value)
	}
	if !declared(w.from, w.to) {
		return nil
	}
	if w.documents() {
		// From the United States, and to its neighbours, UPS tells papers by
		// their description.
		s.DocumentsOnlyIndicator = present(w.from != "US" && !slices.Contains([]string{"CA", "PR", "MX"}, w.to))
		return nil
	}
	invoice, err := w.invoice()
	if err != nil {
		return err
	}
	if s.ShipmentServiceOptions == nil {
		s.ShipmentServiceOptions = &shipmentOptions{}
	}
	s.ShipmentServiceOptions.InternationalForms = invoice
	return nil
}

// goods describes the whole shipment in a few words.
func (w *draft) goods() string {
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

// invoice is the data of a commercial invoice.
func (w *draft) invoice() (*forms, error) {
	customs := w.order.Customs
	if len(customs.Items) > maxArticles {
		return nil, invalid("/customs/items", "too_long", fmt.Sprintf("a UPS invoice has up to %d items", maxArticles))
	}
	if customs.Incoterm != "" && !slices.Contains(terms, customs.Incoterm) {
		return nil, invalid("/customs/incoterm", "unsupported", "UPS prints "+strings.Join(terms, ", "))
	}
	value, err := w.value()
	if err != nil {
		return nil, err
	}
	if value.IsZero() {
		return nil, invalid("/customs/items", "invalid", "UPS needs the value of what crosses the border")
	}
	number := customs.InvoiceNumber
	if number == "" {
		number = w.order.OrderID
	}
	reason := reasons[customs.ContentsType]
	if reason == "" {
		reason = "OTHER"
	}
	if n := len(customs.TaxIDs); n > 0 && len(customs.TaxIDs[0]) <= 15 {
		w.shipment.Shipper.TaxIdentificationNumber = customs.TaxIDs[0]
	}
	f := &forms{
		FormType: []string{"01"}, InvoiceNumber: shorten(number, maxGoodsLine), InvoiceDate: compact(w.shipDay()),
		TermsOfShipment: customs.Incoterm, ReasonForExport: reason, CurrencyCode: value.Currency,
	}
	f.Contacts.SoldTo = w.shipment.ShipTo
	f.Contacts.SoldTo.Address.ResidentialAddressIndicator = false
	for i, item := range customs.Items {
		f.Product = append(f.Product, w.article(i, item))
	}
	return f, nil
}

// article is one line of an invoice.
func (w *draft) article(i int, item ship.CustomsItem) product {
	lines, whole := wrap(item.Description, maxGoodsLine, maxGoodsLines)
	if !whole {
		w.warnings = append(w.warnings, fmt.Sprintf("customs.items.%d.description is cut on the UPS invoice, which prints %d lines of %d characters", i, maxGoodsLines, maxGoodsLine))
	}
	p := product{
		Description: lines, PartNumber: strconv.Itoa(i + 1), OriginCountryCode: item.OriginCountry,
		Unit: unit{Number: strconv.Itoa(item.Quantity), UnitOfMeasurement: coded{Code: "PCS"}, Value: item.Value.Amount()},
	}
	if p.OriginCountryCode == "" {
		p.OriginCountryCode = w.from
	}
	if code := strings.NewReplacer(".", "", " ", "").Replace(item.HSCode); len(code) >= 6 && len(code) <= 15 {
		p.CommodityCode = code
	}
	return p
}

// value is what the goods are worth together; no amount if nobody said.
func (w *draft) value() (ship.Money, error) {
	if w.order.Customs == nil {
		return w.order.Options.InsuredValue, nil
	}
	var total ship.Money
	for i, item := range w.order.Customs.Items {
		at := fmt.Sprintf("/customs/items/%d/value", i)
		n := int64(item.Quantity)
		switch v := item.Value; {
		case v.Minor < 1:
			return total, invalid(at, "required", "UPS needs the value of every item")
		case total.Currency != "" && v.Currency != total.Currency:
			return total, invalid(at, "invalid", "a UPS invoice has one currency")
		case n < 1 || v.Minor > (math.MaxInt64-total.Minor)/n:
			return total, invalid(at, "invalid", "is more than UPS can carry")
		default:
			total = ship.Money{Minor: total.Minor + n*v.Minor, Currency: v.Currency}
		}
	}
	return total, nil
}

// wholeUnits is an amount without decimals, rounded up, as UPS wants the total
// of an invoice.
func wholeUnits(m ship.Money) *money {
	one := int64(math.Pow10(ship.Exponent(m.Currency)))
	return &money{CurrencyCode: m.Currency, MonetaryValue: strconv.FormatInt((m.Minor-1)/one+1, 10)}
}

// shorten cuts text after so many characters, at a word if there is one.
func shorten(text string, limit int) string {
	lines, _ := wrap(text, limit, 1)
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimRight(lines[0], ",")
}

// wrap puts the words of a text on lines, and reports whether all have room.
// A word that is longer than a line is divided.
func wrap(text string, limit, most int) (lines []string, whole bool) {
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
			line, words = longer, words[1:]
		}
		if line == "" {
			long := []rune(words[0])
			line, words[0] = string(long[:limit]), string(long[limit:])
		}
		lines = append(lines, line)
	}
	return lines, true
}
