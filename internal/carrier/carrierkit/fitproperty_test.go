package carrierkit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// anyAddress generates addresses in many scripts, with words of many lengths.
func anyAddress(t *rapid.T) ship.Address {
	alphabet := rapid.SampledFrom([]string{"abcXYZ 01,-", "aéÖßøŁÆ ", "абвЩЮя 5", "αθΨου ή", "½²№’– ａ", "ab山 "}).Draw(t, "alphabet")
	text := func(most int, label string) string {
		return rapid.StringOfN(rapid.SampledFrom([]rune(alphabet)), 0, most, -1).Draw(t, label)
	}
	return ship.Address{
		Name: text(40, "name"), Company: text(40, "company"), Address1: text(90, "address1"), Address2: text(50, "address2"), Address3: text(50, "address3"),
		City: text(35, "city"), State: text(8, "state"), Zip: text(12, "zip"), Country: rapid.SampledFrom([]string{"US", "DE", "GB", "RU"}).Draw(t, "country"),
		Phone: rapid.StringMatching(`\+?[0-9 ()/x-]{0,20}`).Draw(t, "phone"), Email: text(20, "email"),
	}
}

func anyLimits(t *rapid.T) carrier.AddressLimits {
	limit := func(label string) int { return rapid.SampledFrom([]int{0, 5, 15, 35, 50}).Draw(t, label) }
	return carrier.AddressLimits{
		Name: limit("nameLimit"), Company: limit("companyLimit"), City: limit("cityLimit"), State: limit("stateLimit"), Zip: limit("zipLimit"),
		Phone: limit("phoneLimit"), Email: limit("emailLimit"), Line: limit("lineLimit"), Lines: rapid.IntRange(0, 3).Draw(t, "lines"),
		Charset: rapid.SampledFrom([]string{"", "latin1", "ascii"}).Draw(t, "charset"),
	}
}

func TestFittingLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkFit(t, anyLimits(t), anyAddress(t)) })
}

func TestEveryWordThatCanBePrintedIsPrinted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits, a := anyLimits(t), anyAddress(t)
		limits.Charset = ""
		got, _, err := carrierkit.Fit(limits, a, "/destination")
		if given := bare([]string{a.Address1, a.Address2, a.Address3}); err == nil && !slices.Equal(bare(got.Lines), given) {
			t.Fatalf("the street is %q, want the words %q", got.Lines, given)
		}
	})
}

// failer is a test or a property test.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkFit checks for one address what Fit guarantees.
func checkFit(t failer, limits carrier.AddressLimits, a ship.Address) {
	t.Helper()
	got, _, err := carrierkit.Fit(limits, a, "/destination")
	if err != nil {
		if e, ok := errors.AsType[*ship.Error](err); !ok || e.Kind != ship.Invalid || len(e.Fields) == 0 {
			t.Fatalf("refused with %v", err)
		}
		return
	}
	checkLimits(t, limits, got)
	// A word is written the same on its own as in its context. So if there is
	// room for everything, the street still has the same words.
	wide, _, err := carrierkit.Fit(carrier.AddressLimits{Charset: limits.Charset}, a, "/destination")
	if err != nil {
		t.Fatalf("with room it is refused: %v", err)
	}
	if have, want := bare(got.Lines), bare(wide.Lines); !slices.Equal(have, want) {
		t.Fatalf("the street is %q, want the words of %q", got.Lines, wide.Lines)
	}
	if got.Name != wide.Name || got.Company != wide.Company || got.City != wide.City || got.Zip != wide.Zip {
		t.Fatalf("%+v is not %+v", got, wide)
	}
	checkAgain(t, limits, got)
}

// bare returns the words of lines, without the commas that joining adds.
func bare(lines []string) (words []string) {
	for w := range strings.FieldsSeq(strings.Join(lines, " ")) {
		if w = strings.TrimRight(w, ","); w != "" {
			words = append(words, w)
		}
	}
	return words
}

func checkLimits(t failer, limits carrier.AddressLimits, a carrierkit.FittedAddress) {
	t.Helper()
	over := func(s string, limit int) bool { return limit > 0 && utf8.RuneCountInString(s) > limit }
	if over(a.Name, limits.Name) || over(a.Company, limits.Company) || over(a.City, limits.City) || over(a.State, limits.State) ||
		over(a.Zip, limits.Zip) || over(a.Phone, limits.Phone) || over(a.Email, limits.Email) || limits.Lines > 0 && len(a.Lines) > limits.Lines {
		t.Fatalf("%+v is over %+v", a, limits)
	}
	highest := map[string]rune{"": utf8.MaxRune, "latin1": 0xFF, "ascii": '~'}[limits.Charset]
	for _, s := range append([]string{a.Name, a.Company, a.City, a.State, a.Zip, a.Phone, a.Email}, a.Lines...) {
		if strings.IndexFunc(s, func(r rune) bool { return r > highest || r < ' ' }) >= 0 {
			t.Fatalf("%q is not %s", s, limits.Charset)
		}
	}
	for _, l := range a.Lines {
		if l == "" || over(l, limits.Line) {
			t.Fatalf("line %q is empty or over %d", l, limits.Line)
		}
	}
}

// checkAgain fits an address that was already fitted, which must not change it.
func checkAgain(t failer, limits carrier.AddressLimits, a carrierkit.FittedAddress) {
	t.Helper()
	if len(a.Lines) > 3 {
		return
	}
	lines := append(slices.Clone(a.Lines), "", "", "")
	again, warnings, err := carrierkit.Fit(limits, ship.Address{
		Name: a.Name, Company: a.Company, Address1: lines[0], Address2: lines[1], Address3: lines[2], City: a.City, State: a.State, Zip: a.Zip,
		Country: a.Country, Phone: a.Phone, Email: a.Email,
	}, "/destination")
	if err != nil || len(warnings) > 0 || !slices.Equal(again.Lines, a.Lines) || again.Name != a.Name || again.Company != a.Company ||
		again.City != a.City || again.State != a.State || again.Zip != a.Zip || again.Phone != a.Phone || again.Email != a.Email {
		t.Fatalf("fitted again: %+v, %q, %v; want %+v", again, warnings, err, a)
	}
}

func FuzzFit(f *testing.F) {
	f.Add("Jürgen Groß", "12½ ulica Щукина", "Flat 9", "Αθήνα", "+1 (415) 555-0100 x21", "a@example.com", "DE", uint8(35), uint8(2))
	f.Add("O’Brien", "\u0301a \u00ad", "ab\tc", "서울", "#", "", "US", uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, name, line1, line2, city, phone, email, country string, limit, shape uint8) {
		n := int(limit)
		limits := carrier.AddressLimits{
			Name: n, Company: n, City: n, State: n, Zip: n, Phone: n, Email: n, Line: n, Lines: int(shape) % 4,
			Charset: []string{"", "latin1", "ascii"}[int(shape/4)%3],
		}
		a := ship.Address{Name: name, Address1: line1, Address2: line2, City: city, State: line2, Country: country, Phone: phone, Email: email}
		for _, s := range []string{name, line1, line2, city, phone, email} {
			if !utf8.ValidString(s) {
				return
			}
		}
		checkFit(t, limits, a)
	})
}
