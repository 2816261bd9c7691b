package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/waybillhq/waybill/internal/store"
)

// How many jobs of a queue one copy of the program works on at once. Jobs
// about money wait for carriers, so they may be many; the others are few and
// busy the database.
const (
	moneyWorkers = 50
	probeWorkers = 50
	otherWorkers = 4
)

// The waits of the queue, where Config has none.
const (
	rescueAfter   = time.Minute
	retryAfter    = 30 * time.Second
	completedKept = 10 * time.Minute // the record of what happened is our own
)

// A Runner works on jobs.
type Runner struct {
	start, stop, kill func(context.Context) error
}

// Config is what a Runner needs.
type Config struct {
	Services Services
	Log      *slog.Logger
	Metrics  *Metrics // nil counts nothing

	SweepEvery     time.Duration // between two looks for purchases that wait; zero means a minute
	LateSweepEvery time.Duration // between two looks for labels that turn up late; zero means an hour

	// RescueAfter is when the jobs of a copy that died are given to another;
	// zero means a minute. No job may take so long: it has three quarters.
	RescueAfter time.Duration
	RetryAfter  time.Duration // until a job that failed is tried again; zero means half a minute
}

// New returns a runner that is not started yet.
func New(c Config) (*Runner, error) {
	w := watcher{log: c.Log, observe: c.Metrics.observe, retry: cmp.Or(c.RetryAfter, retryAfter)}
	rescue := cmp.Or(c.RescueAfter, rescueAfter)
	client, err := river.NewClient(riverpgxv5.New(c.Services.Store.System()), &river.Config{
		Queues: map[string]river.QueueConfig{
			store.QueueMoney:    {MaxWorkers: moneyWorkers},
			store.QueueWebhooks: {MaxWorkers: probeWorkers},
			river.QueueDefault:  {MaxWorkers: otherWorkers},
		},
		Workers:                     workers(c.Services, w),
		PeriodicJobs:                periodic(c),
		JobTimeout:                  rescue * 3 / 4,
		RescueStuckJobsAfter:        rescue,
		CompletedJobRetentionPeriod: completedKept,
		ReindexerIndexNames:         []string{}, // only the owner of an index may rebuild it, and jobs run as another
		Logger:                      slog.New(quiet{c.Log.Handler()}),
	})
	if err != nil {
		return nil, fmt.Errorf("job runner: %w", err)
	}
	return &Runner{start: client.Start, stop: client.Stop, kill: client.StopAndCancel}, nil
}

// Start begins to work on jobs. It goes on until Stop, whatever becomes of
// ctx.
func (r *Runner) Start(ctx context.Context) error {
	if err := r.start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the job runner: %w", err)
	}
	return nil
}

// Stop takes no new jobs and waits for the running ones until ctx ends. What
// still runs then is cancelled, and tried again by another copy.
func (r *Runner) Stop(ctx context.Context) error {
	if r.stop(ctx) == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := r.kill(ctx); err != nil {
		return fmt.Errorf("stop the job runner: %w", err)
	}
	return nil
}

// pendingStates are those in which a periodic job makes another needless.
var pendingStates = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
}

func every(d time.Duration, args river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(d), func() (river.JobArgs, *river.InsertOpts) {
		return args, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: pendingStates}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// quiet passes on what the queue warns of. What else it tells is not of this
// program, and that it was interrupted by a stop is no news.
type quiet struct{ slog.Handler }

// Handle passes a record on.
func (h quiet) Handle(ctx context.Context, r slog.Record) error {
	interrupted := false
	r.Attrs(func(a slog.Attr) bool {
		interrupted = strings.Contains(a.Value.String(), context.Canceled.Error())
		return !interrupted
	})
	if interrupted {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// Enabled reports whether records of the level are passed on.
func (h quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// WithAttrs keeps the wrapper.
func (h quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{h.Handler.WithAttrs(attrs)} }

// WithGroup keeps the wrapper.
func (h quiet) WithGroup(name string) slog.Handler { return quiet{h.Handler.WithGroup(name)} }
