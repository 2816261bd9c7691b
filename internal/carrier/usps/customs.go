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

// crosses reports whether the parcel may carry a customs form, and whether it
// must.
func (c *consignment) crosses() (may, must bool) {
	for _, state := range []string{c.from.State, c.to.State} {
		may = may || takesForm(state)
		must = must || slices.Contains(military, state)
	}
	return may || c.abroad, must || c.abroad
}

// hasForm reports whether the label comes with a customs form.
func (c *consignment) hasForm() bool {
	may, _ := c.crosses()
	return may && c.order.Customs != nil
}

// customs makes the customs form; nil where there is none.
func (c *consignment) customs() (*customsForm, error) {
	given := c.order.Customs
	if _, must := c.crosses(); must && given == nil {
		return nil, field("/customs", "required", "USPS needs a customs declaration with at least one item for this destination")
	}
	if !c.hasForm() {
		return nil, nil
	}
	form := &customsForm{AESITN: c.exemption(), InvoiceNumber: c.cut("customs.invoiceNumber", given.InvoiceNumber, maxInvoice)}
	kind, known := contents[strings.ToLower(given.ContentsType)]
	if !known {
		kind, form.ContentComments = "OTHER", c.cut("customs.contentsType", given.ContentsType, maxComment)
	}
	form.ContentType = kind
	weights, wrong := c.weigh(given.Items)
	form.Exporter, form.Importer, wrong = c.taxReferences(given, wrong)
	if len(given.Items) == 0 || len(given.Items) > maxItems {
		wrong = append(wrong, ship.FieldError{Pointer: "/customs/items", Code: "invalid", Detail: "must have between 1 and 30 items for USPS"})
	}
	for i, item := range given.Items {
		line, errs := c.item(i, item)
		wrong = append(wrong, errs...)
		if i < len(weights) {
			line.TotalWeight = weights[i]
		}
		form.Contents = append(form.Contents, line)
	}
	return form, carrierkit.InvalidOrder("USPS", wrong)
}

// taxOrder is which tax identifier of a party is printed if it has several:
// first those that spare the recipient a bill.
var taxOrder = []string{"ioss", "voec", "arn", "vat", "eori", "gst", "abn", "ird", "ein", "pan", "cnpj", "cpf", "national_id", "passport", "other"}

// taxReferences are the tax identifiers that the form has room for: one of the
// sender, one of the recipient or importer. A scheme's number is the sender's,
// whoever it was given for.
func (c *consignment) taxReferences(given *ship.Customs, wrong []ship.FieldError) (exporter, importer *customsReference, _ []ship.FieldError) {
	limit := maxTaxID
	if !c.abroad {
		limit = maxTaxIDAtHome
	}

	var sender, recipient *ship.TaxIdentifier
	leftOut := false
	for i, id := range given.TaxNumbers() {
		// Half a tax number is another one.
		if utf8.RuneCountInString(id.Number) > limit {
			wrong = append(wrong, ship.FieldError{
				Pointer: taxPointer(given, i),
				Code:    "too_long",
				Detail:  fmt.Sprintf("is longer than the %d characters that the carrier prints", limit),
			})
			continue
		}

		chosen := &sender
		if id.Party != "sender" && !slices.Contains([]string{"ioss", "voec", "arn"}, id.Type) {
			chosen = &recipient
		}
		leftOut = leftOut || *chosen != nil
		if *chosen == nil || slices.Index(taxOrder, id.Type) < slices.Index(taxOrder, (*chosen).Type) {
			*chosen = &id
		}
	}
	if leftOut {
		c.warnings = append(c.warnings, "USPS prints one tax identifier of the sender and one of the recipient: the others are left out")
	}
	return c.taxReference(sender), c.taxReference(recipient), wrong
}

// taxReference is a tax identifier as the form has it.
func (c *consignment) taxReference(id *ship.TaxIdentifier) *customsReference {
	switch {
	case id == nil:
		return nil
	case !c.abroad:
		return &customsReference{Reference: id.Number}
	case id.Type == "vat":
		return &customsReference{Type: "VAT_NUMBER", Reference: id.Number}
	case id.Type == "eori" && id.Party != "sender":
		return &customsReference{Type: "IMPORTER_CODE", Reference: id.Number}
	}
	return &customsReference{Type: "TAX_CODE", Reference: id.Number}
}

// taxPointer is where the client wrote the i-th of Customs.TaxNumbers.
func taxPointer(d *ship.Customs, i int) string {
	if i < len(d.TaxIdentifiers) {
		return fmt.Sprintf("/customs/taxIdentifiers/%d/number", i)
	}
	return fmt.Sprintf("/customs/taxIds/%d", i-len(d.TaxIdentifiers))
}

// exemption is the legend by which no export filing is needed.
func (c *consignment) exemption() string {
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

// item is one line but for its weight.
func (c *consignment) item(i int, item ship.CustomsItem) (customsItem, []ship.FieldError) {
	var wrong []ship.FieldError
	fail := func(name, code, detail string) {
		wrong = append(wrong, ship.FieldError{Pointer: fmt.Sprintf("/customs/items/%d/%s", i, name), Code: code, Detail: detail})
	}
	total := ship.Money{Minor: item.Value.Minor * int64(item.Quantity), Currency: item.Value.Currency}
	switch {
	case item.Value.Currency != "USD" || item.Value.Minor <= 0:
		fail("value", "invalid", "must be an amount in USD above 0: USPS declares the value of each item in dollars")
	case item.Quantity < 1 || item.Quantity > 9999:
		fail("quantity", "invalid", "must be between 1 and 9999 for USPS")
	case total.Minor > maxExportMinor && c.abroad && c.to.Country != "CA":
		fail("value", "invalid", "must be at most 2500 USD in one line: USPS needs an export filing (ITN) above that, which cannot be sent here")
	}
	if slices.Contains(vague, strings.ToLower(strings.TrimSpace(item.Description))) {
		fail("description", "invalid", "must say what the item is, such as \"cotton t-shirts\": customs do not accept this word alone")
	}
	if c.abroad && item.OriginCountry == "" {
		fail("originCountry", "required", "USPS needs the country that each item was made in")
	}
	if n := len(item.HSCode); n > 0 && (n < 6 || n > 14) {
		fail("hsCode", "invalid", "must be a tariff number of 6 to 14 characters, such as 610910")
	}
	return customsItem{
		Description: c.cut(fmt.Sprintf("customs.items.%d.description", i), item.Description, maxDescription),
		Quantity:    item.Quantity, TotalValue: json.Number(total.Amount()), WeightUOM: "lb",
		HSTariff: item.HSCode, OriginCountry: item.OriginCountry,
	}, wrong
}

// weigh shares the parcel's weight among the items. USPS refuses items that
// together weigh more than their parcel, so a line is rounded down; items
// without a weight share what the others leave.
func (c *consignment) weigh(items []ship.CustomsItem) ([]json.Number, []ship.FieldError) {
	var known, missing, pieces int64
	for _, item := range items {
		known += item.WeightGrams * int64(item.Quantity)
		pieces += int64(item.Quantity)
		if item.WeightGrams == 0 {
			missing++
		}
	}
	parcel := int64(c.pounds * 453.59237)
	left := parcel - known
	// Every piece was rounded up to a gram.
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
		// Thousandths of a pound, down, and never nothing.
		thousandths := max(grams*100_000_000/45_359_237, 1)
		weights[i] = json.Number(strconv.FormatInt(thousandths/1000, 10) + fmt.Sprintf(".%03d", thousandths%1000))
	}
	return weights, nil
}

// cut shortens a text that is printed for people, at a word, and says so.
func (c *consignment) cut(name, value string, limit int) string {
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
