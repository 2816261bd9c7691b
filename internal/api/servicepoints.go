package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/inquiry"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
)

// pointRoutes find service points.
func (s *server) pointRoutes() []*route {
	return []*route{{
		method:   http.MethodGet,
		path:     "/v1/service-points",
		id:       "listServicePoints",
		tag:      "Service points",
		summary:  "Find service points",
		scope:    "rates",
		handler:  handle(s.listPoints),
		outcomes: []outcome{{status: http.StatusOK, about: "The points of all carriers, the nearest first.", body: servicePoints{}}},
		codes:    []string{"no_carrier", "carrier_rejected", "carrier_unavailable"},
	}}
}

type listPointsRequest struct {
	Country string `query:"country" required:"true" minLength:"2" maxLength:"2" example:"US" doc:"ISO 3166-1 alpha-2 code, in upper or lower case."`
	Zip     string `query:"zip" minLength:"1" maxLength:"20" example:"78701" doc:"Postal code of the place. Required unless city is given."`
	City    string `query:"city" minLength:"1" maxLength:"100" example:"Austin" doc:"City of the place."`
	Carrier string `query:"carrier" minLength:"1" maxLength:"50" example:"ups" doc:"Ask this carrier only."`
	Limit   int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of points to return."`
}

// servicePoints are the answer of GET /v1/service-points.
type servicePoints struct {
	Points []servicePoint `json:"points" doc:"The points of all carriers, the nearest first; those whose distance is not known last."`
	Errors []rateError    `json:"errors" doc:"Carriers that did not answer."`
}

type servicePoint struct {
	ID        string         `json:"id" example:"U12345678" doc:"The carrier's identifier of the point."`
	Carrier   string         `json:"carrier" example:"ups" doc:"Identifier of the carrier."`
	Name      string         `json:"name" example:"The UPS Store" doc:"Name of the point."`
	Address   checkedAddress `json:"address" doc:"Where it is."`
	Distance  *pointDistance `json:"distance,omitempty" doc:"From the place that was asked for, if known."`
	Latitude  *float64       `json:"latitude,omitempty" example:"30.267" doc:"Degrees north."`
	Longitude *float64       `json:"longitude,omitempty" example:"-97.743" doc:"Degrees east."`
	Locker    bool           `json:"locker" doc:"Whether it is a locker."`
	Abilities []string       `json:"abilities" doc:"What can be done there: collect, hand_in, returns."`
	Hours     []pointHours   `json:"hours" doc:"When it is open, a line for each period of a day; empty if not known."`
}

type pointDistance struct {
	Value float64 `json:"value" example:"850" doc:"Distance in unit."`
	Unit  string  `json:"unit" enum:"m" doc:"Metres."`
}

type pointHours struct {
	Day   string `json:"day" enum:"monday,tuesday,wednesday,thursday,friday,saturday,sunday" doc:"Day of the week."`
	Open  string `json:"open" example:"09:00" doc:"Local time."`
	Close string `json:"close" example:"18:30" doc:"Local time."`
}

// listPoints handles GET /v1/service-points.
func (s *server) listPoints(ctx context.Context, in *listPointsRequest) (reply, error) {
	found, err := s.Inquiry.Points(ctx, inquiry.PointsInput{
		Tenant:  httpkit.From(ctx).Principal.Tenant,
		Carrier: in.Carrier,
		Query: ship.PointQuery{
			Country: in.Country,
			Zip:     in.Zip,
			City:    in.City,
			Limit:   in.Limit,
		},
	})
	if err != nil {
		return reply{}, ofParameters(err)
	}

	out := servicePoints{
		Points: make([]servicePoint, len(found.Points)),
		Errors: carrierErrors(found.Errors),
	}
	for i, point := range found.Points {
		out.Points[i] = servicePointOf(point)
	}
	return jsonReply(http.StatusOK, out)
}

func servicePointOf(point inquiry.Point) servicePoint {
	shown := servicePoint{
		ID:        point.ID,
		Carrier:   point.Carrier,
		Name:      point.Name,
		Address:   checkedAddress(point.Address),
		Locker:    point.IsLocker,
		Abilities: nonNil(point.Abilities),
		Hours:     make([]pointHours, len(point.Hours)),
	}
	if point.DistanceM >= 0 {
		shown.Distance = &pointDistance{Value: float64(point.DistanceM), Unit: "m"}
	}
	if point.Latitude != 0 || point.Longitude != 0 {
		shown.Latitude = &point.Latitude
		shown.Longitude = &point.Longitude
	}
	for i, hours := range point.Hours {
		shown.Hours[i] = pointHours(hours)
	}
	return shown
}

// carrierErrors are the carriers that did not answer, as clients see them.
func carrierErrors(failures []inquiry.Failure) []rateError {
	list := make([]rateError, len(failures))
	for i, failure := range failures {
		list[i] = rateErrorOf(quoting.QuoteError(failure))
	}
	return list
}

// ofParameters returns an error about fields as one about the parameters of the
// address, which have the same names.
func ofParameters(err error) error {
	coded, ok := errors.AsType[*ship.Error](err)
	if !ok || len(coded.Fields) == 0 {
		return err
	}

	shown := *coded
	shown.Fields = slices.Clone(coded.Fields)
	for i := range shown.Fields {
		shown.Fields[i].Pointer = httpkit.ParameterPrefix + strings.TrimPrefix(shown.Fields[i].Pointer, "/")
	}
	return &shown
}
