package dhlexpress

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestChecksOfAddressesAreWrittenAsTheGoldenFiles(t *testing.T) {
	for name, given := range map[string]ship.Address{
		"address-bonn":  {Address1: "Am Hof 1", City: "Bonn", Zip: "53113", Country: "DE"},
		"address-isles": {Address1: "Calle Triana 1", City: "Las Palmas", State: "GC", Zip: "35002", Country: "ES"},
		"address-dubai": {Address1: "Sheikh Zayed Road", City: "Dubai", Country: "AE"},
	} {
		goldenQuery(t, name, addressQuery(given))
	}

	_, err := driver{}.CheckAddress(t.Context(), ship.Address{City: strings.Repeat("x", 46), Country: "DE"})
	if ship.KindOf(err) != ship.Invalid {
		t.Errorf("a long city: %v, want invalid", err)
	}
}

// goldenQuery compares the parameters of a request with a golden file.
func goldenQuery(t *testing.T, name string, query url.Values) {
	t.Helper()
	got := query.Encode() + "\n"
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

func TestAnswersAboutPlacesAreRead(t *testing.T) {
	given := ship.Address{Address1: "Marienplatz 1", City: "München", Zip: "80331", Country: "DE"}
	for _, tc := range []struct {
		name, body string
		want       ship.AddressVerdict
		kind       ship.Kind
		candidates int
	}{
		{"served", `{"address":[{"countryCode":"DE","postalCode":"80331","cityName":"MUNICH","serviceArea":{"code":"MUC"}}]}`, ship.AddressValid, "", 0},
		{"served, with a number for the postal code", `{"address":[{"countryCode":"DE","postalCode":80331,"cityName":"MUNICH"}]}`, ship.AddressValid, "", 0},
		{"one of several", `{"address":[{"countryCode":"DE","postalCode":"80333"},{"countryCode":"DE","postalCode":"80331"}]}`, ship.AddressValid, "", 0},
		{"elsewhere", `{"address":[{"countryCode":"DE","postalCode":"80333","cityName":"MUNICH"},{"countryCode":"DE","postalCode":"80333","cityName":"MUNICH"}]}`, ship.AddressAmbiguous, "", 1},
		{"no place", `{"address":[]}`, ship.AddressInvalid, "", 0},
		{"no list", `{"warnings":[]}`, "", ship.Unavailable, 0},
	} {
		var answer addressAnswer
		if err := json.Unmarshal([]byte(tc.body), &answer); err != nil {
			t.Fatal(tc.name, err)
		}
		check, err := answer.check(given)
		if check.Verdict != tc.want || ship.KindOf(err) != tc.kind || len(check.Candidates) != tc.candidates {
			t.Errorf("%s: %+v, %v", tc.name, check, err)
		}
		if tc.want == ship.AddressValid && (check.Address != given || check.Messages[0] != servedMessage || check.Residential != nil) {
			t.Errorf("%s: %+v: want the address as it was given, and what was checked", tc.name, check)
		}
	}
}

func TestOnlyDHLsOwnWordsAreAVerdict(t *testing.T) {
	for _, tc := range []struct {
		name    string
		refused ship.Error
		want    ship.AddressVerdict
		kind    ship.Kind
	}{
		{"not served", ship.Error{Kind: ship.Invalid, Refusal: ship.Refusal{Message: "No data found for the location"}}, ship.AddressInvalid, ""},
		{"not found", ship.Error{Kind: ship.NotFound, Refusal: ship.Refusal{Message: "No data found"}}, ship.AddressInvalid, ""},
		{"a page that is not there", ship.Error{Kind: ship.NotFound}, "", ship.NotFound},
		{"a parameter", ship.Error{Kind: ship.Invalid, Refusal: ship.Refusal{Message: "Parameters not having correct format: cityName (maxLength=45)"}}, "", ship.Invalid},
		{"a code", ship.Error{Kind: ship.Invalid, Refusal: ship.Refusal{Code: "7008", Message: "not available"}}, "", ship.Invalid},
		{"the account", ship.Error{Kind: ship.Invalid, Refusal: ship.Refusal{Code: "8003", Message: "not allowed"}}, "", ship.Forbidden},
		{"the login", ship.Error{Kind: ship.Forbidden, Refusal: ship.Refusal{Message: "Invalid Credentials"}}, "", ship.Forbidden},
		{"down", ship.Error{Kind: ship.Unavailable, Refusal: ship.Refusal{Message: "down"}}, "", ship.Unavailable},
	} {
		check, err := explainAddress(&tc.refused)
		if check.Verdict != tc.want || ship.KindOf(err) != tc.kind {
			t.Errorf("%s: %+v, %v", tc.name, check, err)
		}
	}
}
