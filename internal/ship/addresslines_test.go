package ship

import (
	"slices"
	"strings"
	"testing"
)

func TestAddressesArePrintedAsTheirCountryWritesThem(t *testing.T) {
	for _, tc := range []struct {
		address Address
		want    []string
	}{
		{
			Address{Name: "Ada Lovelace", Company: "Engines", Address1: "350 5th Ave", Address2: "Floor 3", City: "New York", State: "NY", Zip: "10118", Country: "US"},
			[]string{"Ada Lovelace", "Engines", "350 5th Ave", "Floor 3", "New York, NY 10118", "UNITED STATES"},
		},
		{
			Address{Name: "Taro Yamada", Address1: "1-1 Chiyoda", City: "Chiyoda-ku", State: "13", Zip: "100-0001", Country: "JP"},
			[]string{"Taro Yamada", "1-1 Chiyoda", "Chiyoda-ku, Tokyo", "100-0001", "JAPAN"},
		},
		{
			Address{Name: "山田太郎", Company: "会社", Address1: "千代田1-1", City: "千代田区", State: "13", Zip: "100-0001", Country: "JP"},
			[]string{"〒100-0001", "東京都千代田区", "千代田1-1", "会社", "山田太郎", "JAPAN"},
		},
		{
			Address{Name: "Erika Mustermann", Address1: "Hauptstr. 5", City: "Berlin", State: "BE", Zip: "10115", Country: "DE"},
			[]string{"Erika Mustermann", "Hauptstr. 5", "10115 Berlin", "GERMANY"},
		},
		{
			Address{Name: "Zoë", Address1: "1 Orchard Rd", City: "Singapore", Zip: "238801", Country: "SG"},
			[]string{"Zoë", "1 Orchard Rd", "Singapore 238801", "SINGAPORE"},
		},
		{
			Address{Name: "Ann", Address1: "10 Downing St", City: "London", Zip: "SW1A 2AA", Country: "GB"},
			[]string{"Ann", "10 Downing St", "London", "SW1A 2AA", "UNITED KINGDOM"},
		},
		{
			Address{Name: "Li", Address1: "1 Queen's Road", City: "Central", Country: "HK", State: "Hong Kong Island", Zip: "999077"},
			[]string{"Li", "1 Queen's Road", "Central", "Hong Kong Island", "999077", "HONG KONG SAR CHINA"},
		},
	} {
		if got := tc.address.Lines(true); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.address.Country, got, tc.want)
		}
		if got := tc.address.Lines(false); !slices.Equal(got, tc.want[:len(tc.want)-1]) {
			t.Errorf("%s at home: %q", tc.address.Country, got)
		}
	}
}

// TestNoStateIsPrintedAsANumber walks all states of all countries.
func TestNoStateIsPrintedAsANumber(t *testing.T) {
	numbered := 0
	for code, c := range countries() {
		for _, state := range c.format.Regions.Keys() {
			if !isNumber(state) {
				continue
			}
			numbered++
			a := Address{Name: "A", Address1: "B", City: "C", State: state, Country: code}
			for _, line := range a.Lines(true) {
				if strings.Contains(line, state) {
					t.Errorf("%s %s is printed as %q", code, state, line)
				}
			}
		}
	}
	if numbered < 100 {
		t.Errorf("%d states have numbers for codes; the walk misses them", numbered)
	}
}
