package usps

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestChecksOfAddressesAreWrittenAsTheGoldenFiles(t *testing.T) {
	for name, given := range map[string]ship.Address{
		"address-unit":   {Address1: "350 5th Ave", Address2: "Floor 21", Address3: "Room 7", City: "New York", State: "NY", Zip: "10118-0110", Country: "US"},
		"address-island": {Address1: "100 Calle Sol", City: "San Juan", Zip: "00901", Country: "PR"},
	} {
		got := addressQuery(given).Encode() + "\n"
		file := filepath.Join("testdata", name+".query")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != got {
			t.Errorf("%s differs from its golden file (%v): %s", name, err, got)
		}
	}
}

// The first answer is USPS's own sample, with its nulls and its empty correction.
func TestAnswersAboutAddressesAreRead(t *testing.T) {
	const sample = `{"firm":null,"address":{"streetAddress":"3120 M ST NW","streetAddressAbbreviation":null,"secondaryAddress":null,"city":"WASHINGTON","cityAbbreviation":null,"state":"DC","postalCode":null,"ZIPCode":"20007","ZIPPlus4":"3704","urbanization":null},` +
		`"additionalInfo":{"deliveryPoint":"20","carrierRoute":"C036","DPVConfirmation":"Y","DPVCMRA":"N","business":"Y","centralDeliveryPoint":"N","vacant":"N"},"corrections":[{"code":"","text":""}],"matches":[{"code":"31","text":"Single Response - exact match"}]}`
	given := ship.Address{Address1: "3120 M Street NW", City: "Washington", State: "DC", Zip: "20007", Country: "US"}
	answer := func(info, corrections string) string {
		return `{"address":{"streetAddress":"3120 M ST NW"},"additionalInfo":` + info + `,"corrections":` + corrections + `}`
	}
	for _, tc := range []struct {
		name, body string
		want       ship.AddressVerdict
		kind       ship.Kind
		message    string
	}{
		{"the sample", sample, ship.AddressValid, "", ""},
		{"the unit is missing", answer(`{"DPVConfirmation":"D"}`, `[]`), ship.AddressValid, "", unitMessage},
		{"the unit is missing by the corrections", answer(`{"DPVConfirmation":"Y"}`, `[{"code":"32"}]`), ship.AddressValid, "", unitMessage},
		{"the unit is not known", answer(`{"DPVConfirmation":"S"}`, `[]`), ship.AddressValid, "", unknownUnit},
		{"vacant", answer(`{"DPVConfirmation":"Y","vacant":"Y"}`, `[]`), ship.AddressValid, "", vacantMessage},
		{"several", answer(`{}`, `[{"code":"22"}]`), ship.AddressAmbiguous, "", severalMessage},
		{"no house", answer(`{"DPVConfirmation":"N"}`, `[]`), ship.AddressInvalid, "", "USPS knows the street, but not the house number."},
		{"nothing about the house", answer(`{}`, `null`), ship.AddressInvalid, "", "USPS knows the street, but not the house number."},
		{"a new confirmation", answer(`{"DPVConfirmation":"R"}`, `[]`), "", ship.Unavailable, ""},
		{"no address", `{"additionalInfo":{"DPVConfirmation":"Y"}}`, "", ship.Unavailable, ""},
	} {
		var found foundAddress
		if err := json.Unmarshal([]byte(tc.body), &found); err != nil {
			t.Fatal(tc.name, err)
		}
		check, err := found.check(given)
		if check.Verdict != tc.want || ship.KindOf(err) != tc.kind || (tc.message != "") != slices.Contains(check.Messages, tc.message) {
			t.Errorf("%s: %+v, %v", tc.name, check, err)
		}
		if tc.want == ship.AddressValid && check.Address != given {
			t.Errorf("%s: found %+v", tc.name, check.Address)
		}
	}
}

func TestOnlyUSPSsOwnWordsAreAVerdict(t *testing.T) {
	for _, tc := range []struct {
		name    string
		refused ship.Error
		want    ship.AddressVerdict
		kind    ship.Kind
	}{
		{"not found", ship.Error{Kind: ship.NotFound, Refusal: ship.Refusal{Code: "404", Message: "There is no match for the address requested."}}, ship.AddressInvalid, ""},
		{"several", ship.Error{Kind: ship.NotFound, Refusal: ship.Refusal{Code: "404", Message: "More than one address was found matching the requested address."}}, ship.AddressAmbiguous, ""},
		{"not found by its older code", ship.Error{Kind: ship.Invalid, Refusal: ship.Refusal{Code: "010005", Message: "Address Not Found"}}, ship.AddressInvalid, ""},
		{"a page that is not there", ship.Error{Kind: ship.NotFound}, "", ship.NotFound},
		{"the gateway", ship.Error{Kind: ship.NotFound, Refusal: ship.Refusal{Code: "messaging.adaptors.http.flow.ApplicationNotFound", Message: "Unable to identify proxy"}}, "", ship.NotFound},
		{"another refusal", ship.Error{Kind: ship.Invalid, Message: "5 Any St", Refusal: ship.Refusal{Code: "160401"}}, "", ship.Invalid},
		{"no scope", ship.Error{Kind: ship.Forbidden}, "", ship.Forbidden},
	} {
		check, err := explainAddress(&tc.refused)
		if check.Verdict != tc.want || ship.KindOf(err) != tc.kind {
			t.Errorf("%s: %+v, %v", tc.name, check, err)
		}
		if err != nil && err.Error() == "5 Any St" {
			t.Errorf("%s: the message repeats the carrier's words", tc.name)
		}
	}
}
