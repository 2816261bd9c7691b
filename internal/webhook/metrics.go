package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts deliveries. A nil Metrics counts nothing.
type Metrics struct {
	attempts *prometheus.CounterVec
	seconds  prometheus.Histogram
	lag      prometheus.Histogram
	gaveUp   prometheus.Counter
	lanes    *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_webhook_attempts_total", Help: "Attempts to deliver an event, by what made them and what became of them.",
		}, []string{"trigger", "outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "waybill_webhook_attempt_seconds", Help: "How long attempts take.", Buckets: []float64{.005, .025, .1, .25, .5, 1, 2, 5, 10},
		}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "waybill_webhook_lag_seconds", Help: "From the recording of an event to the end of its first attempt.", Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 5, 30, 300},
		}),
		gaveUp: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waybill_webhook_failed_total", Help: "Deliveries whose last attempt failed.",
		}),
	}
	m.lanes = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "waybill_webhook_lanes", Help: "Endpoints that this copy serves, by how they do.",
	}, []string{"state"})
	for _, c := range []prometheus.Collector{m.attempts, m.seconds, m.lag, m.gaveUp, m.lanes} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) observe(a *Attempt, recorded time.Time) {
	if m == nil {
		return
	}
	m.attempts.WithLabelValues(a.Trigger, a.Outcome).Inc()
	m.seconds.Observe(a.Timings.Total.Seconds())
	if a.Trigger == TriggerAuto {
		m.lag.Observe(time.Since(recorded).Seconds())
	}
}

func (m *Metrics) givenUp() {
	if m != nil {
		m.gaveUp.Inc()
	}
}

func (m *Metrics) count(states map[string]int) {
	if m == nil {
		return
	}
	for state, n := range states {
		m.lanes.WithLabelValues(state).Set(float64(n))
	}
}
