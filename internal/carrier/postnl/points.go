package postnl

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// pointCountries are where PostNL has pickup points.
// fact: points-countries
var pointCountries = []string{"NL", "BE"}

// FindPoints returns pickup points near a postal code, the nearest first.
func (d driver) FindPoints(ctx context.Context, query ship.PointQuery) ([]ship.ServicePoint, error) {
	zip := strings.ToUpper(strings.ReplaceAll(query.Zip, " ", ""))
	switch {
	case !slices.Contains(pointCountries, query.Country):
		return nil, ship.Errorf(ship.Unsupported, "PostNL has pickup points in the Netherlands and Belgium only")
	case !pointZip.MatchString(zip):
		return nil, ship.InvalidFields([]ship.FieldError{{
			Pointer: "/zip",
			Code:    "invalid",
			Detail:  "must be a postal code such as 3571ZZ, or 2000 in Belgium",
		}})
	}

	parameters := url.Values{"CountryCode": {query.Country}, "PostalCode": {zip}, "DeliveryOptions": {"PG"}}
	if query.City != "" {
		parameters.Set("City", query.City)
	}
	found, err := d.fetchLocations(ctx, "/nearest", parameters)
	if err != nil {
		return nil, err
	}
	var list []ship.ServicePoint
	for _, one := range found {
		list = append(list, one.point())
	}
	return list, nil
}

// pointZip is a postal code of the Netherlands, with or without its letters, or of
// Belgium.
// fact: points-zip
var pointZip = regexp.MustCompile(`^[0-9]{4}([A-Z]{2})?$`)

// pointID is how PostNL numbers its pickup points.
var pointID = regexp.MustCompile(`^[0-9]{1,10}$`)

// fetchPoint returns the pickup point with a number, whose address stands on the
// label.
func (d driver) fetchPoint(ctx context.Context, id, country string) (location, error) {
	unknown := ship.InvalidFields([]ship.FieldError{{
		Pointer: "/destination/servicePoint",
		Code:    "invalid",
		Detail:  "is not a pickup point of PostNL in the country of the destination; search for one",
	}})
	found, err := d.fetchLocations(ctx, "/lookup", url.Values{"LocationCode": {id}})
	if kind := ship.KindOf(err); kind == ship.Invalid || kind == ship.NotFound {
		return location{}, unknown
	}
	if err != nil {
		return location{}, err
	}
	i := slices.IndexFunc(found, func(one location) bool { return string(one.Code) == id && one.Address.Country == country })
	if i < 0 {
		return location{}, unknown
	}
	return found[i], nil
}

func (d driver) fetchLocations(ctx context.Context, path string, query url.Values) ([]location, error) {
	var answer locationsAnswer
	if err := d.call(http.MethodGet, "/shipment/v2_1/locations"+path, query).Do(ctx, d.via, &answer); err != nil {
		return nil, err
	}
	if answer.Result == nil {
		return nil, ship.Errorf(ship.Unavailable, "PostNL sent no list of pickup points")
	}

	var list []location
	for _, raw := range listOf(answer.Result.Locations) {
		var one location
		if json.Unmarshal(raw, &one) == nil && one.Code != "" {
			list = append(list, one)
		}
	}
	return list, nil
}

func (l location) point() ship.ServicePoint {
	point := ship.ServicePoint{
		ID:   string(l.Code),
		Name: l.Name,
		Address: ship.Address{
			Address1: strings.TrimSpace(l.Address.Street + " " + string(l.Address.HouseNr) + string(l.Address.HouseNrExt)),
			City:     l.Address.City,
			Zip:      l.Address.Zipcode,
			Country:  l.Address.Country,
		},
		DistanceM: l.Distance,
		Abilities: []string{"collect"},
		Latitude:  l.Latitude,
		Longitude: l.Longitude,
		IsLocker:  slices.Contains(l.Options.List, "PA"),
	}
	for _, day := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
		for _, hours := range l.hoursOf(day) {
			if from, until, ok := strings.Cut(hours, "-"); ok {
				point.Hours = append(point.Hours, ship.PointHours{
					Day:   strings.ToLower(day),
					Open:  strings.TrimSpace(from),
					Close: strings.TrimSpace(until),
				})
			}
		}
	}
	return point
}

// hoursOf returns the opening hours of a day: PostNL writes one as a text, and
// several as a list.
func (l location) hoursOf(day string) []string {
	raw := l.Hours[day].Text
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(raw, &several) == nil {
		return several
	}
	return nil
}

// addressOfPoint is what the label has of a pickup point.
func (l location) addressOfPoint() address {
	name := []rune(l.Name)
	return address{
		AddressType: deliveryPoint,
		CompanyName: string(name[:min(len(name), maxShort)]),
		Street:      l.Address.Street,
		HouseNr:     string(l.Address.HouseNr),
		HouseNrExt:  string(l.Address.HouseNrExt),
		Zipcode:     strings.ReplaceAll(l.Address.Zipcode, " ", ""),
		City:        l.Address.City,
		Countrycode: l.Address.Country,
	}
}
