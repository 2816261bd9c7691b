package carrierkit

import (
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the time zones, wherever the program runs

	"github.com/waybillhq/waybill/internal/ship"
)

// A Place is what customs, postal territories and time zones depend on. All
// rules about them are in this file, and every driver uses them.
type Place struct {
	Country string // ISO 3166-1 alpha-2
	State   string // bare code, "CA"
	City    string
	Zip     string
}

// PlaceOf returns the place of an address.
func PlaceOf(address ship.Address) Place {
	return Place{
		Country: address.Country,
		State:   address.State,
		City:    address.City,
		Zip:     address.Zip,
	}
}

// Territories that have no country code of their own in ISO 3166-1, or that
// are written as a part of a country. The codes are the ones that ISO reserves
// for them, which some carriers use as countries.
const (
	CanaryIslands = "IC"
	CeutaMelilla  = "EA"
)

// usTerritories are states of the United States by their addresses and
// countries of their own by ISO 3166-1.
var usTerritories = []string{"AS", "GU", "MP", "PR", "VI"}

// associatedStates are countries that the United States Postal Service
// delivers to as if they were states.
var associatedStates = []string{"FM", "MH", "PW"}

// IsUSTerritory reports whether the code names a territory of the United
// States: Puerto Rico, the US Virgin Islands, Guam, American Samoa or the
// Northern Mariana Islands.
func IsUSTerritory(code string) bool { return slices.Contains(usTerritories, code) }

// IsAssociatedState reports whether the code names Micronesia, the Marshall
// Islands or Palau.
func IsAssociatedState(code string) bool { return slices.Contains(associatedStates, code) }

// Territory returns the country or territory that the place lies in: Puerto
// Rico for an address in "PR, US", the Canary Islands for one in Las Palmas,
// Spain, and the country itself everywhere else.
func (p Place) Territory() string {
	country := strings.ToUpper(p.Country)
	state := strings.ToUpper(p.State)

	switch country {
	case "US":
		if IsUSTerritory(state) || IsAssociatedState(state) {
			return state
		}

	case "ES":
		switch prefix(p.Zip, 2) {
		case "35", "38":
			return CanaryIslands
		case "51", "52":
			return CeutaMelilla
		}

	case "FI":
		if prefix(p.Zip, 2) == "22" {
			return "AX" // the Åland Islands
		}

	case "FR":
		if code, ok := frenchOverseas[prefix(p.Zip, 3)]; ok {
			return code
		}
	}
	return country
}

// frenchOverseas are the departments and collectivities of France that customs
// treat separately, by the first digits of their postal codes.
var frenchOverseas = map[string]string{
	"971": "GP",
	"972": "MQ",
	"973": "GF",
	"974": "RE",
	"975": "PM",
	"976": "YT",
	"986": "WF",
	"987": "PF",
	"988": "NC",
}

// prefix returns the first n digits or letters of a postal code.
func prefix(zip string, n int) string {
	zip = strings.ToUpper(strings.ReplaceAll(zip, " ", ""))
	return zip[:min(n, len(zip))]
}

// euMembers are the member states of the European Union, and Monaco, which is
// in the customs union as a part of France.
var euMembers = strings.Fields("AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MC MT NL PL PT RO SE SI SK")

// IsEUMember reports whether the country is a member of the European Union,
// or Monaco.
func IsEUMember(country string) bool { return slices.Contains(euMembers, country) }

// InEU reports whether no declaration is needed between the place and another
// one in the European Union. Territories of member states that are outside the
// area of the common value added tax are not in it: the Canary Islands, Ceuta
// and Melilla, Åland, the French overseas departments, Büsingen and Heligoland.
func (p Place) InEU() bool {
	territory := p.Territory()
	if territory == "DE" && slices.Contains([]string{"78266", "27498"}, prefix(p.Zip, 5)) {
		return false
	}
	return IsEUMember(territory)
}

// CrossesCustoms reports whether a parcel between the places is declared to
// customs. The United States has no customs border with Puerto Rico; carriers
// want a declaration for the other territories.
func CrossesCustoms(from, to Place) bool {
	switch {
	case from.InEU() && to.InEU():
		return false
	case inUSCustoms(from) && inUSCustoms(to):
		return false
	}
	return from.Territory() != to.Territory() || from.InEU() != to.InEU()
}

// NeedsCustoms reports whether a parcel between the addresses is declared to
// customs.
func NeedsCustoms(from, to ship.Address) bool { return CrossesCustoms(PlaceOf(from), PlaceOf(to)) }

// inUSCustoms reports whether the place is in the customs territory of the
// United States: the states, the District of Columbia and Puerto Rico.
func inUSCustoms(place Place) bool {
	territory := place.Territory()
	return territory == "US" || territory == "PR"
}

// Zone returns the time zone of the place if it is certain: a wrong guess would
// be worse than no answer.
func (p Place) Zone() (*time.Location, bool) {
	country := p.Territory()
	state := strings.ToUpper(p.State)
	city := strings.ToUpper(strings.TrimSpace(p.City))

	// A scan names its city and not always its state or postal code, so the
	// cities of islands come before their country.
	for _, key := range []string{country + "-" + state + "-" + city, country + "--" + city, country + "-" + state, country} {
		name, ok := zoneNames()[key]
		if !ok {
			continue
		}
		zone, err := loadZone(name)
		return zone, err == nil
	}
	return nil, false
}

// loadZone loads a time zone once: the library reads its file every time.
func loadZone(name string) (*time.Location, error) {
	if zone, ok := loadedZones.Load(name); ok {
		return zone.(*time.Location), nil
	}

	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	loadedZones.Store(name, zone)
	return zone, nil
}

var loadedZones sync.Map // by name

// zoneNames are the time zones by country, by country and state, and, in
// states that lie in two zones, by country, state and city.
var zoneNames = sync.OnceValue(func() map[string]string {
	byPlace := map[string]string{}
	for zone, places := range zones {
		for place := range strings.FieldsSeq(places) {
			byPlace[place] = zone
		}
	}
	for zone, states := range cityZones {
		for state, cities := range states {
			for city := range strings.SplitSeq(cities, ", ") {
				byPlace[state+"-"+strings.ToUpper(city)] = zone
			}
		}
	}
	return byPlace
})

// zones are the countries and states that lie in a single zone.
var zones = map[string]string{
	"America/New_York":    "US-CT US-DC US-DE US-GA US-MA US-MD US-ME US-NC US-NH US-NJ US-NY US-OH US-PA US-RI US-SC US-VA US-VT US-WV",
	"America/Chicago":     "US-AL US-AR US-IA US-IL US-LA US-MN US-MO US-MS US-OK US-WI",
	"America/Denver":      "US-CO US-MT US-NM US-UT US-WY",
	"America/Los_Angeles": "US-CA US-WA",
	"Pacific/Honolulu":    "US-HI",
	"America/Puerto_Rico": "PR",
	"America/St_Thomas":   "VI",
	"Pacific/Guam":        "GU MP",
	"Pacific/Pago_Pago":   "AS",
	"Pacific/Palau":       "PW",
	"Pacific/Majuro":      "MH",
	"America/Edmonton":    "CA-AB",
	"America/Winnipeg":    "CA-MB",
	"America/Halifax":     "CA-NS CA-PE",
	"America/Moncton":     "CA-NB",
	"America/Whitehorse":  "CA-YT",
	"America/Bogota":      "CO",
	"America/Lima":        "PE",
	"Europe/London":       "GB",
	"Europe/Dublin":       "IE",
	"Europe/Paris":        "FR MC",
	"Europe/Berlin":       "DE",
	"Europe/Amsterdam":    "NL",
	"Europe/Brussels":     "BE",
	"Europe/Luxembourg":   "LU",
	"Europe/Vienna":       "AT",
	"Europe/Zurich":       "CH LI",
	"Europe/Rome":         "IT SM VA",
	"Europe/Madrid":       "ES",
	"Atlantic/Canary":     "IC ES-CN ES-GC ES-TF",
	"Africa/Ceuta":        "EA",
	"Europe/Copenhagen":   "DK",
	"Europe/Stockholm":    "SE",
	"Europe/Oslo":         "NO",
	"Europe/Helsinki":     "FI AX",
	"Europe/Warsaw":       "PL",
	"Europe/Prague":       "CZ",
	"Europe/Bratislava":   "SK",
	"Europe/Budapest":     "HU",
	"Europe/Sofia":        "BG",
	"Europe/Bucharest":    "RO",
	"Europe/Athens":       "GR",
	"Europe/Zagreb":       "HR",
	"Europe/Ljubljana":    "SI",
	"Europe/Belgrade":     "RS",
	"Europe/Tallinn":      "EE",
	"Europe/Riga":         "LV",
	"Europe/Vilnius":      "LT",
	"Europe/Malta":        "MT",
	"Asia/Nicosia":        "CY",
	"Europe/Istanbul":     "TR",
	"Africa/Cairo":        "EG",
	"Africa/Johannesburg": "ZA",
	"Africa/Lagos":        "NG",
	"Africa/Nairobi":      "KE",
	"Asia/Tokyo":          "JP",
	"Asia/Seoul":          "KR",
	"Asia/Shanghai":       "CN",
	"Asia/Hong_Kong":      "HK",
	"Asia/Macau":          "MO",
	"Asia/Taipei":         "TW",
	"Asia/Singapore":      "SG",
	"Asia/Kolkata":        "IN",
	"Asia/Dubai":          "AE",
	"Asia/Riyadh":         "SA",
	"Asia/Qatar":          "QA",
	"Asia/Kuwait":         "KW",
	"Asia/Bahrain":        "BH",
	"Asia/Muscat":         "OM",
	"Asia/Bangkok":        "TH",
	"Asia/Ho_Chi_Minh":    "VN",
	"Asia/Manila":         "PH",
	"Asia/Kuala_Lumpur":   "MY",
	"Asia/Karachi":        "PK",
	"Asia/Dhaka":          "BD",
	"Asia/Colombo":        "LK",
	"Asia/Kathmandu":      "NP",
	"Asia/Jerusalem":      "IL",
	"Australia/Sydney":    "AU-ACT",
	"Australia/Brisbane":  "AU-QLD",
	"Australia/Melbourne": "AU-VIC",
	"Australia/Hobart":    "AU-TAS",
	"Australia/Adelaide":  "AU-SA",
	"Australia/Darwin":    "AU-NT",
}

// cityZones are the large cities of states that lie in two zones, of states
// with a small part with another zone, and of islands that are written as a
// part of their country. The carriers' hubs are among them: Memphis,
// Louisville, Indianapolis, Dallas, Anchorage.
var cityZones = map[string]map[string]string{
	"America/New_York": {
		"US-FL": "Fort Lauderdale, Fort Myers, Gainesville, Jacksonville, Lakeland, Miami, Ocala, Orlando, Sarasota, St Petersburg, Tallahassee, Tampa, West Palm Beach",
		"US-TN": "Chattanooga, Johnson City, Kingsport, Knoxville",
	},
	"America/Kentucky/Louisville": {
		"US-KY": "Elizabethtown, Frankfort, Hebron, Lexington, Louisville, Richmond, Shepherdsville",
	},
	"America/Indiana/Indianapolis": {
		"US-IN": "Bloomington, Fort Wayne, Greenwood, Indianapolis, Lafayette, Plainfield, South Bend, Whitestown",
	},
	"America/Detroit": {
		"US-MI": "Ann Arbor, Dearborn, Detroit, Flint, Grand Rapids, Kalamazoo, Lansing, Livonia, Pontiac, Romulus, Taylor, Warren",
	},
	"America/Chicago": {
		"US-FL": "Panama City, Pensacola",
		"US-IN": "Evansville, Gary, Hammond",
		"US-KS": "Kansas City, Lenexa, Overland Park, Topeka, Wichita",
		"US-KY": "Bowling Green, Owensboro, Paducah",
		"US-ND": "Fargo, Grand Forks",
		"US-NE": "Grand Island, Lincoln, Omaha",
		"US-SD": "Sioux Falls",
		"US-TN": "Clarksville, Jackson, Memphis, Murfreesboro, Nashville",
		"US-TX": "Arlington, Austin, Coppell, Corpus Christi, Dallas, Fort Worth, Houston, Irving, Laredo, Lubbock, Mesquite, San Antonio, Waco",
	},
	"America/Denver": {
		"US-SD": "Rapid City",
		"US-TX": "El Paso",
	},
	"America/Boise": {
		"US-ID": "Boise, Idaho Falls, Meridian, Nampa, Pocatello, Twin Falls",
	},
	"America/Phoenix": {
		"US-AZ": "Chandler, Flagstaff, Glendale, Mesa, Phoenix, Scottsdale, Tempe, Tucson, Yuma",
	},
	"America/Los_Angeles": {
		"US-ID": "Coeur d'Alene, Lewiston",
		"US-NV": "Carson City, Henderson, Las Vegas, North Las Vegas, Reno, Sparks",
		"US-OR": "Beaverton, Bend, Eugene, Hillsboro, Medford, Portland, Salem, Troutdale",
	},
	"America/Anchorage": {
		"US-AK": "Anchorage, Fairbanks, Juneau, Wasilla",
	},
	"America/Toronto": {
		"CA-ON": "Barrie, Brampton, Hamilton, Kingston, Kitchener, London, Markham, Mississauga, Oshawa, Ottawa, Sudbury, Toronto, Vaughan, Windsor",
		"CA-QC": "Dorval, Gatineau, Lachine, Laval, Longueuil, Mirabel, Montreal, Quebec, Sherbrooke, Trois-Rivieres",
	},
	"America/Regina": {
		"CA-SK": "Regina, Saskatoon",
	},
	"America/Vancouver": {
		"CA-BC": "Burnaby, Delta, Kelowna, Richmond, Surrey, Vancouver, Victoria",
	},
	"America/St_Johns": {
		"CA-NL": "St John's, St Johns, Mount Pearl",
	},
	"Australia/Sydney": {
		"AU-NSW": "Newcastle, Sydney, Wollongong",
	},
	"Australia/Perth": {
		"AU-WA": "Fremantle, Perth",
	},
	"Atlantic/Canary": {
		"ES-": "Arrecife, Fuerteventura, Gran Canaria, Lanzarote, La Palma, Las Palmas, Las Palmas de Gran Canaria, Puerto del Rosario, San Cristobal de La Laguna, Santa Cruz de Tenerife, Tenerife, Telde",
	},
}
