package carrierkit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

var narrow = carrier.AddressLimits{Name: 35, Company: 35, City: 30, State: 5, Zip: 10, Phone: 15, Email: 50, Lines: 3, Line: 35, Charset: "latin1"}

// with returns the limits with a change.
func with(change func(*carrier.AddressLimits)) carrier.AddressLimits {
	l := narrow
	change(&l)
	return l
}

func TestStreetLinesAreDividedAtWords(t *testing.T) {
	t.Parallel()
	two := with(func(l *carrier.AddressLimits) { l.Lines = 2 })
	for name, tc := range map[string]struct {
		limits      carrier.AddressLimits
		given, want []string
	}{
		"what fits stays": {narrow, []string{"1 Market Street", "Suite 4"}, []string{"1 Market Street", "Suite 4"}},
		"gaps close":      {narrow, []string{"1 Market Street", "", "Suite 4"}, []string{"1 Market Street", "Suite 4"}},
		"a long line goes on in the next": {
			narrow,
			[]string{"12345 North Martin Luther King Junior Boulevard"},
			[]string{"12345 North Martin Luther King", "Junior Boulevard"},
		},
		"the second line moves down": {
			narrow,
			[]string{"12345 North Martin Luther King Junior Boulevard", "Suite 4"},
			[]string{"12345 North Martin Luther King", "Junior Boulevard", "Suite 4"},
		},
		"short lines are joined": {two, []string{"Acme House", "1 Market Street", "Suite 4"}, []string{"Acme House, 1 Market Street", "Suite 4"}},
		"a comma is not doubled": {two, []string{"Acme House,", "1 Market Street", "Suite 4"}, []string{"Acme House, 1 Market Street", "Suite 4"}},
		"words flow if nothing else helps": {
			two,
			[]string{"The Old Customs House", "12 Lower Harbour Terrace", "Flat 9 Rear"},
			[]string{"The Old Customs House, 12 Lower", "Harbour Terrace, Flat 9 Rear"},
		},
	} {
		a := ship.Address{Country: "US", Address1: tc.given[0]}
		if len(tc.given) > 1 {
			a.Address2 = tc.given[1]
		}
		if len(tc.given) > 2 {
			a.Address3 = tc.given[2]
		}
		got, warnings, err := carrierkit.Fit(tc.limits, a, "/destination")
		if err != nil || !slices.Equal(got.Lines, tc.want) || len(warnings) > 0 {
			t.Errorf("%s: %q, %q, %v; want %q", name, got.Lines, warnings, err, tc.want)
		}
	}
}

func TestWhatDoesNotFitIsRefusedWithASuggestion(t *testing.T) {
	t.Parallel()
	one := with(func(l *carrier.AddressLimits) { l.Lines = 1 })
	for name, tc := range map[string]struct {
		limits  carrier.AddressLimits
		address ship.Address
		want    ship.FieldError
	}{
		"a street that its abbreviations make fit": {
			one,
			ship.Address{Address1: "1200 Pennsylvania Avenue", Address2: "Apartment 21"},
			ship.FieldError{Pointer: "/destination/address2", Code: "too_long", Detail: "does not fit: the carrier prints 1 line of 35 characters", Suggestion: "Apt for Apartment, Ave for Avenue"},
		},
		"a street that nothing helps": {
			one,
			ship.Address{Address1: "Donaudampfschifffahrtsgesellschaftskapitaensweg 1"},
			ship.FieldError{Pointer: "/destination/address1", Code: "too_long", Detail: "does not fit: the carrier prints 1 line of 35 characters"},
		},
		"a name": {
			narrow,
			ship.Address{Name: "Wolfeschlegelsteinhausenbergerdorff Senior"},
			ship.FieldError{Pointer: "/destination/name", Code: "too_long", Detail: "is longer than the 35 characters that the carrier prints"},
		},
		"a company": {
			narrow,
			ship.Address{Company: "Northern Mining and Manufacturing Company"},
			ship.FieldError{Pointer: "/destination/company", Code: "too_long", Detail: "is longer than the 35 characters that the carrier prints", Suggestion: "& for And, Co for Company, Mfg for Manufacturing"},
		},
		"a city": {
			narrow,
			ship.Address{City: "Saint Margaret's on the Northern Hill"},
			ship.FieldError{Pointer: "/destination/city", Code: "too_long", Detail: "is longer than the 30 characters that the carrier prints"},
		},
		"a state that matters": {
			narrow,
			ship.Address{Country: "US", State: "California"},
			ship.FieldError{Pointer: "/destination/state", Code: "too_long", Detail: "is longer than the 5 characters that the carrier prints"},
		},
		"a zip": {
			narrow,
			ship.Address{Zip: "12345-6789-0"},
			ship.FieldError{Pointer: "/destination/zip", Code: "too_long", Detail: "is longer than the 10 characters that the carrier prints"},
		},
		"an e-mail address": {
			narrow,
			ship.Address{Email: strings.Repeat("a", 50) + "@example.com"},
			ship.FieldError{Pointer: "/destination/email", Code: "too_long", Detail: "is longer than the 50 characters that the carrier accepts"},
		},
		"a phone number": {
			narrow,
			ship.Address{Phone: "+49 30 1234 5678 9012 3456"},
			ship.FieldError{Pointer: "/destination/phone", Code: "too_long", Detail: "has more than the 15 digits that the carrier accepts"},
		},
		"a script that has no transliteration": {
			narrow,
			ship.Address{Name: "山田太郎"},
			ship.FieldError{
				Pointer: "/destination/name", Code: "unsupported_characters",
				Detail: "has characters that the carrier cannot print and that have no transliteration", Suggestion: "the same in Latin letters",
			},
		},
	} {
		_, _, err := carrierkit.Fit(tc.limits, tc.address, "/destination")
		e, ok := errors.AsType[*ship.Error](err)
		if !ok || e.Kind != ship.Invalid || len(e.Fields) != 1 || e.Fields[0] != tc.want {
			t.Errorf("%s: %+v, want %+v", name, e, tc.want)
		}
	}
}

func TestEveryWrongFieldIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := carrierkit.Fit(narrow, ship.Address{Name: "שלום", Address1: "شارع", Address2: "ถนน", City: "서울", Zip: "12345-6789-0"}, "/origin")
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		t.Fatal(err)
	}
	var at []string
	for _, f := range e.Fields {
		at = append(at, f.Pointer+" "+f.Code)
	}
	want := []string{
		"/origin/name unsupported_characters", "/origin/address1 unsupported_characters",
		"/origin/address2 unsupported_characters", "/origin/city unsupported_characters", "/origin/zip too_long",
	}
	if !slices.Equal(at, want) {
		t.Errorf("%q, want %q", at, want)
	}
}

func TestLettersThatACarrierCannotPrintAreTransliterated(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ charset, country, given, want string }{
		{"latin1", "FR", "Hélène Müller", "Hélène Müller"},
		{"ascii", "FR", "Hélène Müller", "Helene Muller"},
		{"ascii", "DE", "Jürgen Groß", "Juergen Gross"},
		{"ascii", "DE", "JÜRGEN GROẞ", "JUERGEN GROSS"},
		{"ascii", "NO", "Øyvind Ærlig", "Oyvind Aerlig"},
		{"latin1", "PL", "Łukasz Żółć", "Lukasz Zólc"},
		{"latin1", "VN", "Nguyễn Đình Thơ", "Nguyen Dình Tho"},
		{"latin1", "TR", "İstanbul ığdır Şişli", "Istanbul igdir Sisli"},
		{"ascii", "IS", "Þórður ÞÓRÐARSON", "Thordur THORDARSON"},
		{"latin1", "RU", "улица Щукина, Санкт-Петербург", "ulitsa Shchukina, Sankt-Peterburg"},
		{"latin1", "RU", "МОСКВА ЖЮ", "MOSKVA ZHYU"},
		{"latin1", "UA", "Київ", "Kyiv"},
		{"latin1", "BG", "Търново", "Tarnovo"},
		{"latin1", "GR", "Οδός Ερμού 5, Αθήνα", "Odos Ermou 5, Athina"},
		{"latin1", "US", "O’Brien “Bob” – 5th…", `O'Brien "Bob" - 5th...`},
		{"ascii", "GB", "12½ High St", "12 1/2 High St"},
		{"latin1", "DE", "Haupt\u00adstraße", "Hauptstraße"},
		{"ascii", "ES", "Calle 3º n° 5", "Calle 3o no 5"},
		{"latin1", "JP", "１−２ Ａｏｉ", "1-2 Aoi"},
		{"", "JP", "山田 太郎", "山田 太郎"},
	} {
		limits := carrier.AddressLimits{Charset: tc.charset}
		got, warnings, err := carrierkit.Fit(limits, ship.Address{Name: tc.given, Country: tc.country}, "/destination")
		if err != nil || got.Name != tc.want {
			t.Errorf("%s in %s: %q, %v; want %q", tc.given, tc.charset, got.Name, err, tc.want)
		}
		if warned := slices.Equal(warnings, []string{"destination.name is transliterated: the carrier cannot print all of its characters"}); warned != (tc.given != tc.want) {
			t.Errorf("%s in %s: warnings %q", tc.given, tc.charset, warnings)
		}
	}
}

func TestPhoneNumbersAreReducedToWhatTheCarrierTakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		limit                int
		country, given, want string
		warned               bool
	}{
		{15, "US", "(415) 555-0100", "(415) 555-0100", false},
		{10, "US", "(415) 555-0100", "4155550100", false},
		{10, "US", "+1 (415) 555-0100", "4155550100", false},
		{15, "US", "+1 (415) 555-0100", "+14155550100", false},
		{12, "DE", "+49 30 1234567", "+49301234567", false},
		{11, "DE", "+49 30 1234567", "49301234567", false},
		{15, "US", "415/555/0100", "4155550100", false},
		{15, "US", "tel. 415 555 0100", "4155550100", false},
		{15, "US", "Fax 415 555 0100", "4155550100", false},
		{15, "US", "415-555-0100 ext. 21", "4155550100", true},
		{15, "US", "415-555-0100 x21", "4155550100", true},
		{15, "AE", "٠٤١٢٣٤٥٦٧", "041234567", false},
	} {
		got, warnings, err := carrierkit.Fit(carrier.AddressLimits{Phone: tc.limit}, ship.Address{Phone: tc.given, Country: tc.country}, "/destination")
		if err != nil || got.Phone != tc.want || (len(warnings) > 0) != tc.warned {
			t.Errorf("%s: %q, %q, %v; want %q", tc.given, got.Phone, warnings, err, tc.want)
		}
	}
}

func TestWhatIsLeftOutIsTold(t *testing.T) {
	t.Parallel()
	yes := true
	got, warnings, err := carrierkit.Fit(narrow, ship.Address{Country: "GB", State: "Greater London", Email: "пётр@example.com", Residential: &yes}, "/origin")
	want := []string{
		"origin.state is omitted: the carrier does not accept it, and addresses in this country do not need it",
		"origin.email is omitted: the carrier does not accept its characters",
	}
	if err != nil || got.State != "" || got.Email != "" || !got.Residential || !slices.Equal(warnings, want) {
		t.Errorf("%+v, %q, %v", got, warnings, err)
	}
}
