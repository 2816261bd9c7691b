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
	After string   `query:"after" minLength:"1" maxLength:"200" doc:"nextCursor of the page before; left out, the log begins at its oldest event."`
	Types []string `query:"types" enum:"shipment.created,label.generated,shipment.picked_up,shipment.in_transit,shipment.delivered,shipment.exception" maxItems:"6" doc:"Only these kinds, with commas between."`
	Limit int      `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"How many to list."`
}

// events is a part of the log, for the document.
type events struct {
	Data       []wire.Event `json:"data" doc:"Events, oldest first."`
	NextCursor string       `json:"nextCursor" doc:"Send it as after to go on; never null, also at the end of the log."`
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
	b := []byte(`{"data":[`)
	for i, e := range log.Entries {
		if i > 0 {
			b = append(b, ',')
		}
		body, err := wire.EventBody(e.Event, e.Shipment, e.Tracker)
		if err != nil {
			return reply{}, err
		}
		b = append(b, body...)
	}
	next, err := wire.Marshal(log.Next)
	b = append(append(b, `],"nextCursor":`...), next...)
	return reply{status: http.StatusOK, body: append(b, '}')}, err
}

// carrierShown is a carrier that the caller can use.
type carrierShown struct {
	Carrier     string            `json:"carrier" example:"ups" doc:"Identifier of the carrier."`
	Name        string            `json:"name" example:"UPS" doc:"Its name."`
	Services    []codeName        `json:"services" doc:"Its services."`
	Packagings  []codeName        `json:"packagings" doc:"Its own packagings."`
	Abilities   []string          `json:"abilities" doc:"What it can do."`
	Simulated   bool              `json:"simulated" doc:"Whether it is a simulated carrier of the sandbox."`
	Connections []connectionShown `json:"connections" doc:"The account's own carrier accounts, without secrets."`
}

type codeName struct {
	Code string `json:"code" example:"ground" doc:"Stable code."`
	Name string `json:"name" example:"UPS Ground" doc:"Its name."`
}

type connectionShown struct {
	ID   string `json:"id" doc:"Identifier of the carrier account, prefix con_."`
	Name string `json:"name" doc:"Its name."`
}

type noParameters struct{}

// listCarriers handles GET /v1/carriers.
func (s *server) listCarriers(ctx context.Context, _ *noParameters) (reply, error) {
	list, err := s.Shipping.Carriers(ctx, httpkit.From(ctx).Principal.Tenant)
	if err != nil {
		return reply{}, err
	}
	data := make([]carrierShown, len(list))
	for i, c := range list {
		data[i] = carrierOf(c)
	}
	return show(http.StatusOK, pageOf(data, false, ""))
}

func carrierOf(c shipping.CarrierInfo) carrierShown {
	out := carrierShown{
		Carrier: c.Name, Name: c.Title, Abilities: append([]string{}, c.Abilities...), Simulated: c.Simulated,
		Services: make([]codeName, len(c.Services)), Packagings: make([]codeName, len(c.Packagings)),
		Connections: make([]connectionShown, len(c.Connections)),
	}
	for i, v := range c.Services {
		out.Services[i] = codeName{v.Code, v.Name}
	}
	for i, v := range c.Packagings {
		out.Packagings[i] = codeName{v.Code, v.Name}
	}
	for i, v := range c.Connections {
		out.Connections[i] = connectionShown{string(v.ID), v.Name}
	}
	return out
}
