package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/worker"
)

// journalEvery is how often the journal is written: soon enough for a person
// who looks at what they just did.
const journalEvery = 500 * time.Millisecond

// newJournal wires the journal. The traffic is read each time a page asks for
// it.
func newJournal(cfg config.Config, st *store.Store, reg prometheus.Registerer, traffic func() *carrierkit.Traffic) (*journal.Service, error) {
	records := journal.New(journal.Config{
		Store:     st,
		Requests:  cfg.RequestLogFor > 0,
		Exchanges: cfg.ExchangesFor > 0,
		Standing: func() (list []journal.Standing) {
			for _, stats := range traffic().Stats() {
				list = append(list, journal.Standing{
					Connection: ship.ConnectionID(stats.Connection),
					Operation:  stats.Operation,
					Breaker:    stats.Breaker,
					QuotaLeft:  stats.QuotaLeft,
					HeldFor:    stats.HeldFor,
				})
			}
			return list
		},
	})

	for kind, dropped := range map[string]func() int64{
		"request":  func() int64 { n, _, _ := records.Dropped(); return n },
		"exchange": func() int64 { _, n, _ := records.Dropped(); return n },
		"count":    func() int64 { _, _, n := records.Dropped(); return n },
	} {
		err := reg.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "waybill_journal_dropped_total",
			Help:        "Request log entries that were dropped.",
			ConstLabels: prometheus.Labels{"record": kind},
		}, func() float64 { return float64(dropped()) }))
		if err != nil {
			return nil, fmt.Errorf("journal metrics: %w", err)
		}
	}
	return records, nil
}

// retention returns how long the settings keep the rows of tables.
func retention(cfg config.Config) store.Retention {
	return store.Retention{
		"api_requests":      cfg.RequestLogFor,
		"carrier_exchanges": cfg.ExchangesFor,
		"labels":            min(cfg.LabelsFor, cfg.ShipmentsFor),
		"documents":         min(cfg.LabelsFor, cfg.ShipmentsFor),
	}
}

func journalLoop(s services, log *slog.Logger) worker.Loop {
	return worker.Loop{
		Name:  "write the request log",
		Do:    func(ctx context.Context) (int, error) { return 0, s.journal.Flush(ctx) },
		Least: journalEvery,
		Most:  journalEvery,
		Whole: finalNotes,
		Log:   log,
	}
}

// observeCalls returns an observer that reports a connection's calls to the
// metrics and to the journal.
func observeCalls(calls *carrierMetrics, records *journal.Service) account.Observe {
	return func(name string, tenant ship.Tenant, id ship.ConnectionID) func(carrier.Operation, time.Duration, error) {
		count := calls.observe(name)
		record := records.Observe(tenant, id)
		return func(operation carrier.Operation, took time.Duration, err error) {
			count(operation, took, err)
			record(operation, took, err)
		}
	}
}

// noteRequest returns the function that writes a finished API request to the
// journal.
func noteRequest(records *journal.Service) func(httpkit.Finished) {
	return func(finished httpkit.Finished) {
		// A request whose key was known and refused belongs in the journal of
		// that key's account. One without a known key belongs to nobody.
		caller := finished.Principal
		if caller.Key == "" {
			caller = finished.Refused
		}
		if caller.Key == "" {
			return
		}

		id, _ := ship.ParseRequestID(finished.ID)
		request := journal.Request{
			ID:          id,
			Tenant:      caller.Tenant,
			Key:         caller.Key,
			Method:      finished.Method,
			Route:       finished.Route,
			Path:        finished.Path,
			Status:      finished.Status,
			Took:        finished.Took,
			Idempotency: finished.Idempotency,
		}
		if finished.Problem != nil {
			request.Code = finished.Problem.Code
			request.Problem = finished.Problem.Bytes()
		}
		records.Note(request)
	}
}
