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
	queues   *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_webhook_attempts_total",
			Help: "Attempts to deliver an event, by trigger and outcome.",
		}, []string{"trigger", "outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "waybill_webhook_attempt_seconds",
			Help:    "Duration of delivery attempts.",
			Buckets: []float64{.005, .025, .1, .25, .5, 1, 2, 5, 10},
		}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "waybill_webhook_lag_seconds",
			Help:    "Time from recording an event to the end of its first attempt.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 5, 30, 300},
		}),
		gaveUp: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waybill_webhook_failed_total",
			Help: "Deliveries whose last attempt failed.",
		}),
		queues: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "waybill_webhook_queues",
			Help: "Endpoints that this instance serves, by the state of their queue.",
		}, []string{"state"}),
	}

	for _, collector := range []prometheus.Collector{m.attempts, m.seconds, m.lag, m.gaveUp, m.queues} {
		if err := reg.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// observe counts an attempt with an event that was recorded at a time.
func (m *Metrics) observe(result *Attempt, recorded time.Time) {
	if m == nil {
		return
	}

	m.attempts.WithLabelValues(result.Trigger, result.Outcome).Inc()
	m.seconds.Observe(result.Timings.Total.Seconds())
	if result.Trigger == TriggerAuto {
		m.lag.Observe(time.Since(recorded).Seconds())
	}
}

func (m *Metrics) countGivenUp() {
	if m != nil {
		m.gaveUp.Inc()
	}
}

func (m *Metrics) setQueues(states map[string]int) {
	if m == nil {
		return
	}
	for state, n := range states {
		m.queues.WithLabelValues(state).Set(float64(n))
	}
}
