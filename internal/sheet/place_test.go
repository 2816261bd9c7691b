package sheet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
)

// zoned is a sheet with the rows of [zones] and a price for each zone.
func zoned(t testing.TB, rows string) sheet.Sheet {
	t.Helper()
	text := "[sheet]\ncurrency,USD\nweight unit,kg\n[zones]\nzone,country,state,zip,from country,from state,from zip\n" + rows + "\n[rates]\nservice,zone,up to,price\n"
	seen := map[string]bool{}
	for row := range strings.Lines(rows) {
		if zone, _, _ := strings.Cut(row, ","); !seen[zone] {
			seen[zone] = true
			text += "a," + zone + ",1,1.00\n"
		}
	}
	return parse(t, text)
}

func TestTheMostExactZoneWins(t *testing.T) {
	s := zoned(t, `world,*,,,,,
us,US,,,,,
ca,US,CA,,,,
ca9,US,,9,,,
la,US,,900..908,,,
hills,US,,90210,,,
fromNY,US,,,US,NY,
from10,US,,9,US,,10
from100,US,,900..908,US,,100..102
gb,GB,,,,,
b,GB,,B,,,
b1,GB,,B1,,,
soho,GB,,W1D 3,,,
lv,LV,,LV-10,,,
pl,PL,,00-9,,,
nl,NL,,1012 AB,,,
jp,JP,,100..102,,,
`)
	for _, c := range []struct{ from, to, want string }{
		{"US TX 75001", "FR 75001", "world"},
		{"US TX 75001", "US TX 75001", "us"},
		{"US TX 75001", "US CA 80000", "ca"}, // by its state alone
		{"US TX 75001", "US CA 93001", "ca9"},
		{"US TX 75001", "US CA 90801", "la"},
		{"US TX 75001", "US CA 90901", "ca9"},
		{"US TX 75001", "US CA 90210-1234", "hills"},
		{"US TX 75001", "US CA 9", "ca9"},
		{"US TX 75001", "US CA ", "ca"},
		{"US NY 14201", "US TX 75001", "fromNY"},
		{"US NY 14201", "US CA 93001", "ca9"}, // the destination counts first
		{"US NY 10301", "US CA 93001", "from10"},
		{"US NY 10201", "US CA 90101", "from100"},
		{"US NY 10301", "US CA 90101", "la"},
		{"US NY 10201", "US CA 90210", "hills"},
		{"DE 10115", "GB M1 1AA", "gb"},
		{"DE 10115", "GB BT1 1AA", "gb"},
		{"DE 10115", "GB B2 1AA", "b"},
		{"DE 10115", "GB B1 1AA", "b1"},
		{"DE 10115", "GB B11 1AA", "b"},
		{"DE 10115", "GB W1D 3AA", "soho"},
		{"DE 10115", "GB W1D 4AA", "gb"},
		{"DE 10115", "LV LV-1001", "lv"},
		{"DE 10115", "LV LV-1101", "world"},
		{"DE 10115", "PL 00-950", "pl"},
		{"DE 10115", "PL 00-850", "world"},
		{"DE 10115", "NL 1012 AB", "nl"},
		{"DE 10115", "NL 1012 AC", "world"},
		{"DE 10115", "JP 102-0001", "jp"},
		{"DE 10115", "JP 103-0001", "world"},
		{"DE 10115", "* 1", "world"},
	} {
		o := order(t, c.to, "1 kg")
		o.Origin = order(t, c.from, "1 kg").Destination
		offers, err := s.Explain(o)
		if err != nil || offers[0].Zone != c.want {
			t.Errorf("%s to %s: %+v %v, want zone %s", c.from, c.to, offers, err, c.want)
		}
	}
}

func TestAZoneMissesTheOriginToo(t *testing.T) {
	s := zoned(t, "1,US,,,US,,432\n")
	o := order(t, "US NY 10001", "1 kg") // from 43215
	if _, err := s.Quote(o); err != nil {
		t.Error(err)
	}
	o.Origin.Zip = "94103"
	if _, err := s.Quote(o); err == nil || err.Error() != "no zone for US 10001 from US 94103" {
		t.Error(err)
	}
}

func TestOverlapsAreFoundHoweverFarApart(t *testing.T) {
	head := "[sheet]\ncurrency,USD\n[rates]\nservice,zone,up to,price\na,1,1 kg,1.00\na,2,1 kg,1.00\na,3,1 kg,1.00\n[zones]\nzone,country,zip,from country,from zip\n"
	for rows, want := range map[string]string{
		"1,US,100..900,,\n2,US,110..120,,\n3,US,850..870,,":          "line 11, zip: US 110..120 overlaps US 100..900 of line 10\nline 12, zip: US 850..870 overlaps US 100..900 of line 10",
		"1,US,100..200,,\n2,US,150..400,,\n3,US,300..310,,":          "line 11, zip: US 150..400 overlaps US 100..200 of line 10\nline 12, zip: US 300..310 overlaps US 150..400 of line 11",
		"1,US,100..200,,\n2,US,1,,\n3,US,10000..20000,,":             "",
		"1,US,1,US,100..200\n2,US,1,US,150..250":                     "line 11, from zip: US 150..250 overlaps the origin US 100..200: use the same range or separate ones",
		"1,US,1,US,100..900\n2,US,1,US,150..160\n3,US,1,US,700..710": "line 11, from zip: US 150..160 overlaps the origin US 100..900: use the same range or separate ones\nline 12, from zip: US 700..710 overlaps the origin US 100..900: use the same range or separate ones",
		"1,US,1,US,100..200\n2,US,2,US,100..200\n3,US,1,US,201..300": "",
		"1,*,,,\n2,*,,,":                                                "line 11, zone: all countries is in zone 2 here and in zone 1 on line 10",
		"1,GB,B,,\n2,GB,BT,,\n3,GB,B1..B9,,":                            "",
		"1,GB,B1..B20,,\n2,GB,B9,,":                                     "line 11, zip: GB B9 overlaps GB B1..B20 of line 10",
		"1,US,94103-1234,,\n2,US,\"94103, 94104-94110\",,\n3,PL,00-9,,": "",
	} {
		_, err := sheet.Parse([]byte(head + rows))
		if got := fmt.Sprint(sheet.Problems(sheet.ProblemsOf(err))); got != want {
			t.Errorf("%s\n got %s\nwant %s", rows, got, want)
		}
	}
}

func TestZonesAreListedInTheirNaturalOrder(t *testing.T) {
	s := zoned(t, "Z10,US,,1,,,\nZ2,US,,2,,,\n10,US,,3,,,\n9,US,,4,,,\n001,US,,5,,,\n1aa,US,,6,,,\n1b,US,,7,,,\n01,US,,8,,,\n")
	if want := []string{"01", "001", "1aa", "1b", "9", "10", "Z2", "Z10"}; !slices.Equal(s.Zones, want) {
		t.Errorf("%v, want %v", s.Zones, want)
	}
	if s := zoned(t, "1b,US,,1,,,\n001,US,,2,,,\n"); !slices.Equal(s.Zones, []string{"001", "1b"}) {
		t.Errorf("%v: 1 is before 1b, however many zeros it has", s.Zones)
	}
}

func TestTheDearestStepOfASurchargeIsChargedWhateverItsPlace(t *testing.T) {
	for _, rows := range []string{
		"Long,length over 10,9.00,%[1]s,\nLong,length over 5,2.00,%[1]s,\n",
		"Long,length over 5,2.00,%[1]s,\nLong,length over 10,9.00,%[1]s,\n",
		"Long,length over 5,2.00,%[1]s,\nLong,length over 10,9.00,%[1]s,\nLong,,99.00,%[1]s,b\n",
	} {
		for per, want := range map[string]string{"piece": "freight 2.00, Long 11.00 = 13.00", "shipment": "freight 2.00, Long 9.00 = 11.00"} {
			s := parse(t, "[sheet]\ncurrency,USD\nweight unit,kg\nlength unit,cm\n[services]\nservice\na\nb\n[zones]\nzone,country\n1,*\n[rates]\nservice,zone,up to,price\na,1,1,1.00\nb,1,1,1.00\n"+
				"[surcharges]\nsurcharge,when,amount,per,service\n"+fmt.Sprintf(rows, per))
			if got := price(s, order(t, "US 1", "1 kg 11x3x3 cm + 1 kg 6x3x3 cm"), "a"); got != want {
				t.Errorf("per %s: %s, want %s", per, got, want)
			}
		}
	}
}

func TestAPriceBeyondAllReasonIsNotOffered(t *testing.T) {
	s := parse(t, "[sheet]\ncurrency,USD\nweight unit,kg\n[zones]\nzone,country\n1,*\n[rates]\nservice,zone,up to,price\na,1,0.001,10000000000.00\na,1,each further 0.001,10000000000.00\n")
	o := order(t, "US 1", "1 kg")
	o.Parcels[0] = ship.Parcel{WeightGrams: 1 << 60}
	if _, err := s.Quote(o); err == nil || err.Error() != "no rate to zone 1: a has a total price that is out of range" {
		t.Error(err)
	}
}
