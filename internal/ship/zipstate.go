package ship

import (
	"slices"
	"strconv"
	"strings"
)

// statesOfZip are the states that a postal code is usually in and those that it
// also reaches into, each separated by spaces; none if that is not known. The
// code must have its country's spelling. It allocates nothing: every address
// is checked.
func statesOfZip(country, zip string) (usual, also string) {
	switch country {
	case "US":
		return usStates(zip)
	case "CA":
		return canadianProvinces(zip)
	case "AU":
		return australianStates(zip)
	}
	return "", ""
}

// hasWord reports whether a list that is separated by spaces has the word.
func hasWord(list, word string) bool {
	for one := range strings.SplitSeq(list, " ") {
		if one == word {
			return true
		}
	}
	return false
}

// A zipRange is the postal codes, or their first digits, of one state.
type zipRange struct {
	from, to int
	states   string // separated by spaces
}

func lookUpZip(table []zipRange, n int) string {
	i, found := slices.BinarySearchFunc(table, n, func(r zipRange, n int) int {
		switch {
		case n < r.from:
			return 1
		case n > r.to:
			return -1
		}
		return 0
	})
	if !found {
		return ""
	}
	return table[i].states
}

// usZips are the states of the first three digits of ZIP codes. Prefixes that
// are not assigned are left out.
var usZips = []zipRange{
	{5, 5, "NY"},
	{6, 7, "PR"},
	{8, 8, "VI"},
	{9, 9, "PR"},
	{10, 27, "MA"},
	{28, 29, "RI"},
	{30, 38, "NH"},
	{39, 49, "ME"},
	{50, 54, "VT"},
	{55, 55, "MA"},
	{56, 59, "VT"},
	{60, 69, "CT"},
	{70, 89, "NJ"},
	{90, 98, "AE"},
	{100, 149, "NY"},
	{150, 196, "PA"},
	{197, 199, "DE"},
	{200, 200, "DC"},
	{201, 201, "VA"},
	{202, 205, "DC"},
	{206, 212, "MD"},
	{214, 219, "MD"},
	{220, 246, "VA"},
	{247, 268, "WV"},
	{270, 289, "NC"},
	{290, 299, "SC"},
	{300, 319, "GA"},
	{320, 339, "FL"},
	{340, 340, "AA"},
	{341, 342, "FL"},
	{344, 344, "FL"},
	{346, 347, "FL"},
	{349, 349, "FL"},
	{350, 352, "AL"},
	{354, 369, "AL"},
	{370, 385, "TN"},
	{386, 397, "MS"},
	{398, 399, "GA"},
	{400, 427, "KY"},
	{430, 459, "OH"},
	{460, 479, "IN"},
	{480, 499, "MI"},
	{500, 528, "IA"},
	{530, 532, "WI"},
	{534, 535, "WI"},
	{537, 549, "WI"},
	{550, 551, "MN"},
	{553, 567, "MN"},
	{569, 569, "DC"},
	{570, 577, "SD"},
	{580, 588, "ND"},
	{590, 599, "MT"},
	{600, 620, "IL"},
	{622, 629, "IL"},
	{630, 631, "MO"},
	{633, 641, "MO"},
	{644, 658, "MO"},
	{660, 662, "KS"},
	{664, 679, "KS"},
	{680, 681, "NE"},
	{683, 693, "NE"},
	{700, 701, "LA"},
	{703, 708, "LA"},
	{710, 714, "LA"},
	{716, 729, "AR"},
	{730, 731, "OK"},
	{733, 733, "TX"},
	{734, 741, "OK"},
	{743, 749, "OK"},
	{750, 799, "TX"},
	{800, 816, "CO"},
	{820, 831, "WY"},
	{832, 838, "ID"},
	{840, 847, "UT"},
	{850, 853, "AZ"},
	{855, 857, "AZ"},
	{859, 860, "AZ"},
	{863, 865, "AZ"},
	{870, 871, "NM"},
	{873, 875, "NM"},
	{877, 884, "NM"},
	{885, 885, "TX"},
	{889, 891, "NV"},
	{893, 895, "NV"},
	{897, 898, "NV"},
	{900, 908, "CA"},
	{910, 928, "CA"},
	{930, 961, "CA"},
	{962, 966, "AP"},
	{967, 968, "HI AS"},
	{969, 969, "GU MP PW FM MH"},
	{970, 979, "OR"},
	{980, 986, "WA"},
	{988, 994, "WA"},
	{995, 999, "AK"},
}

// usBorderZips are ZIP codes with addresses in a second state.
var usBorderZips = map[string]string{
	"02861": "MA", "03579": "ME", "06390": "NY", "20135": "WV", "24604": "WV", "24701": "VA", "27048": "VA", "28675": "VA", "30165": "AL",
	"31905": "AL", "37317": "GA", "37387": "AL", "37391": "GA", "37752": "VA", "38041": "AR", "38079": "KY", "38326": "MS", "38769": "AR",
	"38852": "AL", "42223": "TN", "42602": "TN", "51640": "MO", "52542": "MO", "52573": "MO", "52626": "MO", "56027": "IA", "56129": "IA",
	"56136": "SD", "56144": "SD", "56164": "SD", "56219": "SD", "56744": "ND", "57026": "MN", "57030": "MN", "57068": "MN", "57078": "NE",
	"57638": "ND", "57641": "ND", "57642": "ND", "57645": "ND", "57648": "ND", "57660": "ND", "57717": "WY", "57724": "MT", "58225": "MN",
	"58439": "SD", "58623": "SD", "58649": "SD", "58653": "SD", "59221": "ND", "63673": "IL", "65729": "AR", "65733": "AR", "65761": "AR",
	"66541": "NE", "67950": "OK", "68325": "KS", "68719": "SD", "68978": "KS", "69201": "SD", "69212": "SD", "69216": "SD", "69337": "SD",
	"69352": "WY", "71749": "LA", "72338": "MO", "72395": "TN", "72644": "MO", "73949": "TX", "79837": "NM", "79922": "NM", "80758": "NE",
	"81137": "NM", "81324": "UT", "82063": "CO", "82082": "NE", "82701": "SD", "82801": "MT", "82930": "UT", "83111": "UT", "83120": "ID",
	"83312": "UT", "83342": "UT", "83414": "WY", "84034": "NV", "84536": "AZ", "86044": "UT", "86515": "NM", "87328": "AZ", "88063": "TX", "88220": "TX",
	"88430": "TX", "89010": "CA", "89060": "CA", "89061": "CA", "89421": "OR", "89439": "CA", "89832": "ID", "96155": "NV", "97635": "CA", "97910": "ID",
	"97913": "ID", "99128": "ID", "99362": "OR",
}

func usStates(zip string) (usual, also string) {
	if len(zip) < 5 {
		return "", ""
	}
	prefix, err := strconv.Atoi(zip[:3])
	if err != nil {
		return "", ""
	}
	return lookUpZip(usZips, prefix), usBorderZips[zip[:5]]
}

// canadianLetters are the provinces of the first letter of postal codes.
var canadianLetters = map[byte]string{
	'A': "NL", 'B': "NS", 'C': "PE", 'E': "NB", 'G': "QC", 'H': "QC", 'J': "QC", 'K': "ON", 'L': "ON", 'M': "ON", 'N': "ON", 'P': "ON",
	'R': "MB", 'S': "SK", 'T': "AB", 'V': "BC", 'X': "NT NU", 'Y': "YT",
}

func canadianProvinces(zip string) (usual, also string) {
	if zip == "" {
		return "", ""
	}
	if strings.HasPrefix(zip, "K1A") {
		also = "QC" // federal offices in Gatineau
	}
	return canadianLetters[zip[0]], also
}

// australianZips are the states of postcodes.
var australianZips = []zipRange{
	{200, 299, "ACT"},
	{800, 999, "NT"},
	{1000, 2599, "NSW"},
	{2600, 2618, "ACT NSW"},
	{2619, 2899, "NSW"},
	{2900, 2920, "ACT"},
	{2921, 2999, "NSW"},
	{3000, 3999, "VIC"},
	{4000, 4999, "QLD"},
	{5000, 5999, "SA"},
	{6000, 6999, "WA"},
	{7000, 7999, "TAS"},
	{8000, 8999, "VIC"},
	{9000, 9999, "QLD"},
}

// australianBorderZips are postcodes with addresses in further states.
var australianBorderZips = map[int]string{
	872: "SA WA QLD", 2406: "QLD", 2540: "ACT", 2620: "ACT", 2648: "VIC", 3500: "NSW", 3585: "NSW", 3586: "NSW", 3644: "NSW", 3691: "NSW", 3707: "NSW",
	4377: "NSW", 4380: "NSW", 4383: "NSW", 4385: "NSW", 4825: "NT", 5440: "NSW",
}

func australianStates(zip string) (usual, also string) {
	n, err := strconv.Atoi(zip)
	if err != nil {
		return "", ""
	}
	return lookUpZip(australianZips, n), australianBorderZips[n]
}
