package carrierkit

import (
	"strings"
	"sync"
	"time"
)

// ClosestZone returns the time zone of the place or, where that is not certain,
// the easternmost one in which many of its people live, so that its date is
// rarely behind the local one. It chooses days to ship on; a scan is dated by
// Zone alone. A place that is not known has the zone UTC.
func (p Place) ClosestZone() *time.Location {
	if zone, ok := p.Zone(); ok {
		return zone
	}

	country := p.Territory()
	state := strings.ToUpper(p.State)
	for _, key := range []string{country + "-" + state, country} {
		name, ok := closestZoneNames()[key]
		if !ok {
			continue
		}
		if zone, err := loadZone(name); err == nil {
			return zone
		}
	}
	return time.UTC
}

var closestZoneNames = sync.OnceValue(func() map[string]string {
	byPlace := map[string]string{}
	for zone, places := range closestZones {
		for place := range strings.FieldsSeq(places) {
			byPlace[place] = zone
		}
	}
	return byPlace
})

// closestZones are the places that the table of certain zones leaves out. One
// zone represents all zones with the same offset. AA, AE and AP are the post
// offices of the armed forces.
var closestZones = map[string]string{
	"Africa/Abidjan":                 "BF CI GH GM GN GW IS LR ML MR SH SL SN ST TG",
	"Africa/Addis_Ababa":             "BY DJ ER ET IQ JO KM MG SO SY TZ UA UG YE YT",
	"Africa/Algiers":                 "AO BJ CF CG CM DZ EH GA GQ MA NE TD TN",
	"Africa/Blantyre":                "BI BW LS LY MW MZ NA RW SD SS SZ ZM ZW",
	"Africa/Lubumbashi":              "CD",
	"America/Anchorage":              "US-AK",
	"America/Anguilla":               "AG AI AW BB BL BO BQ CW DM DO GD GP GY KN LC MF MQ MS SX TT VC VE VG",
	"America/Argentina/Buenos_Aires": "AR FK GF PY SR UY",
	"America/Belize":                 "BZ CR GT HN NI SV",
	"America/Boise":                  "US-ID US-OR",
	"America/Campo_Grande":           "BR-MS",
	"America/Cancun":                 "MX-ROO",
	"America/Cayman":                 "JM KY PA",
	"America/Chicago":                "US-KS US-ND US-NE US-SD US-TX",
	"America/Cuiaba":                 "BR-MT",
	"America/Denver":                 "US-AZ US-NV",
	"America/Detroit":                "US-MI",
	"America/Edmonton":               "CA-BC CA-NT",
	"America/Grand_Turk":             "BS CU HT TC",
	"America/Guayaquil":              "EC",
	"America/Hermosillo":             "MX-SON",
	"America/Indiana/Indianapolis":   "US-IN",
	"America/Iqaluit":                "CA-NU",
	"America/Manaus":                 "BR-AM",
	"America/Mazatlan":               "MX-BCS",
	"America/Mexico_City":            "MX",
	"America/Miquelon":               "PM",
	"America/New_York":               "US US-AA US-FL US-KY US-TN",
	"America/Nuuk":                   "GL",
	"America/Regina":                 "CA-SK",
	"America/Santiago":               "CL",
	"America/Sao_Paulo":              "BR",
	"America/St_Johns":               "CA-NL",
	"America/Tijuana":                "MX-BCN",
	"America/Toronto":                "CA CA-ON CA-QC",
	"Arctic/Longyearbyen":            "AD AL BA GI ME MK SJ",
	"Asia/Almaty":                    "KZ MV TF TJ TM UZ",
	"Asia/Baku":                      "AM AZ GE MU RE SC",
	"Asia/Beirut":                    "LB MD PS",
	"Asia/Bishkek":                   "BT IO KG",
	"Asia/Brunei":                    "BN",
	"Asia/Dili":                      "KP TL",
	"Asia/Jakarta":                   "ID",
	"Asia/Kabul":                     "AF",
	"Asia/Karachi":                   "US-AE",
	"Asia/Phnom_Penh":                "CX KH LA",
	"Asia/Tehran":                    "IR",
	"Asia/Ulaanbaatar":               "MN",
	"Asia/Yangon":                    "CC MM",
	"Atlantic/Bermuda":               "BM",
	"Atlantic/Cape_Verde":            "CV",
	"Atlantic/Faroe":                 "FO GG IM JE",
	"Atlantic/South_Georgia":         "GS",
	"Australia/Perth":                "AU-WA",
	"Australia/Sydney":               "AU AU-NSW",
	"Europe/Belgrade":                "XK",
	"Europe/Lisbon":                  "PT",
	"Europe/Moscow":                  "RU",
	"Pacific/Apia":                   "TK TO WS",
	"Pacific/Auckland":               "NZ",
	"Pacific/Efate":                  "NC SB VU",
	"Pacific/Fiji":                   "FJ NR TV WF",
	"Pacific/Majuro":                 "US-AP",
	"Pacific/Niue":                   "NU",
	"Pacific/Norfolk":                "NF",
	"Pacific/Pitcairn":               "PN",
	"Pacific/Pohnpei":                "FM",
	"Pacific/Port_Moresby":           "PG",
	"Pacific/Rarotonga":              "CK",
	"Pacific/Tahiti":                 "PF",
	"Pacific/Tarawa":                 "KI",
}
