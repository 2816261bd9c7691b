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
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/spool"
	"github.com/waybillhq/waybill/internal/worker"
)

// openSpool opens the directory that holds what was bought until it is
// recorded.
func openSpool(cfg config.Config, box *seal.Box) (*spool.Spool, error) {
	dir := cfg.SpoolDir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("set SPOOL_DIR: %w", err)
		}
		dir = filepath.Join(cache, "waybill", "spool")
	}
	s, err := spool.Open(dir, box)
	if err != nil {
		return nil, fmt.Errorf("set SPOOL_DIR to a directory that can be written: %w", err)
	}
	return s, nil
}

// spoolFiles shows how much waits on this machine's disk.
func spoolFiles(s *spool.Spool) prometheus.Collector {
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
)

// loops are what every copy does beside requests and jobs.
func (s services) loops(log *slog.Logger) []worker.Loop {
	return []worker.Loop{
		{Name: "record what was bought before a crash", Do: s.shipping.Replay, Least: replayEvery, Most: replayEvery, Log: log},
		{Name: "notice a restore", Least: restoreEvery, Most: restoreEvery, Log: log, Do: func(ctx context.Context) (int, error) {
			return 0, s.shipping.NoteRestore(ctx)
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
