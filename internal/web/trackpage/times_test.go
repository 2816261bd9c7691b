package trackpage

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

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

func TestDaysAreWrittenInTheLanguageAndOnThePlacesClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC)
	for _, tc := range []struct {
		lang, place string
		unknown     bool
		want, zone  string
	}{
		{"en", "Los Angeles, CA, US", false, "Saturday, February 28, 6:30 PM", ""},
		{"en-AU", "Tokyo, JP", false, "Sunday 1 March, 11:30", ""},
		{"fr", "Paris, FR", false, "dimanche 1er mars, 03:30", ""},
		{"de", "Somewhere", true, "Sonntag, 1. März, 02:30", ""},
		{"en", "Austin, TX, US", false, "Saturday, February 28, 8:30 PM", ""},
		{"pl", "Marfa, TX, US", false, "niedziela, 1 marca, 02:30 UTC", "2026-03-01T02:30:00Z"},
		{"es", "", false, "domingo, 1 de marzo, 02:30 UTC", "2026-03-01T02:30:00Z"},
	} {
		l, ok := localeFor(tc.lang)
		if !ok {
			t.Fatalf("no %s", tc.lang)
		}
		if got := l.when(ship.Scan{At: at, Location: tc.place, ZoneUnknown: tc.unknown}); got.Text != tc.want || got.Machine != tc.zone {
			t.Errorf("%s in %q: %v, want %q", tc.lang, tc.place, got, tc.want)
		}
	}
}

func TestAPlaceEndsAtTheCity(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"Austin, TX, US": "Austin, TX, US", "10969 Berlin, DE": "Berlin, DE", "Austin, TX 78701, US": "Austin, TX, US", "London, SW1A 1AA, GB": "London, GB",
		"12 Rue de Rivoli, Paris, FR": "Rue de Rivoli, Paris, FR", "": "", "São Paulo, BR": "São Paulo, BR",
	} {
		if got := cityOf(from); got != want {
			t.Errorf("cityOf(%q) = %q, want %q", from, got, want)
		}
	}
}
