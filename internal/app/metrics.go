package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func newRegistry(st *store.Store, log *slog.Logger) (*prometheus.Registry, error) {
	reg := prometheus.NewRegistry()
	for _, collector := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
		vitals{store: st, log: log},
		poolStats(st.Pools()),
		storageStats{st},
	} {
		if err := reg.Register(collector); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return reg, nil
}

func metricsHandler(reg *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// The metrics that are read from the database at each scrape.
var (
	databaseUp = prometheus.NewDesc("waybill_database_up", "Whether the database is reachable.", nil, nil)
	horizonAge = prometheus.NewDesc("waybill_log_horizon_age_seconds", "How long the horizon of the event log has stood still while newer transactions exist: readers do not get events behind it.", nil, nil)
	openBuys   = prometheus.NewDesc("waybill_purchases_open", "Purchases and voids waiting for an outcome or for manual review (needs_review).", []string{"state"}, nil)
	oldestOpen = prometheus.NewDesc("waybill_purchases_open_oldest_seconds", "Age of the oldest purchase or void waiting for an outcome.", nil, nil)
	orphans    = prometheus.NewDesc("waybill_labels_orphaned", "Orphaned labels, sold but not used: waiting to be voided (pending), or declined by the carrier (void_declined).", []string{"state"}, nil)
	jobsDue    = prometheus.NewDesc("waybill_jobs_waiting", "Background jobs that are due and not started.", nil, nil)
	missing    = prometheus.NewDesc("waybill_restore_missing_purchases", "Purchases that a restore of the database lost and that nobody has decided about, by account; its new live purchases wait.", []string{"account"}, nil)
	asking     = prometheus.NewDesc("waybill_restore_pending", "1 while live purchases under a key are looked up first, because a restore of the database may have lost them.", nil, nil)
	frozen     = prometheus.NewDesc("waybill_shards_frozen", "Shards whose accounts are refused because a move to another cell has not ended.", nil, nil)
	oldestJob  = prometheus.NewDesc("waybill_jobs_waiting_oldest_seconds", "How long the oldest of them has been due.", nil, nil)
)

// vitals queries the database only when it is scraped, so metrics that nobody
// reads cost nothing.
type vitals struct {
	store *store.Store
	log   *slog.Logger
}

const vitalsTimeout = 3 * time.Second

// Describe lists the metrics.
func (vitals) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{databaseUp, horizonAge, openBuys, oldestOpen, orphans, frozen, missing, asking, jobsDue, oldestJob} {
		ch <- d
	}
}

// Collect reads the numbers from the database. If it does not answer, only
// waybill_database_up is reported, as 0.
func (v vitals) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), vitalsTimeout)
	defer cancel()

	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}

	now, err := v.store.Vitals(ctx)
	if err != nil {
		v.log.WarnContext(ctx, "cannot read the health metrics", "error", err)
		gauge(databaseUp, 0)
		return
	}
	gauge(databaseUp, 1)
	gauge(horizonAge, now.HorizonAge.Seconds())

	// States without a shipment are reported as 0: an alert on a series that
	// is absent would never fire.
	for _, state := range []ship.State{ship.StatePurchasing, ship.StateUncertain, ship.StateVoiding, ship.StateNeedsReview} {
		gauge(openBuys, float64(now.Open[state]), string(state))
	}
	gauge(oldestOpen, now.OldestOpen.Seconds())
	for _, state := range []string{store.OrphanPending, store.OrphanVoidDeclined} {
		gauge(orphans, float64(now.OrphanedLabels[state]), state)
	}

	for _, held := range now.Held {
		gauge(missing, float64(held.Missing), string(held.Account))
	}
	pending := 0.0
	if now.Restore.AsksCarriers {
		pending = 1
	}
	gauge(asking, pending)

	gauge(frozen, float64(now.FrozenShards))
	gauge(jobsDue, float64(now.JobsWaiting))
	gauge(oldestJob, now.OldestJob.Seconds())
}

// storageStats shows what this copy has stored for accounts.
type storageStats struct{ store *store.Store }

var (
	storedBytes    = prometheus.NewDesc("waybill_stored_bytes_total", "Bytes of uploaded documents, batches and objects under /v2 that accounts have stored.", []string{"mode"}, nil)
	storageRefused = prometheus.NewDesc("waybill_storage_refused_total", "Requests that were refused because the account has stored too much in a day.", []string{"mode"}, nil)
)

// Describe lists the metrics.
func (storageStats) Describe(ch chan<- *prometheus.Desc) {
	ch <- storedBytes
	ch <- storageRefused
}

// Collect reads them.
func (s storageStats) Collect(ch chan<- prometheus.Metric) {
	for mode, livemode := range map[string]bool{"live": true, "test": false} {
		bytes, refused := s.store.StorageCounts(livemode)
		ch <- prometheus.MustNewConstMetric(storedBytes, prometheus.CounterValue, float64(bytes), mode)
		ch <- prometheus.MustNewConstMetric(storageRefused, prometheus.CounterValue, float64(refused), mode)
	}
}

// poolStats shows the pools of connections.
type poolStats map[string]*pgxpool.Pool

var (
	poolMost  = prometheus.NewDesc("waybill_database_connections_max", "Maximum connections of a pool.", []string{"pool"}, nil)
	poolBusy  = prometheus.NewDesc("waybill_database_connections_busy", "Connections in use.", []string{"pool"}, nil)
	poolOpen  = prometheus.NewDesc("waybill_database_connections_open", "Connections open.", []string{"pool"}, nil)
	poolWaits = prometheus.NewDesc("waybill_database_connection_waits_total", "Number of waits for a connection.", []string{"pool"}, nil)
	poolWait  = prometheus.NewDesc("waybill_database_connection_wait_seconds_total", "Time spent waiting for a connection.", []string{"pool"}, nil)
)

// Describe lists the metrics.
func (poolStats) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolMost, poolBusy, poolOpen, poolWaits, poolWait} {
		ch <- d
	}
}

// Collect reads the state of each pool.
func (p poolStats) Collect(ch chan<- prometheus.Metric) {
	for name, pool := range p {
		stats := pool.Stat()
		for _, metric := range []struct {
			desc  *prometheus.Desc
			kind  prometheus.ValueType
			value float64
		}{
			{poolMost, prometheus.GaugeValue, float64(stats.MaxConns())},
			{poolBusy, prometheus.GaugeValue, float64(stats.AcquiredConns())},
			{poolOpen, prometheus.GaugeValue, float64(stats.TotalConns())},
			{poolWaits, prometheus.CounterValue, float64(stats.EmptyAcquireCount())},
			{poolWait, prometheus.CounterValue, stats.EmptyAcquireWaitTime().Seconds()},
		} {
			ch <- prometheus.MustNewConstMetric(metric.desc, metric.kind, metric.value, name)
		}
	}
}
