package app

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/worker"
)

// newRenderer returns what draws labels and sheets.
func newRenderer(cfg config.Config, heavy *budget.Budget) (*label.Renderer, error) {
	renderer, err := label.NewRenderer(cfg.FontDir)
	if err != nil {
		return nil, fmt.Errorf("label renderer: %w", err)
	}
	renderer.Heavy = heavy
	return renderer, nil
}

// newShipping adds to c what purchases need: the disk that holds what was
// bought, waits and metrics.
func newShipping(ctx context.Context, cfg config.Config, box *seal.Box, reg prometheus.Registerer, c shipping.Config) (*shipping.Service, error) {
	err := addSpool(ctx, cfg, box, &c)
	if err != nil {
		return nil, err
	}

	if c.Observe, err = newStepCounter(reg); err != nil {
		return nil, err
	}
	if c.Decided, err = newDecisionCounter(reg); err != nil {
		return nil, err
	}
	if c.Controlled, err = newControlCounter(reg); err != nil {
		return nil, err
	}

	c.Waits = purchaseWaits(cfg)
	service := shipping.New(c)
	if c.Spool == nil {
		return service, nil
	}
	for _, collector := range spoolStats(c.Spool, service.SpoolFailure) {
		if err := reg.Register(collector); err != nil {
			return nil, fmt.Errorf("purchase metrics: %w", err)
		}
	}
	return service, nil
}

func purchaseWaits(cfg config.Config) shipping.Waits {
	waits := shipping.DefaultWaits
	waits.Answer = cfg.PurchaseTimeout
	waits.Buy = cfg.BuyTimeout
	waits.Settle = cfg.SettleAfter
	waits.Look = cfg.LookEvery
	waits.LookupLag = cfg.LookupLag
	waits.LookupScale = cfg.LookupScale
	waits.Rebuy = cfg.RebuyFor
	waits.Review = cfg.ReviewAfter
	waits.Approval = cfg.ApprovalWait
	waits.SandboxAge = cfg.SandboxStep
	return waits
}

// newStepCounter returns the function that counts the steps of purchases.
func newStepCounter(reg prometheus.Registerer) (func(purchase.Act, purchase.Result), error) {
	steps := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_purchase_steps_total",
		Help: "Steps of purchases that cost money, by outcome.",
	}, []string{"step", "result"})
	if err := reg.Register(steps); err != nil {
		return nil, fmt.Errorf("purchase metrics: %w", err)
	}

	return func(act purchase.Act, result purchase.Result) {
		steps.WithLabelValues(string(act.Kind), string(result)).Inc()
	}, nil
}

// newControlCounter returns the function that counts the controls of look-ups.
func newControlCounter(reg prometheus.Registerer) (func(carrier string, found bool), error) {
	controls := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_lookup_controls_total",
		Help: "Look-ups of purchases that are known to exist, by carrier and whether they were found.",
	}, []string{"carrier", "found"})
	if err := reg.Register(controls); err != nil {
		return nil, fmt.Errorf("purchase metrics: %w", err)
	}

	return func(carrier string, found bool) {
		controls.WithLabelValues(carrier, strconv.FormatBool(found)).Inc()
	}, nil
}

// How often a copy replays what is on its own disk, compares the database with it,
// carries out what was decided about missing purchases, removes old sign-ins, and erases what the database has erased.
const (
	replayEvery  = 30 * time.Second
	restoreEvery = 5 * time.Second
	decideEvery  = 2 * time.Second
	sweepSignIns = 10 * time.Minute
	forgetEvery  = 15 * time.Second
	chainBusy    = 50 * time.Millisecond
	chainIdle    = time.Second
)

// loops returns what every copy does beside requests and jobs.
func (s services) loops(log *slog.Logger) []worker.Loop {
	return []worker.Loop{
		journalLoop(s, log),
		{
			Name:  "write notes to the audit log",
			Do:    func(ctx context.Context) (int, error) { return 0, s.member.FlushNotes(ctx, false) },
			Least: journalEvery,
			Most:  journalEvery,
			Whole: finalNotes,
			Log:   log,
		},
		{
			Name:  "write spooled purchases to the database",
			Do:    s.shipping.Replay,
			Least: replayEvery,
			Most:  replayEvery,
			Log:   log,
		},
		{
			Name:  "delete expired sign-ins",
			Do:    func(ctx context.Context) (int, error) { return 0, s.member.Sweep(ctx) },
			Least: sweepSignIns,
			Most:  sweepSignIns,
			Log:   log,
		},
		{
			Name:  "detect a database restore",
			Do:    func(ctx context.Context) (int, error) { return 0, s.shipping.NoticeRestore(ctx) },
			Least: restoreEvery,
			Most:  restoreEvery,
			Log:   log,
		},
		{
			Name:  "erase personal data from the recovery log",
			Do:    func(ctx context.Context) (int, error) { return 0, s.shipping.ForgetPeople(ctx) },
			Least: forgetEvery,
			Most:  forgetEvery,
			Log:   log,
		},
		{
			Name:  "carry out decisions about missing purchases",
			Do:    s.shipping.CarryOutDecisions,
			Least: decideEvery,
			Most:  decideEvery,
			Log:   log,
		},
	}
}
