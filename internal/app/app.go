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

	"github.com/waybillhq/waybill/internal/archive"
	"github.com/waybillhq/waybill/internal/cell"
	"github.com/waybillhq/waybill/internal/certify"
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
	places     *cell.Map           // nil if the database is the only one
	stopping   atomic.Bool
	onReady    func()
}

// New builds a copy of the program. It listens already, but answers requests
// only once Run is called. The database must be migrated.
func New(ctx context.Context, cfg config.Config, roles Roles) (*App, error) {
	setGCPercent(gcPercent)

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

	// The schema is checked before the pool is opened: a database that is
	// behind fails here with the command to run, not at some later statement.
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
	if err := checkLiveSecrets(ctx, a.cfg, a.store, a.log); err != nil {
		return err
	}

	if a.registry, err = newRegistry(a.store, a.log); err != nil {
		return err
	}
	if a.services, err = newServices(ctx, a.cfg, a.baseURL, a.store, a.registry, a.log, a.wakeDispatcher); err != nil {
		return err
	}
	if err := a.buildEdges(); err != nil {
		return err
	}
	return a.buildWorker()
}

// listen opens the listeners before anything else is built: the chosen port is
// part of the links that clients are given, and a port that is taken should be
// reported at once.
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
			a.log.Warn("BASE_URL is not set: links point to this address", "base_url", a.baseURL)
		}
	}
	return nil
}

// buildEdges adds the handlers of both listeners, and the loops that run in
// every copy of the program.
func (a *App) buildEdges() error {
	a.loops = append(a.loops, a.services.loops(a.log)...)

	if a.api != nil {
		handler, err := a.newAPI()
		if err != nil {
			return err
		}
		if handler, err = a.guardCell(handler); err != nil {
			return err
		}
		a.api.http.Handler = a.traces.requests(handler)

		a.loops = append(a.loops, worker.Loop{
			Name:  "record API key usage",
			Do:    func(ctx context.Context) (int, error) { return 0, a.services.account.RecordUse(ctx) },
			Least: noteEvery,
			Most:  noteEvery,
			Whole: finalNotes,
			Log:   a.log,
		})
	}

	if a.operator != nil {
		a.operator.http.Handler = a.operatorHandler()
	}
	return nil
}

// How often the loops look for work. The simulated parcels of all accounts
// move in one loop, so its waits are short.
const (
	noteEvery = 30 * time.Second
	liveBusy  = 250 * time.Millisecond
	liveIdle  = time.Second

	// Pushes are collected for a moment: to process many at once costs little
	// more than to process one.
	pushLoops = 2
	pushBusy  = 50 * time.Millisecond
	pushIdle  = 200 * time.Millisecond

	// What is still open after SETTLE_AFTER is looked for this often, or four
	// times in SETTLE_AFTER if that is more often.
	findOpenEvery = 5 * time.Second

	subscribeEvery = 30 * time.Second
	archiveEvery   = 10 * time.Minute
	finalNotes     = 2 * time.Second
)

// buildWorker builds what only a copy with the worker's role runs: jobs,
// webhook deliveries, and the loops that follow parcels.
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
			Shipping:  a.services.shipping,
			Tracking:  a.services.tracking,
			Webhook:   a.services.webhook,
			Batch:     a.services.batch,
			Bulk:      a.services.bulk,
			Privacy:   a.services.privacy,
			Handover:  a.services.handover,
			Returns:   a.services.returns,
			Addresses: a.services.addresses,
			Compat:    a.services.compat,
			Certify: &certify.Measurer{
				Store:    a.store,
				Accounts: a.services.account,
				Scale:    a.cfg.LookupScale,
				Log:      a.log,
			},
			Member:    a.services.member,
			Store:     a.store,
			Retention: retention(a.cfg),
			IsKept:    isKept(a.cfg, a.store.Cell()),
		},
		Log:            a.log,
		Metrics:        metrics,
		SweepEvery:     a.cfg.SweepEvery,
		LateSweepEvery: a.cfg.LateSweepEvery,
		RescueAfter:    a.cfg.JobRescueAfter,
		RetryAfter:     a.cfg.JobRetryAfter,
	})
	if err != nil {
		return err
	}

	deliveries, err := webhook.NewMetrics(a.registry)
	if err != nil {
		return err
	}
	a.dispatcher = webhook.NewDispatcher(a.services.webhook, deliveries)

	for range pushLoops {
		a.addLoop("process carrier pushes", a.services.tracking.ProcessPushes, pushBusy, pushIdle)
	}
	a.addLoop("chain the audit log", a.store.ChainAudit, chainBusy, chainIdle)
	findEvery := min(findOpenEvery, a.cfg.SettleAfter/4)
	a.addLoop("find open purchases", func(ctx context.Context) (int, error) {
		return 0, a.services.shipping.FindOpen(ctx)
	}, findEvery, findEvery)
	a.addLoop("find open pickups and manifests", func(ctx context.Context) (int, error) {
		return 0, a.services.handover.FindOpen(ctx)
	}, findEvery, findEvery)
	a.loops = append(a.loops, worker.Loop{
		Name:  "count shipments",
		Do:    a.store.RollUp,
		Least: liveBusy,
		Most:  liveIdle,
		Pace:  liveBusy,
		Full:  store.RollUpBatch,
		Log:   a.log,
	})
	if a.cfg.ArchiveDir != "" {
		a.addLoop("archive old partitions", archive.Worker{
			Archive:   archive.Of(a.cfg.ArchiveDir, a.store.Cell()),
			Store:     a.store,
			Retention: retention(a.cfg),
			Shipments: a.cfg.ShipmentsFor,
			Log:       a.log,
		}.Work, archiveEvery, archiveEvery)
	}
	a.addLoop("poll carriers for tracking", a.services.tracking.Poll, liveBusy, liveIdle)
	a.addLoop("subscribe to carrier pushes", a.services.tracking.Subscribe, subscribeEvery, subscribeEvery)
	if a.cfg.SandboxStep > 0 {
		a.addLoop("advance simulated parcels", a.services.tracking.Live, liveBusy, liveIdle)
	}
	return nil
}

func (a *App) addLoop(name string, do func(context.Context) (int, error), least, most time.Duration) {
	a.loops = append(a.loops, worker.Loop{
		Name:  name,
		Do:    do,
		Least: least,
		Most:  most,
		Log:   a.log,
	})
}

// wakeDispatcher is called when this copy has recorded an event.
func (a *App) wakeDispatcher() {
	if a.dispatcher != nil {
		a.dispatcher.Wake()
	}
}

// Addr returns the address that the API listens on, with the port that was
// chosen. Without the API's role it is the address of the settings.
func (a *App) Addr() string {
	if a.api == nil {
		return a.cfg.Listen
	}
	return a.api.listener.Addr().String()
}

// MetricsAddr returns the address of the operator's listener, empty if it is
// off.
func (a *App) MetricsAddr() string {
	if a.operator == nil {
		return ""
	}
	return a.operator.listener.Addr().String()
}

// BaseURL returns the address under which clients reach the service.
func (a *App) BaseURL() string { return a.baseURL }

// LocalURL returns the address of the API on this machine.
func (a *App) LocalURL() string { return "http://" + localAddr(a.Addr()) }

// OnReady sets a function that is called once Run answers requests.
func (a *App) OnReady(fn func()) { a.onReady = fn }

// Run answers requests and works on jobs until ctx ends or a listener fails.
// Then it stops gracefully: it accepts nothing new, and waits for what is under
// way as long as the settings allow.
func (a *App) Run(ctx context.Context) error {
	defer a.close()

	// Work outlives ctx: when the program is asked to stop, requests and jobs
	// that are under way must still be able to finish.
	work, endWork := context.WithCancel(context.WithoutCancel(ctx))
	defer endWork()

	if a.runner != nil {
		if err := a.runner.Start(work); err != nil {
			return err
		}
	}
	var loops sync.WaitGroup
	for _, loop := range a.loops {
		loops.Go(func() { loop.Run(work) })
	}
	if a.dispatcher != nil {
		loops.Go(func() { a.dispatcher.Run(work) })
	}
	if a.places != nil {
		loops.Go(func() { a.places.Run(work) })
	}
	if a.store.Cell() != "" {
		loops.Go(func() { cell.ReleaseShards(work, a.store.ReleaseShards, a.log) })
	}

	failed := make(chan error, 2)
	for _, s := range []*server{a.api, a.operator} {
		if s != nil {
			go func() { failed <- s.serve() }()
		}
	}
	a.log.InfoContext(ctx, "started",
		"roles", a.roles.String(),
		"listen", a.Addr(),
		"metrics", a.MetricsAddr(),
		"base_url", a.baseURL,
		"database", a.cfg.RedactedDatabaseURL())

	if a.onReady != nil {
		a.onReady()
	}
	notifySupervisor(a.log, "READY=1")
	loops.Go(func() { a.feedWatchdog(work) })

	// The start takes more memory than the program needs afterwards, and so do
	// the first rounds of the loops.
	freeing := time.AfterFunc(time.Second, func() {
		debug.FreeOSMemory()
		releaseProgram()
	})
	defer freeing.Stop()

	var err error
	select {
	case <-ctx.Done():
		a.log.InfoContext(ctx, "stopping", "for_at_most", a.cfg.ShutdownTimeout.String())
	case err = <-failed:
	}
	notifySupervisor(a.log, "STOPPING=1")

	// The loops go on while requests and jobs finish, since those still record
	// events and uses of keys. What the loops have not written by then,
	// noteUse writes.
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

	// A purchase may go on after its request was answered. It is waited for
	// last, when no request and no job can begin another.
	a.services.shipping.Drain(ctx)
	a.services.handover.Drain(ctx)
	return errors.Join(requestsErr, jobsErr)
}

// noteUse writes the uses of keys, the journal entries and the notes of the
// audit log that the loops have not written yet.
func (a *App) noteUse() error {
	ctx, cancel := context.WithTimeout(context.Background(), finalNotes)
	defer cancel()

	err := errors.Join(
		a.services.account.RecordUse(ctx),
		a.services.journal.Flush(ctx),
		a.services.member.FlushNotes(ctx, true),
		a.services.shipping.LeaveRestores(ctx),
	)
	if err != nil {
		return fmt.Errorf("write the last log entries: %w", err)
	}
	return nil
}

// close releases what New opened.
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

	// The store waits for its connections. A statement that does not end must
	// not keep the program from ending.
	select {
	case <-closed:
	case <-time.After(closeTimeout):
	}
}

// ready returns why requests should not be sent to this copy, nil if they
// should.
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

// operatorHandler serves metrics, probes and profiles. It has a listener of its
// own, which is not reachable by the public.
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
		if a.services.shipping.SpoolFailure() != nil {
			// Everything but live purchases works, so requests are still sent here.
			w.Write([]byte("spool: failed\n"))
		}
	})

	if a.cfg.Profiling {
		addProfiles(mux)
	}
	return mux
}
