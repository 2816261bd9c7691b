package web

import "testing"

func TestAScanIsShownOnTheClockOfItsPlace(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]string{
		"Richmond, VA, US":  "America/New_York",
		"Austin, TX, US":    "America/Chicago",
		"El Paso, TX, US":   "America/Denver",
		"Nowhere, TX, US":   "",
		"VA, US":            "America/New_York",
		"San Juan, PR, US":  "America/Puerto_Rico",
		"ST. THOMAS, VI":    "America/St_Thomas",
		"HO CHI MINH, VN":   "Asia/Ho_Chi_Minh",
		"Dublin, IE":        "Europe/Dublin",
		"Madrid, ES":        "Europe/Madrid",
		"Las Palmas, ES":    "Atlantic/Canary",
		"TENERIFE, IC":      "Atlantic/Canary",
		"JP":                "Asia/Tokyo",
		"Sao Paulo, SP, BR": "",
		"":                  "",
	} {
		got := ""
		if zone := zoneOf(place); zone != nil {
			got = zone.String()
		}
		if got != want {
			t.Errorf("%q is in %q, want %q", place, got, want)
		}
	}
}
