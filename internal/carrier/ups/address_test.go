package ups

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestChecksOfAddressesAreWrittenAsTheGoldenFiles(t *testing.T) {
	for name, given := range map[string]ship.Address{
		"address-unit":   {Address1: "350 5th Ave", Address2: "Floor 21", City: "New York", State: "NY", Zip: "10118-0110", Country: "US"},
		"address-island": {Address1: "100 Calle Sol", City: "San Juan", Zip: "00901", Country: "PR"},
	} {
		body, err := newAddressRequest(given)
		if err != nil {
			t.Fatal(name, err)
		}
		golden(t, name, body)
	}

	_, err := newAddressRequest(ship.Address{Address1: "1 Main St", City: strings.Repeat("x", 31), State: "NY", Country: "US"})
	if ship.KindOf(err) != ship.Invalid {
		t.Errorf("a long city: %v, want invalid", err)
	}
}

// UPS's own samples: single members come without an array, flags are empty text.
func TestAnswersAboutAddressesAreRead(t *testing.T) {
	given := ship.Address{Address1: "12380 Morris Road", City: "Alpharetta", State: "GA", Zip: "30005", Country: "US"}
	for _, tc := range []struct {
		name, body string
		want       ship.AddressVerdict
		kind       ship.Kind
		home       string
	}{
		{
			"the sample, with single members", `{"XAVResponse":{"Response":{"ResponseStatus":{"Code":"1","Description":"Success"}},"ValidAddressIndicator":"","Candidate":{"AddressKeyFormat":{"AddressLine":"12380 MORRIS RD","PoliticalDivision2":"ALPHARETTA","PoliticalDivision1":"GA","PostcodePrimaryLow":"30005","PostcodeExtendedLow":"4616","Region":"ALPHARETTA GA 30005-4616","CountryCode":"US"}}}}`,
			ship.AddressValid, "", "",
		},
		{
			"classified as a whole", `{"XAVResponse":{"ValidAddressIndicator":"","AddressClassification":{"Code":"2","Description":"Residential"},"Candidate":[{"AddressClassification":{"Code":"0"},"AddressKeyFormat":{"AddressLine":["12380 MORRIS RD"],"CountryCode":"US"}}]}}`,
			ship.AddressValid, "", "home",
		},
		{
			"classified by candidate", `{"XAVResponse":{"ValidAddressIndicator":"","AddressClassification":{"Code":"0"},"Candidate":[{"AddressClassification":{"Code":"1"},"AddressKeyFormat":{"AddressLine":["12380 MORRIS RD"],"CountryCode":"US"}}]}}`,
			ship.AddressValid, "", "business",
		},
		{
			"several", `{"XAVResponse":{"AmbiguousAddressIndicator":"","Candidate":[{"AddressKeyFormat":{"AddressLine":"1-3 E MORRIS RD","CountryCode":"US"}},{"AddressKeyFormat":{"AddressLine":"1-3 W MORRIS RD","CountryCode":"US"}}]}}`,
			ship.AddressAmbiguous, "", "",
		},
		{"none", `{"XAVResponse":{"NoCandidatesIndicator":""}}`, ship.AddressInvalid, "", ""},
		{"valid without a candidate", `{"XAVResponse":{"ValidAddressIndicator":""}}`, "", ship.Unavailable, ""},
		{"an indicator that is null", `{"XAVResponse":{"NoCandidatesIndicator":null}}`, "", ship.Unavailable, ""},
		{"no indicator", `{"XAVResponse":{"Candidate":[]}}`, "", ship.Unavailable, ""},
	} {
		var answer addressAnswer
		if err := json.Unmarshal([]byte(tc.body), &answer); err != nil {
			t.Fatal(tc.name, err)
		}
		check, err := answer.check(given)
		home := ""
		if check.Residential != nil {
			home = map[bool]string{true: "home", false: "business"}[*check.Residential]
		}
		if check.Verdict != tc.want || ship.KindOf(err) != tc.kind || home != tc.home {
			t.Errorf("%s: %+v, %v", tc.name, check, err)
		}
		if tc.want == ship.AddressValid && check.Address != given {
			t.Errorf("%s: found %+v", tc.name, check.Address)
		}
	}
}
