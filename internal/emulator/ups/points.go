package ups

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// findPoints finds Access Points around a place: three, in any place but the
// postal codes that begin with 000.
func (s *server) findPoints(w http.ResponseWriter, r *http.Request) {
	var in struct {
		LocatorRequest *struct {
			Request                struct{ RequestAction string }
			OriginAddress          struct{ AddressKeyFormat addressKey }
			UnitOfMeasurement      code
			LocationSearchCriteria struct {
				MaximumListSize   string
				AccessPointSearch struct{ PublicAccessPointID string }
			}
		}
	}
	if !decode(w, r, &in) {
		return
	}
	asked := in.LocatorRequest
	switch {
	case r.PathValue("option") != "64":
		refuse(w, refusal{"350001", "Invalid request option"}) // the emulator has no others
		return
	case asked == nil || asked.Request.RequestAction != "Locator":
		refuse(w, refusal{"350002", "Missing or invalid RequestAction"})
		return
	}
	where := asked.OriginAddress.AddressKeyFormat
	wanted := asked.LocationSearchCriteria.AccessPointSearch.PublicAccessPointID
	if wanted != "" {
		where = addressKey{CountryCode: where.CountryCode, PoliticalDivision1: "NY", PostcodePrimaryLow: "10001"} // the place of a search by id is ignored
	}
	most, err := strconv.Atoi(asked.LocationSearchCriteria.MaximumListSize)
	switch {
	case len(where.CountryCode) != 2 || where.PostcodePrimaryLow == "" && where.PoliticalDivision2 == "":
		refuse(w, refusal{"350003", "Missing or invalid origin address"})
		return
	case err != nil || most < 1 || most > 50:
		refuse(w, refusal{"350004", "Missing or invalid MaximumListSize"})
		return
	}

	results := map[string]any{}
	if len(where.PostcodePrimaryLow) < 3 || where.PostcodePrimaryLow[:3] != "000" {
		points := pointsNear(where, asked.UnitOfMeasurement.Code)
		if wanted != "" {
			points = slices.DeleteFunc(points, func(point any) bool {
				return point.(map[string]any)["AccessPointInformation"].(map[string]any)["PublicAccessPointID"] != wanted
			})
		}
		results["DropLocation"] = points[:min(most, len(points))]
	}
	answer(w, http.StatusOK, encode(map[string]any{"LocatorResponse": map[string]any{
		"Response":                 map[string]any{"ResponseStatusCode": "1", "ResponseStatusDescription": "Success"},
		"SearchResults":            results,
		"AllowAllConfidenceLevels": "False",
	}}))
}

// pointsNear returns three Access Points, the nearest first: a shop, a locker and
// a petrol station.
func pointsNear(where addressKey, unit string) []any {
	city := where.PoliticalDivision2
	if city == "" {
		city = "EMULATED"
	}
	zip := where.PostcodePrimaryLow
	if zip == "" {
		zip = "00000"
	}
	state := where.PoliticalDivision1
	if state == "" {
		state = "-"
	}

	var list []any
	for i, one := range []struct{ name, kind, opens, closes string }{
		{"CORNER SHOP", "Convenience Store", "900", "1830"},
		{"UPS ACCESS POINT LOCKER", "Locker", "0", "0"},
		{"PETROL STATION", "Gas Station", "600", "2200"},
	} {
		var days []any
		for day := 2; day <= 7; day++ {
			days = append(days, map[string]string{"Day": strconv.Itoa(day), "OpenHours": pad(one.opens, 4), "CloseHours": pad(one.closes, 4)})
		}
		days = append(days, map[string]string{"Day": "1", "ClosedIndicator": ""})
		number := fmt.Sprintf("U%08d", 11111110+i)
		list = append(list, map[string]any{
			"LocationID":          strconv.Itoa(70000 + i),
			"OriginOrDestination": "01",
			"IVR":                 map[string]string{"PhraseID": number},
			"Geocode":             map[string]string{"Latitude": fmt.Sprintf("40.%04d", 7128+i), "Longitude": fmt.Sprintf("-74.%04d", 60+i)},
			"AddressKeyFormat": map[string]string{
				"ConsigneeName":      one.name,
				"AddressLine":        strconv.Itoa(10+i) + " MAIN ST",
				"PoliticalDivision2": city,
				"PoliticalDivision1": state,
				"PostcodePrimaryLow": zip,
				"CountryCode":        where.CountryCode,
			},
			"PhoneNumber": []string{"5185550100"},
			"LocationAttribute": []any{map[string]any{
				"OptionType": code{"01", "Location"},
				"OptionCode": []code{{"018", "UPS Access Point"}},
			}},
			"Distance":       map[string]any{"Value": fmt.Sprintf("%d.%d", i, 4), "UnitOfMeasurement": code{unit, "Kilometers"}},
			"Timezone":       "America/New_York",
			"OperatingHours": map[string]any{"StandardHours": []any{map[string]any{"HoursType": "10", "DayOfWeek": days}}},
			"ServiceOfferingList": map[string]any{"ServiceOffering": []code{
				{"005", "Pickup"}, {"009", "Accept prepaid drop offs"},
			}},
			"AccessPointInformation": map[string]any{
				"PublicAccessPointID": number,
				"AccessPointStatus":   code{"01", "ACTIVE-AVAILABLE"},
				"BusinessClassificationList": map[string]any{
					"BusinessClassification": []code{{strconv.Itoa(i + 1), one.kind}},
				},
			},
		})
	}
	return list
}
