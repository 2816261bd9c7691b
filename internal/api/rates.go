package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// ratesInput is the body of POST /v1/rates.
type ratesInput struct {
	Destination  destinationInput `json:"destination" doc:"Where the parcel goes. Country and postal code are enough for estimates."`
	Parcel       *parcelInput     `json:"parcel,omitempty" doc:"The parcel; for several, use parcels instead."`
	Parcels      []parcelInput    `json:"parcels,omitempty" minItems:"1" maxItems:"50" doc:"Several parcels to one destination, instead of parcel."`
	Origin       *originInput     `json:"origin,omitempty" doc:"Where the parcel comes from: an address, or a location of the account as locationId. Defaults to the account's default location, then to its sender address, then, with a test key, to a sample warehouse."`
	Carriers     []string         `json:"carriers,omitempty" maxItems:"50" minLength:"1" maxLength:"50" doc:"Request quotes only from these carriers."`
	Services     []string         `json:"services,omitempty" maxItems:"50" minLength:"1" maxLength:"50" doc:"Return only these services."`
	ConnectionID string           `json:"connectionId,omitempty" pattern:"^con_[0-7][0-9A-Za-z]{25}$" doc:"Request quotes only from this carrier account."`
	ShipDate     string           `json:"shipDate,omitempty" format:"date" doc:"Date on which the parcel is handed to the carrier; today by default."`
	DeliverBy    string           `json:"deliverBy,omitempty" format:"date" doc:"Date by which the parcel must arrive."`
	Options      *optionsInput    `json:"options,omitempty" doc:"Extra services."`
	Customs      *customsInput    `json:"customs,omitempty" doc:"Customs declaration. It is checked, and a rate can be bought with another one."`
	TimeoutMs    wholeNumber      `json:"timeoutMs,omitempty" minimum:"100" maximum:"8000" doc:"How long to wait for slow carriers, in milliseconds; 4000 by default."`
}

// order returns what carriers are asked to quote, and the fields that are
// invalid.
func (in *ratesInput) order() (order ship.Order, oneParcel bool, invalid []ship.FieldError) {
	order = ship.Order{
		Destination: recipientInput(in.Destination).address(),
		ShipDate:    ship.Date(in.ShipDate),
		DeliverBy:   ship.Date(in.DeliverBy),
		Options:     in.Options.options(in.Destination.ServicePoint, &invalid),
		Customs:     in.Customs.customs(&invalid),
	}
	in.Origin.setOrigin(&order)
	order.Parcels, oneParcel = parcelsOf(in.Parcel, in.Parcels)
	return order, oneParcel, invalid
}

// checkRates finds the invalid fields of a request for rates whose body does
// not have the right shape.
func checkRates(ex *httpkit.Exchange) []ship.FieldError {
	var in ratesInput
	_ = json.Unmarshal(ex.Body, &in) // what does not fit is listed already

	order, oneParcel, invalid := in.order()
	_, err := order.Normalize(ship.Normalizing{
		Tenant:    ex.Principal.Tenant,
		Account:   ex.Principal.Account,
		OneParcel: oneParcel,
		Quote:     true,
		Estimate:  order.Destination.IsPartial(),
		Now:       time.Now().UTC(),
	})
	return append(invalid, fieldsOf(err)...)
}

// destinationInput is an address of which only the country is always needed.
type destinationInput struct {
	Name        string `json:"name,omitempty" maxLength:"100" example:"Ada Lovelace" doc:"Name of the person, or of the contact if company is given. If omitted, the rates are estimates."`
	Address1    string `json:"address1,omitempty" maxLength:"100" example:"500 Main St" doc:"Street and number. If omitted, the rates are estimates."`
	City        string `json:"city,omitempty" maxLength:"100" example:"Austin" doc:"City or town. If omitted, the rates are estimates."`
	State       string `json:"state,omitempty" maxLength:"50" example:"TX" doc:"State or province, such as TX, US-TX or Texas. If omitted where the country's addresses need one, the rates are estimates."`
	Zip         string `json:"zip,omitempty" maxLength:"20" example:"78701" doc:"Postal code. Required except where the country has none."`
	Country     string `json:"country" minLength:"1" maxLength:"100" example:"US" doc:"ISO 3166-1 alpha-2 code, in upper or lower case."`
	Company     string `json:"company,omitempty" maxLength:"100" doc:"Company."`
	Address2    string `json:"address2,omitempty" maxLength:"100" doc:"Second line, such as a suite."`
	Address3    string `json:"address3,omitempty" maxLength:"100" doc:"Third line."`
	Phone       string `json:"phone,omitempty" maxLength:"30" doc:"Phone number for the driver."`
	Email       string `json:"email,omitempty" maxLength:"254" doc:"E-mail address."`
	Residential *bool  `json:"residential,omitempty" doc:"Whether the address is residential. If omitted, the carrier decides."`
	Type        string `json:"type,omitempty" enum:"business,consumer" doc:"How customs classifies the party. Required for shipments into the European Union."`

	ServicePoint string `json:"servicePoint,omitempty" minLength:"1" maxLength:"50" example:"U12345678" doc:"Quote delivery to this service point of the carrier: an id from GET /v1/service-points."`
}

type quoteRatesRequest struct {
	Body ratesInput
}

// rates are the answer of POST /v1/rates.
type rates struct {
	Rates     []rate        `json:"rates" doc:"Offers, cheapest first."`
	Errors    []rateError   `json:"errors" doc:"Carriers that did not quote."`
	Removed   []removedRate `json:"removed,omitempty" doc:"Offers that were left out because the service cannot do an option of the shipment."`
	Partial   bool          `json:"partial" doc:"Whether a carrier did not respond in time."`
	ExpiresAt string        `json:"expiresAt" format:"date-time" doc:"Until when the rates can be bought."`

	Warnings []httpkit.FieldProblem `json:"warnings,omitempty" doc:"What customs or a carrier would object to. It does not prevent a purchase."`
}

type rate struct {
	ID                    string `json:"id,omitempty" example:"rate_8f2c" doc:"Send it as rateId to buy this rate. It has at most 64 characters, or 255 if the carrier's offer includes a product code. Estimates have none."`
	Carrier               string `json:"carrier" example:"ups" doc:"Identifier of the carrier."`
	ConnectionID          string `json:"connectionId,omitempty" doc:"The carrier account that quoted."`
	Service               string `json:"service" example:"ground" doc:"The carrier's service."`
	ServiceName           string `json:"serviceName" example:"UPS Ground" doc:"Name of the service."`
	Amount                string `json:"amount" example:"12.34" doc:"Decimal amount."`
	Currency              string `json:"currency" example:"USD" doc:"ISO 4217 code."`
	TransitDays           int    `json:"transitDays,omitempty" example:"3" doc:"Days in transit."`
	EstimatedDeliveryDate string `json:"estimatedDeliveryDate,omitempty" format:"date-time" doc:"Estimated time of arrival."`
	Guaranteed            bool   `json:"guaranteed" doc:"Whether the carrier guarantees the delivery date."`
	Source                string `json:"source" enum:"carrier,sheet,cache" doc:"Where the price comes from: the carrier, the account's rate sheet, or a recent quote of the carrier."`

	Estimate       bool            `json:"estimate,omitempty" doc:"True if the destination is not a complete address: the rate cannot be bought."`
	Assumptions    []string        `json:"assumptions,omitempty" doc:"Assumptions behind the estimate, as text."`
	DeliveryDays   int             `json:"deliveryDays,omitempty" example:"4" doc:"Calendar days from the ship date to the delivery."`
	ListAmount     string          `json:"listAmount,omitempty" example:"15.42" doc:"The carrier's published price in the same currency, if the carrier provides it."`
	Charges        []charge        `json:"charges,omitempty" doc:"Breakdown of the amount, if the carrier provides it."`
	BillableWeight *billableWeight `json:"billableWeight,omitempty" doc:"Total weight that the carrier charges for, across all parcels."`
}

// charge is a part of a rate's amount.
type charge struct {
	Type   string `json:"type" example:"base" doc:"What it is for: base, fuel, residential, delivery_area, signature, insurance, saturday_delivery, oversize, peak, tax, discount or other."`
	Amount string `json:"amount" example:"9.80" doc:"Decimal amount in the currency of the rate; negative for a discount."`
}

// billableWeight is in the unit of the first parcel.
type billableWeight struct {
	Value float64 `json:"value" example:"5" doc:"Weight in unit."`
	Unit  string  `json:"unit" enum:"lb,oz,kg,g" doc:"Unit of the first parcel."`
}

// removedRate is an offer that was left out.
type removedRate struct {
	Carrier     string `json:"carrier" example:"ups" doc:"Identifier of the carrier."`
	Service     string `json:"service" example:"next_day_air_early" doc:"The carrier's service."`
	ServiceName string `json:"serviceName" example:"UPS Next Day Air Early" doc:"Name of the service."`
	Pointer     string `json:"pointer" example:"/destination/servicePoint" doc:"The field of the request that the service cannot do."`
	Message     string `json:"message" example:"UPS Next Day Air Early does not offer delivery to a service point" doc:"Why the offer was left out."`
}

type rateError struct {
	Carrier    string `json:"carrier" doc:"Identifier of the carrier."`
	Code       string `json:"code" doc:"What happened, as a stable code."`
	Reason     string `json:"reason" enum:"rate_limited,timeout,unavailable,circuit_open,credentials,missing_field,refused" doc:"Why the carrier did not quote: its quota is used up or it asked for a pause; it did not answer in time; it could not be reached; it is not asked because it did not answer before; it refused the account or its credentials; it needs what the request does not say; it does not take the order."`
	RetryAt    string `json:"retryAt,omitempty" format:"date-time" doc:"When the carrier can be asked again, if that is known."`
	Message    string `json:"message" doc:"What happened, as text."`
	Retryable  bool   `json:"retryable" doc:"Whether a retry may succeed."`
	DurationMs int64  `json:"durationMs" doc:"Time until the carrier failed, in milliseconds."`

	Errors         []httpkit.FieldProblem `json:"errors,omitempty" doc:"The fields that the carrier objects to."`
	CarrierCode    string                 `json:"carrierCode,omitempty" doc:"The carrier's own code."`
	CarrierMessage string                 `json:"carrierMessage,omitempty" doc:"The carrier's own message."`
}

// addDetails adds what a carrier gives beyond the price. A rate has one
// currency, so amounts in another are left out.
func (r *rate) addDetails(quoted ship.Rate, shipDate ship.Date, unit ship.WeightUnit) {
	if !quoted.DeliveryAt.IsZero() {
		r.DeliveryDays = int(ship.DateOf(quoted.DeliveryAt).Time().Sub(shipDate.Time()).Hours() / 24)
	}
	if quoted.ListPrice.Currency == quoted.Price.Currency {
		r.ListAmount = quoted.ListPrice.Amount()
	}

	for _, part := range quoted.Charges {
		if part.Amount.Currency == quoted.Price.Currency {
			r.Charges = append(r.Charges, charge{Type: string(part.Type), Amount: part.Amount.Amount()})
		}
	}
	if quoted.BillableWeightGrams > 0 {
		r.BillableWeight = &billableWeight{Value: unit.Of(quoted.BillableWeightGrams), Unit: string(unit)}
	}
}

// quoteRates handles POST /v1/rates.
func (s *server) quoteRates(ctx context.Context, in *quoteRatesRequest) (reply, error) {
	caller := httpkit.From(ctx).Principal
	body := &in.Body
	order, oneParcel, invalid := body.order()
	if err := ship.InvalidFields(invalid); err != nil {
		return reply{}, err
	}

	quotes, err := s.Quoting.Quote(ctx, quoting.Input{
		Tenant:      caller.Tenant,
		Account:     caller.Account,
		Order:       order,
		OneParcel:   oneParcel,
		Carriers:    body.Carriers,
		Services:    body.Services,
		Connection:  ship.ConnectionID(body.ConnectionID),
		Timeout:     time.Duration(body.TimeoutMs) * time.Millisecond,
		MayEstimate: true,
	})
	if err != nil {
		return reply{}, err
	}

	// Weights are shown in the unit that the client sent.
	unit := order.Parcels[0].WeightUnit
	if unit == "" {
		unit = caller.Account.Units.Weight
	}
	return jsonReply(http.StatusOK, ratesOf(quotes, unit))
}

// ratesOf returns quotes as clients see them, with weights in the client's unit.
func ratesOf(quotes quoting.Quotes, unit ship.WeightUnit) rates {
	out := rates{
		Rates:     make([]rate, len(quotes.Rates)),
		Errors:    make([]rateError, len(quotes.Errors)),
		Partial:   quotes.Partial,
		ExpiresAt: wire.Time(quotes.ExpiresAt),
		Warnings:  httpkit.FieldProblems(quotes.Warnings),
	}

	for i, quoted := range quotes.Rates {
		out.Rates[i] = rate{
			ID:                    quoted.ID,
			Carrier:               quoted.Carrier,
			ConnectionID:          string(quoted.Connection),
			Service:               quoted.Service,
			ServiceName:           quoted.ServiceName,
			Amount:                quoted.Price.Amount(),
			Currency:              quoted.Price.Currency,
			TransitDays:           quoted.TransitDays,
			EstimatedDeliveryDate: wire.Time(quoted.DeliveryAt),
			Guaranteed:            quoted.Guaranteed,
			Source:                wire.SourceOf(quoted.Rate),
			Estimate:              quotes.Estimate,
			Assumptions:           quotes.Assumed,
		}
		out.Rates[i].addDetails(quoted.Rate, quotes.ShipDate, unit)
	}

	for i, failure := range quotes.Errors {
		out.Errors[i] = rateErrorOf(failure)
	}
	for _, removed := range quotes.Removed {
		out.Removed = append(out.Removed, removedRate{
			Carrier:     removed.Carrier,
			Service:     removed.Service,
			ServiceName: removed.ServiceName,
			Pointer:     removed.Extra.Pointer(),
			Message:     removed.Message(),
		})
	}
	return out
}

// rateErrorOf returns a carrier's failure as clients see it.
func rateErrorOf(failure quoting.QuoteError) rateError {
	return rateError{
		Carrier:        failure.Carrier,
		Code:           failure.Code,
		Reason:         string(failure.Reason),
		RetryAt:        wire.Time(failure.RetryAt),
		Message:        failure.Message,
		Retryable:      failure.Retryable,
		DurationMs:     failure.Duration.Milliseconds(),
		Errors:         httpkit.FieldProblems(failure.Fields),
		CarrierCode:    failure.Refusal.Code,
		CarrierMessage: failure.Refusal.Message,
	}
}
