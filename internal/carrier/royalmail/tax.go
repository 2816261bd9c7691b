package royalmail

import (
	"fmt"
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// taxNumbers sends the numbers that Royal Mail has a field for, and warns about
// the others.
//
// The recipient is the importer unless the client names another one, so its
// numbers are sent as the importer's.
func (c *checker) taxNumbers(order ship.Order, sent *orderRequest) {
	const maxIOSS, maxVAT, maxTaxCode, maxEORI = 50, 15, 25, 18

	numbers := order.Customs.TaxNumbers()
	hasImporter := slices.ContainsFunc(numbers, func(id ship.TaxIdentifier) bool {
		return id.Party == "importer" && id.Type != "ioss"
	})
	importer := importerNumbers{}
	for i, id := range numbers {
		var field *string
		limit := maxTaxCode
		switch {
		case id.Type == "ioss":
			field, limit = &sent.Postage.IOSSNumber, maxIOSS
		case id.Party == "sender":
			c.warn("%s is not sent: numbers of the sender are settings of Click & Drop", taxName(order.Customs, i))
			continue
		case id.Party == "recipient" && id.Type == "eori":
			field, limit = &sent.Postage.RecipientEORI, maxEORI
		case id.Party == "recipient" && hasImporter:
			c.warn("%s is not sent: Royal Mail has no field for it beside the numbers of the importer", taxName(order.Customs, i))
			continue
		case id.Type == "eori":
			field, limit = &importer.EORINumber, maxEORI
		case id.Type == "vat":
			field, limit = &importer.VATNumber, maxVAT
		default:
			field = &importer.TaxCode
		}

		if *field != "" && *field != id.Number {
			c.warn("%s is not sent: Royal Mail takes one number of this kind", taxName(order.Customs, i))
			continue
		}
		c.limitLength(taxPointer(order.Customs, i), id.Number, limit)
		*field = id.Number
	}
	if importer != (importerNumbers{}) {
		sent.Importer = &importer
	}
}

// taxPointer returns where the client wrote the i-th of Customs.TaxNumbers.
func taxPointer(customs *ship.Customs, i int) string {
	if i < len(customs.TaxIdentifiers) {
		return fmt.Sprintf("/customs/taxIdentifiers/%d/number", i)
	}
	return fmt.Sprintf("/customs/taxIds/%d", i-len(customs.TaxIdentifiers))
}

// taxName is the name of the i-th of Customs.TaxNumbers in a warning.
func taxName(customs *ship.Customs, i int) string {
	if i < len(customs.TaxIdentifiers) {
		return fmt.Sprintf("customs.taxIdentifiers.%d (%s)", i, customs.TaxIdentifiers[i].Type)
	}
	return fmt.Sprintf("customs.taxIds.%d", i-len(customs.TaxIdentifiers))
}
