package dhlexpress

import (
	"net/http"
	"strings"
)

// validateAddress responds whether DHL serves a place: every one but those with
// the word NOWHERE in the name of the city. A city with the word TWIN is served
// under two other postal codes.
func (s standIn) validateAddress(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if kind := query.Get("type"); kind != "pickup" && kind != "delivery" {
		refuse(w, r, http.StatusBadRequest, "Missing mandatory parameters: type")
		return
	}
	country := query.Get("countryCode")
	if len(country) != 2 {
		refuse(w, r, http.StatusBadRequest, "Missing mandatory parameters: countryCode")
		return
	}
	city := strings.ToUpper(query.Get("cityName"))
	if len([]rune(city)) > 45 {
		refuse(w, r, http.StatusBadRequest, "Parameters not having correct format: cityName (maxLength=45)")
		return
	}

	zips := []string{query.Get("postalCode")}
	switch {
	case strings.Contains(city, "NOWHERE"):
		problem := problemOf("/expressapi/address-validate", http.StatusBadRequest, "No data found for the location")
		s.AnswerAddress(w, r, http.StatusBadRequest, "application/json", encode(problem))
		return
	case strings.Contains(city, "TWIN"):
		zips = []string{"90001", "90002"}
	}

	area := areaOf(country, query.Get("cityName"))
	var places []any
	for _, zip := range zips {
		places = append(places, map[string]any{
			"countryCode": country,
			"postalCode":  zip,
			"cityName":    city,
			"serviceArea": map[string]string{"code": area.Code, "description": area.Description, "GMTOffset": "+00:00"},
		})
	}
	s.AnswerAddress(w, r, http.StatusOK, "application/json", encode(map[string]any{"address": places}))
}
