package dhlexpress

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ServicePointKey is the key that searches for service points need beside the
// login.
const ServicePointKey = "emulated-dhl-points-key"

// pointless are countries without service points.
var pointless = []string{"AQ", "BV", "HM"}

// servicePoints answers GET /servicepoints: three points near every place but
// those with the word NOWHERE. Like DHL, it reports errors with the status 200.
func (s standIn) servicePoints(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("key") != ServicePointKey {
		s.Fail(w, http.StatusUnauthorized)
		return
	}

	country := query.Get("countryCode")
	address := query.Get("address")
	fail := func(code int, message string) {
		reply(w, http.StatusOK, map[string]any{"status": map[string]any{"statusCode": code, "statusMessage": "Error: " + message}})
	}
	switch limit, err := strconv.Atoi(query.Get("servicePointResults")); {
	case country == "":
		fail(101, "Mandatory parameter is missing or empty: countryCode or longitude and latitude")
	case query.Has("servicePointResults") && (err != nil || limit < 1):
		fail(100, "Invalid parameter: servicePointResults, specified value is not an integer.")
	case slices.Contains(pointless, country):
		fail(600, "No Service Points available for this country")
	case address == "" || strings.Contains(strings.ToUpper(address), "NOWHERE"):
		fail(201, "No Service Points found.")
	default:
		points := pointsNear(country, address)
		if err == nil {
			points = points[:min(limit, len(points))]
		}
		reply(w, http.StatusOK, map[string]any{
			"status":        map[string]any{"statusCode": 1, "statusMessage": "OK"},
			"searchAddress": address,
			"servicePoints": points,
		})
	}
}

// pointsNear returns a shop, a locker and DHL's own station, the nearest first.
func pointsNear(country, address string) []any {
	city := strings.TrimSpace(strings.TrimLeft(address, "0123456789 -"))
	zip := strings.TrimSpace(strings.TrimSuffix(address, city))
	area := areaOf(country, city)

	var points []any
	for i, kind := range []struct {
		name, kind, distance string
		hours                bool
	}{
		{"Corner Shop", "PARTNER", "0.42 km", true},
		{"Locker", "TWENTYFOURSEVEN", "1.65 km", false},
		{"Station", "STATION", "3.10 km", true},
	} {
		opens := []any{}
		if kind.hours {
			for _, day := range []string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY"} {
				opens = append(opens, map[string]any{"dayOfWeek": day, "openingTime": "09:00", "closingTime": "18:30"})
			}
		}
		points = append(points, map[string]any{
			"facilityId":       area.Code + padded(i+1, 3),
			"serviceAreaCode":  area.Code,
			"servicePointName": "DHL Service Point",
			"localName":        kind.name + " " + strings.ToUpper(city),
			"servicePointType": kind.kind,
			"address": map[string]any{
				"addressLine1": "Main Street " + strconv.Itoa(i+1),
				"city":         strings.ToUpper(city),
				"zipCode":      zip,
				"country":      country,
			},
			"geoLocation":  map[string]any{"latitude": 50.7 + float64(i)/100, "longitude": 7.1},
			"distance":     kind.distance,
			"openingHours": map[string]any{"openingHours": opens},
			"servicePointCapabilities": map[string]any{
				"shipmentDropOff":     true,
				"shipmentCollection":  true,
				"prePrintReturnLabel": kind.hours,
			},
			"svpStatus": "A",
		})
	}
	return points
}
