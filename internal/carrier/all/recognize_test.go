package all_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
)

// A numberFormat makes valid numbers of a carrier. The check digits are computed
// here once more, in another way than the drivers do.
type numberFormat struct {
	carrier string
	payload string              // a regular expression of everything before the check digit
	check   func(string) int    // of the payload
	last    func(string) string // what follows the check digit; nil means nothing
	damage  bool                // one wrong digit anywhere is always noticed
}

var numberFormats = map[string]numberFormat{
	"ups 1Z":              {carrier: "ups", payload: `1Z[0-9A-Z]{6}[0-9]{9}`, check: func(s string) int { return alternating(s[2:], 1, 2) }},
	"ups waybill":         {carrier: "ups", payload: `[AHJKTV][0-9]{9}`, check: func(s string) int { return alternating(s[1:], 1, 2) }},
	"usps 22":             {carrier: "usps", payload: `9[1-5][0-9]{19}`, check: gs1, damage: true},
	"usps 26":             {carrier: "usps", payload: `9[2-5][0-9]{23}`, check: gs1, damage: true},
	"usps 30":             {carrier: "usps", payload: `94[0-9]{27}`, check: gs1, damage: true},
	"usps S10":            {carrier: "usps", payload: `[A-Z]{2}[0-9]{8}`, check: s10, last: func(string) string { return "US" }},
	"fedex express":       {carrier: "fedex", payload: `[0-9]{11}`, check: func(s string) int { return mod11(s, 3, 1, 7) }},
	"fedex ground":        {carrier: "fedex", payload: `[0-9]{14}`, check: gs1, damage: true},
	"fedex SSCC":          {carrier: "fedex", payload: `0[0124][0-9]{15}`, check: func(s string) int { return gs1(s[2:]) }},
	"fedex economy":       {carrier: "fedex", payload: `61[0-9]{17}`, check: func(s string) int { return gs1("92" + s) }},
	"fedex 96":            {carrier: "fedex", payload: `96[0-9]{19}`, check: func(s string) int { return gs1(s[7:]) }},
	"fedex ASTRA":         {carrier: "fedex", payload: `3[0-9]{26}`, check: func(s string) int { return mod11(s[16:], 3, 1, 7) }, last: func(string) string { return "1234" }},
	"fedex barcode":       {carrier: "fedex", payload: `[0-8][0-9]{32}`, check: func(s string) int { return mod11(s[20:], 1, 7, 3) }},
	"dhl express waybill": {carrier: "dhl_express", payload: `[0-9]{9,10}`, check: mod7},
}

func (f numberFormat) number(payload string, check int) string {
	number := fmt.Sprintf("%s%d", payload, check)
	if f.last != nil {
		number += f.last(payload)
	}
	return number
}

// TestValidNumbersAreRecognized requires that every number of a format is
// recognized however it is written, and that a wrong check digit is noticed.
func TestValidNumbersAreRecognized(t *testing.T) {
	t.Parallel()
	for name, format := range numberFormats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				payload := rapid.StringMatching(format.payload).Draw(t, "payload")
				check := format.check(payload)
				number := format.number(payload, check)
				if !confidentIn(format.carrier, number) {
					t.Fatalf("%s is not recognized: %v", number, carrier.Recognize(all.Specs, number))
				}

				at := rapid.IntRange(1, len(number)-1).Draw(t, "at")
				written := strings.ToLower(number[:at]) + rapid.SampledFrom([]string{" ", "-", "\u00a0"}).Draw(t, "space") + number[at:]
				if !slices.Equal(detect(written), detect(number)) {
					t.Fatalf("%q is recognized as %v, and %q as %v", written, detect(written), number, detect(number))
				}

				wrong := (check + rapid.IntRange(1, 9).Draw(t, "off")) % 10
				if damaged := format.number(payload, wrong); confidentIn(format.carrier, damaged) {
					t.Fatalf("%s has the wrong check digit and is recognized", damaged)
				}
				if format.damage {
					requireDamageNoticed(t, format, payload, check)
				}
			})
		})
	}
}

// requireDamageNoticed changes one digit of the payload, behind the prefix that
// makes the format.
func requireDamageNoticed(t *rapid.T, format numberFormat, payload string, check int) {
	at := rapid.IntRange(2, len(payload)-1).Draw(t, "damaged")
	digit := (int(payload[at]-'0') + rapid.IntRange(1, 9).Draw(t, "by")) % 10
	damaged := format.number(fmt.Sprintf("%s%d%s", payload[:at], digit, payload[at+1:]), check)
	if confidentIn(format.carrier, damaged) {
		t.Fatalf("%s has a wrong digit and is recognized", damaged)
	}
}

// TestRoutingDoesNotHideANumber puts "420" and a ZIP code before a number, as
// barcodes do.
func TestRoutingDoesNotHideANumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.StringMatching(`9[2-5][0-9]{19}`).Draw(t, "payload")
		routing := rapid.StringMatching(`420([0-9]{5}|[0-9]{9})`).Draw(t, "routing")
		number := fmt.Sprintf("%s%s%d", routing, payload, gs1(payload))
		if !confidentIn("usps", number) {
			t.Fatalf("%s is not recognized", number)
		}
	})
}

func TestConfidenceOfANumber(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{
		"1Z5R89390357567127":     "[{ups high}]",
		"9400111206206406260787": "[{usps high}]",
		"9261292700768711948021": "[{usps medium} {fedex medium}]",
		"986578788855":           "[{fedex medium}]",
		"3318810025":             "[{dhl_express medium}]",
		"61292700768711948021":   "[{fedex high}]",
		"03071790000523483741":   "[{usps low}]",
		"1RABCDEFGH123456":       "[{ups low}]",
		"1RABCDEFGH12345":        "[]",
		"hello":                  "[]",
	} {
		if got := fmt.Sprint(carrier.Recognize(compared, number)); got != want {
			t.Errorf("%s: %s, want %s", number, got, want)
		}
	}
}

// confidentIn reports whether the number has a format of the carrier's own.
func confidentIn(name, number string) bool {
	return slices.ContainsFunc(carrier.Recognize(all.Specs, number), func(c carrier.Candidate) bool {
		return c.Carrier == name && c.Confidence != carrier.LowConfidence
	})
}

// alternating is the modulo 10 check digit with two weights from the left;
// letters count as UPS has them: A=2, B=3, ..., H=9, I=0.
func alternating(text string, weights ...int) int {
	sum := 0
	for i, char := range text {
		value := strings.IndexRune("0123456789", char)
		if value < 0 {
			value = (2 + int(char-'A')) % 10
		}
		sum += value * weights[i%2]
	}
	return (1000 - sum) % 10
}

func gs1(digits string) int {
	if len(digits)%2 == 0 {
		return alternating(digits, 1, 3)
	}
	return alternating(digits, 3, 1)
}

func mod11(digits string, weights ...int) int {
	sum := 0
	for i, char := range digits {
		sum += int(char-'0') * weights[i%3]
	}
	return sum % 11 % 10
}

func mod7(digits string) int {
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		panic(err)
	}
	return int(number % 7)
}

func s10(text string) int {
	sum := 0
	for i, weight := range []int{8, 6, 4, 2, 3, 5, 9, 7} {
		sum += int(text[2+i]-'0') * weight
	}
	return []int{5, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1}[sum%11]
}
