package sheet_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/sheet"
)

// same reports whether two sheets are equal, warnings aside: these have the
// numbers of lines.
func same(a, b sheet.Sheet) bool {
	a.Warnings, b.Warnings = nil, nil
	return reflect.DeepEqual(a, b)
}

func documented(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/rate-sheets.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- example -->\n```csv\n")
	example, _, ok := strings.Cut(rest, "```\n<!-- /example -->")
	if !ok {
		t.Fatal("the page has no example")
	}
	return example
}

func TestTheDocumentedExampleIsASheet(t *testing.T) {
	s := parse(t, documented(t))
	want := "freight 9.75, Toll 0.47, Customs 9.00, fuel 1.05 = 20.27"
	if got := price(s, order(t, "GB SW1A 1AA", "3 kg", "2026-02-02"), "standard"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, w := range s.Warnings {
		if w.String() != "line 14, service: express has no price for zone 4" {
			t.Error(w)
		}
	}
}

func TestTheDocumentNamesEverySettingAndColumn(t *testing.T) {
	text, err := os.ReadFile("../../docs/rate-sheets.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sheet.Vocabulary() {
		if !strings.Contains(string(text), "`"+name) {
			t.Errorf("%s is not in the documentation", name)
		}
	}
}

func TestASheetIsReadBackAsItIsWritten(t *testing.T) {
	for _, s := range []sheet.Sheet{read(t, "us-domestic"), read(t, "europe"), parse(t, documented(t)), parse(t, good), parse(t, everything)} {
		again := parse(t, string(s.CSV()))
		if !same(s, again) {
			t.Errorf("%s is read back as another sheet:\n%s", s.Name, s.CSV())
		}
		if string(again.CSV()) != string(s.CSV()) {
			t.Errorf("%s is written another way the second time", s.Name)
		}
	}
	if (sheet.Sheet{}).CSV() != nil {
		t.Error("no sheet has a text")
	}
}

// everything has what the other sheets lack.
const everything = `[sheet]
currency,JPY
weight unit,g
length unit,mm
minimum weight,100
round lengths,nearest 0.5 in
[services]
service,name,rate by,divisor,minimum weight,round weight,max girth
post,"Post, ""small""",shipment,300 in/lb,1 oz,2 oz,10.5 in
[zones]
zone,country,state,zip,from country,from state,from zip
Z10,JP,,100-0001,JP,,1
Z10,JP,,,JP,13,
Z2,US,"CA, Nevada",,*,,
Z2,*,,,JP,,150..159
Z1,PL,,00-950 | 01..05,*,,
Z1,GB,,SW1A 1AA,,,
[rates]
service,zone,up to,price
post,Z1,500,900
post,Z1,each further 1 lb,100
post,Z2,15.999 oz,1500
post,Z2,2 lb,2000
post,Z10,1 kg,300
post,Z9,1 kg,300
[transit]
service,zone Z1,zone Z2
post,,9
[surcharges]
surcharge,when,amount,per,fuel,service,zone,country,state,zip
Island,,120,piece,yes,post,Z1 Z2,US,"HI, AK",
Island,second side over 30 in,120.00,piece,yes,,,PT,,9..9|1000-100
Heavy,weight over 10 lb,0.0001%,,,,,,,
Heavy,weight over 20 lb,5%,,,,,,,
[fuel]
from,percent,service
2026-02-01,12.3456%,
2026-01-01,0,
2026-01-01,7,post
`

func TestTheWayOfWritingDoesNotMatter(t *testing.T) {
	want := parse(t, good)
	semicolons := strings.NewReplacer(",", ";", ".0", ",0", ".5", ",5", "..", "..").Replace(good)
	for name, text := range map[string]string{
		"byte order mark":     "\ufeff" + good,
		"Windows line ends":   strings.ReplaceAll(good, "\n", "\r\n"),
		"old Mac line ends":   strings.ReplaceAll(good, "\n", "\r"),
		"no last line end":    strings.TrimSuffix(good, "\n"),
		"tabs":                strings.ReplaceAll(good, ",", "\t"),
		"semicolons":          strings.ReplaceAll(good, ",", ";"),
		"decimal commas":      semicolons,
		"quoted commas":       strings.NewReplacer("5.00", `"5,00"`, "6.00", `"6,00"`, "19.00", `"19,00"`, "9.00", `"9,00"`, "12.50", `"12,50"`, "22.50", `"22,50"`, "4.00", `"4,0"`, "2.5%", `"2,5%"`).Replace(good),
		"padded rows":         strings.ReplaceAll(good, "\n", ",,,,,,,,\n"),
		"capitals and spaces": strings.NewReplacer("service,up to", " Service ,UP  TO ", "[zones]", "[ Zones ]", "1,US", " 1 , us ").Replace(good),
		"hyphen in a range":   strings.Replace(good, "900..935", "900-935", 1),
		"comments":            strings.ReplaceAll(good, "\n\n", "\n# note, with commas\n\n"),
		"long form":           strings.Replace(good, "service,up to,zone 1,zone 2\nground,1,5.00,6.00\n", "service,zone,up to,price\nground,2,1,6.00\nground,1,1 kg,5\n[rates]\nservice,up to,zone 2,zone 1\n", 1),
	} {
		if name == "long form" {
			text = strings.NewReplacer("9.00,12.50", "12.50,9.00", "19.00,22.50", "22.50,19.00").Replace(text)
		}
		got, err := sheet.Parse([]byte(text))
		if err != nil || !same(got, want) {
			t.Errorf("%s: another sheet, %v\n%s", name, err, text)
		}
	}
}

func TestWhatLooksWrongIsAWarning(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"2,US,", "2,US,\n2,US,", "line 15: US repeats line 14"},
		{"2,US,", "2,US,\n3,CA,", "line 8, service: ground has no price for zone 3"},
		{"zone 1,zone 2", "zone 1,zone 22", "line 8, service: ground has no price for zone 2"},
		{"zone 1,zone 2", "zone 1,zone 22", "line 17, zone: zone 22 has prices, but no row of [zones] defines it (write 2)"},
		{"express,Express", "express,Express\nslow,Slow", "line 10, service: slow has no prices"},
		{"ground,5 kg,9.00", "ground,5 kg,4.00", "line 19, price: ground to zone 1 costs less up to 5 kg than up to 1 kg"},
		{"ground,5 kg,9.00", "ground,5 kg,", "line 18, up to: ground to zone 1 has no price up to 5 kg, which other zones have"},
		{"ground,1,5.00,6.00", "ground,1,5.00,6.00\nground,1,5.00,6.00", "line 19, up to: ground to zone 1 up to 1 kg repeats line 18"},
		{"ground,1,5.00,6.00", "ground,1,,\nground,1,5.00,6.00", "line 18: the row has no price"},
		{"service,name\nground,Ground\nexpress,Express", "service,max weight\nground,1\nexpress,", "line 19, up to: ground has a maximum weight of 1 kg"},
		{"1,US,900..935", "1,US,900..908\n1,US,90", ""}, // 909 is left of it
		{"1,US,900..935", "1,US,90\n1,US,900..909", "line 13, zip: US 90 is never used: rows with longer postal codes cover all of it"},
		{"1,US,900..935", "1,US,90\n1,US,\"900..904, 905..909\"", "line 13, zip: US 90 is never used: rows with longer postal codes cover all of it"},
		{"1,US,900..935", "1,US,0..9", "line 14, zip: US is never used: rows with longer postal codes cover all of it"},
		{"1,US,900..935", `1,US,"4,011,012,013,014"`, "line 13, zip: 4 is shorter than the other postal codes of US: did a spreadsheet drop its zeros? (write 004)"},
		{"2026-01-01,10", "2026-03-01,10", "fuel: no fuel surcharge is charged from 2026-01-01 until 2026-03-01"},
		{"weight unit,kg", "weight unit,kg\nvalid until,2026-01-01\n[fuel]\nfrom,percent\n2026-01-02,9", "line 8, from: the sheet is valid until 2026-01-01"},
		{"Peak,,2.5%,shipment", "Home,residential,3.00,piece", "line 25, surcharge: line 24 charges more under the same conditions, and only the highest applies"},
		{"[fuel]", "[transit]\nservice,zone,days\nexpress,1,1\nexpress,1,1\n\n[fuel]", "line 30, days: the row repeats line 29"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%q is not in the sheet", c.old)
		}
		s := parse(t, strings.Replace(good, c.old, c.new, 1))
		found := c.want == "" && len(s.Warnings) == 0
		for _, w := range s.Warnings {
			found = found || w.String() == c.want
		}
		if !found {
			t.Errorf("%q: got %v\nwant %s", c.new, s.Warnings, c.want)
		}
	}
}

func TestACommaAfterAZeroIsDecimal(t *testing.T) {
	s := parse(t, "[sheet]\ncurrency;EUR\nweight unit;kg\n[zones]\nzone;country\n1;*\n[rates]\nservice;zone;up to;price\na;1;0,250;1,5\na;1;1;2\n")
	if got := price(s, order(t, "DE 10115", "0.25 kg"), "a") + "; " + price(s, order(t, "DE 10115", "0.251 kg"), "a"); got != "freight 1.50 = 1.50; freight 2.00 = 2.00" {
		t.Error(got)
	}
}

func TestAZoneThatNothingKnowsIsAnError(t *testing.T) {
	text := strings.Replace(good, "surcharge,when,amount,per\n", "surcharge,when,amount,per,zone\nFar,,1.00,,11\nOdd,,1.00,,X\n", 1)
	_, err := sheet.Parse([]byte(text))
	want := "line 24, zone: no row of [zones] defines zone 11 (write 1)\nline 25, zone: no row of [zones] defines zone X"
	if got := sheet.Problems(sheet.ProblemsOf(err)).Error(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
