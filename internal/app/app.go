// Package app wires the program: settings, store, carriers, services and
// edges, and how they start and stop. It holds no rule and no query.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/webhook"
	"github.com/waybillhq/waybill/internal/worker"
)

// App is one running copy of the program.
type App struct {
	cfg        config.Config
	roles      Roles
	log        *slog.Logger
	baseURL    string
	store      *store.Store
	services   services
	traces     *traces
	registry   *prometheus.Registry
	runner     *worker.Runner // nil without the worker's role
	loops      []worker.Loop
	dispatcher *webhook.Dispatcher // nil without the worker's role
	api        *server             // nil without the API's role
	operator   *server             // nil if it is off
	stopping   atomic.Bool
	onReady    func()
}

// gcPercent trades a few megabytes for CPU: the heap is small, so with Go's own
// 100 the collector would run all the time. GOGC overrules it.
const gcPercent = 300

// New makes a copy of the program that listens already, but answers only once
// it runs. The database must be migrated.
func New(ctx context.Context, cfg config.Config, roles Roles) (*App, error) {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	a := &App{cfg: cfg, roles: roles, log: NewLogger(cfg, os.Stderr)}
	if err := a.build(ctx); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *App) build(ctx context.Context) error {
	if err := a.listen(); err != nil {
		return err
	}
	state, err := store.InspectSchema(ctx, a.cfg.DatabaseURL)
	if err == nil {
		err = state.NeedsMigration()
	}
	if err != nil {
		return err
	}
	if a.traces, err = newTraces(ctx, a.cfg.TraceEndpoint); err != nil {
		return err
	}
	if a.store, err = openStore(ctx, a.cfg, a.traces.queries()); err != nil {
		return err
	}
	if err := requireOutsideKey(ctx, a.cfg, a.store, a.log); err != nil {
		return err
	}
	if a.registry, err = newRegistry(a.store, a.log); err != nil {
		return err
	}
	if a.services, err = newServices(ctx, a.cfg, a.baseURL, a.store, a.registry, a.log, a.told); err != nil {
		return err
	}
	if err := a.buildEdges(); err != nil {
		return err
	}
	return a.buildWorker()
}

// listen takes the addresses before anything else: the service's own address
// is part of what it tells, and a port that is taken should be known at once.
func (a *App) listen() (err error) {
	if a.roles.API {
		if a.api, err = newServer(a.cfg, a.cfg.Listen, "LISTEN", a.log); err != nil {
			return err
		}
	}
	if a.cfg.MetricsListen != "" {
		if a.operator, err = newServer(a.cfg, a.cfg.MetricsListen, "METRICS_LISTEN", a.log); err != nil {
			return err
		}
	}
	a.baseURL = a.cfg.BaseURL
	if a.baseURL == "" {
		a.baseURL = "http://" + localAddr(a.Addr())
		if !isLoopback(a.Addr()) {
			a.log.Warn("BASE_URL is not set: clients are given links to this address", "base_url", a.baseURL)
		}
	}
	return nil
}

func (a *App) buildEdges() error {
	a.loops = append(a.loops, a.services.loops(a.cfg.LateSweepEvery, a.log)...)
	if a.api != nil {
		handler, err := a.newAPI()
		if err != nil {
			return err
		}
		a.api.http.Handler = a.traces.requests(handler)
		a.loops = append(a.loops, worker.Loop{
			Name: "note the use of keys", Least: noteEvery, Most: noteEvery, Log: a.log,
			Do: func(ctx context.Context) (int, error) { return 0, a.services.account.NoteUse(ctx) },
		})
	}
	if a.operator != nil {
		a.operator.http.Handler = a.operatorHandler()
	}
	return nil
}

// How often the loops look for work. The simulated parcels of all accounts
// move in one loop, so it must not dawdle.
const (
	noteEvery = 30 * time.Second
	liveBusy  = 250 * time.Millisecond
	liveIdle  = time.Second

	// What is pushed gathers for a moment: many at once cost little more than
	// one.
	hearers  = 2
	hearBusy = 50 * time.Millisecond
	hearIdle = 200 * time.Millisecond

	subscribeEvery = 30 * time.Second
	finalNotes     = 2 * time.Second
)

func (a *App) buildWorker() error {
	if !a.roles.Worker {
		return nil
	}
	metrics, err := worker.NewMetrics(a.registry)
	if err != nil {
		return err
	}
	a.runner, err = worker.New(worker.Config{
		Services: worker.Services{
			Shipping: a.services.shipping, Tracking: a.services.tracking, Webhook: a.services.webhook, Batch: a.services.batch, Store: a.store, DatabaseURL: a.cfg.DatabaseURL, Keep: keepOf(a.cfg),
		},
		Log: a.log, Metrics: metrics, SweepEvery: a.cfg.SweepEvery, LateSweepEvery: a.cfg.LateSweepEvery, RescueAfter: a.cfg.JobRescueAfter, RetryAfter: a.cfg.JobRetryAfter,
	})
	if err != nil {
		return err
	}
	deliveries, err := webhook.NewMetrics(a.registry)
	if err != nil {
		return err
	}
	a.dispatcher = webhook.NewDispatcher(a.services.webhook, deliveries)
	for range hearers {
		a.loops = append(a.loops, worker.Loop{Name: "take in what carriers push", Do: a.services.tracking.Hear, Least: hearBusy, Most: hearIdle, Log: a.log})
	}
	a.loops = append(a.loops,
		worker.Loop{Name: "count shipments", Do: a.store.RollUp, Least: liveBusy, Most: liveIdle, Log: a.log},
		worker.Loop{Name: "ask carriers about parcels", Do: a.services.tracking.Poll, Least: liveBusy, Most: liveIdle, Log: a.log},
		worker.Loop{Name: "have carriers push", Do: a.services.tracking.Subscribe, Least: subscribeEvery, Most: subscribeEvery, Log: a.log})
	if a.cfg.SandboxStep > 0 {
		a.loops = append(a.loops, worker.Loop{Name: "move simulated parcels", Do: a.services.tracking.Live, Least: liveBusy, Most: liveIdle, Log: a.log})
	}
	return nil
}

// told is called when this copy has recorded an event.
func (a *App) told() {
	if a.dispatcher != nil {
		a.dispatcher.Wake()
	}
}

// Addr is the address that the API listens on, with the port that was chosen;
// the wanted one without the API's role.
func (a *App) Addr() string {
	if a.api == nil {
		return a.cfg.Listen
	}
	return a.api.listener.Addr().String()
}

// MetricsAddr is the address of the second listener, empty if it is off.
func (a *App) MetricsAddr() string {
	if a.operator == nil {
		return ""
	}
	return a.operator.listener.Addr().String()
}

// BaseURL is the address of the service as its clients are told it.
func (a *App) BaseURL() string { return a.baseURL }

// LocalURL is the address of the API on this machine.
func (a *App) LocalURL() string { return "http://" + localAddr(a.Addr()) }

// OnReady has fn called once Run answers requests.
func (a *App) OnReady(fn func()) { a.onReady = fn }

// Run answers requests and works on jobs until ctx ends or a listener fails.
// Then it stops gracefully: it takes nothing new, and waits for what is under
// way as long as the settings allow.
func (a *App) Run(ctx context.Context) error {
	defer a.close()
	work, endWork := context.WithCancel(context.WithoutCancel(ctx))
	defer endWork()
	if a.runner != nil {
		if err := a.runner.Start(work); err != nil {
			return err
		}
	}
	var loops sync.WaitGroup
	for _, l := range a.loops {
		loops.Go(func() { l.Run(work) })
	}
	if a.dispatcher != nil {
		loops.Go(func() { a.dispatcher.Run(work) })
	}
	failed := make(chan error, 2)
	for _, s := range []*server{a.api, a.operator} {
		if s != nil {
			go func() { failed <- s.serve() }()
		}
	}
	a.log.InfoContext(ctx, "started", "roles", a.roles.String(), "listen", a.Addr(), "metrics", a.MetricsAddr(), "base_url", a.baseURL, "database", a.cfg.RedactedDatabaseURL())
	if a.onReady != nil {
		a.onReady()
	}
	notifySupervisor(a.log, "READY=1")
	loops.Go(func() { a.feedWatchdog(work) })
	go debug.FreeOSMemory() // to start takes more than to run
	var err error
	select {
	case <-ctx.Done():
		a.log.InfoContext(ctx, "stopping", "for_at_most", a.cfg.ShutdownTimeout.String())
	case err = <-failed:
	}
	notifySupervisor(a.log, "STOPPING=1")
	stopped := a.stop(work)
	endWork()
	loops.Wait()
	return errors.Join(err, stopped, a.noteUse())
}

// stop ends requests and jobs; the operator's listener stays to the end.
func (a *App) stop(ctx context.Context) error {
	a.stopping.Store(true)
	ctx, cancel := context.WithTimeout(ctx, a.cfg.ShutdownTimeout)
	defer cancel()
	var jobs sync.WaitGroup
	var jobsErr, requestsErr error
	if a.runner != nil {
		jobs.Go(func() { jobsErr = a.runner.Stop(ctx) })
	}
	if a.api != nil {
		requestsErr = a.api.stop(ctx)
	}
	jobs.Wait()
	a.services.shipping.Drain(ctx) // no request and no job begins another
	return errors.Join(requestsErr, jobsErr)
}

// noteUse writes down what the loop has not.
func (a *App) noteUse() error {
	ctx, cancel := context.WithTimeout(context.Background(), finalNotes)
	defer cancel()
	if err := errors.Join(a.services.account.NoteUse(ctx), a.services.journal.Flush(ctx)); err != nil {
		return fmt.Errorf("last notes: %w", err)
	}
	return nil
}

// close frees what New took.
func (a *App) close() {
	for _, s := range []*server{a.api, a.operator} {
		if s != nil {
			s.http.Close()
			s.listener.Close()
		}
	}
	a.traces.close()
	if a.store == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		a.store.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeTimeout): // a statement that does not end must not keep us
	}
}

// ready says why requests should not be sent here.
func (a *App) ready(ctx context.Context) error {
	if a.stopping.Load() {
		return errors.New("the program is stopping")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return a.store.Ping(ctx)
}

const (
	readyTimeout = 2 * time.Second
	closeTimeout = 5 * time.Second
)

// operatorHandler serves what operators and their tools ask for. It is on a
// listener of its own, which the world does not see.
func (a *App) operatorHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metricsHandler(a.registry))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("ready\n"))
	})
	if a.cfg.Profiling {
		addProfiles(mux)
	}
	return mux
}
