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
// about money wait for carriers, so there may be many; the others are few and
// keep the database busy.
const (
	moneyWorkers = 50
	probeWorkers = 50
	otherWorkers = 4

	privacyWorkers  = 2
	batchWorkers    = 4
	handoverWorkers = 10
	returnWorkers   = 4
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

	SweepEvery     time.Duration // between two sweeps for open purchases; zero means a minute
	LateSweepEvery time.Duration // between two sweeps for labels that turn up late; zero means an hour

	// RescueAfter is when the jobs of a copy that died are given to another;
	// zero means a minute. No job may take so long: it has three quarters.
	RescueAfter time.Duration
	RetryAfter  time.Duration // until a job that failed is tried again; zero means half a minute
}

// New returns a runner that is not started yet.
func New(c Config) (*Runner, error) {
	observer := jobObserver{
		log:     c.Log,
		observe: c.Metrics.observe,
		retry:   cmp.Or(c.RetryAfter, retryAfter),
	}

	// A job must have ended before it is rescued, or two copies would work on
	// it.
	rescue := cmp.Or(c.RescueAfter, rescueAfter)
	client, err := river.NewClient(riverpgxv5.New(c.Services.Store.System()), &river.Config{
		Queues: map[string]river.QueueConfig{
			store.QueueMoney:    {MaxWorkers: moneyWorkers},
			store.QueueWebhooks: {MaxWorkers: probeWorkers},
			store.QueuePrivacy:  {MaxWorkers: privacyWorkers},
			store.QueueBatches:  {MaxWorkers: batchWorkers},
			store.QueueHandover: {MaxWorkers: handoverWorkers},
			store.QueueReturns:  {MaxWorkers: returnWorkers},
			river.QueueDefault:  {MaxWorkers: otherWorkers},
		},
		Workers:                     workers(c.Services, observer),
		PeriodicJobs:                periodicJobs(c),
		JobTimeout:                  rescue * 3 / 4,
		RescueStuckJobsAfter:        rescue,
		CompletedJobRetentionPeriod: completedKept,
		ReindexerIndexNames:         []string{}, // only the owner of an index may rebuild it, and jobs run as another
		Logger:                      slog.New(warningsOnly{c.Log.Handler()}),
	})
	if err != nil {
		return nil, fmt.Errorf("job runner: %w", err)
	}
	return &Runner{start: client.Start, stop: client.Stop, kill: client.StopAndCancel}, nil
}

// Start begins to work on jobs. It continues until Stop, even if ctx ends.
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

// pendingStates are those in which a periodic job makes another one redundant.
var pendingStates = []rivertype.JobState{
	rivertype.JobStateAvailable,
	rivertype.JobStatePending,
	rivertype.JobStateRunning,
	rivertype.JobStateRetryable,
	rivertype.JobStateScheduled,
}

func every(interval time.Duration, args river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(interval), func() (river.JobArgs, *river.InsertOpts) {
		options := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: pendingStates}}
		if own, ok := args.(interface{ Queue() string }); ok {
			options.Queue = own.Queue()
		}
		return args, options
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// warningsOnly passes on the warnings of the queue. Its other records are not
// about this program, and an interruption by a stop is expected.
type warningsOnly struct{ slog.Handler }

// Handle passes a record on.
func (h warningsOnly) Handle(ctx context.Context, record slog.Record) error {
	interrupted := false
	record.Attrs(func(attr slog.Attr) bool {
		interrupted = strings.Contains(attr.Value.String(), context.Canceled.Error())
		return !interrupted
	})
	if interrupted {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

// Enabled reports whether records of the level are passed on.
func (h warningsOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// WithAttrs keeps the wrapper.
func (h warningsOnly) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warningsOnly{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the wrapper.
func (h warningsOnly) WithGroup(name string) slog.Handler {
	return warningsOnly{h.Handler.WithGroup(name)}
}
