package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/inquiry"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// dutyRoutes estimate duties.
func (s *server) dutyRoutes() []*route {
	return []*route{{
		method:       http.MethodPost,
		path:         "/v1/landed-cost",
		id:           "estimateLandedCost",
		tag:          "Rates",
		summary:      "Estimate duties and taxes",
		scope:        "rates",
		unaudited:    changesNothing,
		checkFurther: checkLandedCost,
		handler:      handle(s.estimateLandedCost),
		outcomes:     []outcome{{status: http.StatusOK, about: "The estimates of all carriers.", body: landedCost{}}},
		codes:        []string{"origin_required", "unknown_location", "no_carrier", "carrier_rejected", "carrier_unavailable"},
	}}
}

// landedCostInput is the body of POST /v1/landed-cost: that of a shipment, of which
// less is needed.
type landedCostInput struct {
	Destination destinationInput `json:"destination" doc:"Where the parcel goes. Country and postal code are enough for many carriers."`
	Customs     *customsInput    `json:"customs" doc:"Customs declaration: duties depend on the goods."`
	Parcel      *parcelInput     `json:"parcel,omitempty" doc:"The parcel; for several, use parcels instead."`
	Parcels     []parcelInput    `json:"parcels,omitempty" minItems:"1" maxItems:"50" doc:"Several parcels to one destination, instead of parcel."`
	Origin      *originInput     `json:"origin,omitempty" doc:"Where the parcel comes from: an address, or a location of the account as locationId. Defaults to the account's default location, then to its sender address, then, with a test key, to a sample warehouse."`
	Carrier     string           `json:"carrier,omitempty" minLength:"1" maxLength:"50" example:"dhl_express" doc:"Ask this carrier only."`
	ShipDate    string           `json:"shipDate,omitempty" format:"date" doc:"Date on which the parcel is handed to the carrier; today by default."`
	Options     *optionsInput    `json:"options,omitempty" doc:"Extra services; an insured value may count."`
	IsReturn    bool             `json:"isReturn,omitempty" doc:"Whether the parcel is a return."`

	// The rest of a shipment's body changes nothing here.

	OrderID           string        `json:"orderId,omitempty" maxLength:"100" doc:"Ignored, as are all fields below: the body of a shipment can be sent as it is."`
	Service           string        `json:"service,omitempty" maxLength:"50" doc:"Ignored."`
	ConnectionID      string        `json:"connectionId,omitempty" maxLength:"50" doc:"Ignored."`
	RateID            string        `json:"rateId,omitempty" maxLength:"600" doc:"Ignored."`
	MaxAmount         *moneyInput   `json:"maxAmount,omitempty" doc:"Ignored."`
	DeliverBy         string        `json:"deliverBy,omitempty" format:"date" doc:"Ignored."`
	LabelFormat       string        `json:"labelFormat,omitempty" enum:"pdf,zpl,png" doc:"Ignored."`
	Reference         string        `json:"reference,omitempty" maxLength:"100" doc:"Ignored."`
	Billing           *billingInput `json:"billing,omitempty" doc:"Ignored."`
	AddressValidation string        `json:"addressValidation,omitempty" maxLength:"20" doc:"Ignored."`
	OnDuplicateOrder  string        `json:"onDuplicateOrder,omitempty" maxLength:"20" doc:"Ignored."`
	Metadata          metadataInput `json:"metadata,omitempty" doc:"Ignored."`
}

// order returns what carriers are asked about, and the fields that are invalid.
func (in *landedCostInput) order() (order ship.Order, oneParcel bool, invalid []ship.FieldError) {
	order = ship.Order{
		Destination: recipientInput(in.Destination).address(),
		ShipDate:    ship.Date(in.ShipDate),
		IsReturn:    in.IsReturn,
		Options:     in.Options.options(in.Destination.ServicePoint, &invalid),
		Customs:     in.Customs.customs(&invalid),
	}
	in.Origin.setOrigin(&order)
	order.Parcels, oneParcel = parcelsOf(in.Parcel, in.Parcels)
	return order, oneParcel, invalid
}

// checkLandedCost finds the invalid fields of a request whose body does not have the
// right shape.
func checkLandedCost(ex *httpkit.Exchange) []ship.FieldError {
	var in landedCostInput
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

type landedCostRequest struct {
	Body landedCostInput
}

// landedCost is the answer of POST /v1/landed-cost.
type landedCost struct {
	Estimates []dutyEstimate `json:"estimates" doc:"One for each carrier that answered. Carriers disagree; they are not combined."`
	Errors    []rateError    `json:"errors" doc:"Carriers that did not answer."`
}

type dutyEstimate struct {
	Carrier    string         `json:"carrier" example:"dhl_express" doc:"The carrier that estimates."`
	Guaranteed bool           `json:"guaranteed" doc:"Whether the carrier bears the difference if customs asks for more."`
	Charges    []landedCharge `json:"charges" doc:"Duties, taxes and fees. They can be in several currencies, so they are not added up."`
	Messages   []string       `json:"messages" doc:"What the carrier says about the estimate, as text."`
}

type landedCharge struct {
	Type   string     `json:"type" enum:"duty,tax,fee" doc:"What it is."`
	Name   string     `json:"name,omitempty" example:"VAT" doc:"What the carrier calls it."`
	Item   *int       `json:"item,omitempty" example:"0" doc:"Position in customs.items, from 0; omitted if it is for the shipment as a whole."`
	Amount wire.Money `json:"amount" doc:"How much."`
}

// estimateLandedCost handles POST /v1/landed-cost.
func (s *server) estimateLandedCost(ctx context.Context, in *landedCostRequest) (reply, error) {
	caller := httpkit.From(ctx).Principal
	order, oneParcel, invalid := in.Body.order()
	if err := ship.InvalidFields(invalid); err != nil {
		return reply{}, err
	}

	duties, err := s.Inquiry.Duties(ctx, inquiry.DutiesInput{
		Tenant:    caller.Tenant,
		Account:   caller.Account,
		Order:     order,
		OneParcel: oneParcel,
		Carrier:   in.Body.Carrier,
	})
	if err != nil {
		return reply{}, err
	}

	out := landedCost{
		Estimates: make([]dutyEstimate, len(duties.Estimates)),
		Errors:    carrierErrors(duties.Errors),
	}
	for i, estimate := range duties.Estimates {
		out.Estimates[i] = dutyEstimateOf(estimate)
	}
	return jsonReply(http.StatusOK, out)
}

func dutyEstimateOf(estimate inquiry.DutyEstimate) dutyEstimate {
	shown := dutyEstimate{
		Carrier:    estimate.Carrier,
		Guaranteed: estimate.Guaranteed,
		Charges:    make([]landedCharge, len(estimate.Charges)),
		Messages:   nonNil(estimate.Messages),
	}
	for i, charge := range estimate.Charges {
		shown.Charges[i] = landedCharge{
			Type:   charge.Type,
			Name:   charge.Name,
			Amount: wire.MoneyOf(charge.Amount),
		}
		if charge.Item >= 0 {
			item := charge.Item
			shown.Charges[i].Item = &item
		}
	}
	return shown
}
