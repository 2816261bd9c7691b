package ship

import (
	"slices"
	"testing"
)

// TestAStateAndItsPostalCodeBelongTogether refuses what is certainly wrong, with
// the state of the postal code, and nothing else.
func TestAStateAndItsPostalCodeBelongTogether(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ country, state, zip, want string }{
		{"US", "NY", "10118", ""},
		{"US", "CA", "10118", "NY"},
		{"US", "TX", "78701-1234", ""},
		{"US", "NJ", "10001", "NY"},
		{"US", "TX", "73301", ""},
		{"US", "OK", "73301", "TX"},
		{"US", "PR", "00901", ""},
		{"US", "VI", "00801", ""},
		{"US", "VI", "00901", "PR"},
		{"US", "AE", "09012", ""},
		{"US", "AP", "96201", ""},
		{"US", "GU", "96910", ""},
		{"US", "MP", "96950", ""},
		{"US", "AS", "96799", ""},
		{"US", "NY", "06390", ""},
		{"US", "OR", "99362", ""},
		{"US", "NV", "00001", ""}, // not assigned: nothing is certain
		{"CA", "ON", "K1A 0B1", ""},
		{"CA", "QC", "K1A 0B1", ""},
		{"CA", "BC", "M5V 2T6", "ON"},
		{"CA", "NU", "X0A 0H0", ""},
		{"AU", "NSW", "2000", ""},
		{"AU", "VIC", "2000", "NSW"},
		{"AU", "ACT", "2601", ""},
		{"AU", "WA", "0872", ""},
		{"AU", "NT", "0800", ""},
		{"DE", "BY", "10115", ""},
	} {
		a := Address{Name: "A", Address1: "1 Road", City: "Town", State: tc.state, Zip: tc.zip, Country: tc.country}
		_, wrong := a.Normalize("/destination")
		got := ""
		for _, w := range wrong {
			if w.Pointer != "/destination/state" || w.Code != "state_mismatch" {
				t.Errorf("%s %s %s: %+v", tc.country, tc.state, tc.zip, w)
			}
			got = w.Suggestion
		}
		if got != tc.want {
			t.Errorf("%s %s %s: suggestion %q, want %q", tc.country, tc.state, tc.zip, got, tc.want)
		}
	}
}

// TestPostalRangesAreSorted: they are searched by halves.
func TestPostalRangesAreSorted(t *testing.T) {
	t.Parallel()
	for _, table := range [][]zipRange{usZips, australianZips} {
		if !slices.IsSortedFunc(table, func(a, b zipRange) int { return a.from - b.from }) {
			t.Error("a table is not sorted")
		}
		for i, r := range table {
			if r.from > r.to || i > 0 && r.from <= table[i-1].to {
				t.Errorf("range %d to %d overlaps or is empty", r.from, r.to)
			}
		}
	}
}

func TestLimitsAreWrittenInTheUnitGiven(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		Pound.Format(68039): "150 lb", Kilogram.Format(68039): "68.03 kg", Ounce.Format(454): "16.01 oz", WeightUnit("").Format(70): "70 g",
		Inch.Format(2743): "107.99 in", Centimetre.Format(2743): "274.3 cm",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
