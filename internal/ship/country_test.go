package ship

import (
	"strings"
	"testing"

	"github.com/bojanz/address"
)

func TestACountryGivenInWordsIsSuggested(t *testing.T) {
	for given, want := range map[string]string{
		"Germany": "DE", "USA": "US", "gbr": "GB", "UK": "GB", "U.S.A.": "US", "U.S.": "US", "United States of America": "US",
		"Côte d'Ivoire": "CI", "Turkiye": "TR", "Grmany": "DE", "Hong Kong": "HK", "Österreich": "AT", "England": "GB",
		"Netherland": "NL", "XX": "", "Atlantis": "", "ZZ": "",
	} {
		_, errs := place(given, "", "").Normalize("")
		if codes(errs) != "/country unknown_country" || errs[0].Suggestion != want {
			t.Errorf("%q: %+v; want the suggestion %q", given, errs, want)
		}
	}
}

func TestAStateBecomesItsBareCode(t *testing.T) {
	for _, c := range []struct{ country, zip, given, want string }{
		{"US", "94105", "ca", "CA"},
		{"US", "94105", "US-CA", "CA"},
		{"US", "94105", "us-ca", "CA"},
		{"US", "94105", "California", "CA"},
		{"US", "94105", " CALIFORNIA ", "CA"},
		{"US", "20001", "D.C.", "DC"},
		{"US", "20001", "Washington, D.C.", "DC"},
		{"US", "98101", "Washington", "WA"},
		{"US", "00901", "Puerto Rico", "PR"},
		{"US", "09012", "AE", "AE"},
		{"US", "00802", "U.S. Virgin Islands", "VI"},
		{"CA", "H2Y 1C6", "Québec", "QC"},
		{"CA", "H2Y 1C6", "Que\u0301bec", "QC"},
		{"CA", "V5K 0A1", "Colombie-Britannique", "BC"},
		{"CA", "A1A 1A1", "Newfoundland & Labrador", "NL"},
		{"CA", "A1A 1A1", "NF", "NL"},
		{"AU", "2000", "New South Wales", "NSW"},
		{"AU", "3000", "Vic.", "VIC"},
		{"IN", "751001", "Orissa", "OD"},
		{"IN", "500001", "TG", "TS"},
		{"IN", "190001", "Jammu and Kashmir", "JK"},
		{"BR", "01310-100", "Sao Paulo", "SP"},
		{"MX", "06000", "CDMX", "CMX"},
		{"MX", "64000", "N.L.", "NLE"},
		{"MX", "50000", "México", "MEX"},
		{"JP", "100-0001", "Tokyo", "13"},
		{"JP", "100-0001", "東京都", "13"},
		{"JP", "100-0001", "JP-13", "13"},
		{"AE", "", "dubai", "DU"},
		{"DE", "10115", "DE-BE", "BE"},
		{"DE", "80331", "by", "BY"},
		{"DE", "80331", "Bayern", "Bayern"},
		{"GB", "SW1A 1AA", "GB-eng", "ENG"},
		{"ES", "28001", "Comunidad de Madrid", "Comunidad de Madrid"},
	} {
		got, errs := place(c.country, c.given, c.zip).Normalize("")
		if len(errs) != 0 || got.State != c.want {
			t.Errorf("%s %q: %q, %v; want %q", c.country, c.given, got.State, errs, c.want)
		}
	}
}

func TestAnUnknownStateIsRefusedWithTheNearest(t *testing.T) {
	for _, c := range []struct{ country, zip, given, want string }{
		{"US", "94105", "Californa", "CA"},
		{"US", "94105", "New Yrok", "NY"},
		{"US", "94105", "XX", ""},
		{"US", "94105", "US-XX", ""},
		{"US", "94105", "CA-CA", ""},
		{"CA", "K1A 0B1", "Ontarioo", "ON"},
		{"BR", "01310-100", "São Paolo", "SP"},
	} {
		_, errs := place(c.country, c.given, c.zip).Normalize("/origin")
		if codes(errs) != "/origin/state unknown_state" || errs[0].Suggestion != c.want {
			t.Errorf("%s %q: %+v; want the suggestion %q", c.country, c.given, errs, c.want)
		}
	}
}

func TestEveryStateIsFoundByCodeAndName(t *testing.T) {
	for code, format := range address.GetFormats() {
		c := countries()[code]
		if c == nil {
			continue // ZZ
		}
		for _, state := range format.Regions.Keys() {
			for _, given := range []string{state, strings.ToLower(state), code + "-" + state, StateName(code, state)} {
				if got, ok := c.stateOf(given); !ok || got != state {
					t.Errorf("%s %q: %q, %v; want %q", code, given, got, ok, state)
				}
			}
		}
	}
}

func TestAZipGetsItsCountrysSpelling(t *testing.T) {
	for _, c := range []struct{ country, given, want string }{
		{"US", "94105", "94105"},
		{"US", "94105-1804", "94105-1804"},
		{"US", "94105 1804", "94105-1804"},
		{"US", "941051804", "94105-1804"},
		{"PR", "009011234", "00901-1234"},
		{"CA", "k1a0b1", "K1A 0B1"},
		{"CA", "K1A-0B1", "K1A 0B1"},
		{"GB", "sw1a1aa", "SW1A 1AA"},
		{"GB", "M1 1AE", "M1 1AE"},
		{"GB", "BFPO 57", "BFPO 57"},
		{"GB", "GIR 0AA", "GIR 0AA"},
		{"JE", "je23ab", "JE2 3AB"},
		{"GI", "gx111aa", "GX11 1AA"},
		{"NL", "1012ab", "1012 AB"},
		{"NL", "NL-1012 AB", "1012 AB"},
		{"JP", "1000001", "100-0001"},
		{"JP", "〒１００－０００１", "100-0001"},
		{"PL", "00950", "00-950"},
		{"BR", "01310100", "01310-100"},
		{"PT", "1000001", "1000-001"},
		{"PT", "1000", "1000"},
		{"SE", "11455", "114 55"},
		{"SE", "SE-114 55", "114 55"},
		{"CZ", "11000", "110 00"},
		{"GR", "10431", "104 31"},
		{"IE", "d02af30", "D02 AF30"},
		{"LV", "1010", "LV-1010"},
		{"LV", "LV1010", "LV-1010"},
		{"AD", "500", "AD500"},
		{"KY", "KY11101", "KY1-1101"},
		{"LU", "L-1234", "1234"},
		{"DE", "D-10115", "10115"},
		{"DE", "DE 10115", "10115"},
		{"AT", "A-1010", "1010"},
		{"FR", "75 001", "75001"},
		{"IN", "110 001", "110001"},
		{"CL", "832-0000", "8320000"},
		{"AZ", "AZ1000", "1000"},
		{"SA", "12345-6789", "12345-6789"},
		{"MT", "vlt1117", "VLT 1117"},
		{"CR", "10101", "10101"},
		{"HK", "999077", "999077"},
		{"AE", "00000", "00000"},
	} {
		state := map[string]string{"US": "CA", "CA": "ON", "BR": "SP", "IN": "DL"}[c.country]
		got, errs := place(c.country, state, c.given).Normalize("")
		if len(errs) != 0 || got.Zip != c.want {
			t.Errorf("%s %q: %q, %v; want %q", c.country, c.given, got.Zip, errs, c.want)
		}
	}
}

func TestAWrongZipIsRefused(t *testing.T) {
	for _, c := range []struct{ country, state, given string }{
		{"US", "CA", "9410"},
		{"US", "CA", "94105-18"},
		{"US", "CA", "K1A 0B1"},
		{"US", "CA", "９４１０"},
		{"CA", "ON", "94105"},
		{"CA", "ON", "D1A 0B1"},
		{"DE", "", "1011"},
		{"DE", "", "X-10115"},
		{"GB", "", "SW1A"},
		{"CR", "", "123456-1234"}, // the pattern's alternatives are anchored
		{"JP", "", "100-00012"},
		{"AU", "NSW", "20000"},
	} {
		_, errs := place(c.country, c.state, c.given).Normalize("")
		if codes(errs) != "/zip invalid_zip" {
			t.Errorf("%s %q: %s; want invalid_zip", c.country, c.given, codes(errs))
		}
		if len(errs) > 0 && strings.Contains(errs[0].Detail+errs[0].Suggestion, c.given) {
			t.Errorf("%s: the error repeats the value", c.country)
		}
	}
}

func TestEveryPostalPatternCompiles(t *testing.T) {
	for code, c := range countries() {
		if c.zipFormat != nil && c.zipFormat().MatchString("no code") {
			t.Errorf("%s takes anything", code)
		}
	}
}

func TestCountriesHaveNames(t *testing.T) {
	if CountryName("DE") != "Germany" || CountryName("de") != "" || KnownCountry("ZZ") || !KnownCountry("XK") {
		t.Error("CountryName or KnownCountry is wrong")
	}
	for pair := range strings.FieldsSeq(alpha3) {
		if len(pair) != 5 || !KnownCountry(pair[:2]) {
			t.Errorf("alpha3 has %q", pair)
		}
	}
	if n := len(strings.Fields(alpha3)); n != 250 {
		t.Errorf("%d alpha-3 codes, want ISO's 249 and Kosovo", n)
	}
	for _, list := range []string{stateNeeded, zipSeldom} {
		for code := range strings.FieldsSeq(list) {
			if !KnownCountry(code) {
				t.Errorf("no country %s", code)
			}
		}
	}
	for country, aliases := range stateAliases {
		for pair := range strings.FieldsSeq(aliases) {
			written, code, _ := strings.Cut(pair, "=")
			if countries()[country].states()[written] != code || !countries()[country].format.Regions.HasKey(code) {
				t.Errorf("%s: alias %s leads nowhere, or is another state's", country, pair)
			}
		}
	}
}
