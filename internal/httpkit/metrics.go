package httpkit

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts requests by route, method and status, and times them.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// NewMetrics registers the metrics of requests.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_http_requests_total",
			Help: "HTTP requests served.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "waybill_http_request_seconds",
			Help:    "Time to serve an HTTP request.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method"}),
	}

	if err := reg.Register(m.requests); err != nil {
		return nil, err
	}
	if err := reg.Register(m.seconds); err != nil {
		return nil, err
	}
	return m, nil
}

// methods are those that are counted by name.
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PATCH": true, "PUT": true, "DELETE": true, "OPTIONS": true}

func (m *Metrics) observe(route, method string, status int, took time.Duration) {
	if m == nil {
		return
	}

	// A client can send any word as a method, and each would be a time series
	// of its own.
	if !methods[method] {
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route, method).Observe(took.Seconds())
}
