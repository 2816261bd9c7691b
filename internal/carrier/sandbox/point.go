package sandbox

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// pointKinds are what the service points near every place are, the nearest first.
// Each simulated carrier has its own names for them.
var pointKinds = [...]struct {
	abilities []string
	hours     []ship.PointHours
	isLocker  bool
}{
	{
		abilities: []string{"collect", "hand_in", "returns"},
		hours:     hoursOn("09:00", "19:00", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"),
	},
	{
		abilities: []string{"hand_in", "returns"},
		hours:     hoursOn("08:30", "17:00", "monday", "tuesday", "wednesday", "thursday", "friday"),
	},
	{
		abilities: []string{"collect"},
		hours:     hoursOn("00:00", "23:59", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
		isLocker:  true,
	},
}

func hoursOn(opens, closes string, days ...string) []ship.PointHours {
	list := make([]ship.PointHours, len(days))
	for i, day := range days {
		list[i] = ship.PointHours{Day: day, Open: opens, Close: closes}
	}
	return list
}

// findPoints returns made-up service points near the place: always the same ones
// for a place.
func (m *model) findPoints(query *ship.PointQuery) ([]ship.ServicePoint, error) {
	switch faultOf(&ship.Address{Country: query.Country, Zip: query.Zip}) {
	case FaultRefuse:
		return []ship.ServicePoint{}, nil
	case FaultUnavailable:
		return nil, ship.Errorf(ship.Unavailable, "%s could not be reached", m.title)
	}
	isElsewhere := m.domesticUS && !isUS(query.Country) || m.isNational() && !slices.Contains(m.origins, query.Country)
	if isElsewhere || strings.Contains(embargoed, query.Country) {
		return []ship.ServicePoint{}, nil
	}

	points := make([]ship.ServicePoint, len(pointKinds))
	place := m.name + query.Country + query.Zip + query.City
	distance := int64(0)
	for i, kind := range pointKinds {
		n := seed(place, i)
		distance += 150 + int64(n%700)
		points[i] = ship.ServicePoint{
			ID:   pointID(m.pointID, n),
			Name: m.points[i],
			Address: ship.Address{
				Name:     m.points[i],
				Address1: strconv.FormatUint(100+n%900, 10) + " Market Street",
				City:     cmp.Or(query.City, "Sample City"),
				Zip:      query.Zip,
				Country:  query.Country,
			},
			DistanceM: distance,
			Hours:     slices.Clone(kind.hours),
			Abilities: slices.Clone(kind.abilities),
			IsLocker:  kind.isLocker,
		}

		// A hundredth of a degree of latitude is 1.1 km.
		if isUS(query.Country) {
			middle := zipPlace(query.Zip)
			points[i].Latitude = float64(middle.lat)/10 + float64(distance)/111_000
			points[i].Longitude = float64(middle.lon) / 10
		}
	}
	return points, nil
}

// pointID fills in a pattern: a digit for each #, a letter for each @.
func pointID(pattern string, n uint64) string {
	id := []byte(pattern)
	for i, c := range id {
		switch c {
		case '#':
			id[i] = '0' + byte(n%10)
			n /= 10
		case '@':
			id[i] = 'A' + byte(n%26)
			n /= 26
		}
	}
	return string(id)
}

// FindPoints returns the points near the place.
func (d direct) FindPoints(_ context.Context, query ship.PointQuery) ([]ship.ServicePoint, error) {
	return d.findPoints(&query)
}

// pointsAnswer is a list of points on the wire; a missing list is no answer.
type pointsAnswer struct {
	Points []ship.ServicePoint `json:"points"`
}

// FindPoints searches over the wire.
func (r remote) FindPoints(ctx context.Context, query ship.PointQuery) ([]ship.ServicePoint, error) {
	var answer pointsAnswer
	if err := r.call(ctx, "points", false, query, &answer); err != nil {
		return nil, err
	}
	if answer.Points == nil {
		return nil, ship.Errorf(ship.Unavailable, "the carrier did not send its service points")
	}
	return answer.Points, nil
}
