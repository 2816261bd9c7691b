package api

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rules have one form, in requests and in answers. The document needs two
// schemas of it all the same, because requests are closed and answers are open:
// the types below are made once for each side.
type (
	request struct{} // what a client sends
	answer  struct{} // what it is shown
)

// ruleBook is the rules of an account, as package routing writes them.
type ruleBook[side any] struct {
	Rules   []rule[side]  `json:"rules" maxItems:"500" doc:"The rules, evaluated in order. The first one whose condition is true and that finds an offer decides; after forbid and require, evaluation continues with the next rule."`
	Default *action[side] `json:"default,omitempty" doc:"Action when no rule decides; if omitted, the cheapest offer is chosen. It can be use, choose, prefer or split."`
}

type rule[side any] struct {
	Name      string       `json:"name" minLength:"1" maxLength:"100" example:"Alaska and Hawaii by USPS" doc:"Name of the rule, unique among the rules. It is shown with each shipment that the rule decided."`
	When      string       `json:"when,omitempty" maxLength:"2000" example:"destination.state in [\"AK\", \"HI\"]" doc:"Condition in CEL over the variables listed by GET /v1/routing/variables; if omitted or empty, the rule always applies."`
	Then      action[side] `json:"then" doc:"Action of the rule: exactly one of use, choose, prefer, split, forbid and require."`
	Guard     *guard[side] `json:"guard,omitempty" doc:"Limits what may be bought instead if the rule's first choice fails; if omitted, anything that the action allows."`
	Otherwise string       `json:"otherwise,omitempty" enum:"next,refuse" doc:"What happens if no offer fits the action: continue with the next rule (next, the default), or reject the shipment with no_rate (refuse)."`
	Disabled  bool         `json:"disabled,omitempty" doc:"Whether the rule is disabled: kept but not applied."`
}

type action[side any] struct {
	Use []target[side] `json:"use,omitempty" minItems:"1" maxItems:"50" doc:"Only these, in this order; if one has several offers, the cheapest first."`

	Choose                  string         `json:"choose,omitempty" enum:"cheapest,fastest" example:"cheapest" doc:"The cheapest or the fastest offer within the limits given by its other fields: by, withinDays, withinDaysOfFastest, withinPercentOfCheapest and only."`
	By                      string         `json:"by,omitempty" format:"date" example:"2026-12-24" doc:"With choose: delivery promised by this date."`
	WithinDays              *wholeNumber   `json:"withinDays,omitempty" minimum:"0" maximum:"365" example:"3" doc:"With choose: delivery promised within this many days of the ship date."`
	WithinDaysOfFastest     *wholeNumber   `json:"withinDaysOfFastest,omitempty" minimum:"0" maximum:"365" example:"1" doc:"With choose: at most this many days later than the fastest offer."`
	WithinPercentOfCheapest *float64       `json:"withinPercentOfCheapest,omitempty" minimum:"0" maximum:"10000" example:"20" doc:"With choose: at most this many percent more expensive than the cheapest offer."`
	Only                    []target[side] `json:"only,omitempty" minItems:"1" maxItems:"50" doc:"With choose: only offers of these."`

	Prefer           []target[side] `json:"prefer,omitempty" minItems:"1" maxItems:"50" doc:"The cheapest of these, unless it exceeds the cheapest offer overall by more than the tolerance; then the cheapest overall. Requires tolerancePercent, toleranceAmount or both."`
	TolerancePercent *float64       `json:"tolerancePercent,omitempty" minimum:"0" maximum:"10000" example:"15" doc:"With prefer: how many percent more a preferred offer may cost."`
	ToleranceAmount  string         `json:"toleranceAmount,omitempty" pattern:"^[0-9]{1,12}(\\.[0-9]{1,4})?$" example:"1.50" doc:"With prefer: how much more a preferred offer may cost, in the account's currency."`

	Split   []share[side]      `json:"split,omitempty" minItems:"1" maxItems:"50" doc:"Distributes orders by percentages that add up to 100. The same order always gets the same share."`
	Forbid  []target[side]     `json:"forbid,omitempty" minItems:"1" maxItems:"50" doc:"Excludes the offers of these; the following rules choose among the rest."`
	Require *requirement[side] `json:"require,omitempty" doc:"Adds a requirement before carriers are asked for quotes; the following rules choose. Its condition cannot use quotes, cheapest or fastest."`
}

type target[side any] struct {
	Carrier      string `json:"carrier" minLength:"1" maxLength:"50" example:"usps" doc:"Identifier of the carrier."`
	Service      string `json:"service,omitempty" minLength:"1" maxLength:"50" example:"priority" doc:"One of its services; if omitted, all of them."`
	ConnectionID string `json:"connectionId,omitempty" pattern:"^con_[0-7][0-9A-Za-z]{25}$" doc:"One carrier account; if omitted, all of them."`
}

type share[side any] struct {
	Carrier      string      `json:"carrier" minLength:"1" maxLength:"50" example:"ups" doc:"Identifier of the carrier."`
	Service      string      `json:"service,omitempty" minLength:"1" maxLength:"50" example:"ground" doc:"One of its services; if omitted, all of them."`
	ConnectionID string      `json:"connectionId,omitempty" pattern:"^con_[0-7][0-9A-Za-z]{25}$" doc:"One carrier account; if omitted, all of them."`
	Percent      wholeNumber `json:"percent" minimum:"1" maximum:"100" example:"70" doc:"Percentage of orders that it gets."`
}

type requirement[side any] struct {
	Signature string `json:"signature" enum:"standard,adult" doc:"Minimum signature for every matching order. It can raise what the client requested but never lowers it."`
}

type guard[side any] struct {
	ExtraPercent *float64     `json:"extraPercent,omitempty" minimum:"0" maximum:"10000" example:"25" doc:"How many percent more than the first choice a replacement may cost."`
	ExtraAmount  string       `json:"extraAmount,omitempty" pattern:"^[0-9]{1,12}(\\.[0-9]{1,4})?$" example:"5.00" doc:"How much more it may cost, in the account's currency."`
	ExtraDays    *wholeNumber `json:"extraDays,omitempty" minimum:"0" maximum:"365" example:"1" doc:"How many days later it may arrive."`
	None         bool         `json:"none,omitempty" doc:"Nothing else may be bought: the shipment is rejected if the first choice fails."`
}

// decodeBook reads rules whose shape was checked. Rules have the same JSON
// everywhere, so they are converted by way of it.
func decodeBook(in ruleBook[request]) (routing.Book, error) {
	text, err := json.Marshal(in)
	if err != nil {
		return routing.Book{}, fmt.Errorf("write rules: %w", err)
	}
	return routing.ParseBook(text)
}

// encodeBook returns rules as clients see them.
func encodeBook(book routing.Book) (out ruleBook[answer], err error) {
	text, err := json.Marshal(book)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return out, fmt.Errorf("show rules: %w", err)
	}

	if out.Rules == nil {
		out.Rules = []rule[answer]{}
	}
	return out, nil
}

// withPointerPrefix moves the fields of an error about rules to where the rules
// are in the body.
func withPointerPrefix(prefix string, err error) error {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || len(e.Fields) == 0 {
		return err
	}

	moved := *e
	moved.Fields = make([]ship.FieldError, len(e.Fields))
	for i, field := range e.Fields {
		field.Pointer = prefix + field.Pointer
		moved.Fields[i] = field
	}
	return &moved
}
