package sheet_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
)

// good is a small sheet that nothing is wrong with.
const good = `[sheet]
currency,USD
valid from,2026-01-01
weight unit,kg

[services]
service,name
ground,Ground
express,Express

[zones]
zone,country,zip
1,US,900..935
2,US,

[rates]
service,up to,zone 1,zone 2
ground,1,5.00,6.00
ground,5 kg,9.00,12.50
express,5 kg,19.00,22.50

[surcharges]
surcharge,when,amount,per
Home,residential,4.00,piece
Peak,,2.5%,shipment

[fuel]
from,percent
2026-01-01,10
`

func TestTheGoodSheetHasNothingWrong(t *testing.T) {
	if s := parse(t, good); len(s.Warnings) > 0 {
		t.Error(s.Warnings)
	}
}

// bad are changes that make the good sheet wrong, and what is said then.
var bad = []struct{ old, new, want string }{
	{good, "", "the sheet is empty"},
	{good, "# nothing\n", "the sheet is empty"},
	{"[sheet]\n", "", "line 1: there is a row before the first section (write [sheet])"},
	{"currency,USD", "currency,usd", "line 2, currency: is not a three-letter currency code (write USD)"},
	{"currency,USD", "currency,XYZ", "line 2, currency: is not a three-letter currency code"},
	{"currency,USD", "currency,€", "line 2, currency: is not a three-letter currency code (write EUR)"},
	{"currency,USD\n", "", "currency: [sheet] has no currency; add one such as USD"},
	{"currency,USD", "curency,USD", `line 2: unknown setting "curency" (write currency)`},
	{"currency,USD", "currency,USD\ncurrency,EUR", "line 3, currency: the setting is given twice"},
	{"2026-01-01\nweight", "13.1.2026\nweight", "line 3, valid from: is not a date such as 2026-01-31 (write 2026-01-13)"},
	{"2026-01-01\nweight", "1/2/2026\nweight", "line 3, valid from: is not a date such as 2026-01-31"}, // January or February
	{"weight unit", "valid until,2025-12-31\nweight unit", "line 4, valid until: must not be before valid from"},
	{"weight unit,kg", "weight unit,lbs", `line 4, weight unit: unknown unit "lbs": use kg, g, lb or oz (write lb)`},
	{"weight unit,kg\n", "", "line 17, up to: has no unit, and [sheet] has no weight unit: add kg, g, lb or oz"},
	{"weight unit,kg", "weight unit,kg\ndivisor,5000", "line 5, divisor: must be like 139 in/lb or 5000 cm/kg"},
	{"weight unit,kg", "weight unit,kg\nround lengths,down 1 in", "line 5, round lengths: must be like up 1 in or nearest 1 cm"},
	{"[zones]", "[zone]", `line 11: unknown section "[zone]" (write [zones])`},
	{"[zones]", "[zones],x", "line 11: the name of a section must be the only cell in its row"},
	{"[fuel]", "[sheet]\ncurrency,USD\n[fuel]", "line 27: [sheet] may appear only once, as the first section"},
	{"zone,country,zip", "zone,contry,zip", "line 12, contry: unknown column in [zones] (write country)\nline 12, country: [zones] needs a column with this name"},
	{"zone,country,zip", "zone,country,zip,zip", "line 12, zip: two columns have this name"},
	{"zone 1,zone 2\nground", "zone 1,zone 2,price\nground", "line 17, price: use either one column per zone or a single column zone, not both"},
	{"1,US,900..935", "1,USA,900..935", `line 13, country: "USA" is not a two-letter country code (write US)`},
	{"1,US,900..935", "1,Germany,", `line 13, country: "Germany" is not a two-letter country code (write DE)`},
	{"1,US,900..935", "1,,900..935", "line 13, country: the row has no country; use * for all countries (write *)"},
	{"1,US,900..935", "1,US CA,900..935", "line 13, country: a row with states or postal codes needs exactly one country"},
	{"1,US,900..935", "1,US,935..900", "line 13, zip: the range ends before it begins (write 900..935)"},
	{"1,US,900..935", "1,US,90..935", "line 13, zip: both ends of a range must have the same length"},
	{"1,US,900..935", "1,US,900 to 935", "line 13, zip: postal codes of US must be digits; write a range as 900..935 (write 900..935)"},
	{"1,US,900..935", "1,DE,D-10", "line 13, zip: postal codes of DE must be digits; write a range as 900..935 (write 10)"},
	{"1,US,900..935", "1,US,90%", `line 13, zip: "90%" is not a postal code prefix or a range such as 900..935`},
	{"1,US,900..935", "1,US,900 901 902 903", "line 13, zip: is longer than the postal codes of US: separate several with commas or vertical bars"},
	{"1,US,900..935", "1,US,900..935\n3,US,930..940", "line 14, zip: US 930..940 overlaps US 900..935 of line 13"},
	{"1,US,900..935", "1,US,900..935\n3,US,900..935", "line 14, zone: US 900..935 is in zone 3 here and in zone 1 on line 13"},
	{"1,US,900..935", "zone 1,US,900..935", "line 13, zone: a zone name is up to 20 letters, digits, periods and hyphens, without spaces"},
	{"zone,country,zip\n1,US,900..935", "zone,country,state\n1,US,Californa", `line 13, state: US has no state "Californa" (write CA)`},
	{"ground,1,5.00", "grund,1,5.00", "line 18, service: there is no service grund (write ground)"},
	{"ground,1,5.00", "Ground Plus,1,5.00", "line 18, service: a service code is lower-case letters, digits and underscores; its display name belongs in [services] (write ground_plus)"},
	{"express,Express", "ground,Express", "line 9, service: the service is already defined on line 8\nline 20, service: there is no service express"},
	{"ground,1,5.00", "ground,1,$5.00", `line 18, zone 1: "$5.00" is not a plain number (write 5.00)`},
	{"ground,1,5.00", "ground,1,-5.00", "line 18, zone 1: must not be negative"},
	{"ground,1,5.00", "ground,1,5.001", "line 18, zone 1: has too many decimals: USD has 2"},
	{"ground,1,5.00", "ground,1,0.00", "line 18, zone 1: a price must be more than 0: leave the cell empty if the service does not serve the zone"},
	{"ground,1,5.00", `ground,1,"1,000"`, "line 18, zone 1: could mean 1.000 or 1000: use a decimal point, or remove the comma"},
	{"ground,1,5.00", `ground,1,"1,234.50"`, "line 18, zone 1: has a thousands separator (write 1234.50)"},
	{"ground,1,5.00,6.00", `ground,1,"5,00",6.00`, "line 18, zone 2: the sheet has a decimal point on line 18 and a decimal comma on line 18: use only one style"},
	{"ground,1,5.00", "ground,1,5,00", "line 18: the row has 5 cells and the heading 4: put values with a decimal comma in quotes"},
	{"ground,1,5.00", "ground,1,=B2*1.1", "line 18: a cell contains a formula: replace it with its value"},
	{"ground,1,5.00", "ground,up to 1,5.00", "line 18, up to: must be a weight such as 5 kg, or each further 1 kg for anything heavier"},
	{"ground,1,5.00", "ground,1 stone,5.00", `line 18, up to: unknown unit "stone": use kg, g, lb or oz`},
	{"ground,1,5.00", "ground,0,5.00", "line 18, up to: a weight must be more than 0"},
	{"ground,1,5.00", "ground,1.0005,5.00", "line 18, up to: has more than 3 decimals"},
	{"ground,1,5.00,6.00", "ground,5,5.00,12.50", "line 19, up to: ground to zone 1 up to 5 kg has a different price on line 18"},
	{"express,5 kg,19", "express,each further 1 kg,19", "line 20, up to: express to zone 1 has a price for each further weight, but no price up to a weight to start from\n" +
		"line 20, up to: express to zone 2 has a price for each further weight, but no price up to a weight to start from"},
	{"Home,residential", "Home,residental", "line 24, when: must be one of: always, residential, signature, adult signature, saturday, weight over, length over, second side over, girth over (add a weight or a length after over) (write residential)"},
	{"Home,residential", "Home,length over 120", "line 24, when: has no unit, and [sheet] has no length unit: add cm, mm or in"},
	{"4.00,piece", "4.00,parcel", "line 24, per: must be one of: shipment, piece"},
	{"2.5%,shipment", "2.5%,piece", "line 25, per: a percentage applies to the freight of the whole shipment (write shipment)"},
	{"Peak,,2.5%,shipment", "Home,saturday,8.00,shipment", "line 25, per: rows with the same name must agree, and line 24 has a different value"},
	{"Peak,,2.5%,shipment", "Home,residential,4.00,piece", "line 25, surcharge: line 24 defines the same surcharge"},
	{"Peak,,", ",,", "line 25, surcharge: the surcharge has no name"},
	{"2026-01-01,10", "2026-01-01,10\n2026-01-01,12", "line 30, from: another row sets the fuel surcharge from the same day"},
	{"2026-01-01,10", ",10", "line 29, from: the row has no start date"},
	{"from,percent\n2026-01-01,10", "from,percent,service\n2026-01-01,10,expres", "line 29, service: there is no service expres (write express)"},
	{"ground,Ground", `ground,Gro"und`, `line 8: put a cell with a quotation mark in quotes and double the mark, "like ""this"""` + "\nline 18, service: there is no service ground"},
	{good, "\xff\xfe[\x00", "line 1: the text is UTF-16: save it as CSV UTF-8"},
	{"Ground", "Gr\xfcnd", "line 8: the text is not UTF-8: save it as CSV UTF-8"},
	{good, "PK\x03\x04 a workbook", "line 1: this is a spreadsheet file: save it as CSV UTF-8"},
}

func TestABadSheetIsToldWhatIsWrong(t *testing.T) {
	for _, c := range bad {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%q is not in the sheet", c.old)
		}
		_, err := sheet.Parse([]byte(strings.Replace(good, c.old, c.new, 1)))
		if got := fmt.Sprint(sheet.Problems(sheet.ProblemsOf(err))); err == nil || got != c.want {
			t.Errorf("%q instead of %q:\n got %s\nwant %s", c.new, c.old, got, c.want)
		}
		if ship.KindOf(err) != ship.Invalid || ship.CodeOf(err) != sheet.Code {
			t.Errorf("%q: kind %s, code %s", c.new, ship.KindOf(err), ship.CodeOf(err))
		}
	}
}

func TestAllErrorsAreToldAtOnceButNotTooMany(t *testing.T) {
	text := strings.Replace(good, "ground,1,5.00", "ground,1,x", 1)
	text = strings.Replace(text, "1,US,900..935", "1,XX,900", 1)
	text = strings.Replace(text, "Home,residential", "Home,never", 1)
	_, err := sheet.Parse([]byte(text))
	lines := []int{}
	for _, p := range sheet.ProblemsOf(err) {
		lines = append(lines, p.Line)
	}
	if fmt.Sprint(lines) != "[13 18 24]" {
		t.Errorf("errors on lines %v of %v", lines, err)
	}
	if e, ok := err.(*ship.Error); !ok || len(e.Fields) != 3 || e.Fields[0].Pointer != "/csv" || !strings.HasPrefix(e.Fields[0].Detail, "line 13, country: ") {
		t.Errorf("fields of %#v", err)
	}
	many := good + "[rates]\nservice,zone,up to,price\n" + strings.Repeat("ground,1,1,x\n", 1000)
	_, err = sheet.Parse([]byte(many))
	if n := len(sheet.ProblemsOf(err)); n != sheet.MaxProblems || !strings.Contains(err.Error(), "1000 errors") {
		t.Errorf("%d problems: %v", n, err)
	}
}

// numbered is the format for each number from 0 on.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestASheetThatIsTooLargeIsRefused(t *testing.T) {
	for _, c := range []struct {
		text []byte
		want string
	}{
		{bytes.Repeat([]byte("#\n"), sheet.MaxBytes/2+1), "larger than 4 MB"},
		{[]byte(good + "[surcharges]\nsurcharge,amount\n" + numbered(10_000, "S%d,1.00\n")), "more than 500 different surcharges"},
		{[]byte(good + "[services]\nservice\n" + numbered(10_000, "s%d\n")), "more than 100 services"},
		{[]byte(good + "[zones]\nzone,country\n" + numbered(20_000, "z%d,US\n")), "more than 2000 zones"},
		{[]byte(good + "[zones]\nzone,country,zip,from country,from zip\n3,DE," + numbered(1000, "%05d|") + ",DE," + numbered(1000, "%05d|")), "more than 50000 areas"},
		{[]byte(good + "[zones]\nzone,country\n3," + numbered(10_000, "Q%d ")), "is not a two-letter country code"},
		{[]byte(good + "[zones]\nzone,country,state\n3,US," + numbered(10_000, "Q%d|")), "US has no state"},
		// A surcharge whose zones would be repeated for each of its areas.
		{[]byte(good + "[rates]\nservice,zone,up to,price\n" + numbered(1500, "ground,z%d,1,1.00\n") +
			"[surcharges]\nsurcharge,amount,zone,country,zip\nX,1.00," + numbered(1500, "z%d ") + ",US," + numbered(9000, "%05d|")), "too large with one area in each row"},
		{[]byte(good + "[transit]\nservice,zone,days\n" + strings.Repeat("ground,1,2\n", sheet.MaxRows)), "more than 50000 rows"},
		{[]byte(good + "[fuel]\nfrom,percent,service\n" + strings.Repeat("2026-02-01,1,ground express\n", sheet.MaxFuel)), "more than 5000 fuel surcharges"},
		{[]byte(good + "[rates]\nservice,up to," + numbered(100, "zone z%d,") + "\n" + numbered(1001, "ground,%d.5"+strings.Repeat(",1.00", 100)+"\n")), "more than 100000 prices"},
		{[]byte(good + "[rates]\nservice,up to," + numbered(300, "zone z%d,") + "\n" + numbered(90, "s%d,1"+strings.Repeat(",1", 300)+"\n")), "more than 20000 zones in total"},
		{[]byte(good + "[transit]\nservice," + numbered(300, "zone z%d,") + "\n" + numbered(90, "s%d"+strings.Repeat(",1", 300)+"\n")), "more than 20000 zones in total"},
		{[]byte(good + strings.Repeat(",", sheet.MaxBytes-len(good))), "more than 100000 bytes"},
		{[]byte(good + `"` + strings.Repeat("\n\",\"", 500_000)), "more than 100000 bytes"},
		{[]byte(good + `"` + strings.Repeat("x", 1_000_000)), "more than 100000 bytes"},
		{[]byte(good + "# \x00\n"), "is not a text file"},
	} {
		if _, err := sheet.Parse(c.text); err == nil || !strings.Contains(fmt.Sprint(sheet.Problems(sheet.ProblemsOf(err)), err), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
