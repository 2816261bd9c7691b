package dhlexpress

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// customs checks the declaration of dutiable goods and returns their value.
func (c *checker) customs(declared *ship.Customs) ship.Money {
	if declared == nil || len(declared.Items) == 0 {
		c.refuse("/customs", "required", "DHL Express needs a customs declaration with at least one item for goods that cross this border")
		return ship.Money{}
	}

	if _, ok := reasons[declared.ContentsType]; !ok {
		c.refuse("/customs/contentsType", "invalid", "must be one of "+strings.Join(ship.ContentsTypes, ", "))
	}
	if declared.Incoterm != "" && !slices.Contains(incoterms, declared.Incoterm) {
		c.refuse("/customs/incoterm", "invalid", "must be one of "+strings.Join(incoterms, ", "))
	}
	c.limitLength("/customs/invoiceNumber", declared.InvoiceNumber, maxReference)
	c.limitLength("/customs/signer", declared.Signer, maxReference)
	for i, id := range declared.TaxNumbers() {
		c.limitLength(taxPointer(declared, i), id.Number, maxReference)
	}

	total := ship.Money{Currency: declared.Items[0].Value.Currency}
	for i, item := range declared.Items {
		c.item(fmt.Sprintf("/customs/items/%d", i), item, &total)
	}
	return total
}

func (c *checker) limitLength(pointer, value string, limit int) {
	if utf8.RuneCountInString(value) > limit {
		c.refuse(pointer, "too_long", fmt.Sprintf("is longer than the %d characters that the carrier accepts", limit))
	}
}

// item checks an item and adds its value to the total.
func (c *checker) item(pointer string, item ship.CustomsItem, total *ship.Money) {
	switch {
	case item.Quantity < 1:
		c.refuse(pointer+"/quantity", "invalid", "must be at least 1")
		return
	case len(item.Value.Currency) != 3:
		c.refuse(pointer+"/value", "required", "DHL Express needs the value of each item with its currency")
	case item.Value.Currency != total.Currency:
		c.refuse(pointer+"/value/currency", "invalid", "must be "+total.Currency+": DHL Express accepts one currency for all items of a declaration")
	case item.Value.Minor < 0 || item.Value.Minor > (math.MaxInt64-total.Minor)/int64(item.Quantity):
		c.refuse(pointer+"/value", "invalid", "is above the largest amount that the carrier accepts")
	default:
		total.Minor += item.Value.Minor * int64(item.Quantity)
	}

	if n := len(commodity(item.HSCode)); n == 1 || n > 18 {
		c.refuse(pointer+"/hsCode", "invalid", "must be 6 to 10 digits, such as 610910")
	}
}

// commodity returns a commodity code without its dots and blanks.
func commodity(code string) string { return strings.NewReplacer(".", "", " ", "").Replace(code) }

// declarationOf returns the export declaration of a checked order.
func declarationOf(request carrier.BuyOrder, p draft, now time.Time) *declaration {
	customs := request.Order.Customs
	reason := reasonOf(request.Order)
	weights := lineWeights(request.Order)

	lines := make([]lineItem, len(customs.Items))
	for i, item := range customs.Items {
		lines[i] = lineItem{
			Number:              i + 1,
			Description:         item.Description,
			Price:               json.Number(item.Value.Amount()),
			Quantity:            quantity{item.Quantity, "PCS"},
			ExportReasonType:    reason.export,
			ManufacturerCountry: madeIn(item, request.Order),
			Weight:              lineWeight{kilograms(weights[i]), kilograms(weights[i])},
		}
		if code := commodity(item.HSCode); code != "" {
			lines[i].CommodityCodes = []commodityCode{{"outbound", code}, {"inbound", code}}
		}
	}

	return &declaration{
		LineItems: lines,
		Invoice: invoice{
			Number:        firstFitting(customs.InvoiceNumber, request.Order.OrderID, request.Reference),
			Date:          now.In(p.at.Location()).Format(time.DateOnly),
			SignatureName: customs.Signer,
		},
		ExportReasonType: reason.export,
		ShipmentType:     reason.shipment,
	}
}

// madeIn returns where an item was made. If the client does not say, it is the
// seller's country, which of a return is the destination.
func madeIn(item ship.CustomsItem, order ship.Order) string {
	seller := order.Origin
	if order.IsReturn {
		seller = order.Destination
	}
	return cmp.Or(item.OriginCountry, seller.Country)
}

func reasonOf(order ship.Order) reason {
	if order.IsReturn {
		return reasons["returned_goods"]
	}
	return reasons[order.Customs.ContentsType]
}

// firstFitting returns the first value that is short enough for a reference.
func firstFitting(values ...string) string {
	for _, value := range values {
		if value != "" && utf8.RuneCountInString(value) <= maxReference {
			return value
		}
	}
	return ""
}

// lineWeights returns the weights of the lines in grams, each with all of its
// pieces. Lines without a weight share what the others leave of the parcels.
func lineWeights(order ship.Order) []int64 {
	var left, unknown int64
	for _, parcel := range order.Parcels {
		left += parcel.WeightGrams
	}

	list := make([]int64, len(order.Customs.Items))
	for i, item := range order.Customs.Items {
		list[i] = item.WeightGrams * int64(item.Quantity)
		left -= list[i]
		if list[i] == 0 {
			unknown++
		}
	}

	for i := range list {
		if list[i] == 0 {
			list[i] = max(left/unknown, 1)
		}
	}
	return list
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// describe says what is inside, in 70 characters: as many items as fit in full,
// or the beginning of the first.
func describe(order ship.Order, declarable bool) string {
	const limit = 70

	customs := order.Customs
	if customs != nil && customs.ContentsType == "documents" {
		return "Documents"
	}
	if !declarable || customs == nil {
		return "Merchandise"
	}

	text := ""
	for _, item := range customs.Items {
		longer := strings.TrimPrefix(text+", "+strings.TrimSpace(item.Description), ", ")
		if utf8.RuneCountInString(longer) > limit {
			break
		}
		text = longer
	}
	if text != "" {
		return text
	}

	first := []rune(strings.TrimSpace(customs.Items[0].Description))
	if len(first) == 0 {
		return "Merchandise"
	}
	return strings.TrimSpace(string(first[:min(len(first), limit)]))
}
