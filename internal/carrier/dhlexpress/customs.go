package dhlexpress

import (
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

// customs checks the declaration of dutiable goods and returns their worth.
func (c *checker) customs(d *ship.Customs) ship.Money {
	if d == nil || len(d.Items) == 0 {
		c.refuse("/customs", "required", "DHL Express needs a customs declaration for goods that cross this border")
		return ship.Money{}
	}
	if _, ok := reasons[d.ContentsType]; !ok {
		c.refuse("/customs/contentsType", "invalid", "DHL Express has no reason for export that matches")
	}
	if d.Incoterm != "" && !slices.Contains(incoterms, d.Incoterm) {
		c.refuse("/customs/incoterm", "invalid", "is not one of "+strings.Join(incoterms, ", "))
	}
	c.atMost("/customs/invoiceNumber", d.InvoiceNumber, maxReference)
	c.atMost("/customs/signer", d.Signer, maxReference)
	for i, id := range d.TaxIDs {
		c.atMost(fmt.Sprintf("/customs/taxIds/%d", i), id, maxReference)
	}
	total := ship.Money{Currency: d.Items[0].Value.Currency}
	for i, item := range d.Items {
		c.item(fmt.Sprintf("/customs/items/%d", i), item, &total)
	}
	return total
}

func (c *checker) atMost(pointer, value string, limit int) {
	if utf8.RuneCountInString(value) > limit {
		c.refuse(pointer, "too_long", fmt.Sprintf("is longer than the %d characters that DHL Express takes", limit))
	}
}

// item adds the worth of an item to the total.
func (c *checker) item(pointer string, item ship.CustomsItem, total *ship.Money) {
	switch {
	case item.Quantity < 1:
		c.refuse(pointer+"/quantity", "invalid", "must be at least 1")
		return
	case len(item.Value.Currency) != 3:
		c.refuse(pointer+"/value", "required", "DHL Express needs the value of each item")
	case item.Value.Currency != total.Currency:
		c.refuse(pointer+"/value/currency", "invalid", "all items of a declaration have one currency")
	case item.Value.Minor < 0 || item.Value.Minor > (math.MaxInt64-total.Minor)/int64(item.Quantity):
		c.refuse(pointer+"/value", "invalid", "is more than DHL Express takes")
	default:
		total.Minor += item.Value.Minor * int64(item.Quantity)
	}
	if n := len(commodity(item.HSCode)); n == 1 || n > 18 {
		c.refuse(pointer+"/hsCode", "invalid", "a commodity code has 2 to 18 characters")
	}
}

// commodity is a commodity code without its dots and blanks.
func commodity(code string) string { return strings.NewReplacer(".", "", " ", "").Replace(code) }

// declare is the export declaration of a checked order.
func declare(b carrier.BuyOrder, p plan, now time.Time) *declaration {
	d := b.Order.Customs
	why := reasonOf(b.Order)
	weights := lineWeights(b.Order)
	lines := make([]lineItem, len(d.Items))
	for i, item := range d.Items {
		made := item.OriginCountry
		if made == "" {
			made = b.Order.Origin.Country
		}
		lines[i] = lineItem{
			Number: i + 1, Description: item.Description, Price: json.Number(item.Value.Amount()),
			Quantity:         quantity{item.Quantity, "PCS"},
			ExportReasonType: why.export, ManufacturerCountry: made,
			Weight: lineWeight{kilograms(weights[i]), kilograms(weights[i])},
		}
		if code := commodity(item.HSCode); code != "" {
			lines[i].CommodityCodes = []commodityCode{{"outbound", code}, {"inbound", code}}
		}
	}
	return &declaration{
		LineItems: lines,
		Invoice: invoice{
			Number: firstFitting(d.InvoiceNumber, b.Order.OrderID, b.Reference), Date: now.In(p.at.Location()).Format(time.DateOnly),
			SignatureName: d.Signer,
		},
		ExportReasonType: why.export, ShipmentType: why.shipment,
	}
}

func reasonOf(o ship.Order) reason {
	if o.IsReturn {
		return reasons["returned_goods"]
	}
	return reasons[o.Customs.ContentsType]
}

// firstFitting is the first value that is a reference to DHL.
func firstFitting(values ...string) string {
	for _, v := range values {
		if v != "" && utf8.RuneCountInString(v) <= maxReference {
			return v
		}
	}
	return ""
}

// lineWeights are the weights of the lines in grams, all pieces of a line
// together. Lines without a weight share what the others leave of the parcels.
func lineWeights(o ship.Order) []int64 {
	var left, unknown int64
	for _, p := range o.Parcels {
		left += p.WeightGrams
	}
	list := make([]int64, len(o.Customs.Items))
	for i, item := range o.Customs.Items {
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

// registrations are the sender's tax numbers. The API has no types for them:
// an IOSS number and a US employer's are known by their shape, a number that
// begins with its country is an EORI, and the rest are VAT numbers.
func registrations(ids []string, sender string) []registration {
	var list []registration
	for _, id := range ids {
		r := registration{TypeCode: "VAT", Number: id, IssuerCountryCode: sender}
		switch {
		case len(id) == 12 && strings.HasPrefix(id, "IM") && digits(id[2:]):
			r.TypeCode = "SDT"
		case sender == "US":
			r.TypeCode = "EIN"
		case len(id) > 2 && (slices.Contains(europeanUnion, id[:2]) || id[:2] == "GB"):
			r.TypeCode, r.IssuerCountryCode = "EOR", id[:2]
		}
		list = append(list, r)
	}
	return list
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// describe tells what is inside, in 70 characters: as many items as fit whole,
// or the beginning of the first.
func describe(o ship.Order, l lane) string {
	const limit = 70
	if o.Customs != nil && o.Customs.ContentsType == "documents" {
		return "Documents"
	}
	if l != goods || o.Customs == nil {
		return "Merchandise"
	}
	text := ""
	for _, item := range o.Customs.Items {
		longer := strings.TrimPrefix(text+", "+strings.TrimSpace(item.Description), ", ")
		if utf8.RuneCountInString(longer) > limit {
			break
		}
		text = longer
	}
	if text == "" {
		text = strings.TrimSpace(string([]rune(o.Customs.Items[0].Description)[:limit]))
	}
	return text
}
