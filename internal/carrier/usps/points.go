package usps

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	postOfficePath = "/locations/v3/post-office-locations"
	lockerPath     = "/locations/v3/parcel-locker-locations"

	locationScope = "locations"
	lockerScope   = "parcel-locker locations" // USPS's own file has both names
)

// How many points one call returns.
const (
	defaultPoints = 20
	maxPoints     = 100
)

// codeNoPlace is the code of a place that USPS does not find.
const codeNoPlace = "160033"

type postOfficesAnswer struct {
	Locations *[]postOffice `json:"locations"`
}

type postOffice struct {
	Name        string         `json:"facilityName"`
	ID          text           `json:"facilityID"`
	Address     locatedAddress `json:"facilityAddress"`
	Coordinates struct {
		Latitude  json.Number `json:"latitude"`
		Longitude json.Number `json:"longitude"`
	} `json:"geoCoordinates"`
	Distance json.Number       `json:"distance"` // miles
	Services []locationService `json:"services"`
}

type locationService struct {
	Name  string `json:"service"`
	Hours []struct {
		Day   string `json:"dayOfWeek"`
		Times []struct {
			Open  text `json:"openTime"` // "0800"
			Close text `json:"closeTime"`
		} `json:"times"`
	} `json:"hours"`
}

type locker struct {
	ID              text           `json:"facilityID"`
	Name            string         `json:"locationName"`
	Address         locatedAddress `json:"locationAddress"`
	Latitude        json.Number    `json:"latitude"`
	Longitude       json.Number    `json:"longitude"`
	IsOnline        *bool          `json:"lockerOnline"`
	TakesDeliveries bool           `json:"serviceDirectShip"`
	TakesReturns    bool           `json:"servicePrepaidReturns"`
	TakesReturnsOld bool           `json:"servicePrepaid"` // the older name of the same
}

type locatedAddress struct {
	StreetAddress    string `json:"streetAddress"`
	SecondaryAddress string `json:"secondaryAddress"`
	City             string `json:"city"`
	State            string `json:"state"`
	ZIPCode          text   `json:"ZIPCode"`
	ZIPPlus4         text   `json:"ZIPPlus4"`
}

// FindPoints returns post offices and parcel lockers in turn. USPS sorts the post
// offices by their distance, and does not say how far a locker is.
func (d *driver) FindPoints(ctx context.Context, query ship.PointQuery) ([]ship.ServicePoint, error) {
	search, err := pointSearch(query)
	if err != nil {
		return nil, err
	}

	var offices postOfficesAnswer
	err = d.locate(ctx, locationScope, postOfficePath, search, &offices)
	switch {
	case isRefusedWith(err, codeNoPlace):
		return nil, nil
	case err != nil:
		return nil, err
	case offices.Locations == nil:
		return nil, ship.Errorf(ship.Unavailable, "the carrier's answer has no list of locations")
	}

	// Lockers are a product of their own. An app without it still has the post
	// offices.
	var lockers []locker
	err = d.locate(ctx, lockerScope, lockerPath, search, &lockers)
	if err != nil && ship.KindOf(err) != ship.Forbidden && !isRefusedWith(err, codeNoPlace) {
		return nil, err
	}
	return inTurn(officePoints(*offices.Locations, query), lockerPoints(lockers, query)), nil
}

// locate searches for locations of one kind.
func (d *driver) locate(ctx context.Context, scope, path string, search url.Values, answer any) error {
	return d.callWithScope(ctx, scope, d.via, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + path + "?" + search.Encode(),
	}, answer)
}

// pointSearch returns the parameters of both searches. Both take a ZIP code; a
// city would need its state.
func pointSearch(query ship.PointQuery) (url.Values, error) {
	if isAbroad(ship.Address{Country: query.Country}) {
		return nil, ship.Errorf(ship.Unsupported, "USPS has post offices only in the United States and its territories")
	}

	zip, _, _ := strings.Cut(query.Zip, "-")
	if len(zip) != 5 || !carrierkit.AllDigits(zip) {
		return nil, field("/zip", "invalid_zip", "must be a ZIP code of five digits, such as 94105")
	}

	limit := query.Limit
	if limit <= 0 {
		limit = defaultPoints
	}
	return url.Values{
		"ZIPCode": {zip},
		"limit":   {strconv.Itoa(min(limit, maxPoints))},
	}, nil
}

func officePoints(offices []postOffice, query ship.PointQuery) []ship.ServicePoint {
	var list []ship.ServicePoint
	for _, office := range offices {
		point := ship.ServicePoint{
			ID:        string(office.ID),
			Name:      office.Name,
			Address:   office.Address.place(query.Country),
			DistanceM: -1,
			Hours:     officeHours(office.Services),
			Abilities: []string{"hand_in", "returns"},
			Latitude:  coordinate(office.Coordinates.Latitude),
			Longitude: coordinate(office.Coordinates.Longitude),
		}
		if miles, err := office.Distance.Float64(); err == nil {
			const metresPerMile = 1609.344
			point.DistanceM = int64(miles*metresPerMile + 0.5)
		}
		if office.offers("HOLD_FOR_PICKUP") {
			point.Abilities = append(point.Abilities, "collect")
			slices.Sort(point.Abilities)
		}
		list = append(list, point)
	}

	slices.SortStableFunc(list, func(a, b ship.ServicePoint) int {
		return cmp.Compare(uint64(a.DistanceM), uint64(b.DistanceM)) // an unknown one is the farthest
	})
	return list
}

func (o postOffice) offers(name string) bool {
	return slices.ContainsFunc(o.Services, func(s locationService) bool { return s.Name == name })
}

func lockerPoints(lockers []locker, query ship.PointQuery) []ship.ServicePoint {
	var list []ship.ServicePoint
	for _, found := range lockers {
		if found.IsOnline != nil && !*found.IsOnline {
			continue
		}

		var abilities []string
		if found.TakesDeliveries {
			abilities = append(abilities, "collect")
		}
		if found.TakesReturns || found.TakesReturnsOld {
			abilities = append(abilities, "returns")
		}
		list = append(list, ship.ServicePoint{
			ID:        lockerPrefix + string(found.ID),
			Name:      found.Name,
			Address:   found.Address.place(query.Country),
			DistanceM: -1,
			Abilities: abilities,
			Latitude:  coordinate(found.Latitude),
			Longitude: coordinate(found.Longitude),
			IsLocker:  true,
		})
	}
	return list
}

func (a locatedAddress) place(country string) ship.Address {
	place := ship.Address{
		Address1: a.StreetAddress,
		Address2: a.SecondaryAddress,
		City:     a.City,
		State:    a.State,
		Zip:      string(a.ZIPCode),
		Country:  country,
	}
	if a.ZIPPlus4 != "" {
		place.Zip += "-" + string(a.ZIPPlus4)
	}
	return place
}

// coordinate is zero if it is unknown.
func coordinate(number json.Number) float64 {
	degrees, _ := number.Float64() // absent is zero
	return degrees
}

// officeHours returns when a post office is open: the hours of its retail
// services, or of the first service that has any.
func officeHours(services []locationService) []ship.PointHours {
	var hours []ship.PointHours
	for _, service := range services {
		isRetail := strings.Contains(service.Name, "RETAIL")
		if hours != nil && !isRetail {
			continue
		}
		if open := service.open(); open != nil {
			hours = open
			if isRetail {
				break
			}
		}
	}
	return hours
}

func (s locationService) open() []ship.PointHours {
	var list []ship.PointHours
	for _, day := range s.Hours {
		for _, times := range day.Times {
			from, ok := clock(string(times.Open))
			until, isTime := clock(string(times.Close))
			if ok && isTime && from != until {
				list = append(list, ship.PointHours{Day: strings.ToLower(day.Day), Open: from, Close: until})
			}
		}
	}
	return list
}

// clock reads "0800" and "08:00".
func clock(digits string) (string, bool) {
	digits = strings.ReplaceAll(digits, ":", "")
	if len(digits) < 4 || !carrierkit.AllDigits(digits[:4]) {
		return "", false
	}
	return digits[:2] + ":" + digits[2:4], true
}

// inTurn returns the elements of both lists in turn.
func inTurn(first, second []ship.ServicePoint) []ship.ServicePoint {
	var list []ship.ServicePoint
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			list = append(list, first[i])
		}
		if i < len(second) {
			list = append(list, second[i])
		}
	}
	return list
}
