package newshipment

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// verdictTime is how long the form waits for what carriers say of an address.
const verdictTime = 3 * time.Second

// getVerdict handles POST /app/{account}/{mode}/shipments/address: whether parcels
// reach the address in the form. It says nothing while the address is incomplete,
// valid, or not known to anybody.
func getVerdict(v *site.Visit) error {
	page := ReadForm(v)
	check, ok := checkDestination(v, page.Order.Destination)
	if !ok {
		check = ship.AddressCheck{Verdict: ship.AddressUnknown}
	}
	return v.Show(http.StatusOK, addressVerdict(v.Frame("", ""), page.Order.Destination, check))
}

// checkDestination checks the address; not ok if it cannot be checked.
func checkDestination(v *site.Visit, address ship.Address) (ship.AddressCheck, bool) {
	normalized, invalid := address.Normalize("")
	if len(invalid) > 0 || v.Addresses == nil {
		return ship.AddressCheck{}, false
	}

	ctx, cancel := context.WithTimeout(v.Context(), verdictTime)
	defer cancel()
	request := addresscheck.Request{Tenant: v.Tenant(), Address: normalized, Spare: true}
	check, err := v.Addresses.Check(ctx, request)
	return check, err == nil
}

// useSuggestion puts a suggested address into the form: the corrected one, or the
// candidate whose number is given. The address is checked again instead of being
// sent by the browser, and that costs nothing: the answer was kept.
func useSuggestion(v *site.Visit, page *Form) error {
	check, ok := checkDestination(v, page.Order.Destination)
	if !ok {
		return nil // the form stays as it is
	}

	i, err := strconv.Atoi(v.Query("suggestion"))
	suggested := suggestions(check)
	if err != nil || i < 0 || i >= len(suggested) {
		return site.ErrNoPage
	}
	page.Order.Destination = suggested[i]
	return nil
}

// suggestions are the addresses that may be used instead.
func suggestions(check ship.AddressCheck) []ship.Address {
	if check.Verdict == ship.AddressCorrected {
		return []ship.Address{check.Address}
	}
	return check.Candidates
}

// verdictSentence says what is wrong with an address; "" if nothing is.
func verdictSentence(check ship.AddressCheck) string {
	by := parts.CarrierTitle(check.CheckedBy)
	switch check.Verdict {
	case ship.AddressCorrected:
		return by + " suggests another address:"
	case ship.AddressAmbiguous:
		return by + " knows several addresses like this:"
	case ship.AddressInvalid:
		if check.CheckedBy == ship.CheckedByRules {
			return "This address cannot be right."
		}
		return by + " does not know this address."
	case ship.AddressUnknown:
		if len(check.Messages) > 0 {
			return "Please check the address."
		}
	}
	return ""
}
