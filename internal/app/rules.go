package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// newRules wires the routing rules and rate sheets.
func newRules(st *store.Store, accounts *account.Service, simulated []*carrier.Carrier, heavy *budget.Budget) (*rulebook.Service, error) {
	return rulebook.New(rulebook.Config{
		Store:     st,
		Heavy:     heavy,
		Connected: accounts.Carriers,

		Carriers: func(livemode bool) []carrier.Spec {
			if livemode {
				return accounts.Specs()
			}
			return slices.Concat(accounts.Specs(), sandbox.Specs())
		},

		Requote: func(ctx context.Context, order ship.Order) (rates []ship.Rate) {
			for _, c := range simulated {
				// A carrier that does not take the order offers nothing.
				offers, _ := c.Rates(ctx, order)
				rates = append(rates, offers...)
			}
			return rates
		},
	})
}

// routingPolicy adapts the rules to what the quoting service asks for.
func routingPolicy(rules *rulebook.Service) func(context.Context, ship.Tenant) (quoting.Policy, error) {
	return func(ctx context.Context, tenant ship.Tenant) (quoting.Policy, error) {
		policy, err := rules.Policy(ctx, tenant)
		return quoting.Policy(policy), err
	}
}

// newDecisionCounter returns the function that counts how purchases were
// routed.
func newDecisionCounter(reg prometheus.Registerer) (func(strategy string), error) {
	decisions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_routing_decisions_total",
		Help: "Routed purchases, by what chose the offer: rule, default, cheapest, named or rate.",
	}, []string{"strategy"})
	if err := reg.Register(decisions); err != nil {
		return nil, fmt.Errorf("routing metrics: %w", err)
	}

	return func(strategy string) { decisions.WithLabelValues(strategy).Inc() }, nil
}

// OpenRules wires what the routing commands need: the rules, the accounts, and
// a function that releases them. The carriers are specs, or all if there are
// none. The database must be migrated.
func OpenRules(ctx context.Context, cfg config.Config, specs []carrier.Spec, log *slog.Logger) (*rulebook.Service, *account.Service, func(), error) {
	st, accounts, done, err := openConnections(ctx, cfg, specs, log)
	if err != nil {
		return nil, nil, nil, err
	}

	var simulated []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		c, err := carrier.Open(spec, carrier.Opening{})
		if err != nil {
			done()
			return nil, nil, nil, err
		}
		simulated = append(simulated, c)
	}

	rules, err := newRules(st, accounts, simulated, nil) // a command does one thing at a time
	return rules, accounts, done, err
}
