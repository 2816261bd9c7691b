package usps

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// taxReferences returns the tax identifiers that the form has room for: one of
// the sender, one of the recipient or importer. The number of a tax scheme is
// the sender's, whichever party it was given for.
func (c *draft) taxReferences(given *ship.Customs, invalid []ship.FieldError) (exporter, importer *customsReference, _ []ship.FieldError) {
	limit := maxTaxID
	if !c.abroad {
		limit = maxTaxIDAtHome
	}

	var sender, recipient *ship.TaxIdentifier
	leftOut := false
	for i, id := range given.TaxNumbers() {
		// A tax number is refused and never shortened: a part of one would be a
		// different number.
		if utf8.RuneCountInString(id.Number) > limit {
			invalid = append(invalid, ship.FieldError{
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
		c.warnings = append(c.warnings, "USPS prints one tax identifier of the sender and one of the recipient: the others are omitted")
	}
	return c.taxReference(sender), c.taxReference(recipient), invalid
}

// taxOrder says which tax identifier of a party is printed if it has several:
// those that save the recipient a bill come first.
var taxOrder = []string{"ioss", "voec", "arn", "vat", "eori", "gst", "abn", "ird", "ein", "pan", "cnpj", "cpf", "national_id", "passport", "other"}

// taxReference returns a tax identifier as the form has it.
func (c *draft) taxReference(id *ship.TaxIdentifier) *customsReference {
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

// taxPointer returns where the client wrote the i-th of Customs.TaxNumbers.
func taxPointer(customs *ship.Customs, i int) string {
	if i < len(customs.TaxIdentifiers) {
		return fmt.Sprintf("/customs/taxIdentifiers/%d/number", i)
	}
	return fmt.Sprintf("/customs/taxIds/%d", i-len(customs.TaxIdentifiers))
}
