package mcp

import (
	"context"
	"encoding/json"

	"github.com/waybillhq/waybill/client"
)

type explainIn struct {
	Goods
	OrderID   string        `json:"orderId,omitempty" maxLength:"100"`
	MaxAmount *client.Money `json:"maxAmount,omitempty" doc:"The most that the label may cost."`
	Rules     string        `json:"rules,omitempty" enum:"published,draft" doc:"The active rules, or the draft; published if left out."`
}

type explainOut struct {
	Choice    *comparedOut  `json:"choice,omitempty" doc:"What would be bought; left out if nothing would be."`
	Offers    []comparedOut `json:"offers" doc:"What would be tried, in order."`
	Because   *choiceOut    `json:"because,omitempty"`
	Refused   string        `json:"refused,omitempty" doc:"Why nothing would be bought."`
	Warnings  []string      `json:"warnings" doc:"Likely mistakes in the rules."`
	Untrusted *outside      `json:"untrusted,omitempty"`
}

// explainChoice says what the account's routing rules would choose, and why.
func explainChoice(ctx context.Context, c *call, in explainIn) (explainOut, error) {
	body := map[string]any{}
	if err := remarshal(in.rates(), &body); err != nil {
		return explainOut{}, err
	}
	if in.OrderID != "" {
		body["orderId"] = in.OrderID
	}
	if in.MaxAmount != nil {
		body["maxAmount"] = in.MaxAmount
	}
	if in.Rules != "" {
		body["rules"] = in.Rules
	}
	request, err := json.Marshal(body)
	if err != nil {
		return explainOut{}, err
	}
	answer, err := c.api(1).Call(ctx, "POST", "/v1/routing/try", request)
	if err != nil {
		return explainOut{}, err
	}

	var tried struct {
		Choice   *client.Offer   `json:"choice"`
		Offers   []client.Offer  `json:"offers"`
		Routing  *client.Routing `json:"routing"`
		Refused  string          `json:"refused"`
		Warnings []string        `json:"warnings"`
	}
	if err := json.Unmarshal(answer, &tried); err != nil {
		return explainOut{}, err
	}
	out := explainOut{
		Offers:   comparedOf(tried.Offers),
		Because:  choiceOf(tried.Routing),
		Refused:  clean(tried.Refused, maxLine),
		Warnings: append([]string{}, tried.Warnings...),
	}
	if tried.Choice != nil {
		out.Choice = &comparedOf([]client.Offer{*tried.Choice})[0]
	}
	if tried.Routing != nil {
		out.Untrusted = shipment{Shipment: client.Shipment{Routing: tried.Routing}}.texts().shown()
	}
	return out, nil
}

type backtestIn struct {
	Rules string         `json:"rules,omitempty" enum:"draft,published" doc:"Which rules; the draft if left out."`
	Book  map[string]any `json:"book,omitempty" doc:"Rules to use instead, in the format of the API's routing rules. They are not stored."`
	Last  int            `json:"last,omitempty" minimum:"1" maximum:"5000" doc:"How many of the newest shipments; 1000 if left out."`
	Since string         `json:"since,omitempty" format:"date-time" doc:"Only shipments since this time."`
}

type backtestOut struct {
	Shipments int        `json:"shipments"`
	Compared  int        `json:"compared" doc:"How many of them the figures cover."`
	Changed   int        `json:"changed" doc:"How many would have had another carrier or service."`
	Refused   int        `json:"refused" doc:"How many would not have been bought."`
	Currency  string     `json:"currency"`
	Was       sumOut     `json:"was"`
	Is        sumOut     `json:"is"`
	Saved     savedOut   `json:"saved" doc:"Negative if the rules cost more."`
	Carriers  []movedOut `json:"carriers"`
	Notes     []string   `json:"notes" doc:"Limits of the figures."`
}

type sumOut struct {
	Shipments   int      `json:"shipments"`
	Amount      string   `json:"amount"`
	AverageDays *float64 `json:"averageDays,omitempty"`
}

type savedOut struct {
	Amount  string   `json:"amount"`
	Percent float64  `json:"percent"`
	Days    *float64 `json:"days,omitempty"`
}

type movedOut struct {
	Carrier string `json:"carrier"`
	Was     sumOut `json:"was"`
	Is      sumOut `json:"is"`
}

// backtestRules says what rules would have bought in place of what was bought.
func backtestRules(ctx context.Context, c *call, in backtestIn) (backtestOut, error) {
	if in.Book != nil {
		in.Rules = ""
	}
	request, err := json.Marshal(in)
	if err != nil {
		return backtestOut{}, err
	}
	answer, err := c.api(1).Call(ctx, "POST", "/v1/routing/simulate", request)
	if err != nil {
		return backtestOut{}, err
	}
	out := backtestOut{Carriers: []movedOut{}, Notes: []string{}}
	return out, json.Unmarshal(answer, &out)
}
