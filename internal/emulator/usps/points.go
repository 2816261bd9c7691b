package usps

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const locationAPI = "/locations/v3"

// offices are the post offices near any place, the nearest first.
var offices = []struct {
	name, street string
	miles        float64
	kind         string
}{
	{"MAIN POST OFFICE", "100 MAIN ST", 0.4, "POST_OFFICE"},
	{"STATION B", "2200 OAK AVE", 1.7, "POST_OFFICE"},
	{"CORNER STORE CPU", "17 ELM ST", 3.2, "CONTRACT_POSTAL_UNIT"},
}

// checkPlace returns what is wrong with the place of a search: it is one of a ZIP
// code, a city with its state, and coordinates.
func checkPlace(query url.Values) problem {
	const parameters = "streetAddress/secondaryAddress/city/state/ZIPCode/ZIPPlus4/LAT/LONG"
	ways := 0
	for _, names := range [][]string{{"ZIPCode"}, {"city", "state"}, {"LAT", "LONG"}} {
		isGiven := !slices.ContainsFunc(names, func(name string) bool { return query.Get(name) == "" })
		if isGiven {
			ways++
		}
	}
	switch zip := query.Get("ZIPCode"); {
	case ways == 0:
		return problem{"160171", parameters, "one of a complete domestic address, city & state, ZIPCode, or LAT & LONG is required"}
	case ways > 1:
		return problem{"160230", parameters, "only one of a complete domestic address, city & state, ZIPCode, or LAT & LONG is required"}
	case zip != "" && !zip5.MatchString(zip):
		return problem{"", "ZIPCode", "OASValidation: ZIPCode does not match the pattern"}
	case zip == "00000":
		return problem{"160033", "ZIPCode", "No geocode candidates found for requested address"}
	}
	return problem{}
}

// located returns the address of a location near the place.
func located(query url.Values, street string) map[string]any {
	zip := query.Get("ZIPCode")
	if zip == "" {
		zip = "63104"
	}
	state := query.Get("state")
	if state == "" {
		state = "MO"
	}
	city := query.Get("city")
	if city == "" {
		city = "SAINT LOUIS"
	}
	return map[string]any{
		"streetAddress": street,
		"city":          strings.ToUpper(city),
		"state":         state,
		"ZIPCode":       zip,
		"ZIPPlus4":      "9998",
	}
}

func limitOf(query url.Values, usual int) (int, problem) {
	given := query.Get("limit")
	if given == "" {
		return usual, problem{}
	}
	limit, err := strconv.Atoi(given)
	if err != nil || limit < 1 || limit > 100 {
		return 0, problem{"", "limit", "OASValidation: limit is between 1 and 100"}
	}
	return limit, problem{}
}

// postOffices answers with the post offices near a place.
func (s *service) postOffices(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, p := limitOf(query, 20)
	if p.detail == "" {
		p = checkPlace(query)
	}
	if p.detail != "" {
		refuse(w, locationAPI, p)
		return
	}

	list := []any{}
	for i, office := range offices[:min(limit, len(offices))] {
		services := []any{
			map[string]any{"service": "PO_BOX", "hours": weekdays("0600", "2000")},
			map[string]any{"service": "RETAIL", "hours": weekdays("0830", "1700")},
		}
		if office.kind == "POST_OFFICE" {
			services = append(services, map[string]any{
				"service":               "HOLD_FOR_PICKUP",
				"hours":                 weekdays("0900", "1700"),
				"additionalInformation": map[string]any{"mailClasses": []string{"USPS_GROUND_ADVANTAGE"}},
			})
		}
		list = append(list, map[string]any{
			"facilityName":    office.name,
			"facilityID":      strconv.Itoa(1368550 + i),
			"facilityAddress": located(query, office.street),
			"geoCoordinates":  map[string]any{"latitude": 38.6 + float64(i)/100, "longitude": -90.2},
			"postOfficeType":  office.kind,
			"distance":        office.miles,
			"phoneNumbers":    map[string]any{"phone": "18002758777"},
			"services":        services,
			"timeZone":        "CST",
			"DSTObserved":     true,
		})
	}
	reply(w, map[string]any{"locations": list})
}

func weekdays(open, until string) []any {
	var list []any
	for _, day := range []string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY"} {
		list = append(list, map[string]any{
			"dayOfWeek": day,
			"times":     []any{map[string]any{"openTime": open, "closeTime": until}},
		})
	}
	return list
}

// lockers answers with the parcel lockers of a ZIP code or a city. The last of
// them is out of order.
func (s *service) lockers(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, p := limitOf(query, 30)
	zip := query.Get("ZIPCode")
	switch {
	case p.detail != "":
	case zip == "" && (query.Get("city") == "" || query.Get("state") == ""):
		p = problem{"", "ZIPCode", "OASValidation: a ZIP code, or a city and a state, are required"}
	case zip != "" && !zip5.MatchString(zip):
		p = problem{"", "ZIPCode", "OASValidation: ZIPCode does not match the pattern"}
	}
	if p.detail != "" {
		refuse(w, locationAPI, p)
		return
	}

	list := []any{}
	for i := range min(limit, 2) {
		list = append(list, map[string]any{
			"facilityID":              strconv.Itoa(1468550 + i),
			"locationName":            fmt.Sprintf("LOCKER %d", i+1),
			"locationAddress":         located(query, fmt.Sprintf("%d LOBBY WAY", i+1)),
			"latitude":                38.61,
			"longitude":               -90.21,
			"lockerStatus":            "ACTIVE",
			"lockerOnline":            i == 0,
			"lockerSizeMaximumLength": 24.0,
			"lockerSizeMaximumWidth":  16.0,
			"lockerSizeMaximumHeight": 12.0,
			"serviceDirectShip":       true,
			"serviceRedelivery":       true,
			"servicePOBoxOverflow":    false,
			"servicePrepaidReturns":   true,
			"serviceLabelPrinting":    false,
		})
	}
	reply(w, list)
}
