package app

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// carrierMetrics counts and times what carriers are asked.
type carrierMetrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newCarrierMetrics(reg prometheus.Registerer) (*carrierMetrics, error) {
	m := &carrierMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_carrier_calls_total", Help: "Calls to carriers; the outcome is ok or the kind of the error.",
		}, []string{"carrier", "operation", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "waybill_carrier_call_seconds", Help: "Time that a call to a carrier takes.",
			Buckets: []float64{.001, .01, .05, .1, .25, .5, 1, 2, 4, 8, 20},
		}, []string{"carrier", "operation"}),
	}
	for _, c := range []prometheus.Collector{m.calls, m.seconds} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("carrier metrics: %w", err)
		}
	}
	return m, nil
}

func (m *carrierMetrics) observe(name, operation string, start time.Time, err error) {
	outcome := "ok"
	if err != nil {
		outcome = string(ship.KindOf(err))
	}
	m.calls.WithLabelValues(name, operation, outcome).Inc()
	m.seconds.WithLabelValues(name, operation).Observe(time.Since(start).Seconds())
}

// watched is spec with its calls counted. A driver that lacks one of the
// abilities of the simulated carriers is left as it is.
func watched(spec carrier.Spec, m *carrierMetrics) carrier.Spec {
	open := spec.Open
	spec.Open = func(given carrier.Credentials, via carrier.Doer) (carrier.Driver, error) {
		d, err := open(given, via)
		if err != nil {
			return nil, err
		}
		w := watchedDriver{Driver: d, name: spec.Name, metrics: m}
		var rates, buys, finds, voids bool
		w.rater, rates = d.(carrier.Rater)
		w.buyer, buys = d.(carrier.Buyer)
		w.finder, finds = d.(carrier.Finder)
		w.voider, voids = d.(carrier.Voider)
		if !rates || !buys || !finds || !voids {
			return d, nil
		}
		return w, nil
	}
	return spec
}

// watchedDriver is a simulated carrier whose calls are counted.
type watchedDriver struct {
	carrier.Driver
	name    string
	metrics *carrierMetrics
	rater   carrier.Rater
	buyer   carrier.Buyer
	finder  carrier.Finder
	voider  carrier.Voider
}

// Instant marks a driver that needs no deadline.
func (watchedDriver) Instant() {}

// Rates quotes.
func (w watchedDriver) Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error) {
	start := time.Now()
	rates, err := w.rater.Rates(ctx, o)
	w.metrics.observe(w.name, "rates", start, err)
	return rates, err
}

// Buy sells.
func (w watchedDriver) Buy(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	start := time.Now()
	p, err := w.buyer.Buy(ctx, b)
	w.metrics.observe(w.name, "buy", start, err)
	return p, err
}

// Find looks a purchase up.
func (w watchedDriver) Find(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	start := time.Now()
	p, err := w.finder.Find(ctx, b)
	w.metrics.observe(w.name, "find", start, err)
	return p, err
}

// Void takes a label back.
func (w watchedDriver) Void(ctx context.Context, d ship.Deal) (carrier.VoidResult, error) {
	start := time.Now()
	v, err := w.voider.Void(ctx, d)
	w.metrics.observe(w.name, "void", start, err)
	return v, err
}
