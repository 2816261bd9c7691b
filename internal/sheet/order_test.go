package sheet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
)

// order is an order in words: to "US AK 99501" or "DE 10115", pieces "3 lb
// 12x10x8 in + 0.5 kg", and any of "residential", "signature", "adult",
// "saturday" and the day of shipping.
func order(t testing.TB, to, pieces string, extras ...string) ship.Order {
	t.Helper()
	o := ship.Order{Origin: ship.Address{Country: "US", State: "OH", Zip: "43215"}, ShipDate: "2026-02-02"}
	country, rest, _ := strings.Cut(to, " ")
	o.Destination = ship.Address{Country: country, Zip: rest}
	if state, zip, ok := strings.Cut(rest, " "); ok && country == "US" {
		o.Destination.State, o.Destination.Zip = state, zip
	}
	for words := range strings.SplitSeq(pieces, " + ") {
		o.Parcels = append(o.Parcels, parcel(t, words))
	}
	for extra := range strings.FieldsSeq(strings.Join(extras, " ")) {
		switch extra {
		case "residential", "business":
			home := extra == "residential"
			o.Destination.Residential = &home
		case "signature":
			o.Options.Signature = "standard"
		case "adult":
			o.Options.Signature = "adult"
		case "saturday":
			o.Options.SaturdayDelivery = true
		default:
			o.ShipDate = ship.Date(extra)
		}
	}
	return o
}

func parcel(t testing.TB, words string) ship.Parcel {
	t.Helper()
	var p ship.Parcel
	var d ship.Dimensions
	n, _ := fmt.Sscanf(words, "%f %s %fx%fx%f %s", &p.Weight, &p.WeightUnit, &d.Length, &d.Width, &d.Height, &d.Unit)
	if n != 2 && n != 6 {
		t.Fatalf("not a parcel: %q", words)
	}
	p.WeightGrams = p.WeightUnit.Grams(p.Weight)
	if n == 6 {
		d.LengthMM, d.WidthMM, d.HeightMM = d.Unit.Millimetres(d.Length), d.Unit.Millimetres(d.Width), d.Unit.Millimetres(d.Height)
		p.Dimensions = &d
	}
	return p
}

func read(t testing.TB, name string) sheet.Sheet {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

func parse(t testing.TB, text string) sheet.Sheet {
	t.Helper()
	s, err := sheet.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%v", err, sheet.Problems(sheet.ProblemsOf(err)))
	}
	return s
}

// price is the offer of a service in words: "freight 8.10, fuel 1.24 = 9.34".
func price(s sheet.Sheet, o ship.Order, service string) string {
	offers, err := s.Explain(o)
	if err != nil {
		return err.Error()
	}
	for _, offer := range offers {
		if offer.Rate.Service != service {
			continue
		}
		var lines []string
		for _, l := range offer.Lines {
			lines = append(lines, l.Name+" "+ship.Money{Minor: l.Minor, Currency: s.Currency}.Amount())
		}
		return strings.Join(lines, ", ") + " = " + offer.Rate.Price.Amount()
	}
	return "not offered"
}
