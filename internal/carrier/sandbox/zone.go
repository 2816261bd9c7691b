package sandbox

import (
	"math"

	"github.com/waybillhq/waybill/internal/ship"
)

// lane is where a parcel goes: usa in eight zones, inside in one, across in
// three.
type lane struct {
	kind reach
	zone int // from 0, the nearest
}

// laneOf returns the lane between two addresses.
func laneOf(from, to *ship.Address) lane {
	switch {
	case isUS(from.Country) && isUS(to.Country):
		return lane{usa, usZone(from, to)}
	case from.Country == to.Country:
		return lane{inside, 0}
	}

	start := regionOf(from.Country)
	end := regionOf(to.Country)
	switch {
	case start == end && start != elsewhere:
		return lane{across, 0}
	case near[start]&(1<<end) != 0:
		return lane{across, 1}
	}
	return lane{across, 2}
}

// isUS reports whether the country has zip codes of the United States.
func isUS(country string) bool {
	switch country {
	case "US", "PR", "VI", "GU", "AS", "MP":
		return true
	}
	return false
}

// zoneMiles are the far ends of the first zones at home, as the carriers draw
// them: 150 miles for zone 2, and so on to zone 8.
var zoneMiles = [...]float64{150, 300, 600, 1000, 1400, 1800}

const farZone = 7 // Alaska, Hawaii and the territories

// usZone returns the zone between two zip codes.
func usZone(from, to *ship.Address) int {
	if isRemoteUS(from) != isRemoteUS(to) {
		return farZone
	}

	// Treating the map as flat is exact enough over such distances: a degree of
	// latitude is 69.1 miles, and a degree of longitude shrinks with the cosine
	// of the latitude.
	start := zipPlace(from.Zip)
	end := zipPlace(to.Zip)
	height := float64(start.lat-end.lat) / 10
	width := float64(start.lon-end.lon) / 10 * math.Cos(float64(start.lat+end.lat)/20*math.Pi/180)
	miles := 69.1 * math.Sqrt(height*height+width*width)
	for i, limit := range zoneMiles {
		if miles <= limit {
			return i
		}
	}
	return len(zoneMiles)
}

// isRemoteUS reports whether the address is outside the 48 states.
func isRemoteUS(address *ship.Address) bool {
	if address.Country != "US" {
		return true
	}
	switch address.State {
	case "AK", "HI", "PR", "VI", "GU", "AS", "MP":
		return true
	}
	return false
}

// place is a point on the map in tenths of a degree.
type place struct{ lat, lon int16 }

// zipPlace is roughly where a zip code lies: the middle of all that share its
// first two digits.
func zipPlace(zip string) place {
	if len(zip) < 2 || zip[0] < '0' || zip[0] > '9' || zip[1] < '0' || zip[1] > '9' {
		return place{390, -980} // the middle of the country
	}
	return zipPlaces[(zip[0]-'0')*10+zip[1]-'0']
}

// zipPlaces are the middles of the regions of two digits. Region 00 is Puerto
// Rico and the magic zip codes, so the middle of the country stands there.
var zipPlaces = [100]place{
	{390, -980},
	{423, -723},
	{421, -712},
	{433, -713},
	{445, -695},
	{440, -727},
	{415, -728},
	{408, -742},
	{399, -747},
	{407, -740},
	{408, -739},
	{407, -735},
	{426, -740},
	{431, -758},
	{427, -783},
	{404, -798},
	{413, -793},
	{402, -768},
	{411, -756},
	{400, -753},
	{389, -771},
	{393, -767},
	{386, -780},
	{372, -769},
	{373, -802},
	{382, -816},
	{393, -801},
	{359, -792},
	{352, -800},
	{340, -810},
	{338, -843},
	{320, -830},
	{299, -825},
	{270, -809},
	{275, -819},
	{338, -868},
	{317, -869},
	{358, -855},
	{349, -894},
	{318, -892},
	{380, -853},
	{379, -833},
	{372, -872},
	{404, -829},
	{411, -815},
	{396, -840},
	{406, -861},
	{389, -866},
	{428, -833},
	{436, -856},
	{419, -935},
	{424, -957},
	{418, -915},
	{432, -888},
	{448, -899},
	{450, -930},
	{458, -952},
	{442, -985},
	{473, -995},
	{469, -1098},
	{419, -880},
	{410, -897},
	{390, -895},
	{386, -908},
	{392, -942},
	{379, -926},
	{386, -956},
	{380, -983},
	{411, -966},
	{412, -1010},
	{302, -909},
	{322, -929},
	{352, -922},
	{354, -980},
	{358, -958},
	{327, -960},
	{323, -980},
	{297, -955},
	{289, -981},
	{325, -1020},
	{399, -1047},
	{382, -1059},
	{428, -1073},
	{436, -1138},
	{404, -1118},
	{332, -1120},
	{352, -1127},
	{353, -1065},
	{325, -1058},
	{382, -1168},
	{340, -1182},
	{339, -1179},
	{334, -1171},
	{356, -1196},
	{377, -1222},
	{381, -1214},
	{406, -1219},
	{445, -1220},
	{475, -1222},
	{470, -1185},
}

// region is a part of the world that forms a single zone.
type region uint8

const (
	elsewhere region = iota
	northAmerica
	europe
	eastAsia
	middleEast
	oceania
	southAmerica
)

// near lists, as bit sets, the regions that are one zone further away.
var near = [...]uint8{
	elsewhere:    0,
	northAmerica: 1<<europe | 1<<eastAsia | 1<<southAmerica,
	europe:       1<<northAmerica | 1<<middleEast,
	eastAsia:     1<<northAmerica | 1<<oceania | 1<<middleEast,
	middleEast:   1<<europe | 1<<eastAsia,
	oceania:      1 << eastAsia,
	southAmerica: 1 << northAmerica,
}

// regionOf returns the region of a country; only the most common destinations
// are listed.
func regionOf(country string) region {
	switch country {
	case "US", "CA", "MX", "PR", "VI":
		return northAmerica
	case "AT", "BE", "BG", "CH", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GB", "GR", "HR", "HU", "IE", "IS", "IT",
		"LI", "LT", "LU", "LV", "MC", "MT", "NL", "NO", "PL", "PT", "RO", "RS", "SE", "SI", "SK", "UA":
		return europe
	case "CN", "HK", "ID", "IN", "JP", "KR", "MO", "MY", "PH", "SG", "TH", "TW", "VN":
		return eastAsia
	case "AE", "BH", "EG", "IL", "JO", "KW", "OM", "QA", "SA", "TR":
		return middleEast
	case "AU", "NZ", "FJ", "PG", "GU":
		return oceania
	case "AR", "BO", "BR", "CL", "CO", "EC", "PE", "PY", "UY", "VE":
		return southAmerica
	}
	return elsewhere
}
