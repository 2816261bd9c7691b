package sheet_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"pgregory.net/rapid"
)

// A drawn sheet has prices that rise with the weight.
type drawn struct {
	divisor, services, rates, surcharges, fuel string
}

func (d drawn) text(withSurcharges bool) string {
	text := "[sheet]\ncurrency,USD\nweight unit,kg\nlength unit,cm\n" + d.divisor +
		"[services]\nservice,rate by\n" + d.services + "[zones]\nzone,country\n1,US\n2,*\n[rates]\nservice,zone,up to,price\n" + d.rates
	if withSurcharges {
		text += "[surcharges]\nsurcharge,when,amount,per,fuel,service\n" + d.surcharges + "[fuel]\nfrom,percent\n" + d.fuel
	}
	return text
}

func draw(t *rapid.T) drawn {
	d := drawn{divisor: rapid.SampledFrom([]string{"", "divisor,5000 cm/kg\n", "divisor,139 in/lb\nround weight,0.5\n", "divisor,6000 cm/kg\nround lengths,up 1\n"}).Draw(t, "divisor")}
	d.services = "a," + rapid.SampledFrom([]string{"piece", "shipment"}).Draw(t, "rate by") + "\n"
	grams, cents := 0, 0
	for range rapid.IntRange(1, 8).Draw(t, "breaks") {
		grams += rapid.IntRange(1, 9000).Draw(t, "grams")
		cents += rapid.IntRange(1, 3000).Draw(t, "cents")
		d.rates += fmt.Sprintf("a,1,%d g,%d.%02d\n", grams, cents/100, cents%100)
	}
	each := rapid.IntRange(1, 2000).Draw(t, "each")
	d.rates += fmt.Sprintf("a,1,each further %d g,%d.%02d\n", each, each/100, each%100)
	whens := []string{"", "residential", "signature", "saturday", "weight over 3", "length over 40", "second side over 20", "girth over 100"}
	for i, when := range whens {
		amount := rapid.SampledFrom([]string{"0", "1.50", "12.25", "3.3%", "150%"}).Draw(t, "amount")
		per := "shipment"
		if !strings.HasSuffix(amount, "%") {
			per = rapid.SampledFrom([]string{"piece", "shipment"}).Draw(t, "per")
		}
		d.surcharges += fmt.Sprintf("s%d,%s,%s,%s,%s,\n", i, when, amount, per, rapid.SampledFrom([]string{"yes", ""}).Draw(t, "fuel"))
	}
	d.fuel = fmt.Sprintf("2026-01-01,%d.%d\n", rapid.IntRange(0, 40).Draw(t, "percent"), rapid.IntRange(0, 9999).Draw(t, "part"))
	return d
}

func drawPieces(t *rapid.T) []ship.Parcel {
	var list []ship.Parcel
	for range rapid.IntRange(1, 4).Draw(t, "pieces") {
		g := int64(rapid.IntRange(1, 60_000).Draw(t, "weight"))
		p := ship.Parcel{Weight: float64(g), WeightUnit: ship.Gram, WeightGrams: g}
		if rapid.Bool().Draw(t, "measured") {
			mm := rapid.Int64Range(1, 1500)
			p.Dimensions = &ship.Dimensions{LengthMM: mm.Draw(t, "length"), WidthMM: mm.Draw(t, "width"), HeightMM: mm.Draw(t, "height")}
		}
		list = append(list, p)
	}
	return list
}

func total(t *rapid.T, s sheet.Sheet, o ship.Order) int64 {
	rates, err := s.Quote(o)
	if err != nil {
		t.Fatal(err)
	}
	return rates[0].Price.Minor
}

func must(t *rapid.T, text string) sheet.Sheet {
	s, err := sheet.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

func TestAHeavierOrLargerOrderNeverCostsLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := must(t, draw(t).text(true))
		home := true
		o := ship.Order{Destination: ship.Address{Country: "US", Residential: &home}, ShipDate: "2026-02-02", Parcels: drawPieces(t)}
		before := total(t, s, o)
		at := rapid.IntRange(0, len(o.Parcels)-1).Draw(t, "which")
		p := &o.Parcels[at]
		p.WeightGrams += rapid.Int64Range(1, 9000).Draw(t, "more")
		p.Weight = float64(p.WeightGrams)
		heavier := total(t, s, o)
		if heavier < before {
			t.Fatalf("heavier: %d after %d", heavier, before)
		}
		if d := p.Dimensions; d != nil {
			d.WidthMM += rapid.Int64Range(1, 300).Draw(t, "wider")
		}
		wider := total(t, s, o)
		if wider < heavier {
			t.Fatalf("wider: %d after %d", wider, heavier)
		}
		o.Parcels = append(o.Parcels, ship.Parcel{WeightGrams: 1})
		if more := total(t, s, o); more < wider {
			t.Fatalf("a further piece: %d after %d", more, wider)
		}
	})
}

func TestSurchargesAndFuelOnlyAddAndTheLinesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		plain, full := must(t, d.text(false)), must(t, d.text(true))
		home := rapid.Bool().Draw(t, "home")
		o := ship.Order{Destination: ship.Address{Country: "US", Residential: &home}, ShipDate: "2026-02-02", Parcels: drawPieces(t)}
		bare := total(t, plain, o)
		if rapid.Bool().Draw(t, "signature") {
			o.Options.Signature = "standard"
		}
		o.Options.SaturdayDelivery = rapid.Bool().Draw(t, "saturday")
		offers, err := full.Explain(o)
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, l := range offers[0].Lines {
			if l.Minor < 0 {
				t.Fatalf("a line takes away: %+v", offers[0].Lines)
			}
			sum += l.Minor
		}
		if sum != offers[0].Rate.Price.Minor || offers[0].Lines[0].Minor != bare || sum < bare {
			t.Fatalf("freight %d, then %+v", bare, offers[0])
		}
	})
}

func TestADrawnSheetIsReadBackAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := must(t, draw(t).text(true))
		again := must(t, string(s.CSV()))
		if !same(s, again) || !bytes.Equal(s.CSV(), again.CSV()) {
			t.Fatalf("another sheet:\n%s", s.CSV())
		}
	})
}

func TestPoundsAreCountedExactly(t *testing.T) {
	s := parse(t, "[sheet]\ncurrency,USD\nweight unit,lb\n[services]\nservice,rate by\na,shipment\n[zones]\nzone,country\n1,*\n[rates]\nservice,up to,zone 1\na,3,3.00\na,4,4.00\na,150,150.00\n")
	for pieces, want := range map[string]string{
		"1 lb + 1 lb + 1 lb":    "freight 3.00 = 3.00", // each is 454 g, and 3 lb are 1361 g
		"16 oz + 2 lb":          "freight 3.00 = 3.00",
		"1.1 lb + 1.1 lb":       "freight 3.00 = 3.00",
		"1 lb + 1 lb + 1.01 lb": "freight 4.00 = 4.00",
		"1.4 kg":                "freight 4.00 = 4.00",
	} {
		if got := price(s, order(t, "US 10001", pieces), "a"); got != want {
			t.Errorf("%s: %s, want %s", pieces, got, want)
		}
	}
}
