package royalmail

import (
	"fmt"

	"github.com/waybillhq/waybill/internal/ship"
)

// taxNumbers sends the numbers that Royal Mail has a field for. Those of the
// sender are settings of Click & Drop.
func (c *checker) taxNumbers(order ship.Order, sent *orderRequest) {
	const maxIOSS, maxVAT, maxTaxCode, maxEORI = 50, 15, 25, 18

	importer := importerNumbers{}
	for i, id := range order.Customs.TaxIdentifiers {
		pointer := fmt.Sprintf("/customs/taxIdentifiers/%d/number", i)
		switch {
		case id.Type == "ioss":
			c.limitLength(pointer, id.Number, maxIOSS)
			sent.Postage.IOSSNumber = id.Number

		case id.Type == "eori" && id.Party == "recipient":
			c.limitLength(pointer, id.Number, maxEORI)
			sent.Postage.RecipientEORI = id.Number

		case id.Party != "importer":

		case id.Type == "eori":
			c.limitLength(pointer, id.Number, maxEORI)
			importer.EORINumber = id.Number

		case id.Type == "vat":
			c.limitLength(pointer, id.Number, maxVAT)
			importer.VATNumber = id.Number

		default:
			c.limitLength(pointer, id.Number, maxTaxCode)
			importer.TaxCode = id.Number
		}
	}
	if importer != (importerNumbers{}) {
		sent.Importer = &importer
	}
}
