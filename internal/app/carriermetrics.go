package app

import (
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

// observe is the carrier's Observe.
func (m *carrierMetrics) observe(name string) func(carrier.Operation, time.Duration, error) {
	return func(op carrier.Operation, took time.Duration, err error) {
		outcome := "ok"
		if err != nil {
			outcome = string(ship.KindOf(err))
		}
		m.calls.WithLabelValues(name, string(op), outcome).Inc()
		m.seconds.WithLabelValues(name, string(op)).Observe(took.Seconds())
	}
}
