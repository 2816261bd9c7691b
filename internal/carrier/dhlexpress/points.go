package dhlexpress

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// The wire format of service points, reduced to the fields that are used.

type pointsAnswer struct {
	Status *struct {
		StatusCode    int    `json:"statusCode"`
		StatusMessage string `json:"statusMessage"`
		OK            bool   `json:"ok"`
	} `json:"status"`
	ServicePoints []foundPoint `json:"servicePoints"`
}

type foundPoint struct {
	FacilityID       string `json:"facilityId"`
	ServicePointName string `json:"servicePointName"`
	LocalName        string `json:"localName"`
	ServicePointType string `json:"servicePointType"`
	Address          struct {
		AddressLine1 string `json:"addressLine1"`
		AddressLine2 string `json:"addressLine2"`
		AddressLine3 string `json:"addressLine3"`
		Street       string `json:"street"`
		HouseNumber  string `json:"houseNumber"`
		City         string `json:"city"`
		ZipCode      text   `json:"zipCode"`
		State        string `json:"state"`
		Country      string `json:"country"`
	} `json:"address"`
	GeoLocation struct {
		Latitude  float64 `json:"latitude"`
		Longitude float64 `json:"longitude"`
	} `json:"geoLocation"`
	Distance     string `json:"distance"` // "0.42 km"
	OpeningHours struct {
		OpeningHours []pointHours `json:"openingHours"`
	} `json:"openingHours"`
	Capabilities struct {
		ShipmentDropOff     bool `json:"shipmentDropOff"`
		ShipmentCollection  bool `json:"shipmentCollection"`
		PrePrintReturnLabel bool `json:"prePrintReturnLabel"`
	} `json:"servicePointCapabilities"`
	SvpStatus string `json:"svpStatus"`
}

type pointHours struct {
	DayOfWeek   string `json:"dayOfWeek"`
	OpeningTime text   `json:"openingTime"`
	ClosingTime text   `json:"closingTime"`
}

// needsPointKey explains how to get what the search needs.
const needsPointKey = "DHL Express searches service points with a key of its own: ask your DHL Express contact for access to the service point API, and add the key to this connection as service_point_key"

// How many points are asked for.
const (
	usualPoints = 10
	mostPoints  = 50
)

// FindPoints returns the service points near a city or a postal code.
func (d driver) FindPoints(ctx context.Context, query ship.PointQuery) ([]ship.ServicePoint, error) {
	if d.pointKey == "" {
		return nil, ship.Errorf(ship.Unsupported, "%s", needsPointKey)
	}

	values := pointsQuery(query)
	values.Set("key", d.pointKey)
	var answer pointsAnswer
	if err := d.call(http.MethodGet, "/servicepoints", values, "").Do(ctx, d.via, &answer); err != nil {
		return nil, err
	}
	return answer.points()
}

// pointsQuery returns the parameters of a search, without the key.
func pointsQuery(query ship.PointQuery) url.Values {
	limit := cmp.Or(max(query.Limit, 0), usualPoints)
	return url.Values{
		"address":             {strings.TrimSpace(query.Zip + " " + query.City)},
		"countryCode":         {query.Country},
		"servicePointResults": {strconv.Itoa(min(limit, mostPoints))},
		"resultUom":           {"km"},
		"language":            {"eng"},
	}
}

// noPoints are the statuses of an answer without points that is not an error:
// there are none near the place, none with room, none in the country.
var noPoints = []int{201, 202, 600}

// firstPointError is the least status of an error. Those below are warnings.
const firstPointError = 100

// points returns the points that are open for business, the nearest first. DHL
// reports errors with the status 200.
func (a pointsAnswer) points() ([]ship.ServicePoint, error) {
	switch status := a.Status; {
	case status != nil && slices.Contains(noPoints, status.StatusCode):
		return nil, nil
	case status != nil && status.StatusCode >= firstPointError && !status.OK:
		return nil, refusedPoints(status.StatusCode, status.StatusMessage)
	case a.ServicePoints == nil:
		return nil, ship.Errorf(ship.Unavailable, "DHL Express did not say whether there are service points")
	}

	var list []ship.ServicePoint
	for _, found := range a.ServicePoints {
		if found.SvpStatus == "" || found.SvpStatus == "A" {
			list = append(list, found.point())
		}
	}
	slices.SortStableFunc(list, func(x, y ship.ServicePoint) int {
		return cmp.Compare(distanceOrder(x), distanceOrder(y))
	})
	return list, nil
}

// distanceOrder sorts points of an unknown distance last.
func distanceOrder(point ship.ServicePoint) int64 {
	if point.DistanceM < 0 {
		return math.MaxInt64
	}
	return point.DistanceM
}

// refusedPoints is the error of a search that DHL declined.
func refusedPoints(code int, message string) error {
	refused := ship.Errorf(ship.Invalid, "DHL Express declined the search for service points")
	refused.Refusal = ship.Refusal{
		Code:    strconv.Itoa(code),
		Message: strings.TrimPrefix(message, "Error: "),
	}
	words := strings.ToLower(message)
	if strings.Contains(words, "api key") || strings.Contains(words, "unauthori") {
		refused.Kind = ship.Forbidden
		refused.Message = "DHL Express does not accept the service_point_key of this connection"
	}
	return refused
}

// point returns a point in our terms.
func (p foundPoint) point() ship.ServicePoint {
	at := p.Address
	name := cmp.Or(strings.TrimSpace(p.LocalName), strings.TrimSpace(p.ServicePointName))
	point := ship.ServicePoint{
		ID:   p.FacilityID,
		Name: name,
		Address: ship.Address{
			Company:  name,
			Address1: cmp.Or(at.AddressLine1, strings.TrimSpace(at.Street+" "+at.HouseNumber)),
			Address2: at.AddressLine2,
			Address3: at.AddressLine3,
			City:     at.City,
			State:    at.State,
			Zip:      string(at.ZipCode),
			Country:  placeOf(at.Country, "", "").Country,
		},
		DistanceM: metres(p.Distance),
		Latitude:  p.GeoLocation.Latitude,
		Longitude: p.GeoLocation.Longitude,
		IsLocker:  p.ServicePointType == "TWENTYFOURSEVEN",
	}

	for _, ability := range []struct {
		name string
		has  bool
	}{
		{"collect", p.Capabilities.ShipmentCollection},
		{"hand_in", p.Capabilities.ShipmentDropOff},
		{"returns", p.Capabilities.PrePrintReturnLabel},
	} {
		if ability.has {
			point.Abilities = append(point.Abilities, ability.name)
		}
	}

	for _, hours := range p.OpeningHours.OpeningHours {
		opens, opensOK := clockOf(string(hours.OpeningTime))
		closes, closesOK := clockOf(string(hours.ClosingTime))
		if hours.DayOfWeek != "HOLIDAY" && opensOK && closesOK {
			point.Hours = append(point.Hours, ship.PointHours{
				Day:   strings.ToLower(hours.DayOfWeek),
				Open:  opens,
				Close: closes,
			})
		}
	}
	return point
}

// metres reads a distance such as "0.42 km" or "0.26 mi"; -1 if it is neither.
func metres(distance string) int64 {
	number, unit, _ := strings.Cut(strings.TrimSpace(distance), " ")
	length, ok := map[string]float64{"km": 1000, "mi": 1609.344, "m": 1}[strings.ToLower(unit)]
	value, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", "."), 64)
	if !ok || err != nil || value < 0 || value > 50_000 {
		return -1
	}
	return int64(math.Round(value * length))
}

// clockOf returns a time of day as "18:30". DHL writes it by the habit of the
// country, and as minutes since midnight.
func clockOf(written string) (clock string, ok bool) {
	written = strings.ToUpper(strings.TrimSpace(written))
	if minutes, err := strconv.Atoi(written); err == nil {
		if minutes < 0 || minutes > 24*60 {
			return "", false
		}
		return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60), true
	}
	for _, layout := range []string{"15:04", "15:04:05", "3:04 PM", "3:04PM"} {
		if at, err := time.Parse(layout, written); err == nil {
			return at.Format("15:04"), true
		}
	}
	return "", false
}
