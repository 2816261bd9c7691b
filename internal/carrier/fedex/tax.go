package fedex

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// maxTaxNumber is how long a tax number may be, in characters.
const maxTaxNumber = 18

// taxNumbers are the tax numbers of an order by their party.
type taxNumbers struct {
	sender, recipient, importer []tin

	// customsID is the recipient's number for the customs of Brazil.
	customsID *recipientCustomsID
}

// taxNumbersOf sorts the tax numbers of the order.
func taxNumbersOf(order *ship.Order, bad *problems) taxNumbers {
	var out taxNumbers
	for i, id := range order.Customs.TaxNumbers() {
		if !fits(id.Number, maxTaxNumber) {
			bad.add(taxPointer(order.Customs, i), "too_long", "FedEx allows at most %d characters in a tax number", maxTaxNumber)
			continue
		}

		switch id.Party {
		case "recipient":
			out.recipient = append(out.recipient, tinOf(id, order.Destination.Country))
		case "importer":
			out.importer = append(out.importer, tinOf(id, order.Destination.Country))
		default:
			out.sender = append(out.sender, tinOf(id, order.Origin.Country))
		}

		if kind, ok := brazilianTypes[id.Type]; ok && id.Party != "sender" && order.Destination.Country == "BR" {
			out.customsID = &recipientCustomsID{Type: kind, Value: id.Number}
		}
	}
	return out
}

// taxPointer returns where the i-th of the tax numbers stands in the request:
// the untyped ones come last.
func taxPointer(customs *ship.Customs, i int) string {
	if n := len(customs.TaxIdentifiers); i >= n {
		return fmt.Sprintf("/customs/taxIds/%d", i-n)
	}
	return fmt.Sprintf("/customs/taxIdentifiers/%d/number", i)
}

// brazilianTypes are what the customs of Brazil know a recipient by.
var brazilianTypes = map[string]string{
	"cnpj":     "COMPANY",
	"cpf":      "INDIVIDUAL",
	"passport": "PASSPORT",
}

// tinTypes are FedEx's types of tax numbers. It has none for registrations of
// importers and for numbers under which a shop pays taxes of other countries:
// these are distinguished by their usage.
var tinTypes = map[string]string{
	"eori":        "BUSINESS_NATIONAL",
	"ioss":        "BUSINESS_UNION",
	"voec":        "BUSINESS_NATIONAL",
	"ein":         "BUSINESS_NATIONAL",
	"gst":         "BUSINESS_NATIONAL",
	"abn":         "BUSINESS_NATIONAL",
	"arn":         "BUSINESS_NATIONAL",
	"ird":         "BUSINESS_NATIONAL",
	"pan":         "BUSINESS_NATIONAL",
	"cnpj":        "BUSINESS_NATIONAL",
	"cpf":         "PERSONAL_NATIONAL",
	"national_id": "PERSONAL_NATIONAL",
	"passport":    "PERSONAL_NATIONAL",
}

// tinOf returns a tax number as FedEx takes it; country is that of its party,
// for numbers that do not say who issued them.
func tinOf(id ship.TaxIdentifier, country string) tin {
	country = cmp.Or(id.Country, country)

	out := tin{Number: id.Number, Type: tinTypes[id.Type]}
	switch id.Type {
	case "vat":
		out.Type = "BUSINESS_NATIONAL"
		if carrierkit.IsEUMember(country) {
			out.Type = "BUSINESS_UNION"
		}

	case "eori", "ioss", "voec", "arn":
		out.Usage = strings.ToUpper(id.Type)

	case "other":
		out.Type = "BUSINESS_NATIONAL"
		if country == "US" {
			out.Type = "FEDERAL"
		}
	}
	return out
}
