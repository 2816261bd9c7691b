package tracking

import (
	"strings"
	"sync"
	"time"
)

// A clock is the time of day at a place, to an hour or two: good enough to tell
// day from night.
type clock struct {
	known bool
	hours int // ahead of UTC
}

// oftenWithin is the interval often between two hours of the day, and
// nowAndThen at other times, but never longer than until the first of them.
// Where the clock is not known all hours count as between them.
func (c clock) oftenWithin(from, to int, now time.Time) time.Duration {
	if !c.known {
		return often
	}

	// How long ago the first of the hours was, on the clock of the place.
	since := (now.UTC().Sub(now.UTC().Truncate(day)) + time.Duration(24+c.hours-from)*time.Hour) % day
	if since < time.Duration(to-from)*time.Hour {
		return often
	}
	return max(often, min(nowAndThen, day-since))
}

// hoursOf are the places by how far their clocks are ahead of UTC in winter.
// Where a country has several zones, it stands where most of its people live.
var hoursOf = map[int]string{
	-10: "US-HI",
	-9:  "US-AK",
	-8:  "US-CA US-NV US-OR US-WA CA-BC CA-YT",
	-7:  "US-AZ US-CO US-ID US-MT US-NM US-UT US-WY CA-AB CA-NT",
	-6:  "US US-AL US-AR US-IA US-IL US-KS US-LA US-MN US-MO US-MS US-ND US-NE US-OK US-SD US-TN US-TX US-WI CA-MB CA-SK MX CR GT HN NI SV",
	-5: "US-CT US-DC US-DE US-FL US-GA US-IN US-KY US-MA US-MD US-ME US-MI US-NC US-NH US-NJ US-NY US-OH US-PA US-RI US-SC US-VA US-VT US-WV " +
		"CA CA-ON CA-QC CO PE EC PA JM CU",
	-4: "CA-NB CA-NL CA-NS CA-PE US-PR US-VI PR VI CL BO VE DO TT BB",
	-3: "BR AR UY PY",
	0:  "GB IE PT IS MA GH SN CI GG JE IM",
	1:  "DE FR NL BE LU AT CH LI IT ES PL CZ SK HU SI HR RS BA ME MK AL XK DK SE NO MT MC SM VA AD NG CM TN DZ AO",
	2:  "FI EE LV LT GR BG RO UA MD CY IL LB EG ZA ZW ZM BW",
	3:  "TR RU BY SA KW QA BH IQ JO KE ET TZ UG",
	4:  "AE OM AZ GE AM MU",
	5:  "PK IN LK UZ KZ MV NP",
	6:  "BD KG",
	7:  "TH VN ID KH LA MM",
	8:  "CN HK MO TW SG MY PH BN AU-WA",
	9:  "JP KR AU-NT AU-SA",
	10: "AU GU PG",
	12: "NZ FJ",
}

var clocks = sync.OnceValue(func() map[string]clock {
	byPlace := map[string]clock{}
	for hours, places := range hoursOf {
		for place := range strings.FieldsSeq(places) {
			byPlace[place] = clock{known: true, hours: hours}
		}
	}
	return byPlace
})

// clockAt is the clock of a state, or else of its country.
func clockAt(country, state string) clock {
	if c, ok := clocks()[country+"-"+state]; ok {
		return c
	}
	return clocks()[country]
}
