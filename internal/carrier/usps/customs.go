package usps

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// The most that a customs form holds.
const (
	maxItems       = 30
	maxDescription = 30
	maxComment     = 25
	maxInvoice     = 15
	maxTaxID       = 28
	maxTaxIDAtHome = 40      // on labels to territories and military addresses
	maxExportMinor = 2500_00 // of one line without a filing
)

// formRules reports whether the parcel may carry a customs form, and whether it
// must.
func (c *draft) formRules() (allowed, required bool) {
	for _, state := range []string{c.from.State, c.to.State} {
		allowed = allowed || takesForm(state)
		required = required || slices.Contains(military, state)
	}
	return allowed || c.abroad, required || c.abroad
}

// hasForm reports whether the label comes with a customs form.
func (c *draft) hasForm() bool {
	allowed, _ := c.formRules()
	return allowed && c.order.Customs != nil
}

// customs makes the customs form; nil where there is none.
func (c *draft) customs() (*customsForm, error) {
	given := c.order.Customs
	if _, required := c.formRules(); required && given == nil {
		return nil, field("/customs", "required", "USPS needs a customs declaration with at least one item for this destination")
	}
	if !c.hasForm() {
		return nil, nil
	}

	form := &customsForm{
		AESITN:        c.exportExemption(),
		InvoiceNumber: c.shorten("customs.invoiceNumber", given.InvoiceNumber, maxInvoice),
	}
	kind, known := contents[strings.ToLower(given.ContentsType)]
	if !known {
		kind = "OTHER"
		form.ContentComments = c.shorten("customs.contentsType", given.ContentsType, maxComment)
	}
	form.ContentType = kind

	weights, invalid := c.shareWeight(given.Items)
	form.Exporter, form.Importer, invalid = c.taxReferences(given, invalid)
	if len(given.Items) == 0 || len(given.Items) > maxItems {
		invalid = append(invalid, ship.FieldError{Pointer: "/customs/items", Code: "invalid", Detail: "must have between 1 and 30 items for USPS"})
	}
	for i, item := range given.Items {
		line, errs := c.item(i, item)
		invalid = append(invalid, errs...)
		if i < len(weights) {
			line.TotalWeight = weights[i]
		}
		form.Contents = append(form.Contents, line)
	}
	return form, carrierkit.InvalidOrder("USPS", invalid)
}

// exportExemption returns the legend that stands in for an export filing.
func (c *draft) exportExemption() string {
	switch {
	case c.to.Country == "CA":
		return "NO EEI 30.36"
	case c.abroad: // before the states: India has an AP too
		return "NO EEI 30.37(a)"
	case slices.Contains(military, c.to.State):
		return "NO EEI 30.37(w)"
	}
	return ""
}

// item returns one line of the form, without its weight.
func (c *draft) item(i int, item ship.CustomsItem) (customsItem, []ship.FieldError) {
	var invalid []ship.FieldError
	fail := func(name, code, detail string) {
		invalid = append(invalid, ship.FieldError{Pointer: fmt.Sprintf("/customs/items/%d/%s", i, name), Code: code, Detail: detail})
	}

	total := ship.Money{Minor: item.Value.Minor * int64(item.Quantity), Currency: item.Value.Currency}
	switch {
	case item.Value.Currency != "USD" || item.Value.Minor <= 0:
		fail("value", "invalid", "must be an amount in USD above 0: USPS declares the value of each item in dollars")
	case item.Quantity < 1 || item.Quantity > 9999:
		fail("quantity", "invalid", "must be between 1 and 9999 for USPS")
	case total.Minor > maxExportMinor && c.abroad && c.to.Country != "CA":
		fail("value", "invalid", "must be at most 2500 USD in one line: above that USPS needs an export filing (ITN), which is not supported")
	}

	if slices.Contains(vague, strings.ToLower(strings.TrimSpace(item.Description))) {
		fail("description", "invalid", "must say what the item is, such as \"cotton t-shirts\": customs authorities do not accept this word on its own")
	}
	if c.abroad && item.OriginCountry == "" {
		fail("originCountry", "required", "USPS needs the country that each item was made in")
	}
	if n := len(item.HSCode); n > 0 && (n < 6 || n > 14) {
		fail("hsCode", "invalid", "must be a tariff number of 6 to 14 characters, such as 610910")
	}

	return customsItem{
		Description:   c.shorten(fmt.Sprintf("customs.items.%d.description", i), item.Description, maxDescription),
		Quantity:      item.Quantity,
		TotalValue:    json.Number(total.Amount()),
		WeightUOM:     "lb",
		HSTariff:      item.HSCode,
		OriginCountry: item.OriginCountry,
	}, invalid
}

// shareWeight distributes the parcel's weight among the items. Items without a
// weight share what the others leave.
func (c *draft) shareWeight(items []ship.CustomsItem) ([]json.Number, []ship.FieldError) {
	var known, missing, pieces int64
	for _, item := range items {
		known += item.WeightGrams * int64(item.Quantity)
		pieces += int64(item.Quantity)
		if item.WeightGrams == 0 {
			missing++
		}
	}

	// The weight of every piece was rounded up to a gram, so the items may
	// weigh that much more than the parcel.
	parcel := int64(c.pounds * 453.59237)
	left := parcel - known
	if left < -pieces || missing > 0 && left < missing {
		return nil, []ship.FieldError{{Pointer: "/customs/items", Code: "invalid", Detail: "must not weigh more than the parcel"}}
	}

	weights := make([]json.Number, len(items))
	for i, item := range items {
		grams := item.WeightGrams * int64(item.Quantity)
		switch {
		case grams == 0:
			grams = left / missing
		case left < 0:
			grams = grams * parcel / known
		}

		// USPS refuses items that together weigh more than their parcel, so a
		// line is rounded down to a thousandth of a pound, but never to zero.
		thousandths := max(grams*100_000_000/45_359_237, 1)
		weights[i] = json.Number(strconv.FormatInt(thousandths/1000, 10) + fmt.Sprintf(".%03d", thousandths%1000))
	}
	return weights, nil
}

// shorten cuts a text that is printed for people, at a word, and adds a
// warning.
func (c *draft) shorten(name, value string, limit int) string {
	if utf8.RuneCountInString(value) <= limit {
		return value
	}

	short := string([]rune(value)[:limit])
	if i := strings.LastIndexByte(short, ' '); i > limit/2 {
		short = short[:i]
	}
	c.warnings = append(c.warnings, fmt.Sprintf("%s is shortened to the %d characters that the carrier prints", name, limit))
	return strings.TrimSpace(short)
}
