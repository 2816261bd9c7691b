package api

import (
	"context"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/wire"
)

// ratesInput is the body of POST /v1/rates.
type ratesInput struct {
	Destination  addressInput  `json:"destination" doc:"Where the parcel goes."`
	Parcel       *parcelInput  `json:"parcel,omitempty" doc:"The parcel; for several send parcels instead."`
	Parcels      []parcelInput `json:"parcels,omitempty" minItems:"1" maxItems:"50" doc:"Several parcels to one destination, instead of parcel."`
	Origin       *addressInput `json:"origin,omitempty" doc:"Where the parcel comes from. The default is the account's location; a test key has a sample warehouse."`
	Carriers     []string      `json:"carriers,omitempty" maxItems:"50" minLength:"1" maxLength:"50" doc:"Ask these carriers only."`
	Services     []string      `json:"services,omitempty" maxItems:"50" minLength:"1" maxLength:"50" doc:"Show these services only."`
	ConnectionID string        `json:"connectionId,omitempty" pattern:"^con_[0-7][0-9A-Za-z]{25}$" doc:"Ask this carrier account only."`
	ShipDate     string        `json:"shipDate,omitempty" format:"date" doc:"Day on which the carrier gets the parcel; today by default."`
	DeliverBy    string        `json:"deliverBy,omitempty" format:"date" doc:"Day by which it must arrive."`
	Options      *optionsInput `json:"options,omitempty" doc:"Extra services."`
	TimeoutMs    wholeNumber   `json:"timeoutMs,omitempty" minimum:"100" maximum:"8000" doc:"How long to wait for slow carriers; 4000 by default."`
}

type quoteRatesRequest struct {
	Body ratesInput
}

// rates are the answer of POST /v1/rates.
type rates struct {
	Rates     []rate      `json:"rates" doc:"Offers, cheapest first."`
	Errors    []rateError `json:"errors" doc:"Carriers that did not quote."`
	Partial   bool        `json:"partial" doc:"Whether a carrier had not answered in time."`
	ExpiresAt string      `json:"expiresAt" format:"date-time" doc:"Until when the rates can be bought."`
}

type rate struct {
	ID                    string `json:"id" example:"rate_8f2c" doc:"Send it as rateId to buy this rate."`
	Carrier               string `json:"carrier" example:"ups" doc:"Identifier of the carrier."`
	ConnectionID          string `json:"connectionId,omitempty" doc:"The carrier account that quoted."`
	Service               string `json:"service" example:"ground" doc:"The carrier's service."`
	ServiceName           string `json:"serviceName" example:"UPS Ground" doc:"Name of the service."`
	Amount                string `json:"amount" example:"12.34" doc:"Decimal amount."`
	Currency              string `json:"currency" example:"USD" doc:"ISO 4217 code."`
	TransitDays           int    `json:"transitDays,omitempty" example:"3" doc:"Days on the way."`
	EstimatedDeliveryDate string `json:"estimatedDeliveryDate,omitempty" format:"date-time" doc:"When it would arrive."`
	Guaranteed            bool   `json:"guaranteed" doc:"Whether the carrier guarantees the date."`
	Source                string `json:"source" enum:"carrier,sheet,cache" doc:"Who named the price: the carrier just now, the account's rate sheet, or the carrier minutes ago."`
}

type rateError struct {
	Carrier    string `json:"carrier" doc:"Identifier of the carrier."`
	Code       string `json:"code" doc:"What happened, as a stable code."`
	Message    string `json:"message" doc:"What happened, in words."`
	Retryable  bool   `json:"retryable" doc:"Whether asking again may help."`
	DurationMs int64  `json:"durationMs" doc:"How long it took."`
}

// quoteRates handles POST /v1/rates.
func (s *server) quoteRates(ctx context.Context, in *quoteRatesRequest) (reply, error) {
	p := httpkit.From(ctx).Principal
	b := &in.Body
	var wrong []ship.FieldError
	order := ship.Order{
		Destination: b.Destination.address(), ShipDate: ship.Date(b.ShipDate), DeliverBy: ship.Date(b.DeliverBy),
		Options: b.Options.options(&wrong),
	}
	if b.Origin != nil {
		order.Origin = b.Origin.address()
	}
	var one bool
	order.Parcels, one = parcelsOf(b.Parcel, b.Parcels)
	if err := ship.InvalidFields(wrong); err != nil {
		return reply{}, err
	}
	quotes, err := s.Shipping.Quote(ctx, shipping.QuoteInput{
		Tenant: p.Tenant, Account: p.Account, Order: order, OneParcel: one,
		Carriers: b.Carriers, Services: b.Services, Connection: ship.ConnectionID(b.ConnectionID),
		Timeout: time.Duration(b.TimeoutMs) * time.Millisecond,
	})
	if err != nil {
		return reply{}, err
	}
	return show(http.StatusOK, ratesOf(quotes))
}

func ratesOf(q shipping.Quotes) rates {
	out := rates{
		Rates: make([]rate, len(q.Rates)), Errors: make([]rateError, len(q.Errors)),
		Partial: q.Partial, ExpiresAt: wire.Time(q.ExpiresAt),
	}
	for i, r := range q.Rates {
		out.Rates[i] = rate{
			ID: r.ID, Carrier: r.Carrier, ConnectionID: string(r.Connection), Service: r.Service, ServiceName: r.ServiceName,
			Amount: r.Price.Amount(), Currency: r.Price.Currency, TransitDays: r.TransitDays,
			EstimatedDeliveryDate: wire.Time(r.DeliveryAt), Guaranteed: r.Guaranteed, Source: wire.SourceOf(r.Rate),
		}
	}
	for i, e := range q.Errors {
		out.Errors[i] = rateError{
			Carrier: e.Carrier, Code: e.Code, Message: e.Message, Retryable: e.Retryable, DurationMs: e.Duration.Milliseconds(),
		}
	}
	return out
}
