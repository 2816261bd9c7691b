package inquiry

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// usualPoints is how many service points a search returns if nobody says.
const usualPoints = 20

// PointsInput looks for service points.
type PointsInput struct {
	Tenant  ship.Tenant
	Query   ship.PointQuery // as the client wrote it
	Carrier string          // that alone is asked; empty for all
}

// A Point is a service point with its carrier.
type Point struct {
	Carrier string
	ship.ServicePoint
}

// Points are what carriers found, the nearest first.
type Points struct {
	Points []Point
	Errors []Failure
}

// Points asks the tenant's carriers for service points near a place.
func (s *Service) Points(ctx context.Context, in PointsInput) (Points, error) {
	query, err := normalizeQuery(in.Query)
	if err != nil {
		return Points{}, err
	}
	carriers, err := s.ableTo(ctx, in.Tenant, "points", in.Carrier, "a search for service points")
	if err != nil {
		return Points{}, err
	}

	answers := askAll(ctx, carriers, func(ctx context.Context, c *carrier.Carrier) ([]ship.ServicePoint, error) {
		return c.FindPoints(ctx, query)
	})
	var found Points
	if found.Errors, err = failuresOf(s, answers, false); err != nil {
		return Points{}, err
	}
	for _, a := range answers {
		for _, point := range a.value {
			found.Points = append(found.Points, Point{Carrier: a.carrier, ServicePoint: point})
		}
	}

	slices.SortStableFunc(found.Points, byDistance)
	found.Points = found.Points[:min(len(found.Points), query.Limit)]
	return found, nil
}

// byDistance puts the nearest point first, and those of unknown distance last.
func byDistance(a, b Point) int {
	isUnknown := func(p Point) int {
		if p.DistanceM < 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(isUnknown(a), isUnknown(b)), cmp.Compare(a.DistanceM, b.DistanceM))
}

// normalizeQuery returns the place as carriers are asked for it, or an Invalid error
// that lists the invalid fields.
func normalizeQuery(query ship.PointQuery) (ship.PointQuery, error) {
	query.Country = strings.ToUpper(strings.TrimSpace(query.Country))
	query.Zip = strings.ToUpper(strings.TrimSpace(query.Zip))
	query.City = strings.TrimSpace(query.City)
	if query.Limit == 0 {
		query.Limit = usualPoints
	}

	var invalid []ship.FieldError
	if !ship.KnownCountry(query.Country) {
		invalid = append(invalid, ship.FieldError{
			Pointer: "/country",
			Code:    "unknown_country",
			Detail:  "must be a two-letter ISO 3166-1 code, such as DE",
		})
	}
	if query.Zip == "" && query.City == "" {
		invalid = append(invalid, ship.FieldError{Pointer: "/zip", Code: "required", Detail: "is required unless city is given"})
	}
	return query, ship.InvalidFields(invalid)
}
