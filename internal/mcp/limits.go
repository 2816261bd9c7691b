package mcp

import (
	"context"
	"strings"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/ship"
)

type nothing struct{}

type whoamiOut struct {
	Mode      string     `json:"mode" enum:"test,live" doc:"In test mode carriers are simulated and nothing costs money."`
	AccountID string     `json:"accountId"`
	KeyID     string     `json:"keyId"`
	Scopes    []string   `json:"scopes"`
	Currency  string     `json:"currency"`
	CanBuy    bool       `json:"canBuy"`
	Why       string     `json:"why,omitempty" doc:"Why it cannot buy."`
	Limits    *limitsOut `json:"limits,omitempty"`
	Untrusted *outside   `json:"untrusted,omitempty" doc:"The names of the account and the key."`
}

// limitsOut are the limits of the key. They are enforced by the purchase.
type limitsOut struct {
	DailyLimit       client.Money  `json:"dailyLimit"`
	SpentToday       client.Money  `json:"spentToday" doc:"Since midnight UTC."`
	Left             client.Money  `json:"left"`
	MaxPerPurchase   *client.Money `json:"maxPerPurchase,omitempty" doc:"The most that one label may cost."`
	ApprovalAbove    *client.Money `json:"approvalAbove,omitempty" doc:"Above this price a person must approve the purchase."`
	AllowedCountries []string      `json:"allowedCountries,omitempty" doc:"The only countries that parcels may be sent to."`

	left ship.Money
}

// whoami tells the model what its key is and may do.
func whoami(ctx context.Context, c *call, _ nothing) (whoamiOut, error) {
	out := whoamiOut{
		Mode:      modeOf(c.caller.Tenant),
		AccountID: string(c.caller.Tenant.Account),
		KeyID:     string(c.caller.Key),
		Scopes:    append([]string{}, c.caller.Scopes...),
		Currency:  c.caller.Account.Currency,
		CanBuy:    true,
	}
	if err := c.requireLimit(); err != nil {
		out.CanBuy = false
		out.Why = err.Message
	}
	if !c.caller.Can("shipments:write") {
		out.CanBuy = false
		out.Why = "the key lacks the scope shipments:write"
	}

	var err error
	out.Limits, err = c.limits(ctx)
	var text outside
	text.set("account", c.caller.Account.Name)
	text.set("key", c.caller.KeyName)
	out.Untrusted = text.shown()
	return out, err
}

// requireLimit refuses purchases with a live key that has no daily limit: a model
// that runs in circles would spend without end.
func (c *call) requireLimit() *toolError {
	if !c.caller.Tenant.Livemode || !c.caller.Limits.Daily.IsZero() {
		return nil
	}
	return refused("limit_required", "Ask a person for a key with a daily limit (waybill key create --live --daily-limit).",
		"a live key without a daily limit cannot buy here")
}

// limits returns what the key may still spend today; nil without a daily limit.
func (c *call) limits(ctx context.Context) (*limitsOut, error) {
	limit := c.caller.Limits.Daily
	if limit.IsZero() || !c.caller.Tenant.Livemode {
		return nil, nil
	}
	minor, err := c.SpentToday(ctx, c.caller.Tenant, c.caller.Key)
	if err != nil {
		return nil, err
	}

	spent := ship.Money{Minor: minor, Currency: limit.Currency}
	left := ship.Money{Minor: max(limit.Minor-minor, 0), Currency: limit.Currency}
	return &limitsOut{
		DailyLimit: moneyOf(limit),
		SpentToday: moneyOf(spent),
		Left:       moneyOf(left),

		MaxPerPurchase:   amountOf(c.caller.Limits.PerPurchase),
		ApprovalAbove:    amountOf(c.caller.Limits.ApprovalAbove),
		AllowedCountries: c.caller.Limits.Countries,

		left: left,
	}, nil
}

// requireCountry refuses a country that the key may not ship to.
func (c *call) requireCountry(code string) error {
	allowed := c.caller.Limits
	if allowed.AllowsCountry(strings.ToUpper(code)) {
		return nil
	}
	return refused("country_not_allowed", nextSteps["country_not_allowed"],
		"the key may not ship to %s; its allowed countries are %s", code, strings.Join(allowed.Countries, ", "))
}

// requirePrice refuses a price above what the key may spend on one label.
func (c *call) requirePrice(price ship.Money) error {
	limit := c.caller.Limits.PerPurchase
	if limit.IsZero() || !c.caller.Tenant.Livemode || !price.Exceeds(limit, 0) {
		return nil
	}
	return refused("purchase_limit_exceeded", nextSteps["purchase_limit_exceeded"],
		"the key may spend at most %s on one label, and this one costs %s", limit, price)
}

// allow refuses a price that the rest of the day does not pay for. It is a first
// look: the purchase decides.
func (l *limitsOut) allow(price ship.Money) error {
	if l == nil || price.Currency == l.left.Currency && price.Minor <= l.left.Minor {
		return nil
	}
	return refused("spend_limit_reached", nextSteps["spend_limit_reached"],
		"it may cost %s, and %s is left of the key's daily limit", price, l.left)
}

func moneyOf(m ship.Money) client.Money {
	return client.Money{Amount: m.Amount(), Currency: m.Currency}
}

// amountOf returns a limit of the key; nil if it has none.
func amountOf(m ship.Money) *client.Money {
	if m.IsZero() {
		return nil
	}
	shown := moneyOf(m)
	return &shown
}
