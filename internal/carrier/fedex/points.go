package fedex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const pointPath = "/location/v1/locations"

// The search for locations.
type (
	pointRequest struct {
		Control   pointControl  `json:"locationsSummaryRequestControlParameters"`
		Criterion string        `json:"locationSearchCriterion"`
		Location  pointLocation `json:"location"`
		Matches   string        `json:"multipleMatchesAction"`
		Sort      pointSort     `json:"sort"`
		Country   bool          `json:"sameCountry"`
	}
	pointControl struct {
		Distance   pointDistance `json:"distance"`
		MaxResults int           `json:"maxResults"`
	}
	pointDistance struct {
		Units string  `json:"units"`
		Value float64 `json:"value"`
	}
	pointLocation struct {
		Address pointAddress `json:"address"`
	}
	pointAddress struct {
		StreetLines []string `json:"streetLines,omitempty"`
		City        string   `json:"city,omitempty"`
		State       string   `json:"stateOrProvinceCode,omitempty"`
		PostalCode  string   `json:"postalCode,omitempty"`
		CountryCode string   `json:"countryCode"`
	}
	pointSort struct {
		Criteria string `json:"criteria"`
		Order    string `json:"order"`
	}
	pointAnswer struct {
		Output *struct {
			Total     *int       `json:"totalResults"`
			Locations []location `json:"locationDetailList"`
			Alerts    []alert    `json:"alerts"`
		} `json:"output"`
	}
	location struct {
		ID       string         `json:"locationId"`
		Type     string         `json:"locationType"`
		Distance *pointDistance `json:"distance"`
		Place    struct {
			Contact struct {
				Company string `json:"companyName"`
			} `json:"contact"`
			Address   pointAddress `json:"address"`
			Ancillary struct {
				Name string `json:"displayName"`
			} `json:"addressAncillaryDetail"`
		} `json:"contactAndAddress"`
		Hours        []storeHours `json:"storeHours"`
		Attributes   []string     `json:"locationAttributeTypes"`
		Capabilities capabilities `json:"locationCapabilities"`
		Coordinates  struct {
			Latitude  float64 `json:"latitude"`
			Longitude float64 `json:"longitude"`
		} `json:"geoPositionalCoordinates"`
		HasLocker flexibleBool `json:"lockerAvailability"`
	}
	storeHours struct {
		Day   string `json:"dayofweek"`
		Type  string `json:"operationalHoursType"`
		Hours []struct {
			Begins string `json:"begins"`
			Ends   string `json:"ends"`
		} `json:"operationalHours"`
	}
	capability struct {
		Transfer string `json:"transferOfPossessionType"`
	}
)

// capabilities are what a location does. FedEx documents one, and shows a list in its
// example.
type capabilities []capability

// UnmarshalJSON reads both.
func (c *capabilities) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte{'['}) {
		return json.Unmarshal(data, (*[]capability)(c))
	}
	var one capability
	err := json.Unmarshal(data, &one)
	*c = capabilities{one}
	return err
}

const (
	pointRadius = 50 // miles, the most that FedEx searches
	maxPoints   = 75 // that FedEx returns
)

// FindPoints returns FedEx's locations near a place, the nearest first.
func (d *driver) FindPoints(ctx context.Context, query ship.PointQuery) ([]ship.ServicePoint, error) {
	asked := carrierkit.PlaceOf(ship.Address{Country: query.Country, Zip: query.Zip, City: query.City})
	limit := maxPoints
	if query.Limit > 0 {
		limit = min(query.Limit, maxPoints)
	}

	var answer pointAnswer
	err := d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + pointPath,
		Body: pointRequest{
			Control: pointControl{
				Distance:   pointDistance{Units: "MI", Value: pointRadius},
				MaxResults: limit,
			},
			Criterion: "ADDRESS",
			Location: pointLocation{pointAddress{
				City:        query.City,
				PostalCode:  query.Zip,
				CountryCode: countryOf(asked),
			}},
			Matches: "RETURN_ALL",
			Sort:    pointSort{Criteria: "DISTANCE", Order: "ASCENDING"},
			Country: true,
		},
	}, &answer)
	if err != nil {
		return nil, explainPoints(err)
	}

	switch {
	case answer.Output == nil, answer.Output.Total == nil && len(answer.Output.Locations) == 0:
		return nil, ship.Errorf(ship.Unavailable, "FedEx sent no result for the search")
	case slices.ContainsFunc(answer.Output.Alerts, func(a alert) bool { return a.Code == virtualResponse }):
		return nil, notTestable(ship.Refusal{Code: virtualResponse}) // near another place
	}
	points := make([]ship.ServicePoint, len(answer.Output.Locations))
	for i := range answer.Output.Locations {
		points[i] = answer.Output.Locations[i].point()
	}

	// Locations without a distance come last.
	slices.SortStableFunc(points, func(x, y ship.ServicePoint) int {
		if (x.DistanceM < 0) != (y.DistanceM < 0) {
			return cmp.Compare(y.DistanceM, x.DistanceM)
		}
		return cmp.Compare(x.DistanceM, y.DistanceM)
	})
	return points, nil
}

// explainPoints says what a refused search means.
func explainPoints(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	refused := *failed
	switch {
	case isForbidden(err):
		refused.Message = "FedEx does not allow this project to search for service points; add the FedEx Locations Search API to it in the developer portal"
	case refused.Kind == ship.Invalid:
		refused.Fields = nil // they are those of an order
		refused.Message = "FedEx declined to search for service points"
	}
	return &refused
}

// point returns a location as a service point.
func (l *location) point() ship.ServicePoint {
	at := l.Place.Address
	point := ship.ServicePoint{
		ID:   l.ID,
		Name: cmp.Or(l.Place.Ancillary.Name, l.Place.Contact.Company, "FedEx"),
		Address: ship.Address{
			City:    at.City,
			State:   at.State,
			Zip:     at.PostalCode,
			Country: at.CountryCode,
		},
		DistanceM: -1,
		Hours:     l.hours(),
		Abilities: l.abilities(),
		Latitude:  l.Coordinates.Latitude,
		Longitude: l.Coordinates.Longitude,
		IsLocker:  bool(l.HasLocker) || l.Type == "FEDEX_SHIP_AND_GET",
	}

	lines := []*string{&point.Address.Address1, &point.Address.Address2, &point.Address.Address3}
	for i := range min(len(at.StreetLines), len(lines)) {
		*lines[i] = at.StreetLines[i]
	}
	if l.Distance != nil {
		metres := 1609.344
		if l.Distance.Units == "KM" {
			metres = 1000
		}
		point.DistanceM = int64(math.Round(l.Distance.Value * metres))
	}
	return point
}

// pointAbilities are what FedEx's attributes of a location, and its transfers of
// possession, mean. Those for freight are left out.
var pointAbilities = map[string]string{
	"HOLD_AT_LOCATION":                  "collect",
	"WEEKDAY_EXPRESS_HOLD_AT_LOCATION":  "collect",
	"WEEKDAY_GROUND_HOLD_AT_LOCATION":   "collect",
	"SATURDAY_EXPRESS_HOLD_AT_LOCATION": "collect",
	"DROPOFF":                           "hand_in",
	"DROP_OFF":                          "hand_in", // in FedEx's example
	"DROP_BOX":                          "hand_in",
	"EXPRESS_PARCEL_DROPOFFS":           "hand_in",
	"GROUND_DROPOFFS":                   "hand_in",
	"GROUND_HOME_DELIVERY_DROPOFFS":     "hand_in",
	"RETURNS_SERVICES":                  "returns",
}

// abilities returns what the location does with parcels.
func (l *location) abilities() []string {
	words := slices.Clone(l.Attributes)
	for _, able := range l.Capabilities {
		words = append(words, able.Transfer)
	}

	var list []string
	for _, ability := range ship.PointAbilities {
		if slices.ContainsFunc(words, func(word string) bool { return pointAbilities[word] == ability }) {
			list = append(list, ability)
		}
	}
	return list
}

// hours returns when the location is open. A day without hours is a day on which it
// is closed.
func (l *location) hours() []ship.PointHours {
	var list []ship.PointHours
	for _, day := range l.Hours {
		name := strings.ToLower(day.Day)
		switch day.Type {
		case "CLOSED_ALL_DAY":
		case "OPEN_ALL_DAY":
			list = append(list, ship.PointHours{Day: name, Open: "00:00", Close: "24:00"})
		default:
			for _, open := range day.Hours {
				list = append(list, ship.PointHours{Day: name, Open: clock(open.Begins), Close: clock(open.Ends)})
			}
		}
	}
	return list
}

// clock returns a time without its seconds.
func clock(at string) string {
	if len(at) > len("15:04") {
		return at[:len("15:04")]
	}
	return at
}
