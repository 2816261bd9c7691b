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
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// customs checks the declaration of dutiable goods and returns their worth.
func (c *checker) customs(d *ship.Customs) ship.Money {
	if d == nil || len(d.Items) == 0 {
		c.refuse("/customs", "required", "DHL Express needs a customs declaration with at least one item for goods that cross this border")
		return ship.Money{}
	}
	if _, ok := reasons[d.ContentsType]; !ok {
		c.refuse("/customs/contentsType", "invalid", "must be one of "+strings.Join(ship.ContentsTypes, ", "))
	}
	if d.Incoterm != "" && !slices.Contains(incoterms, d.Incoterm) {
		c.refuse("/customs/incoterm", "invalid", "must be one of "+strings.Join(incoterms, ", "))
	}
	c.atMost("/customs/invoiceNumber", d.InvoiceNumber, maxReference)
	c.atMost("/customs/signer", d.Signer, maxReference)
	for i, id := range d.TaxNumbers() {
		c.atMost(taxPointer(d, i), id.Number, maxReference)
	}
	total := ship.Money{Currency: d.Items[0].Value.Currency}
	for i, item := range d.Items {
		c.item(fmt.Sprintf("/customs/items/%d", i), item, &total)
	}
	return total
}

func (c *checker) atMost(pointer, value string, limit int) {
	if utf8.RuneCountInString(value) > limit {
		c.refuse(pointer, "too_long", fmt.Sprintf("is longer than the %d characters that the carrier takes", limit))
	}
}

// item adds the worth of an item to the total.
func (c *checker) item(pointer string, item ship.CustomsItem, total *ship.Money) {
	switch {
	case item.Quantity < 1:
		c.refuse(pointer+"/quantity", "invalid", "must be at least 1")
		return
	case len(item.Value.Currency) != 3:
		c.refuse(pointer+"/value", "required", "DHL Express needs the value of each item with its currency")
	case item.Value.Currency != total.Currency:
		c.refuse(pointer+"/value/currency", "invalid", "must be "+total.Currency+": DHL Express takes one currency for all items of a declaration")
	case item.Value.Minor < 0 || item.Value.Minor > (math.MaxInt64-total.Minor)/int64(item.Quantity):
		c.refuse(pointer+"/value", "invalid", "is more than the carrier takes")
	default:
		total.Minor += item.Value.Minor * int64(item.Quantity)
	}
	if n := len(commodity(item.HSCode)); n == 1 || n > 18 {
		c.refuse(pointer+"/hsCode", "invalid", "must be 6 to 10 digits, such as 610910")
	}
}

// commodity is a commodity code without its dots and blanks.
func commodity(code string) string { return strings.NewReplacer(".", "", " ", "").Replace(code) }

// declarationOf is the export declaration of a checked order.
func declarationOf(b carrier.BuyOrder, p plan, now time.Time) *declaration {
	d := b.Order.Customs
	why := reasonOf(b.Order)
	weights := lineWeights(b.Order)
	lines := make([]lineItem, len(d.Items))
	for i, item := range d.Items {
		made := cmp.Or(item.OriginCountry, b.Order.Origin.Country)
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

// taxPointer is where the client wrote the i-th of Customs.TaxNumbers.
func taxPointer(d *ship.Customs, i int) string {
	if i < len(d.TaxIdentifiers) {
		return fmt.Sprintf("/customs/taxIdentifiers/%d/number", i)
	}
	return fmt.Sprintf("/customs/taxIds/%d", i-len(d.TaxIdentifiers))
}

// taxCodes are DHL's types of registration numbers, and the country that
// issues a number if the client names none. DHL has one type for the numbers
// of all simplified import schemes.
var taxCodes = map[string]struct{ code, issuer string }{
	"eori":        {"EOR", ""},
	"vat":         {"VAT", ""},
	"ioss":        {codeScheme, ""},
	"voec":        {codeScheme, "NO"},
	"arn":         {codeScheme, "AU"},
	"ein":         {"EIN", "US"},
	"gst":         {"GST", ""},
	"abn":         {"GST", "AU"},
	"ird":         {"GST", "NZ"},
	"pan":         {"FED", "IN"},
	"cnpj":        {"CNP", "BR"},
	"cpf":         {"CNP", "BR"},
	"national_id": {"NID", ""},
	"passport":    {"PAS", ""},
}

// codeScheme is DHL's type for IOSS, VOEC and ARN numbers.
const codeScheme = "SDT"

// registrations are the tax numbers by the party that they are sent with.
// Scheme numbers always stand with the shipper, where DHL looks for them.
func registrations(d *ship.Customs, p plan) map[string][]registration {
	byParty := map[string][]registration{}
	for _, id := range d.TaxNumbers() {
		home := p.fromPlace.Country
		if id.Party != "sender" {
			home = p.toPlace.Country
		}

		r := registrationOf(id, home)
		party := id.Party
		if r.TypeCode == codeScheme {
			party = "sender"
		}
		byParty[party] = append(byParty[party], r)
	}
	return byParty
}

// registrationOf is a tax number of a party at home in a country.
func registrationOf(id ship.TaxIdentifier, home string) registration {
	known, ok := taxCodes[id.Type]
	r := registration{
		TypeCode:          known.code,
		Number:            id.Number,
		IssuerCountryCode: cmp.Or(id.Country, known.issuer, home),
	}

	switch {
	case !ok:
		r = untyped(r, home)
	case id.Country == "" && (id.Type == "eori" || id.Type == "vat") && beginsWithCountry(id.Number):
		r.IssuerCountryCode = id.Number[:2]
	}
	return r
}

// untyped guesses the type of a number of which the client gave none: an IOSS
// number and a US employer's are known by their shape, a number that begins
// with its country is an EORI, and the rest are VAT numbers.
func untyped(r registration, home string) registration {
	r.TypeCode = "VAT"
	switch number := r.Number; {
	case len(number) == 12 && strings.HasPrefix(number, "IM") && digits(number[2:]):
		r.TypeCode = codeScheme
	case home == "US":
		r.TypeCode = "EIN"
	case beginsWithCountry(number):
		r.TypeCode = "EOR"
		r.IssuerCountryCode = number[:2]
	}
	return r
}

// beginsWithCountry reports whether a number starts with the code of a country
// that issues EORI numbers.
func beginsWithCountry(number string) bool {
	return len(number) > 2 && (carrierkit.IsEUMember(number[:2]) || number[:2] == "GB")
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// describe tells what is inside, in 70 characters: as many items as fit whole,
// or the beginning of the first.
func describe(o ship.Order, declarable bool) string {
	const limit = 70
	if o.Customs != nil && o.Customs.ContentsType == "documents" {
		return "Documents"
	}
	if !declarable || o.Customs == nil {
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
