package sheet_test

import (
	"os"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
)

// FuzzParse has no text panic, and every text that is a sheet read back as it
// is written and quote without a panic.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"us-domestic", "europe"} {
		text, err := os.ReadFile("testdata/" + name + ".csv")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "GB", "SW1A 1AA", 1.5, int64(300))
	}
	f.Add([]byte(good), "US", "90210", 4.0, int64(1))
	f.Add([]byte(everything), "JP", "100-0001", 1e9, int64(1<<40))
	f.Add([]byte(documented(f)), "", "", -1.0, int64(-5))
	for _, c := range bad {
		f.Add([]byte(strings.Replace(good, c.old, c.new, 1)), "US", "1", 0.0, int64(0))
	}
	f.Fuzz(func(t *testing.T, text []byte, country, zip string, pounds float64, mm int64) {
		s, err := sheet.Parse(text)
		if err != nil {
			if len(sheet.ProblemsOf(err)) == 0 || len(sheet.ProblemsOf(err)) > sheet.MaxProblems {
				t.Fatalf("%d problems: %v", len(sheet.ProblemsOf(err)), err)
			}
			return
		}
		again, err := sheet.Parse(s.CSV())
		if err != nil || !same(s, again) {
			t.Fatalf("not read back: %v\n%q\n%s\n%s", err, text, s.CSV(), again.CSV())
		}
		o := ship.Order{
			Origin:      ship.Address{Country: country, Zip: zip, State: zip},
			Destination: ship.Address{Country: country, Zip: zip, State: zip},
			Parcels: []ship.Parcel{
				{Weight: pounds, WeightUnit: ship.Pound, WeightGrams: ship.Pound.Grams(pounds), Dimensions: &ship.Dimensions{LengthMM: mm, WidthMM: mm, HeightMM: mm}},
				{WeightGrams: mm},
			},
			ShipDate: s.ValidFrom,
		}
		offers, err := s.Explain(o)
		if (err == nil) != (len(offers) > 0) {
			t.Fatalf("%d offers, %v", len(offers), err)
		}
		for _, offer := range offers {
			if offer.Rate.Price.Minor <= 0 || offer.Rate.Service == "" || offer.Rate.Price.Currency != s.Currency {
				t.Fatalf("%+v", offer)
			}
		}
	})
}
