package worker

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts jobs by kind and outcome, and times them.
type Metrics struct {
	jobs    *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// NewMetrics registers the metrics of jobs.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_jobs_total",
			Help: "Runs of background jobs, by outcome: done, again (runs again later), failed (is retried), moving (its account moves to another cell), cancelled.",
		}, []string{"kind", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "waybill_job_seconds",
			Help:    "Duration of background job runs.",
			Buckets: []float64{.005, .025, .1, .5, 1, 5, 10, 30, 60},
		}, []string{"kind"}),
	}

	for _, collector := range []prometheus.Collector{m.jobs, m.seconds} {
		if err := reg.Register(collector); err != nil {
			return nil, fmt.Errorf("job metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) observe(kind, outcome string, took time.Duration) {
	if m == nil {
		return
	}
	m.jobs.WithLabelValues(kind, outcome).Inc()
	m.seconds.WithLabelValues(kind).Observe(took.Seconds())
}
