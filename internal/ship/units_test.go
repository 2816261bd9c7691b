package ship

import (
	"testing"

	"pgregory.net/rapid"
)

func TestWeightsAndLengthsRoundUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		value float64
		unit  WeightUnit
		grams int64
	}{
		{1, Pound, 454},
		{4.2, Pound, 1906},
		{100, Pound, 45360},
		{16, Ounce, 454},
		{1, Ounce, 29},
		{0.1, Kilogram, 100},
		{0.3, Kilogram, 300},
		{1.1, Kilogram, 1100},
		{2.2046, Kilogram, 2205},
		{1, Gram, 1},
		{0.2, Gram, 1},
		{1e-9, Pound, 1},
		{0, Pound, 0},
		{1e6, Kilogram, 1e9},
	} {
		if got := tc.unit.Grams(tc.value); got != tc.grams {
			t.Errorf("%v %s is %d g, want %d", tc.value, tc.unit, got, tc.grams)
		}
	}
	for _, tc := range []struct {
		value float64
		unit  LengthUnit
		mm    int64
	}{
		{1, Inch, 26}, {10, Inch, 254}, {12, Inch, 305}, {2.54, Centimetre, 26}, {0.1, Centimetre, 1}, {30, Centimetre, 300}, {7, Millimetre, 7}, {1e-8, Inch, 1},
	} {
		if got := tc.unit.Millimetres(tc.value); got != tc.mm {
			t.Errorf("%v %s is %d mm, want %d", tc.value, tc.unit, got, tc.mm)
		}
	}
}

func TestWhatWeighsSomethingWeighsAGramAndMoreIsNeverLess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]WeightUnit{Pound, Ounce, Kilogram, Gram}).Draw(t, "unit")
		a, b := rapid.Float64Range(1e-12, maxWeight).Draw(t, "a"), rapid.Float64Range(1e-12, maxWeight).Draw(t, "b")
		if ga, gb := unit.Grams(min(a, b)), unit.Grams(max(a, b)); ga < 1 || ga > gb {
			t.Fatalf("%v %s is %d g and %v %s is %d g", min(a, b), unit, ga, max(a, b), unit, gb)
		}
	})
}

func TestUnknownUnitsAreNotValid(t *testing.T) {
	t.Parallel()
	if !DefaultUnits.Valid() || !(Units{Kilogram, Centimetre}).Valid() {
		t.Error("known units are not valid")
	}
	for _, u := range []Units{{}, {Pound, ""}, {"", Inch}, {"stone", Inch}, {Pound, "ft"}, {"LB", Inch}} {
		if u.Valid() {
			t.Errorf("%v is valid", u)
		}
	}
}
