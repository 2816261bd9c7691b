package carrierkit_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestSpellingOfTheClientIsKept(t *testing.T) {
	for _, tc := range []struct {
		name               string
		given, found, want ship.Address
	}{
		{
			"capitals and abbreviations",
			ship.Address{Address1: "350 Fifth Avenue", Address2: "Floor 21", City: "Saint Paul", State: "MN", Zip: "55101", Country: "US"},
			ship.Address{Address1: "350 FIFTH AVE", Address2: "FL 21", City: "ST PAUL", State: "MN", Zip: "55101-1234", Country: "US"},
			ship.Address{Address1: "350 Fifth Avenue", Address2: "Floor 21", City: "Saint Paul", State: "MN", Zip: "55101", Country: "US"},
		},
		{
			"one line instead of two",
			ship.Address{Address1: "1 N Main St.", Address2: "Suite 4", City: "Albany", State: "NY", Zip: "12207-1000", Country: "US"},
			ship.Address{Address1: "1 NORTH MAIN STREET STE 4", City: "ALBANY", State: "NY", Zip: "12207-1000"},
			ship.Address{Address1: "1 N Main St.", Address2: "Suite 4", City: "Albany", State: "NY", Zip: "12207-1000", Country: "US"},
		},
		{
			"another street, and the unit moved to its line",
			ship.Address{Address1: "1 Mian St", Address2: "Suite 4", Address3: "c/o Ann", City: "Albany", State: "NY", Zip: "12206", Country: "US"},
			ship.Address{Address1: "1 MAIN ST, STE 4", City: "ALBANY", State: "NY", Zip: "12207-1000"},
			ship.Address{Address1: "1 MAIN ST", Address2: "Suite 4", Address3: "c/o Ann", City: "Albany", State: "NY", Zip: "12207-1000", Country: "US"},
		},
		{
			"accents",
			ship.Address{Address1: "Mönckebergstraße 7", City: "Köln", Zip: "50667", Country: "DE"},
			ship.Address{Address1: "MONCKEBERGSTRASSE 7", City: "KOLN", Zip: "50667"},
			ship.Address{Address1: "Mönckebergstraße 7", City: "Köln", Zip: "50667", Country: "DE"},
		},
		{
			"a territory by its country",
			ship.Address{Address1: "1 Calle Sol", City: "San Juan", Zip: "00901", Country: "PR"},
			ship.Address{Address1: "1 CALLE SOL", City: "SAN JUAN", State: "PR", Zip: "00901-1203", Country: "US"},
			ship.Address{Address1: "1 Calle Sol", City: "San Juan", Zip: "00901", Country: "PR"},
		},
		{
			"another city",
			ship.Address{Address1: "1 Main St", City: "Troy", State: "NY", Zip: "12207", Country: "US"},
			ship.Address{Address1: "1 MAIN ST", City: "ALBANY", State: "NY", Zip: "12207"},
			ship.Address{Address1: "1 Main St", City: "ALBANY", State: "NY", Zip: "12207", Country: "US"},
		},
	} {
		if got := carrierkit.KeepSpelling(tc.given, tc.found); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
