package sheet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/sheet"
)

// large is a sheet of 10 services, 50 zones and 40 weights: 20,000 prices, a
// row each, with as many more rows of zones, and remote areas.
func large() []byte {
	var b strings.Builder
	b.WriteString("[sheet]\ncurrency,USD\nweight unit,lb\nlength unit,in\ndivisor,139 in/lb\n[zones]\nzone,country,zip\n")
	for zip := range 20_000 {
		fmt.Fprintf(&b, "Z%d,US,%05d\n", zip%50, zip*4)
	}
	b.WriteString("[rates]\nservice,zone,up to,price\n")
	for service := range 10 {
		for zone := range 50 {
			for lb := 1; lb <= 40; lb++ {
				fmt.Fprintf(&b, "s%d,Z%d,%d,%d.%02d\n", service, zone, lb, lb+zone, service)
			}
		}
	}
	b.WriteString("[surcharges]\nsurcharge,when,amount,per,fuel,country,zip\nHome,residential,5,piece,yes,,\nLong,length over 48,9,piece,yes,,\nPeak,,2.5%,,,,\n")
	for zip := range 9000 {
		fmt.Fprintf(&b, "Remote,,3.10,piece,yes,US,%05d\n", zip*3)
	}
	b.WriteString("[fuel]\nfrom,percent\n2026-01-01,15\n")
	return []byte(b.String())
}

func TestALargeSheetIsFast(t *testing.T) {
	text := large()
	start := time.Now()
	s, err := sheet.Parse(text)
	took := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Counts(); c.Prices != 20_000 || c.Areas != 20_000 {
		t.Errorf("%+v", c)
	}
	// A hundred times what it takes, for a busy machine: it is not quadratic.
	if took > 20*time.Second {
		t.Errorf("49,000 rows were read in %v", took)
	}
	if again := parse(t, string(s.CSV())); !same(s, again) {
		t.Error("the sheet is read back as another")
	}
}

func BenchmarkParse(b *testing.B) {
	text := large()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := sheet.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCSV(b *testing.B) {
	s := parse(b, string(large()))
	for b.Loop() {
		s.CSV()
	}
}

func BenchmarkQuote(b *testing.B) {
	s := parse(b, string(large()))
	one := order(b, "US 30000", "12.5 lb 20x12x10 in", "residential")
	many := order(b, "US 30000", strings.TrimSuffix(strings.Repeat("12.5 lb 20x12x10 in + ", 50), " + "), "residential")
	for name, o := range map[string]*struct{ pieces int }{"1 piece": {1}, "50 pieces": {50}} {
		b.Run(name, func(b *testing.B) {
			q := one
			if o.pieces > 1 {
				q = many
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Quote(q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
