package fedex

import (
	"net/http"
	"slices"

	"github.com/waybillhq/waybill/internal/emulator"
)

// streetCountries are the countries whose streets the emulator knows.
var streetCountries = []string{"US", "PR", "CA", "GB", "DE", "IT"}

// resolve checks addresses, all of them or none.
func (f *fedex) resolve(w http.ResponseWriter, r *http.Request) {
	var in struct {
		AddressesToValidate []struct {
			Address *struct {
				StreetLines         []string `json:"streetLines"`
				City                string   `json:"city"`
				StateOrProvinceCode string   `json:"stateOrProvinceCode"`
				PostalCode          string   `json:"postalCode"`
				CountryCode         string   `json:"countryCode"`
			} `json:"address"`
		} `json:"addressesToValidate"`
	}
	if !read(w, r, &in) {
		return
	}
	if n := len(in.AddressesToValidate); n == 0 || n > 100 {
		refuse(w, r, http.StatusBadRequest, "INVALID.INPUT.EXCEPTION", "Invalid field value in the input.")
		return
	}

	resolved := []object{}
	for _, one := range in.AddressesToValidate {
		given := one.Address
		if given == nil || len(given.StreetLines) == 0 || given.City == "" && given.PostalCode == "" {
			refuse(w, r, http.StatusBadRequest, "INVALID.INPUT.EXCEPTION", "Invalid field value in the input.")
			return
		}
		zip, plus4 := splitZip(given.CountryCode, given.PostalCode)
		address := emulator.Address{
			Lines:   given.StreetLines,
			City:    given.City,
			State:   given.StateOrProvinceCode,
			Zip:     zip,
			Plus4:   plus4,
			Country: given.CountryCode,
		}
		if !slices.Contains(streetCountries, given.CountryCode) {
			resolved = append(resolved, unsupported(address))
			continue
		}

		found := emulator.FindAddress(address)
		if len(found) == 0 {
			refuse(w, r, http.StatusBadRequest, "STANDARDIZED.ADDRESS.NOTFOUND", "Standardized address is not found.")
			return
		}
		for _, place := range found {
			resolved = append(resolved, standardized(place, len(found) > 1))
		}
	}

	body := envelope(r)
	body["output"] = object{"resolvedAddresses": resolved}
	f.AnswerAddress(w, r, http.StatusOK, "application/json", marshal(body))
}

// splitZip returns the two parts of a postal code in the United States.
func splitZip(country, zip string) (base, plus4 string) {
	if (country == "US" || country == "PR") && len(zip) == len("10118-0110") {
		return zip[:5], zip[6:]
	}
	return zip, ""
}

// standardized returns an address that exists.
func standardized(found emulator.Address, isOneOfSeveral bool) object {
	classification := "BUSINESS"
	if found.IsHome {
		classification = "RESIDENTIAL"
	}
	messages := []object{}
	if found.HasMissingUnit {
		messages = append(messages, object{"code": "SUITE.NUMBER.REQUIRED", "message": "Invalid or missing Apartment/Suite"})
	}
	postal := object{"base": found.Zip}
	if found.Plus4 != "" {
		postal["addOn"] = found.Plus4
		postal["deliveryPoint"] = "50"
	}

	return object{
		"streetLinesToken":        found.Lines,
		"city":                    found.City,
		"stateOrProvinceCode":     found.State,
		"countryCode":             found.Country,
		"customerMessage":         messages,
		"cityToken":               []object{{"changed": false, "value": found.City}},
		"postalCodeToken":         object{"changed": false, "value": found.Zip},
		"parsedPostalCode":        postal,
		"classification":          classification,
		"postOfficeBox":           false,
		"normalizedStatusNameDPV": true,
		"attributes": object{
			"POBox":                   false,
			"SuiteRequiredButMissing": found.HasMissingUnit,
			"InvalidSuiteNumber":      false,
			"DPV":                     true,
			"MatchSource":             "Postal",
			"CountrySupported":        true,
			"ValidlyFormed":           true,
			"Matched":                 true,
			"Resolved":                !isOneOfSeveral,
			"MultipleMatches":         isOneOfSeveral,
			"AddressType":             "STANDARDIZED",
			"AddressPrecision":        "STREET_ADDRESS",
		},
	}
}

// unsupported returns an address in a country whose streets are not known.
func unsupported(given emulator.Address) object {
	return object{
		"streetLinesToken":    given.Lines,
		"city":                given.City,
		"stateOrProvinceCode": given.State,
		"countryCode":         given.Country,
		"customerMessage":     []object{},
		"parsedPostalCode":    object{"base": given.Zip},
		"classification":      "UNKNOWN",
		"attributes": object{
			"CountrySupported": false,
			"Resolved":         false,
			"Matched":          false,
			"AddressType":      "RAW",
		},
	}
}
