package fedex

import (
	"net/http"
	"slices"
	"strings"
)

// A spot is a location that takes parcels.
type spot struct {
	id, name, street, kind string
	miles                  float64
	attributes             []string
	hasLocker              bool
}

// spots are the emulator's locations: every place has the same, at the same
// distances.
var spots = []spot{
	{"COSA", "FedEx Ship Center", "10 Station Rd", "FEDEX_EXPRESS_STATION", 3.5, []string{"EXPRESS_PARCEL_DROPOFFS", "WEEKDAY_EXPRESS_HOLD_AT_LOCATION"}, false},
	{"NQAA", "FedEx Office Print & Ship Center", "2 Market St", "FEDEX_OFFICE", 0.4, []string{"EXPRESS_PARCEL_DROPOFFS", "GROUND_DROPOFFS", "WEEKDAY_GROUND_HOLD_AT_LOCATION", "RETURNS_SERVICES"}, false},
	{"LOSA", "Corner Store", "7 High St", "FEDEX_ONSITE", 1.2, []string{"GROUND_DROPOFFS", "WEEKDAY_GROUND_HOLD_AT_LOCATION"}, true},
}

// locations searches for places that take parcels. There are none in a city with the
// word NOWHERE.
func (f *fedex) locations(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Control struct {
			MaxResults int
			Distance   struct {
				Units string
				Value float64
			}
		} `json:"locationsSummaryRequestControlParameters"`
		Criterion string `json:"locationSearchCriterion"`
		Location  struct{ Address place }
		Sort      struct{ Criteria, Order string }
	}
	if !read(w, r, &request) {
		return
	}
	near := request.Location.Address
	switch {
	case request.Criterion == "GEOGRAPHIC_COORDINATES":
		refuse(w, r, http.StatusBadRequest, "ERROR.LONGLAT.REQUIRED", "Longitude and Latitude are required.")
		return
	case len(near.CountryCode) != 2 || near.PostalCode == "" && near.City == "":
		refuse(w, r, http.StatusBadRequest, "LOCATION.ADDRESS.INVALID", "Country code and postal code or city are required.")
		return
	}

	found := slices.Clone(spots)
	if request.Sort.Criteria == "DISTANCE" {
		slices.SortFunc(found, func(x, y spot) int { return int(10 * (x.miles - y.miles)) })
	}
	if strings.Contains(strings.ToUpper(near.City), "NOWHERE") {
		found = nil
	}
	total := len(found)
	if n := request.Control.MaxResults; n > 0 && n < total {
		found = found[:n]
	}

	list := []object{}
	for _, one := range found {
		list = append(list, one.detail(near))
	}
	answer(w, r, object{
		"totalResults":       total,
		"resultsReturned":    len(list),
		"matchedAddress":     object{"postalCode": near.PostalCode, "city": near.City, "countryCode": near.CountryCode},
		"locationDetailList": list,
	})
}

// detail returns a location near a place.
func (s spot) detail(near place) object {
	city := near.City
	if city == "" {
		city = "Springfield"
	}
	open := func(day, kind string, hours ...object) object {
		return object{"dayofweek": day, "operationalHoursType": kind, "operationalHours": append([]object{}, hours...)}
	}
	return object{
		"locationId":   s.id,
		"locationType": s.kind,
		"distance":     object{"units": "MI", "value": s.miles},
		"contactAndAddress": object{
			"contact":                object{"companyName": s.name, "phoneNumber": "2135550100"},
			"address":                object{"streetLines": []string{s.street}, "city": city, "postalCode": near.PostalCode, "countryCode": near.CountryCode},
			"addressAncillaryDetail": object{"displayName": s.name, "locationInCity": city},
		},
		"storeHours": []object{
			open("MONDAY", "OPEN_BY_HOURS", object{"begins": "08:00:00", "ends": "12:00:00"}, object{"begins": "13:00:00", "ends": "17:30:00"}),
			open("SATURDAY", "OPEN_ALL_DAY"),
			open("SUNDAY", "CLOSED_ALL_DAY"),
		},
		"geoPositionalCoordinates": object{"latitude": 34.05, "longitude": -118.24},
		"locationAttributeTypes":   s.attributes,
		"lockerAvailability":       s.hasLocker,
	}
}
