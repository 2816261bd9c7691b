package addresscheck

import (
	"regexp"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// poBox matches a line that is a post office box.
var poBox = regexp.MustCompile(`(?i)^\W*(p\W*o\W*box|post(al)?\W+office\W+box|postfach|bo[iî]te\W+postale|apartado(\W+postal|\W+de\W+correos)?|postbus)\b`)

// numberedCountries are countries where nearly every house has a number.
const numberedCountries = "US CA DE NL AT CH FR BE IT ES PL SE DK NO FI AU"

// checkByRules says what can be said without asking anybody. It never finds an
// address valid: it does not know the streets.
func checkByRules(address ship.Address) ship.AddressCheck {
	check := ship.AddressCheck{
		Verdict:   ship.AddressUnknown,
		Address:   address,
		CheckedBy: ship.CheckedByRules,
	}

	isBox := poBox.MatchString(address.Address1) || poBox.MatchString(address.Address2)
	isMilitary := address.Country == "US" && (address.State == "AA" || address.State == "AE" || address.State == "AP")
	switch city := strings.ToUpper(address.City); {
	case isMilitary && city != "APO" && city != "FPO" && city != "DPO":
		check.Verdict = ship.AddressInvalid
		check.Messages = append(check.Messages, "The city of a military address must be APO, FPO or DPO.")
	case isMilitary:
		check.Messages = append(check.Messages, "Only USPS delivers to military addresses.")
	case isBox:
		check.Messages = append(check.Messages, "Only the country's postal carrier delivers to a post office box.")
	case strings.Contains(numberedCountries, address.Country) && !strings.ContainsAny(address.Address1+address.Address2, "0123456789"):
		check.Messages = append(check.Messages, "The street has no house number.")
	}
	return check
}
