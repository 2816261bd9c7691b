package carrierkit

import (
	"testing"
	"time"
)

// TestEveryZoneIsKnown checks the names in the tables against the time zone
// database: a misspelled one would silently disable its places.
func TestEveryZoneIsKnown(t *testing.T) {
	t.Parallel()
	for place, name := range zoneNames() {
		if _, err := time.LoadLocation(name); err != nil {
			t.Errorf("%s: %v", place, err)
		}
	}
	for place, name := range closestZoneNames() {
		if _, err := time.LoadLocation(name); err != nil {
			t.Errorf("%s: %v", place, err)
		}
		if certain, ok := zoneNames()[place]; ok {
			t.Errorf("%s is certainly in %s and stands in the other table as %s", place, certain, name)
		}
	}
}

func TestClosestZoneOfAPlace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		place Place
		want  string
	}{
		{Place{Country: "US", State: "NY"}, "America/New_York"},
		{Place{Country: "US", State: "TX", City: "El Paso"}, "America/Denver"},
		{Place{Country: "US", State: "TX", City: "Nowhere"}, "America/Chicago"},
		{Place{Country: "US", State: "AP"}, "Pacific/Majuro"},
		{Place{Country: "US"}, "America/New_York"},
		{Place{Country: "MX", State: "JAL"}, "America/Mexico_City"},
		{Place{Country: "ES", Zip: "38001"}, "Atlantic/Canary"},
		{Place{Country: "FM"}, "Pacific/Pohnpei"},
		{Place{Country: "AQ"}, "UTC"},
	} {
		if got := tc.place.ClosestZone().String(); got != tc.want {
			t.Errorf("ClosestZone of %+v = %q, want %q", tc.place, got, tc.want)
		}
	}
}

func TestZoneOfAPlace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		place Place
		want  string // "" means that it is not certain
	}{
		{Place{Country: "US", State: "NY"}, "America/New_York"},
		{Place{Country: "us", State: "al"}, "America/Chicago"},
		{Place{Country: "US", State: "TX"}, ""},
		{Place{Country: "US", State: "TX", City: "Dallas"}, "America/Chicago"},
		{Place{Country: "US", State: "TX", City: "EL PASO"}, "America/Denver"},
		{Place{Country: "US", State: "TN", City: "Memphis"}, "America/Chicago"},
		{Place{Country: "US", State: "KY", City: "Louisville"}, "America/Kentucky/Louisville"},
		{Place{Country: "US", State: "PR"}, "America/Puerto_Rico"},
		{Place{Country: "US", State: "VI"}, "America/St_Thomas"},
		{Place{Country: "VI"}, "America/St_Thomas"},
		{Place{Country: "VN"}, "Asia/Ho_Chi_Minh"},
		{Place{Country: "IE"}, "Europe/Dublin"},
		{Place{Country: "ES", Zip: "28001"}, "Europe/Madrid"},
		{Place{Country: "ES", Zip: "35001"}, "Atlantic/Canary"},
		{Place{Country: "IC"}, "Atlantic/Canary"},
		{Place{Country: "ES", City: "Madrid"}, "Europe/Madrid"},
		{Place{Country: "ES", City: "Las Palmas"}, "Atlantic/Canary"},
		{Place{Country: "ES", State: "TF", City: "Tenerife"}, "Atlantic/Canary"},
		{Place{Country: "CA", State: "ON", City: "Toronto"}, "America/Toronto"},
		{Place{Country: "BR"}, ""},
		{Place{}, ""},
	} {
		got := ""
		if zone, ok := tc.place.Zone(); ok {
			got = zone.String()
		}
		if got != tc.want {
			t.Errorf("Zone of %+v = %q, want %q", tc.place, got, tc.want)
		}
	}
}

func TestCustomsBorders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		from, to Place
		want     bool
	}{
		{Place{Country: "DE"}, Place{Country: "FR", Zip: "75001"}, false},
		{Place{Country: "FR", Zip: "75001"}, Place{Country: "MC"}, false},
		{Place{Country: "DE"}, Place{Country: "GB"}, true},
		{Place{Country: "DE"}, Place{Country: "CH"}, true},
		{Place{Country: "IE"}, Place{Country: "NL"}, false},
		{Place{Country: "DE"}, Place{Country: "ES", Zip: "38001"}, true},
		{Place{Country: "ES", Zip: "28001"}, Place{Country: "ES", Zip: "35001"}, true},
		{Place{Country: "ES", Zip: "35001"}, Place{Country: "ES", Zip: "38001"}, false},
		{Place{Country: "ES", Zip: "28001"}, Place{Country: "ES", Zip: "51001"}, true},
		{Place{Country: "FI", Zip: "00100"}, Place{Country: "FI", Zip: "22100"}, true},
		{Place{Country: "FR", Zip: "75001"}, Place{Country: "FR", Zip: "97400"}, true},
		{Place{Country: "FR", Zip: "75001"}, Place{Country: "RE", Zip: "97400"}, true},
		{Place{Country: "DE", Zip: "10115"}, Place{Country: "DE", Zip: "78266"}, true},
		{Place{Country: "US", State: "CA"}, Place{Country: "US", State: "NY"}, false},
		{Place{Country: "US", State: "CA"}, Place{Country: "US", State: "PR"}, false},
		{Place{Country: "US", State: "CA"}, Place{Country: "PR"}, false},
		{Place{Country: "US", State: "CA"}, Place{Country: "US", State: "VI"}, true},
		{Place{Country: "US", State: "CA"}, Place{Country: "VI"}, true},
		{Place{Country: "US", State: "CA"}, Place{Country: "CA", State: "ON"}, true},
		{Place{Country: "JP"}, Place{Country: "JP"}, false},
	} {
		if got := CrossesCustoms(tc.from, tc.to); got != tc.want {
			t.Errorf("CrossesCustoms(%+v, %+v) = %v, want %v", tc.from, tc.to, got, tc.want)
		}
		if got := CrossesCustoms(tc.to, tc.from); got != tc.want {
			t.Errorf("CrossesCustoms(%+v, %+v) = %v, want %v", tc.to, tc.from, got, tc.want)
		}
	}
}
