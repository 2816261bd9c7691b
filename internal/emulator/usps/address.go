package usps

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

// states are those that USPS delivers to, with the armed forces, the territories
// and the freely associated states.
var states = strings.Fields("AA AE AL AK AP AS AZ AR CA CO CT DE DC FM FL GA GU HI ID IL IN IA KS KY LA ME MH MD MA MI MN MS MO MP MT NE NV " +
	"NH NJ NM NY NC ND OH OK OR PW PA PR RI SC SD TN TX UT VT VI VA WA WV WI WY")

var fiveDigits = regexp.MustCompile(`^\d{5}$`)

// address standardizes an address.
func (s *service) address(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	given := emulator.Address{
		Lines:   []string{query.Get("streetAddress"), query.Get("secondaryAddress")},
		City:    query.Get("city"),
		State:   query.Get("state"),
		Zip:     query.Get("ZIPCode"),
		Plus4:   query.Get("ZIPPlus4"),
		Country: "US",
	}

	const api = "/addresses/v3"
	switch {
	case given.Lines[0] == "":
		refuse(w, api, problem{"", "streetAddress", "OASValidation: streetAddress is required"})
		return
	case !slices.Contains(states, given.State):
		s.noAddress(w, r, "The state code in the request is missing or invalid.")
		return
	case given.City == "" && given.Zip == "":
		s.noAddress(w, r, "The city in the request is missing or invalid.")
		return
	case given.Zip != "" && !fiveDigits.MatchString(given.Zip):
		refuse(w, api, problem{"", "ZIPCode", "OASValidation: ZIPCode does not match the pattern"})
		return
	}

	found := emulator.FindAddress(given)
	switch len(found) {
	case 0:
		s.noAddress(w, r, "There is no match for the address requested.")
	case 1:
		s.AnswerAddress(w, r, http.StatusOK, "application/json", standardized(found[0]))
	default:
		s.noAddress(w, r, "More than one address was found matching the requested address.")
	}
}

// noAddress answers that there is no such address.
func (s *service) noAddress(w http.ResponseWriter, r *http.Request, message string) {
	body, _ := json.Marshal(map[string]any{ // only strings: it cannot fail
		"apiVersion": "v3",
		"error":      map[string]any{"code": "404", "message": message, "errors": []any{}},
	})
	s.AnswerAddress(w, r, http.StatusNotFound, "application/json", body)
}

// standardized returns the answer about an address that exists.
func standardized(found emulator.Address) []byte {
	yes := map[bool]string{true: "Y", false: "N"}
	address := map[string]any{
		"streetAddress": found.Lines[0],
		"city":          found.City,
		"state":         found.State,
		"ZIPCode":       found.Zip,
		"ZIPPlus4":      found.Plus4,
	}
	if len(found.Lines) > 1 {
		address["secondaryAddress"] = found.Lines[1]
	}

	confirmation := "Y"
	corrections := []map[string]string{}
	if found.HasMissingUnit {
		confirmation = "D"
		corrections = append(corrections, map[string]string{
			"code": "32",
			"text": "Default address: The address you entered was found but more information is needed (such as an apartment, suite, or box number).",
		})
	}

	body, _ := json.Marshal(map[string]any{ // only strings: it cannot fail
		"address": address,
		"additionalInfo": map[string]string{
			"deliveryPoint":        "20",
			"carrierRoute":         "C036",
			"DPVConfirmation":      confirmation,
			"DPVCMRA":              "N",
			"business":             yes[!found.IsHome],
			"centralDeliveryPoint": "N",
			"vacant":               "N",
		},
		"corrections": corrections,
		"matches":     []map[string]string{{"code": "31", "text": "Single Response - exact match"}},
		"warnings":    []string{},
	})
	return body
}
