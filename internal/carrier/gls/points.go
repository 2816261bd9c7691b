package gls

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// FindPoints returns parcel shops near an address, in GLS's order.
func (d *driver) FindPoints(ctx context.Context, query ship.PointQuery) ([]ship.ServicePoint, error) {
	request := shopRequest{
		CountryCode: query.Country,
		ZIPCode:     query.Zip,
		City:        query.City,
	}
	if query.Limit > 0 {
		request.Limit = strconv.Itoa(query.Limit)
	}

	var answer shopAnswer
	if err := d.post(ctx, "/rs/parcelshop/address", request, &answer); err != nil {
		return nil, err
	}
	if answer.Shops == nil {
		return nil, ship.Errorf(ship.Unavailable, "GLS sent no list of parcel shops")
	}
	var list []ship.ServicePoint
	for _, shop := range answer.Shops {
		list = append(list, shop.point())
	}
	return list, nil
}

func (s parcelShop) point() ship.ServicePoint {
	point := ship.ServicePoint{
		ID:   s.ID,
		Name: s.Address.Name1,
		Address: ship.Address{
			Address1: strings.TrimSpace(s.Address.Street + " " + s.Address.StreetNumber),
			City:     s.Address.City,
			Zip:      s.Address.ZIPCode,
			Country:  s.Address.CountryCode,
		},
		DistanceM: -1, // GLS does not say in which unit it is
		Abilities: []string{"collect", "hand_in", "returns"},
	}
	for _, day := range s.Days {
		for _, open := range day.Hours.List {
			if hours, ok := open.on(day.Day); ok {
				point.Hours = append(point.Hours, hours)
			}
		}
	}
	return point
}

// weekdays are GLS's names of the days.
var weekdays = map[string]string{
	"MON": "monday",
	"TUE": "tuesday",
	"WED": "wednesday",
	"THU": "thursday",
	"FRI": "friday",
	"SAT": "saturday",
	"SUN": "sunday",
}

// on returns opening hours, of which GLS sends times with a date that means
// nothing.
func (o openHours) on(day string) (ship.PointHours, bool) {
	from, err := time.Parse(time.RFC3339, o.From)
	if err != nil {
		return ship.PointHours{}, false
	}
	until, err := time.Parse(time.RFC3339, o.To)
	if err != nil || weekdays[day] == "" {
		return ship.PointHours{}, false
	}
	return ship.PointHours{
		Day:   weekdays[day],
		Open:  from.Format("15:04"),
		Close: until.Format("15:04"),
	}, true
}
