package ups

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// How many Access Points are asked for.
const (
	usualPoints = 10
	mostPoints  = 50
)

// The search for Access Points.
type (
	locatorRequest struct {
		LocatorRequest struct {
			Request struct {
				RequestAction string
			}
			OriginAddress struct {
				AddressKeyFormat addressKey
			}
			Translate struct {
				Locale string
			}
			UnitOfMeasurement      coded
			LocationSearchCriteria struct {
				MaximumListSize   string
				AccessPointSearch struct {
					PublicAccessPointID string `json:",omitempty"`
					AccessPointStatus   string `json:",omitempty"`
				}
			}
			SortCriteria struct {
				SortType string
			}
		}
	}
	locatorAnswer struct {
		LocatorResponse *struct {
			Response struct {
				ResponseStatusCode text
				Error              struct {
					ErrorCode        text
					ErrorDescription string
				}
			}
			SearchResults struct {
				GeocodeCandidate some[struct{}]
				DropLocation     some[dropLocation]
			}
		}
	}
	dropLocation struct {
		Geocode struct {
			Latitude, Longitude text
		}
		AddressKeyFormat struct {
			ConsigneeName      string
			AddressLine        texts
			PoliticalDivision2 string
			PoliticalDivision1 string
			PostcodePrimaryLow text
			CountryCode        string
		}
		PhoneNumber                 texts
		DisplayPhoneNumberIndicator text
		Distance                    struct {
			Value             text
			UnitOfMeasurement coded
		}
		OperatingHours struct {
			StandardHours some[standardHours]
		}
		ServiceOfferingList struct {
			ServiceOffering some[coded]
		}
		AccessPointInformation struct {
			PublicAccessPointID        text
			BusinessClassificationList struct {
				BusinessClassification some[coded]
			}
		}
	}
	standardHours struct {
		HoursType text
		DayOfWeek some[pointDay]
	}
	pointDay struct {
		Day                  text
		OpenHours            text
		CloseHours           text
		ClosedIndicator      present
		Open24HoursIndicator text
	}
)

// noPoints are the words by which UPS declines a search that finds nothing. Its
// codes for it differ by the kind of search.
var noPoints = regexp.MustCompile(`(?i)\bno (ups )?(access points?|locations?|drop locations?|results?|matches)\b`)

// FindPoints searches for Access Points that are open to parcels.
func (d *driver) FindPoints(ctx context.Context, query ship.PointQuery) ([]ship.ServicePoint, error) {
	var answer locatorAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/locations/v3/search/availabilities/64?Locale=en_US",
		Body:   newLocatorRequest(query),
	}, &answer)
	declined := ship.ErrorOf(err)
	switch {
	case err != nil && declined.Kind == ship.Invalid && noPoints.MatchString(declined.Refusal.Message):
		return nil, nil
	case err != nil:
		return nil, lacksProduct(err, "Locator", "search for Access Points")
	}
	return answer.points()
}

// newLocatorRequest returns the body of a search.
func newLocatorRequest(query ship.PointQuery) locatorRequest {
	place := localized(ship.Address{City: query.City, Zip: query.Zip, Country: query.Country})
	limit := query.Limit
	if limit <= 0 {
		limit = usualPoints
	}

	var body locatorRequest
	request := &body.LocatorRequest
	request.Request.RequestAction = "Locator"
	request.OriginAddress.AddressKeyFormat = addressKey{
		PoliticalDivision2: place.City,
		PostcodePrimaryLow: place.Zip,
		CountryCode:        place.Country,
	}
	if isUnitedStates(place.Country) && len(place.Zip) > 5 {
		request.OriginAddress.AddressKeyFormat.PostcodePrimaryLow = place.Zip[:5]
	}
	request.Translate.Locale = "en_US"
	request.UnitOfMeasurement = coded{Code: "KM"}
	request.LocationSearchCriteria.MaximumListSize = strconv.Itoa(min(limit, mostPoints))
	request.LocationSearchCriteria.AccessPointSearch.AccessPointStatus = "01" // active and available
	request.SortCriteria.SortType = "01"                                      // the nearest first
	return body
}

// points reads the answer. A search may fail with status 200.
func (a locatorAnswer) points() ([]ship.ServicePoint, error) {
	if a.LocatorResponse == nil {
		return nil, ship.Errorf(ship.Unavailable, "UPS sent no Access Points")
	}

	response := a.LocatorResponse.Response
	found := a.LocatorResponse.SearchResults
	switch failure := response.Error; {
	case response.ResponseStatusCode == requestFailed && noPoints.MatchString(failure.ErrorDescription):
		return nil, nil
	case response.ResponseStatusCode == requestFailed:
		refused := ship.Errorf(ship.Invalid, "UPS refused the search")
		refused.Refusal = ship.Refusal{Code: string(failure.ErrorCode), Message: failure.ErrorDescription}
		return nil, refused
	case len(found.DropLocation) == 0 && len(found.GeocodeCandidate) > 0:
		return nil, ship.Errorf(ship.Invalid, "UPS does not know this place; check the postal code, or add the city")
	}

	points := make([]ship.ServicePoint, 0, len(found.DropLocation))
	for _, location := range found.DropLocation {
		points = append(points, location.point())
	}
	slices.SortStableFunc(points, func(a, b ship.ServicePoint) int {
		return cmp.Compare(uint64(a.DistanceM), uint64(b.DistanceM)) // unknown ones, which are negative, come last
	})
	return points, nil
}

// point returns an Access Point. Its public number names it; UPS forbids to show
// the other one.
func (l dropLocation) point() ship.ServicePoint {
	key := l.AddressKeyFormat
	address := addressKey{
		AddressLine:        strings.Split(strings.Join(key.AddressLine, "\n"), "\n"),
		PoliticalDivision2: key.PoliticalDivision2,
		PoliticalDivision1: key.PoliticalDivision1,
		PostcodePrimaryLow: string(key.PostcodePrimaryLow),
	}
	point := ship.ServicePoint{
		ID:        string(l.AccessPointInformation.PublicAccessPointID),
		Name:      key.ConsigneeName,
		Address:   address.place(ship.Address{}),
		DistanceM: l.metres(),
		Hours:     l.hours(),
		Abilities: l.abilities(),
		IsLocker:  l.isLocker(),
	}
	point.Address.Country = key.CountryCode
	if len(l.PhoneNumber) > 0 && l.DisplayPhoneNumberIndicator != "0" {
		point.Address.Phone = l.PhoneNumber[0]
	}

	latitude, latitudeErr := strconv.ParseFloat(string(l.Geocode.Latitude), 64)
	longitude, longitudeErr := strconv.ParseFloat(string(l.Geocode.Longitude), 64)
	if latitudeErr == nil && longitudeErr == nil {
		point.Latitude = latitude
		point.Longitude = longitude
	}
	return point
}

// metres returns the distance; negative if it is not known.
func (l dropLocation) metres() int64 {
	const mile = 1609.344
	distance, err := strconv.ParseFloat(string(l.Distance.Value), 64)
	if err != nil || distance < 0 || distance > 1e5 {
		return -1
	}
	if l.Distance.UnitOfMeasurement.Code == "MI" {
		return int64(math.Round(distance * mile))
	}
	return int64(math.Round(distance * 1000))
}

// abilities returns what can be done at the point. All of them hand parcels out.
func (l dropLocation) abilities() []string {
	abilities := []string{"collect"}
	takesParcels := false
	takesPrepaid := false
	for _, offering := range l.ServiceOfferingList.ServiceOffering {
		takesParcels = takesParcels || slices.Contains([]string{"006", "007", "009"}, offering.Code)
		takesPrepaid = takesPrepaid || offering.Code == "009"
	}
	if takesParcels {
		abilities = append(abilities, "hand_in")
	}
	if takesPrepaid {
		abilities = append(abilities, "returns")
	}
	return abilities
}

func (l dropLocation) isLocker() bool {
	kinds := l.AddressKeyFormat.ConsigneeName
	for _, kind := range l.AccessPointInformation.BusinessClassificationList.BusinessClassification {
		kinds += " " + kind.Description
	}
	return strings.Contains(strings.ToLower(kinds), "locker")
}

// pointDays are the days of the week as UPS counts them, from 1.
var pointDays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// regularHours is UPS's code of the hours in which a place is open.
const regularHours = "10"

// hours returns when the point is open, from Monday on.
func (l dropLocation) hours() []ship.PointHours {
	var list []ship.PointHours
	for _, standard := range l.OperatingHours.StandardHours {
		if standard.HoursType != regularHours {
			continue
		}
		for _, day := range standard.DayOfWeek {
			n, err := strconv.Atoi(string(day.Day))
			if err != nil || n < 1 || n > len(pointDays) || bool(day.ClosedIndicator) {
				continue
			}
			opens, opensOK := pointClock(string(day.OpenHours))
			closes, closesOK := pointClock(string(day.CloseHours))
			if strings.EqualFold(string(day.Open24HoursIndicator), "true") {
				opens = "00:00"
				closes = "24:00"
			} else if !opensOK || !closesOK {
				continue
			}
			if closes == "00:00" {
				closes = "24:00"
			}
			list = append(list, ship.PointHours{Day: pointDays[n-1], Open: opens, Close: closes})
		}
	}

	slices.SortStableFunc(list, func(a, b ship.PointHours) int { return fromMonday(a.Day) - fromMonday(b.Day) })
	return list
}

func fromMonday(day string) int { return (slices.Index(pointDays, day) + 6) % 7 }

// pointClock reads a time without a colon and leading zeros: "930", "0".
func pointClock(given string) (string, bool) {
	n, err := strconv.Atoi(given)
	if err != nil || n < 0 || n > 2400 || n%100 > 59 {
		return "", false
	}
	digits := strconv.Itoa(10000 + n)[1:]
	return digits[:2] + ":" + digits[2:], true
}
