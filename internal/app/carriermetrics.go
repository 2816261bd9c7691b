package app

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// carrierMetrics counts and times the calls to carriers.
type carrierMetrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	codes   *prometheus.CounterVec
}

func newCarrierMetrics(reg prometheus.Registerer) (*carrierMetrics, error) {
	m := &carrierMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_carrier_calls_total",
			Help: "Calls to carriers; the outcome is ok or the kind of the error.",
		}, []string{"carrier", "operation", "outcome"}),

		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "waybill_carrier_call_seconds",
			Help:    "Duration of calls to carriers.",
			Buckets: []float64{.001, .01, .05, .1, .25, .5, 1, 2, 4, 8, 20},
		}, []string{"carrier", "operation"}),

		codes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_tracking_unmapped_total",
			Help: "Tracking events whose code is in no status table.",
		}, nil),
	}

	for _, collector := range []prometheus.Collector{m.calls, m.seconds, m.codes} {
		if err := reg.Register(collector); err != nil {
			return nil, fmt.Errorf("carrier metrics: %w", err)
		}
	}
	return m, nil
}

// observe returns the function that counts and times a carrier's calls.
func (m *carrierMetrics) observe(name string) func(carrier.Operation, time.Duration, error) {
	return func(operation carrier.Operation, took time.Duration, err error) {
		outcome := "ok"
		if err != nil {
			outcome = string(ship.KindOf(err))
		}

		m.calls.WithLabelValues(name, string(operation), outcome).Inc()
		m.seconds.WithLabelValues(name, string(operation)).Observe(took.Seconds())
	}
}

// unmapped counts a code that no status table knows. The code itself is in the
// database: as a metric label it would let a carrier exhaust the memory.
func (m *carrierMetrics) unmapped(string) { m.codes.WithLabelValues().Inc() }

// The numbers of each connection's traffic.
var (
	breakerState  = prometheus.NewDesc("waybill_carrier_breaker_open", "Whether the circuit breaker blocks calls of an operation because the carrier fails: 1 blocked, 0.5 probing, 0 not blocked.", []string{"carrier", "connection", "operation"}, nil)
	callsInFlight = prometheus.NewDesc("waybill_carrier_calls_in_flight", "Calls to carriers that are in flight.", []string{"carrier", "connection", "operation"}, nil)
	callsWaiting  = prometheus.NewDesc("waybill_carrier_calls_waiting", "Calls waiting for the carrier's quota or for a slot.", []string{"carrier", "connection", "operation"}, nil)
	callsShed     = prometheus.NewDesc("waybill_carrier_calls_shed_total", "Calls that were rejected locally and not sent.", []string{"carrier", "connection", "operation"}, nil)
	quotaLeft     = prometheus.NewDesc("waybill_carrier_quota_left", "Calls that a connection can make now.", []string{"carrier", "connection"}, nil)
)

// trafficStats shows the traffic to carriers.
type trafficStats struct{ traffic *carrierkit.Traffic }

// Describe lists the metrics.
func (trafficStats) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{breakerState, callsInFlight, callsWaiting, callsShed, quotaLeft} {
		ch <- d
	}
}

// Collect reads the state of all connections.
func (t trafficStats) Collect(ch chan<- prometheus.Metric) {
	breaker := map[string]float64{"open": 1, "half-open": 0.5}
	hasQuota := map[string]bool{}

	for _, stats := range t.traffic.Stats() {
		labels := []string{stats.Carrier, stats.Connection, string(stats.Operation)}
		ch <- prometheus.MustNewConstMetric(breakerState, prometheus.GaugeValue, breaker[stats.Breaker], labels...)
		ch <- prometheus.MustNewConstMetric(callsInFlight, prometheus.GaugeValue, float64(stats.InFlight), labels...)
		ch <- prometheus.MustNewConstMetric(callsWaiting, prometheus.GaugeValue, float64(stats.Waiting), labels...)
		ch <- prometheus.MustNewConstMetric(callsShed, prometheus.CounterValue, float64(stats.Shed), labels...)

		// The operations of a connection share one quota. Prometheus rejects a
		// scrape that has the same series twice.
		if key := stats.Carrier + stats.Connection; stats.QuotaLeft >= 0 && !hasQuota[key] {
			hasQuota[key] = true
			ch <- prometheus.MustNewConstMetric(quotaLeft, prometheus.GaugeValue, float64(stats.QuotaLeft), stats.Carrier, stats.Connection)
		}
	}
}
