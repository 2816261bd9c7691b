package api

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// tryInput is the body of POST /v1/routing/try: a shipment, and the rules that
// are to choose.
type tryInput struct {
	Destination recipientInput     `json:"destination" doc:"Where the parcel goes."`
	Parcel      *parcelInput       `json:"parcel,omitempty" doc:"The parcel; for several, use parcels instead."`
	Parcels     []parcelInput      `json:"parcels,omitempty" minItems:"1" maxItems:"50" doc:"Several parcels to one destination, instead of parcel."`
	Rules       string             `json:"rules,omitempty" enum:"published,draft" doc:"Which rules to apply: the active rules (published, the default) or the draft."`
	Book        *ruleBook[request] `json:"book,omitempty" doc:"Rules to use instead; they are not stored."`
	OrderID     string             `json:"orderId,omitempty" maxLength:"100" example:"ORD-1001" doc:"The client's order reference. It determines the order's share of a split."`
	Origin      *originInput       `json:"origin,omitempty" doc:"Where the parcel comes from: an address, or a location of the account as locationId. Defaults to the account's default location, then to its sender address, then, with a test key, to a sample warehouse."`
	MaxAmount   *moneyInput        `json:"maxAmount,omitempty" doc:"Maximum price of the label."`
	ShipDate    string             `json:"shipDate,omitempty" format:"date" doc:"Date on which the parcel is handed to the carrier; today by default."`
	DeliverBy   string             `json:"deliverBy,omitempty" format:"date" doc:"Date by which the parcel must arrive."`
	Reference   string             `json:"reference,omitempty" maxLength:"100" doc:"A reference to print on the label."`
	IsReturn    bool               `json:"isReturn,omitempty" doc:"Whether the parcel is a return."`
	Billing     *billingInput      `json:"billing,omitempty" doc:"Who pays the carrier, if not the account itself."`
	Customs     *customsInput      `json:"customs,omitempty" doc:"Customs declaration, for international shipments."`
	Options     *optionsInput      `json:"options,omitempty" doc:"Extra services."`
	Metadata    metadataInput      `json:"metadata,omitempty" doc:"Up to 50 custom key-value pairs of your own."`
}

// shipment returns the input as an order, without the rules.
func (in *tryInput) shipment() *shipmentInput {
	return &shipmentInput{
		OrderID:     in.OrderID,
		Destination: in.Destination,
		Parcel:      in.Parcel,
		Parcels:     in.Parcels,
		Origin:      in.Origin,
		ShipDate:    in.ShipDate,
		DeliverBy:   in.DeliverBy,
		Reference:   in.Reference,
		IsReturn:    in.IsReturn,
		Billing:     in.Billing,
		Customs:     in.Customs,
		Options:     in.Options,
		Metadata:    in.Metadata,
	}
}

type tryRequest struct{ Body tryInput }

// tried is the answer of POST /v1/routing/try.
type tried struct {
	Choice   *wire.Offer   `json:"choice,omitempty" doc:"What would be bought; omitted if nothing would be."`
	Offers   []wire.Offer  `json:"offers" doc:"What would be tried, in order, as each one before it fails; the first is the choice."`
	Routing  *wire.Routing `json:"routing" doc:"The reasons, as a shipment would show them."`
	Refused  string        `json:"refused,omitempty" doc:"Why nothing would be bought."`
	Warnings []string      `json:"warnings" doc:"Likely mistakes in the rules of the request or the draft."`
}

// tryRules handles POST /v1/routing/try.
func (s *server) tryRules(ctx context.Context, in *tryRequest) (reply, error) {
	caller := httpkit.From(ctx).Principal
	body := &in.Body
	order, oneParcel, invalid := body.shipment().order()
	maxAmount := body.MaxAmount.money("/maxAmount", &invalid)
	if body.Book != nil && body.Rules != "" {
		invalid = append(invalid, exclusiveError("/rules", "book and rules"))
	}
	if err := ship.InvalidFields(invalid); err != nil {
		return reply{}, err
	}

	rules, warnings, err := s.chosenRules(ctx, caller.Tenant, body)
	if err != nil {
		return reply{}, err
	}
	trial, err := s.Quoting.DryRun(ctx, quoting.DryRunInput{
		Tenant:    caller.Tenant,
		Account:   caller.Account,
		Order:     order,
		OneParcel: oneParcel,
		MaxAmount: maxAmount,
		Book:      rules,
	})
	if err != nil {
		return reply{}, err
	}

	out := tried{
		Offers:   wire.OffersOf(trial.Offers),
		Routing:  wire.RoutingOf(trial.Routing),
		Refused:  trial.Refused,
		Warnings: nonNil(warnings),
	}
	if len(out.Offers) > 0 {
		out.Choice = &out.Offers[0]
	}
	return jsonReply(http.StatusOK, out)
}

// exclusiveError is the error of a field that excludes others.
func exclusiveError(pointer, names string) ship.FieldError {
	return ship.FieldError{Pointer: pointer, Code: "exclusive", Detail: "only one of " + names + " may be given"}
}

// chosenRules returns the rules that a try asks for; nil for those that are
// published.
func (s *server) chosenRules(ctx context.Context, tenant ship.Tenant, in *tryInput) (*routing.Compiled, []string, error) {
	var book routing.Book
	prefix := "" // errors in rules of the request point into its book
	switch {
	case in.Book != nil:
		prefix = "/book"
		var err error
		if book, err = decodeBook(*in.Book); err != nil {
			return nil, nil, withPointerPrefix(prefix, err)
		}

	case in.Rules == "draft":
		draft, err := s.Rules.Draft(ctx, tenant)
		if err != nil {
			return nil, nil, err
		}
		book = draft.Rules

	default:
		return nil, nil, nil
	}

	warnings, err := s.Rules.Check(ctx, tenant, book)
	if err != nil {
		return nil, nil, withPointerPrefix(prefix, err)
	}
	compiled, err := routing.Compile(book)
	return compiled, warnings, err
}
