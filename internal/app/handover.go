package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
)

// newHandover adds to c what pickups, manifests and documents need: waits, metrics and the
// log of exchanges with carriers.
func newHandover(cfg config.Config, reg prometheus.Registerer, c handover.Config, records *journal.Service) (*handover.Service, error) {
	steps := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_handover_steps_total",
		Help: "Steps of pickups, manifests and documents, by outcome.",
	}, []string{"of", "step", "result"})
	if err := reg.Register(steps); err != nil {
		return nil, fmt.Errorf("metrics of pickups and manifests: %w", err)
	}
	c.Observe = func(what string, act effect.Act, result effect.Result) {
		steps.WithLabelValues(what, string(act.Kind), string(result)).Inc()
	}

	// Exchanges are kept by the id of what they are about, which for pickups and
	// manifests is not a shipment's.
	c.Exchanged = func(t ship.Tenant, id ship.RawID, connection ship.ConnectionID, x carrier.Exchange) {
		records.NoteExchange(t, ship.ShipmentIDOf(id), connection, x)
	}

	c.Waits = handover.Waits{
		Answer: cfg.PurchaseTimeout,
		Ask:    cfg.BuyTimeout,
		Settle: cfg.SettleAfter,
		Look:   cfg.LookEvery,
		Review: cfg.ReviewAfter,
	}
	return handover.New(c), nil
}
