package fedex_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestChecksOfAddressesAreWrittenAsTheGoldenFiles(t *testing.T) {
	for name, given := range map[string]ship.Address{
		"address-unit":   {Name: "Ada", Address1: "350 5th Ave", Address2: "Floor 21", City: "New York", State: "NY", Zip: "10118-0110", Country: "US"},
		"address-island": {Name: "Ana", Address1: "100 Calle Sol", City: "San Juan", Zip: "00901", Country: "PR"},
		"address-berlin": {Name: "Jan", Address1: "Adam-von-Trott-Straße 1", City: "Berlin", State: "BE", Zip: "13627", Country: "DE"},
	} {
		via := &overheard{via: carriertest.Server(t, newServer(t))}
		if _, err := open(t, credentials(), via).CheckAddress(t.Context(), given); err != nil {
			t.Fatal(name, err)
		}
		var got bytes.Buffer
		if err := json.Indent(&got, via.bodies[0], "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')

		file := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s differs from its golden file (%v):\n%s", name, err, got.Bytes())
		}
	}
}

func TestAnswersAboutAddressesAreRead(t *testing.T) {
	given := ship.Address{Name: "Ada", Address1: "7372 Parkridge Boulevard", City: "Irving", State: "TX", Zip: "75063", Country: "US"}
	resolved := func(attributes, more string) string {
		return `{"transactionId":"1","output":{"resolvedAddresses":[{"streetLinesToken":["7372 PARKRIDGE BLVD"],"city":"IRVING","stateOrProvinceCode":"TX",` +
			`"parsedPostalCode":{"base":"75063","addOn":"8659"},"attributes":` + attributes + more + `}]}}`
	}
	for _, tc := range []struct {
		name    string
		status  int
		body    string
		want    ship.AddressVerdict
		kind    ship.Kind
		message string
	}{
		{"booleans", 200, resolved(`{"Resolved":true,"DPV":true}`, ""), ship.AddressValid, "", ""},
		{"booleans as text", 200, resolved(`{"Resolved":"true","DPV":"true","MultipleMatches":"false"}`, ""), ship.AddressValid, "", ""},
		{"by a map", 200, resolved(`{"Resolved":true,"DPV":false,"MatchSource":"Map"}`, ""), ship.AddressValid, "", ""},
		{"no suite", 200, resolved(`{"Resolved":true,"DPV":true,"SuiteRequiredButMissing":"true"}`, ""), ship.AddressValid, "", "FedEx knows the building, and needs an apartment or suite number."},
		{"a message as text", 200, resolved(`{"Resolved":true}`, `,"customerMessage":["INVALID.SUITE.NUMBER"]`), ship.AddressValid, "", "FedEx does not know the apartment or suite number."},
		{"a message as an object", 200, resolved(`{"Resolved":true}`, `,"customerMessage":[{"code":"INVALID.SUITE.NUMBER"}]`), ship.AddressValid, "", "FedEx does not know the apartment or suite number."},
		{"a message of another shape", 200, resolved(`{"Resolved":true}`, `,"customerMessage":{"x":1}`), ship.AddressValid, "", ""},
		{"a box", 200, resolved(`{"Resolved":true,"POBox":true}`, ""), ship.AddressValid, "", "FedEx delivers to post office boxes only with Ground Economy."},
		{"no such house", 200, resolved(`{"Resolved":true,"DPV":"false","MatchSource":"Postal"}`, ""), ship.AddressInvalid, "", "FedEx knows the street, but not the house number."},
		{"not matched", 200, resolved(`{"Resolved":false,"CountrySupported":true,"AddressType":"NORMALIZED"}`, ""), ship.AddressInvalid, "", "FedEx does not know this address."},
		{"several", 200, resolved(`{"Resolved":false,"MultipleMatches":"true"}`, ""), ship.AddressAmbiguous, "", "FedEx knows several addresses like this one."},
		{"a country without streets", 200, resolved(`{"CountrySupported":"false"}`, ""), ship.AddressUnknown, "", "FedEx does not check addresses in this country."},
		{"as it was given", 200, resolved(`{"AddressType":"RAW"}`, ""), ship.AddressUnknown, "", "FedEx does not check addresses in this country."},
		{"no attributes", 200, resolved(`{}`, ""), "", ship.Unavailable, ""},
		{"nothing resolved", 200, `{"output":{"resolvedAddresses":[]}}`, "", ship.Unavailable, ""},
		{"a recorded answer", 200, strings.Replace(resolved(`{"Resolved":true}`, ""), `"output":{`, `"output":{"alerts":[{"code":"VIRTUAL.RESPONSE"}],`, 1), "", ship.Unsupported, ""},
		{"a request that was not recorded", 400, `{"errors":[{"code":"REQUEST.MISMATCH","message":"x"}]}`, "", ship.Unsupported, ""},
		{"not found", 400, `{"errors":[{"code":"STANDARDIZED.ADDRESS.NOTFOUND","message":"Standardized address is not found."}]}`, ship.AddressInvalid, "", "FedEx does not know this address."},
		{"not found by the path", 404, `{"errors":[{"code":"NOT.FOUND.ERROR","message":"no longer available"}]}`, "", ship.Unavailable, ""},
		{"no permission", 403, `{"errors":[{"code":"FORBIDDEN.ERROR","message":"We could not authorize your credentials."}]}`, "", ship.Forbidden, ""},
	} {
		via := carriertest.Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/oauth/token") {
				_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
				return
			}
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
		}))
		check, err := open(t, credentials(), via).CheckAddress(t.Context(), given)
		if check.Verdict != tc.want || ship.KindOf(err) != tc.kind || (tc.message != "") != slices.Contains(check.Messages, tc.message) {
			t.Errorf("%s: %+v, %v", tc.name, check, err)
		}
		if tc.want == ship.AddressValid && check.Address != given {
			t.Errorf("%s: found %+v", tc.name, check.Address)
		}
		if tc.kind == ship.Forbidden && !strings.Contains(err.Error(), "Address Validation") {
			t.Errorf("%v does not name the API", err)
		}
	}
}
