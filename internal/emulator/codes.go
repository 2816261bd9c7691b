package emulator

import (
	"slices"
	"strings"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
)

// usStates are the abbreviations of the U.S. Postal Service: states, territories,
// freely associated states and military "states".
var usStates = strings.Fields("AA AE AK AL AP AR AS AZ CA CO CT DC DE FL FM GA GU HI IA ID IL IN KS KY LA MA MD ME MH MI MN MO MP MS MT " +
	"NC ND NE NH NJ NM NV NY OH OK OR PA PR PW RI SC SD TN TX UT VA VI VT WA WI WV WY")

// caProvinces are the abbreviations of Canada Post.
var caProvinces = strings.Fields("AB BC MB NB NL NS NT NU ON PE QC SK YT")

// IsCountry reports whether a text is a country code of ISO 3166, in capitals.
func IsCountry(code string) bool {
	region, err := language.ParseRegion(code)
	return err == nil && len(code) == 2 && region.IsCountry() && region.Canonicalize().String() == code
}

// IsCurrency reports whether a text is a currency code of ISO 4217, in capitals.
func IsCurrency(code string) bool {
	unit, err := currency.ParseISO(code)
	return err == nil && unit.String() == code
}

// CurrencyOf returns the currency of a country; empty if there is none.
func CurrencyOf(country string) string {
	region, err := language.ParseRegion(country)
	if err != nil {
		return ""
	}
	unit, ok := currency.FromRegion(region)
	if !ok {
		return ""
	}
	return unit.String()
}

// IsState reports whether a text is the abbreviation of a state or province of the
// country. Of countries other than the United States and Canada any text is.
func IsState(country, code string) bool {
	switch country {
	case "US":
		return slices.Contains(usStates, code)
	case "CA":
		return slices.Contains(caProvinces, code)
	}
	return true
}
