package postnl

import (
	"net/http"
	"regexp"
	"slices"
)

// A point is a place where parcels are collected, as in PostNL's own examples.
type point struct {
	code, distance                   int
	name, street, zip, city, country string
	number                           int
	options                          []string
	hours                            any // a text or a list
}

var points = []point{
	{163043, 102, "Tonys Tabakszaak", "Molengraaffplantsoen", "3571ZZ", "Utrecht", "NL", 80, []string{"PG", "PG_EX"}, "09:00-19:00"},
	{161457, 244, "DA Drogisterij Buitenhof", "Vrijheidslaan", "2625RD", "Delft", "NL", 22, []string{"DO", "PG", "UL"}, []string{"09:00-12:00", "13:00-18:00"}},
	{217781, 310, "Pakketautomaat Station", "Stationsplein", "3511ED", "Utrecht", "NL", 1, []string{"PG", "PA"}, "00:00-24:00"},
	{204501, 150, "Boekhandel Meir", "Meir", "2000", "Antwerpen", "BE", 20, []string{"PG"}, "10:00-18:00"},
}

var pointZip = regexp.MustCompile(`^[0-9]{4}([A-Z]{2})?$`)

// showNearest lists the pickup points of a country. One is an object, several are a
// list.
func (s *standIn) showNearest(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	country := query.Get("CountryCode")
	if country != "NL" && country != "BE" || !pointZip.MatchString(query.Get("PostalCode")) {
		refuseLocations(w)
		return
	}
	var list []object
	for _, one := range points {
		if one.country == country && slices.Contains(one.options, "PG") {
			list = append(list, one.shown())
		}
	}
	showLocations(w, list)
}

// showLocation shows one pickup point.
func (s *standIn) showLocation(w http.ResponseWriter, r *http.Request) {
	for _, one := range points {
		if shown := one.shown(); r.URL.Query().Get("LocationCode") == string(encode(one.code)) {
			showLocations(w, []object{shown})
			return
		}
	}
	refuseLocations(w)
}

func (p point) shown() object {
	return object{
		"LocationCode": p.code,
		"Name":         p.name,
		"Distance":     p.distance,
		"Latitude":     52.10223388,
		"Longitude":    5.13634192,
		"Address": object{
			"Street": p.street, "HouseNr": p.number, "Zipcode": p.zip, "City": p.city, "Countrycode": p.country, "Remark": "Dit is een Pakketpunt.",
		},
		"DeliveryOptions": object{"string": p.options},
		"OpeningHours":    object{"Monday": object{"string": p.hours}},
		"PartnerName":     "PostNL",
		"RetailNetworkID": "PNPNL-01",
	}
}

func showLocations(w http.ResponseWriter, list []object) {
	var shown any = list
	if len(list) == 1 {
		shown = list[0]
	}
	reply(w, http.StatusOK, object{"GetLocationsResult": object{"ResponseLocation": shown}})
}

// refuseLocations answers as PostNL does to a request that it cannot read.
func refuseLocations(w http.ResponseWriter) {
	reply(w, http.StatusBadRequest, object{
		"Date":      "2019-08-24T14:15:22Z",
		"Error":     object{"ErrorCode": "3000", "ErrorMessage": "Request format is invalid"},
		"RequestId": "09fd61fe-0099-4349-b71d-dce5c2472be9",
	})
}

// isPoint reports whether an address is that of a pickup point.
func (a address) isPoint() bool {
	return slices.ContainsFunc(points, func(one point) bool {
		return one.zip == a.Zipcode && one.street == a.Street && string(encode(one.number)) == a.HouseNr && one.country == a.Countrycode
	})
}
