package emulator_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
)

func TestCodesOfCountriesCurrenciesAndStates(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{"US": true, "PR": true, "GB": true, "ZZ": false, "us": false, "UK": false, "USA": false, "": false} {
		if got := emulator.IsCountry(code); got != want {
			t.Errorf("the country %q: %t, want %t", code, got, want)
		}
	}
	for code, want := range map[string]bool{"USD": true, "JPY": true, "usd": false, "USDZ": false, "ABC": false, "": false} {
		if got := emulator.IsCurrency(code); got != want {
			t.Errorf("the currency %q: %t, want %t", code, got, want)
		}
	}
	for country, want := range map[string]string{"US": "USD", "DE": "EUR", "GB": "GBP", "PR": "USD", "ZZ": ""} {
		if got := emulator.CurrencyOf(country); got != want {
			t.Errorf("the currency of %s is %q, want %q", country, got, want)
		}
	}
	for place, want := range map[[2]string]bool{
		{"US", "NY"}: true,
		{"US", "AE"}: true,
		{"US", "ZZ"}: false,
		{"US", "QC"}: false,
		{"CA", "QC"}: true,
		{"CA", "NY"}: false,
		{"DE", "ZZ"}: true,
	} {
		if got := emulator.IsState(place[0], place[1]); got != want {
			t.Errorf("the state %v: %t, want %t", place, got, want)
		}
	}
}
