package dhlexpress

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// registrations returns the tax numbers by the party that they are sent with.
func registrations(customs *ship.Customs, p draft) map[string][]registration {
	byParty := map[string][]registration{}
	for _, id := range customs.TaxNumbers() {
		home := p.fromPlace.Country
		if id.Party != "sender" {
			home = p.toPlace.Country
		}

		// DHL expects scheme numbers with the shipper, whichever party they
		// were given for.
		number := registrationOf(id, home)
		party := id.Party
		if number.TypeCode == codeScheme {
			party = "sender"
		}
		byParty[party] = append(byParty[party], number)
	}
	return byParty
}

// registrationOf returns a tax number of a party whose home is in a country.
func registrationOf(id ship.TaxIdentifier, home string) registration {
	known, ok := taxCodes[id.Type]
	number := registration{
		TypeCode:          known.code,
		Number:            id.Number,
		IssuerCountryCode: cmp.Or(id.Country, known.issuer, home),
	}

	switch {
	case !ok:
		number = guessType(number, home)
	case id.Country == "" && (id.Type == "eori" || id.Type == "vat") && beginsWithCountry(id.Number):
		number.IssuerCountryCode = id.Number[:2]
	}
	return number
}

// guessType guesses the type of a number that the client gave without one: an
// IOSS number is known by its shape, that of a party in the United States is an
// EIN, a number that begins with its country is an EORI, and the rest are VAT
// numbers.
func guessType(untyped registration, home string) registration {
	untyped.TypeCode = "VAT"
	switch number := untyped.Number; {
	case len(number) == 12 && strings.HasPrefix(number, "IM") && isDigits(number[2:]):
		untyped.TypeCode = codeScheme
	case home == "US":
		untyped.TypeCode = "EIN"
	case beginsWithCountry(number):
		untyped.TypeCode = "EOR"
		untyped.IssuerCountryCode = number[:2]
	}
	return untyped
}

// beginsWithCountry reports whether a number starts with the code of a country
// that issues EORI numbers.
func beginsWithCountry(number string) bool {
	return len(number) > 2 && (carrierkit.IsEUMember(number[:2]) || number[:2] == "GB")
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

// taxPointer returns where the client wrote the i-th of Customs.TaxNumbers.
func taxPointer(customs *ship.Customs, i int) string {
	if i < len(customs.TaxIdentifiers) {
		return fmt.Sprintf("/customs/taxIdentifiers/%d/number", i)
	}
	return fmt.Sprintf("/customs/taxIds/%d", i-len(customs.TaxIdentifiers))
}
