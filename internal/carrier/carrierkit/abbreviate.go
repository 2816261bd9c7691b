package carrierkit

import (
	"slices"
	"strings"
)

// abbreviations are short forms by the word in lower case.
type abbreviations map[string]string

// Common abbreviations that everybody understands. They are suggested, never
// applied.
var (
	streetWords = abbreviations{
		"alley": "Aly", "apartment": "Apt", "avenue": "Ave", "boulevard": "Blvd", "building": "Bldg", "circle": "Cir", "court": "Ct", "crescent": "Cres",
		"department": "Dept", "drive": "Dr", "east": "E", "expressway": "Expy", "floor": "Fl", "freeway": "Fwy", "gardens": "Gdns", "heights": "Hts",
		"highway": "Hwy", "industrial": "Ind", "junction": "Jct", "lane": "Ln", "north": "N", "northeast": "NE", "northwest": "NW", "number": "No",
		"parkway": "Pkwy", "place": "Pl", "plaza": "Plz", "road": "Rd", "room": "Rm", "route": "Rte", "south": "S", "southeast": "SE", "southwest": "SW",
		"square": "Sq", "station": "Sta", "street": "St", "suite": "Ste", "terrace": "Ter", "trail": "Trl", "turnpike": "Tpke", "west": "W",
	}
	nameWords = abbreviations{
		"and": "&", "associates": "Assoc", "association": "Assn", "brothers": "Bros", "company": "Co", "corporation": "Corp", "department": "Dept",
		"distribution": "Dist", "incorporated": "Inc", "industries": "Ind", "international": "Intl", "limited": "Ltd", "management": "Mgmt",
		"manufacturing": "Mfg", "national": "Natl", "services": "Svcs", "technologies": "Tech", "university": "Univ",
	}
	cityWords = abbreviations{
		"beach": "Bch", "fort": "Ft", "heights": "Hts", "lake": "Lk", "mount": "Mt", "north": "N", "saint": "St", "south": "S",
		"springs": "Spgs", "township": "Twp", "village": "Vlg", "east": "E", "west": "W",
	}
)

// shorten returns the text with its words abbreviated, and the long forms of
// the abbreviated words in lower case.
func (a abbreviations) shorten(text string) (short string, used []string) {
	words := strings.Fields(text)
	for i, word := range words {
		bare := strings.TrimRight(word, ".,")
		if abbreviated, ok := a[strings.ToLower(bare)]; ok {
			words[i] = abbreviated + strings.TrimPrefix(word, bare)
			used = append(used, strings.ToLower(bare))
		}
	}
	return strings.Join(words, " "), used
}

// advise lists the abbreviations without the text around them, which is
// somebody's address.
func (a abbreviations) advise(used []string) string {
	slices.Sort(used)
	var list []string
	for _, long := range slices.Compact(used) {
		list = append(list, a[long]+" for "+strings.ToUpper(long[:1])+long[1:])
	}
	return strings.Join(list, ", ")
}
