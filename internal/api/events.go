package api

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/wire"
)

type listEventsRequest struct {
	After string   `query:"after" minLength:"1" maxLength:"200" doc:"nextCursor of the previous page; omit it to start at the oldest event."`
	Types []string `query:"types" enum:"shipment.created,label.generated,shipment.picked_up,shipment.in_transit,shipment.delivered,shipment.exception" maxItems:"6" doc:"Only events of these types, separated by commas."`
	Limit int      `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of items to return."`
}

// events is a part of the log, for the document.
type events struct {
	Data       []wire.Event `json:"data" doc:"Events, oldest first."`
	NextCursor string       `json:"nextCursor" doc:"Send it as after to continue; never null, not even at the end of the log."`
}

// listEvents handles GET /v1/events. The bodies are the very bytes that are
// sent to webhook endpoints.
func (s *server) listEvents(ctx context.Context, in *listEventsRequest) (reply, error) {
	kinds := make([]ship.EventKind, len(in.Types))
	for i, kind := range in.Types {
		kinds[i] = ship.EventKind(kind)
	}
	log, err := s.Webhook.Events(ctx, httpkit.From(ctx).Principal.Tenant, in.After, kinds, in.Limit)
	if err != nil {
		return reply{}, err
	}

	// The page is put together by hand, because encoding the bodies again could
	// change their bytes.
	page := []byte(`{"data":[`)
	for i, entry := range log.Entries {
		if i > 0 {
			page = append(page, ',')
		}
		body, err := wire.EventBody(entry.Event, entry.Shipment, entry.Tracker)
		if err != nil {
			return reply{}, err
		}
		page = append(page, body...)
	}

	next, err := wire.Marshal(log.Next)
	page = append(page, `],"nextCursor":`...)
	page = append(page, next...)
	return reply{status: http.StatusOK, body: append(page, '}')}, err
}

// carrierShown is a carrier that the caller can use.
type carrierShown struct {
	Carrier     string            `json:"carrier" example:"ups" doc:"Identifier of the carrier."`
	Name        string            `json:"name" example:"UPS" doc:"Display name."`
	Services    []codeName        `json:"services" doc:"Its services."`
	Packagings  []codeName        `json:"packagings" doc:"Its own packaging types."`
	Abilities   []string          `json:"abilities" doc:"Its capabilities."`
	Addresses   addressCoverage   `json:"addressChecks" doc:"Where it checks addresses."`
	Simulated   bool              `json:"simulated" doc:"Whether it is a simulated carrier of the sandbox."`
	Plugin      bool              `json:"plugin,omitempty" doc:"Whether the carrier is a plug-in that the operator registered."`
	Connections []connectionShown `json:"connections" doc:"The account's connections to this carrier, without secrets."`
}

type addressCoverage struct {
	Streets []string `json:"streets" doc:"Countries where it checks streets and houses."`
	Places  bool     `json:"places" doc:"Whether it checks, in every other country, that it serves the city and postal code."`
}

type codeName struct {
	Code string `json:"code" example:"ground" doc:"Stable code."`
	Name string `json:"name" example:"UPS Ground" doc:"Display name."`
}

type connectionShown struct {
	ID   string `json:"id" doc:"Identifier of the carrier account, prefix con_."`
	Name string `json:"name" doc:"Display name."`
}

type noParameters struct{}

// listCarriers handles GET /v1/carriers.
func (s *server) listCarriers(ctx context.Context, _ *noParameters) (reply, error) {
	list, err := s.Shipping.Carriers(ctx, httpkit.From(ctx).Principal.Tenant)
	if err != nil {
		return reply{}, err
	}

	data := make([]carrierShown, len(list))
	for i, info := range list {
		data[i] = carrierOf(info)
	}
	return jsonReply(http.StatusOK, pageOf(data, false, ""))
}

// carrierOf returns a carrier as clients see it.
func carrierOf(info shipping.CarrierInfo) carrierShown {
	out := carrierShown{
		Carrier:     info.Name,
		Name:        info.Title,
		Services:    make([]codeName, len(info.Services)),
		Packagings:  make([]codeName, len(info.Packagings)),
		Abilities:   nonNil(info.Abilities),
		Addresses:   addressCoverage{Streets: nonNil(info.Addresses.Streets), Places: info.Addresses.Places},
		Simulated:   info.Simulated,
		Plugin:      info.Plugin,
		Connections: make([]connectionShown, len(info.Connections)),
	}

	for i, service := range info.Services {
		out.Services[i] = codeName{service.Code, service.Name}
	}
	for i, packaging := range info.Packagings {
		out.Packagings[i] = codeName{packaging.Code, packaging.Name}
	}
	for i, connection := range info.Connections {
		out.Connections[i] = connectionShown{string(connection.ID), connection.Name}
	}
	return out
}
