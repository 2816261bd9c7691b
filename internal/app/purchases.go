package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/worker"
)

// newShipping adds to c what purchases need: labels, the disk that holds what
// was bought, waits and metrics.
func newShipping(cfg config.Config, box *seal.Box, reg prometheus.Registerer, c shipping.Config) (*shipping.Service, error) {
	var err error
	if c.Labels, err = label.NewRenderer(cfg.FontDir); err != nil {
		return nil, fmt.Errorf("label renderer: %w", err)
	}
	if c.Spool, c.Trail, err = openSpool(cfg, box); err != nil {
		return nil, err
	}
	if c.Observe, err = stepsOf(reg); err != nil {
		return nil, err
	}
	if c.Decided, err = decisionsOf(reg); err != nil {
		return nil, err
	}
	if err := reg.Register(spoolFiles(c.Spool)); err != nil {
		return nil, fmt.Errorf("purchase metrics: %w", err)
	}
	c.Waits, c.QuoteLife, c.QuoteLifeToBuy = waits(cfg), cfg.QuoteCache, cfg.QuoteCacheToBuy
	return shipping.New(c), nil
}

func waits(cfg config.Config) shipping.Waits {
	w := shipping.DefaultWaits
	w.SoftQuote, w.Answer, w.Buy = cfg.QuoteTimeout, cfg.PurchaseTimeout, cfg.BuyTimeout
	w.Settle, w.Look, w.Lag = cfg.SettleAfter, cfg.LookEvery, cfg.LookupLag
	w.Rebuy, w.Review = cfg.RebuyFor, cfg.ReviewAfter
	w.SandboxAge = cfg.SandboxStep
	return w
}

// openSpool opens the directory that holds what was bought until it is
// recorded, and in it what carriers were asked for lately.
func openSpool(cfg config.Config, box *seal.Box) (*seal.Spool, *seal.Trail, error) {
	dir := cfg.SpoolDir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, nil, fmt.Errorf("set SPOOL_DIR: %w", err)
		}
		dir = filepath.Join(cache, "waybill", "spool")
	}
	s, err := seal.OpenSpool(dir, box)
	if err != nil {
		return nil, nil, fmt.Errorf("set SPOOL_DIR to a directory that can be written: %w", err)
	}
	t, err := seal.OpenTrail(filepath.Join(dir, "trail"), box, shipping.TrailKept)
	if err != nil {
		return nil, nil, fmt.Errorf("set SPOOL_DIR to a directory that can be written: %w", err)
	}
	return s, t, nil
}

// spoolFiles shows how much waits on this machine's disk.
func spoolFiles(s *seal.Spool) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "waybill_spool_files", Help: "Purchases on this machine's disk that the database may lack.",
	}, func() float64 {
		names, err := s.Names()
		if err != nil {
			return -1
		}
		return float64(len(names))
	})
}

// stepsOf counts the steps of purchases.
func stepsOf(reg prometheus.Registerer) (func(purchase.Act, purchase.Result), error) {
	steps := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_purchase_steps_total", Help: "Steps of purchases that cost money, and how each ended.",
	}, []string{"step", "result"})
	if err := reg.Register(steps); err != nil {
		return nil, fmt.Errorf("purchase metrics: %w", err)
	}
	return func(a purchase.Act, r purchase.Result) { steps.WithLabelValues(string(a.Kind), string(r)).Inc() }, nil
}

// How often a copy looks at what it alone knows, and at what all must know.
const (
	replayEvery  = 30 * time.Second
	restoreEvery = 15 * time.Second
	sweepSignIns = 10 * time.Minute
)

// loops are what every copy does beside requests and jobs.
func (s services) loops(lateSweep time.Duration, log *slog.Logger) []worker.Loop {
	record := journalLoop(s)
	record.Log = log
	return []worker.Loop{
		record,
		{Name: "record what was bought before a crash", Do: s.shipping.Replay, Least: replayEvery, Most: replayEvery, Log: log},
		{Name: "remove old sign-ins", Least: sweepSignIns, Most: sweepSignIns, Log: log, Do: func(ctx context.Context) (int, error) {
			return 0, s.member.Sweep(ctx)
		}},
		{Name: "notice a restore", Least: restoreEvery, Most: restoreEvery, Log: log, Do: func(ctx context.Context) (int, error) {
			return 0, s.shipping.NoteRestore(ctx)
		}},
		{Name: "take back what a restore lost", Least: lateSweep, Most: lateSweep, Log: log, Do: func(ctx context.Context) (int, error) {
			return 0, s.shipping.TakeBackLost(ctx)
		}},
	}
}

// NoteRestore writes down that the database was put back to an earlier moment.
func NoteRestore(ctx context.Context, cfg config.Config) error {
	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.SetRestored(ctx)
}
