package app

import (
	"context"
	"fmt"
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

// journalEvery is how often what was gathered is written: soon enough for a
// person who looks at what they just did.
const journalEvery = 500 * time.Millisecond

// newJournal wires the journal. The traffic is asked when a page is.
func newJournal(cfg config.Config, st *store.Store, reg prometheus.Registerer, traffic func() *carrierkit.Traffic) (*journal.Service, error) {
	j := journal.New(journal.Config{
		Store: st, Requests: cfg.RequestLogFor > 0, Exchanges: cfg.ExchangesFor > 0,
		Standing: func() (list []journal.Standing) {
			for _, s := range traffic().Stats() {
				list = append(list, journal.Standing{Connection: ship.ConnectionID(s.Connection), Operation: s.Operation, Breaker: s.Breaker, QuotaLeft: s.QuotaLeft, HeldFor: s.HeldFor})
			}
			return list
		},
	})
	for what, read := range map[string]func() int64{
		"request":  func() int64 { n, _, _ := j.Dropped(); return n },
		"exchange": func() int64 { _, n, _ := j.Dropped(); return n },
		"count":    func() int64 { _, _, n := j.Dropped(); return n },
	} {
		err := reg.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "waybill_journal_dropped_total", Help: "Records of the journal that were not kept.", ConstLabels: prometheus.Labels{"record": what},
		}, func() float64 { return float64(read()) }))
		if err != nil {
			return nil, fmt.Errorf("journal metrics: %w", err)
		}
	}
	return j, nil
}

// keepOf is how long the settings keep the journal.
func keepOf(cfg config.Config) store.Keep {
	return store.Keep{"api_requests": cfg.RequestLogFor, "carrier_exchanges": cfg.ExchangesFor}
}

func journalLoop(s services) worker.Loop {
	return worker.Loop{Name: "write the journal", Least: journalEvery, Most: journalEvery, Do: func(ctx context.Context) (int, error) {
		return 0, s.journal.Flush(ctx)
	}}
}

// observed has both told of a connection's calls.
func observed(calls *carrierMetrics, j *journal.Service) account.Observe {
	return func(name string, t ship.Tenant, id ship.ConnectionID) func(carrier.Operation, time.Duration, error) {
		count, note := calls.observe(name), j.Observe(t, id)
		return func(op carrier.Operation, took time.Duration, err error) {
			count(op, took, err)
			note(op, took, err)
		}
	}
}

// noteRequest writes a request of a program into the journal.
func noteRequest(j *journal.Service) func(httpkit.Finished) {
	return func(f httpkit.Finished) {
		caller := f.Principal
		if caller.Key == "" {
			caller = f.Refused
		}
		if caller.Key == "" {
			return // nobody's
		}
		id, _ := ship.ParseRequestID(f.ID)
		r := journal.Request{
			ID: id, Tenant: caller.Tenant, Key: caller.Key, Method: f.Method, Route: f.Route, Path: f.Path,
			Status: f.Status, Took: f.Took, Idempotency: f.Idempotency,
		}
		if f.Problem != nil {
			r.Code, r.Problem = f.Problem.Code, f.Problem.Bytes()
		}
		j.Note(r)
	}
}
