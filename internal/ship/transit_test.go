package ship_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestAreaIsTheCountryAndTheFirstOfThePostalCode(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]ship.Address{
		"US-941": {Country: "US", Zip: "94105-1234"},
		"CA-K1A": {Country: "CA", Zip: "k1a 0b1"},
		"GB-E1":  {Country: "GB", Zip: " E1 "},
		"HK":     {Country: "HK"},
		"XX-ÄÖÜ": {Country: "XX", Zip: "äöüx"},
	} {
		if got := a.Area(); got != want {
			t.Errorf("%q is in %s, want %s", a.Zip, got, want)
		}
	}
}

func TestTransitDaysTellTheMedianAndThe90thPercentile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		took        []int
		median, p90 int
		ok          bool
	}{
		{name: "none"},
		{name: "too few", took: []int{2, 2, 2, 2}},
		{name: "all alike", took: []int{3, 3, 3, 3, 3}, median: 3, p90: 3, ok: true},
		{name: "one to ten", took: []int{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, median: 5, p90: 9, ok: true},
		{name: "a straggler", took: []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 25}, median: 1, p90: 1, ok: true},
		{name: "two stragglers", took: []int{1, 1, 1, 1, 1, 1, 1, 1, 25, 25}, median: 1, p90: 25, ok: true},
		{name: "beyond the scale", took: []int{-1, 90, 90, 90, 90}, median: 30, p90: 30, ok: true},
		{name: "the same day", took: []int{0, 0, 0, 0, 1}, median: 0, p90: 1, ok: true},
	} {
		var days ship.TransitDays
		for _, d := range tc.took {
			days.Add(d)
		}
		median, ok := days.Within(0.5)
		p90, _ := days.Within(0.9)
		if median != tc.median || p90 != tc.p90 || ok != tc.ok {
			t.Errorf("%s: %d and %d, %t; want %d and %d, %t", tc.name, median, p90, ok, tc.median, tc.p90, tc.ok)
		}
	}
}
