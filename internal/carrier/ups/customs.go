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

// What UPS prints of the goods.
const (
	maxDescription = 50 // of the whole shipment
	maxGoodsLine   = 35 // of a line of one article
	maxGoodsLines  = 3
	maxArticles    = 50
	maxPartNumber  = 35
)

// documents reports whether the shipment is papers without a value.
func (w *draft) documents() bool {
	return w.order.Customs != nil && w.order.Customs.ContentsType == "documents"
}

// declare adds what customs want to know to a purchase.
func (w *draft) declare() {
	if w.order.IsReturn || w.from == w.to && !w.crosses {
		return
	}
	s := &w.shipment
	customs := w.order.Customs
	if customs == nil && w.crosses {
		w.refuse("/customs", "required", "UPS needs a customs declaration between these addresses")
		return
	}

	s.Description = w.goods()
	value := w.value()
	if w.from == "US" && (w.to == "CA" || w.to == "PR") {
		if value.IsZero() {
			w.refuse("/customs", "required", "UPS needs the value of goods that go to Canada or Puerto Rico")
		} else {
			s.InvoiceLineTotal = wholeUnits(value)
		}
	}
	if !w.crosses {
		return
	}

	w.addTaxNumbers()
	if w.entersEU {
		w.enterEU(value)
	}
	if w.documents() {
		// From the United States, and to its neighbours, UPS tells papers by
		// their description.
		s.DocumentsOnlyIndicator = present(w.from != "US" && !slices.Contains([]string{"CA", "PR", "MX"}, w.to))
		return
	}
	w.serviceOptions().InternationalForms = w.invoice(value)
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

// invoice is the data of a commercial invoice. UPS sends it to customs without
// paper where the account has paperless invoices and the destination takes
// them, and prints it otherwise.
func (w *draft) invoice(value ship.Money) *forms {
	customs := w.order.Customs
	if n := len(customs.Items); n > maxArticles {
		w.refuse("/customs/items", "too_long", "UPS prints at most %d items on an invoice; this one has %d", maxArticles, n)
	}
	if customs.Incoterm != "" && !slices.Contains(terms, customs.Incoterm) {
		w.refuse("/customs/incoterm", "unsupported", "UPS prints the terms %s", strings.Join(terms, ", "))
	}
	if value.IsZero() && len(customs.Items) == 0 {
		w.refuse("/customs/items", "required", "UPS needs the value of what crosses the border")
	}

	f := &forms{
		FormType:        []string{"01"},
		InvoiceNumber:   shorten(cmp.Or(customs.InvoiceNumber, w.order.OrderID), maxGoodsLine),
		InvoiceDate:     compact(w.shipDay()),
		TermsOfShipment: customs.Incoterm,
		ReasonForExport: cmp.Or(reasons[customs.ContentsType], "OTHER"),
		CurrencyCode:    value.Currency,
		// UPS always sends a copy of the invoice. With this one, an account with
		// paperless invoices gets the papers to print instead.
		OverridePaperlessIndicator: present(customs.Paperless == "off"),
	}
	f.Contacts.SoldTo = w.shipment.ShipTo
	f.Contacts.SoldTo.Address.ResidentialAddressIndicator = false

	for i, item := range customs.Items {
		f.Product = append(f.Product, w.article(i, item))
	}
	return f
}

// article is one line of an invoice.
func (w *draft) article(i int, item ship.CustomsItem) product {
	lines, whole := wrap(item.Description, maxGoodsLine, maxGoodsLines)
	if !whole {
		w.warnings = append(w.warnings, fmt.Sprintf("customs.items.%d.description is cut on the UPS invoice, which prints %d lines of %d characters", i, maxGoodsLines, maxGoodsLine))
	}

	p := product{
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
		p.PartNumber = item.SKU
	}
	if code := strings.NewReplacer(".", "", " ", "").Replace(item.HSCode); len(code) >= 6 && len(code) <= 15 {
		p.CommodityCode = code
	}
	if w.entersEU {
		w.identify(&p, i, item)
	}
	return p
}

// value is what the goods are worth together; no amount if nobody said, or if
// it cannot be added up, which is a problem of the order.
func (w *draft) value() ship.Money {
	if w.order.Customs == nil {
		return w.order.Options.InsuredValue
	}

	var total ship.Money
	for i, item := range w.order.Customs.Items {
		at := fmt.Sprintf("/customs/items/%d/value", i)
		n := int64(item.Quantity)
		switch v := item.Value; {
		case v.Minor < 1:
			w.refuse(at, "required", "UPS needs the value of every item")
		case total.Currency != "" && v.Currency != total.Currency:
			w.refuse(at, "invalid", "UPS prints one currency on an invoice; this item is in %s and the first in %s", v.Currency, total.Currency)
		case n < 1 || v.Minor > (math.MaxInt64-total.Minor)/n:
			w.refuse(at, "invalid", "is more than UPS can carry")
		default:
			total = ship.Money{Minor: total.Minor + n*v.Minor, Currency: v.Currency}
		}
	}
	return total
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
