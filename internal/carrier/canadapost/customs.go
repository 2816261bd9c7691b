package canadapost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// The most that a declaration holds.
//
// fact: customs-limits
const (
	maxItems       = 500
	maxDescription = 45
	maxSKU         = 15
	maxInvoice     = 10
	maxIOSS        = 13
	maxUnits       = 9999
)

// customs returns the declaration; nil within Canada.
func (p *draft) customs(order ship.Order) (*customs, error) {
	if !p.isAbroad {
		return nil, nil
	}

	var c checker
	given := order.Customs
	if given == nil || len(given.Items) == 0 || len(given.Items) > maxItems {
		c.refuse("/customs/items", "required", fmt.Sprintf("Canada Post needs a customs declaration with 1 to %d items for this destination", maxItems))
		return nil, carrierkit.InvalidOrder("Canada Post", c.invalid)
	}
	switch {
	case p.lane == laneUSA && given.Incoterm != "" && given.Incoterm != "DDP":
		c.refuse("/customs/incoterm", "unsupported", "Zonos bills the duties of parcels to the United States to you: use incoterm DDP, or none")
	case p.lane != laneUSA && given.Incoterm == "DDP":
		c.refuse("/customs/incoterm", "unsupported", "duties of this destination cannot be prepaid with Canada Post: use incoterm DAP")
	}

	declared := &customs{Currency: "CAD", Reason: reasons[given.ContentsType]}
	if declared.Reason == "" {
		declared.Reason = "OTH"
		declared.OtherReason = cmp.Or(otherReasons[given.ContentsType], otherReasons["other"])
	}
	if utf8.RuneCountInString(given.InvoiceNumber) <= maxInvoice {
		declared.Invoice = given.InvoiceNumber
	} else {
		p.warnings = append(p.warnings, fmt.Sprintf("customs.invoiceNumber is left out: Canada Post takes at most %d characters", maxInvoice))
	}
	declared.IOSS = p.taxNumber(given)

	weights := withoutRounding(carrierkit.ItemWeights(order), given.Items, order.Parcels[0].WeightGrams)
	for i, item := range given.Items {
		if p.lane == laneUSA && given.ContentsType != "documents" {
			c.dutiable(i, item)
		}
		declared.Items = append(declared.Items, p.item(&c, i, item, weights[i]))
	}
	return declared, carrierkit.InvalidOrder("Canada Post", c.invalid)
}

// dutiable requires what the duties of the United States are computed from.
func (c *checker) dutiable(i int, item ship.CustomsItem) {
	pointer := fmt.Sprintf("/customs/items/%d/", i)
	if item.HSCode == "" {
		c.refuse(pointer+"hsCode", "required", "Canada Post needs the tariff number of goods to the United States: their duties are computed from it")
	}
	if item.OriginCountry == "" {
		c.refuse(pointer+"originCountry", "required", "Canada Post needs the country of origin of goods to the United States: their duties are computed from it")
	}
}

// taxNumber returns the one tax number that Canada Post has a field for: that of the
// import scheme of the European Union, and without a contract none. All others are
// reported.
func (p *draft) taxNumber(given *ship.Customs) string {
	numbers := given.TaxNumbers()
	for i := range numbers {
		numbers[i].Number = strings.ReplaceAll(numbers[i].Number, " ", "")
	}

	fits := func(tax ship.TaxIdentifier) bool {
		return p.takesIOSS && tax.Number != "" && utf8.RuneCountInString(tax.Number) <= maxIOSS
	}
	chosen := slices.IndexFunc(numbers, func(tax ship.TaxIdentifier) bool { return tax.Type == "ioss" && fits(tax) })

	for i := range numbers {
		if i == chosen {
			continue
		}
		name := fmt.Sprintf("customs.taxIdentifiers.%d", i)
		if untyped := i - len(given.TaxIdentifiers); untyped >= 0 {
			name = fmt.Sprintf("customs.taxIds.%d", untyped)
		}
		takes := fmt.Sprintf("takes one number, an IOSS number of at most %d characters", maxIOSS)
		if !p.takesIOSS {
			takes = "takes tax numbers only under a contract"
		}
		p.warnings = append(p.warnings, name+" is left out: Canada Post "+takes)
	}
	if chosen < 0 {
		return ""
	}
	return numbers[chosen].Number
}

// item returns one line of the declaration.
func (p *draft) item(c *checker, i int, item ship.CustomsItem, grams int64) customsItem {
	pointer := fmt.Sprintf("/customs/items/%d/", i)
	if item.Value.Currency != "CAD" || item.Value.Minor <= 0 {
		c.refuse(pointer+"value", "invalid", "must be an amount in CAD above 0: Canada Post declares goods in Canadian dollars")
	}
	if item.Quantity < 1 || item.Quantity > maxUnits {
		c.refuse(pointer+"quantity", "invalid", fmt.Sprintf("must be between 1 and %d for Canada Post", maxUnits))
	}
	code, ok := tariffCode(item.HSCode)
	if !ok {
		c.refuse(pointer+"hsCode", "invalid", "must be a tariff number of 4, 6, 8 or 10 digits, such as 610910")
	}

	line := customsItem{
		Quantity:    item.Quantity,
		Description: p.shorten(fmt.Sprintf("customs.items.%d.description", i), item.Description, maxDescription),
		HSCode:      code,
		Weight:      decimal(grams, 3),
		Value:       item.Value.Amount(),
		Country:     item.OriginCountry,
	}
	if item.OriginCountry == home {
		// Canada Post requires the province of goods made in Canada. The API has
		// no field for it, so it is the one that they leave from.
		line.Province = strings.ToUpper(p.from.State)
	}
	if utf8.RuneCountInString(item.SKU) <= maxSKU {
		line.SKU = item.SKU
	}
	return line
}

// withoutRounding lowers the weights of goods that are heavier than their parcel
// by no more than rounding explains: every piece is rounded up to a gram, so three
// of 0.1 lb are 138 g in a parcel of 137 g. Weights that differ by more are the
// client's own.
func withoutRounding(weights []int64, items []ship.CustomsItem, parcel int64) []int64 {
	var units int64
	excess := -parcel
	for i, item := range items {
		units += int64(item.Quantity)
		excess += weights[i] * int64(item.Quantity)
	}
	if excess > units {
		return weights
	}

	for wasLowered := true; excess > 0 && wasLowered; {
		wasLowered = false
		for i, item := range items {
			if excess > 0 && weights[i] > 1 && item.Quantity > 0 {
				weights[i]--
				excess -= int64(item.Quantity)
				wasLowered = true
			}
		}
	}
	return weights
}

// tariffCode returns a tariff number as Canada Post writes it: "6109.10.00".
func tariffCode(given string) (code string, ok bool) {
	digits := strings.NewReplacer(".", "", " ", "").Replace(given)
	if digits == "" {
		return "", true
	}
	if !carrierkit.AllDigits(digits) || len(digits) < 4 || len(digits) > 10 || len(digits)%2 != 0 {
		return "", false
	}

	code = digits[:4]
	for rest := digits[4:]; rest != ""; rest = rest[2:] {
		code += "." + rest[:2]
	}
	return code, true
}

// shorten cuts a text that is printed for people, at a word, and adds a warning.
func (p *draft) shorten(name, value string, limit int) string {
	if utf8.RuneCountInString(value) <= limit {
		return value
	}

	short := string([]rune(value)[:limit])
	if i := strings.LastIndexByte(short, ' '); i > limit/2 {
		short = short[:i]
	}
	p.warnings = append(p.warnings, fmt.Sprintf("%s is shortened to the %d characters that the carrier prints", name, limit))
	return strings.TrimSpace(short)
}
