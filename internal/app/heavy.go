package app

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/httpkit"
)

// gcPercent trades a few megabytes for CPU: the heap is small, so with Go's own
// 100 the collector would run all the time. GOGC overrules it.
//
// Heavy work needs large pieces of memory for a moment, of which the same
// setting would keep three times as much as garbage. While it runs, the
// collector works more often instead.
const (
	gcPercent      = 300
	heavyGCPercent = 25
	heavyIdleAfter = 250 * time.Millisecond // after the last heavy work its memory is given back
)

// The queue of heavy work. A request that waits holds a connection, and the
// client's patience is not much longer than the wait.
const (
	heavyWaiting = 16
	heavyWait    = 5 * time.Second
)

// newBudgets returns the memory for files and for labels, with their metrics. A
// label does not wait for files: a warehouse stands still without labels.
func newBudgets(cfg config.Config, reg prometheus.Registerer) (files, labels *budget.Budget, err error) {
	garbage := newCollector()
	files = budget.New(budget.Options{
		Name:    "files",
		Bytes:   cfg.HeavyWorkBytes,
		Waiting: heavyWaiting,
		Wait:    heavyWait,
		Busy:    garbage.setBusy,
	})
	labels = budget.New(budget.Options{
		Name:    "labels",
		Bytes:   cfg.LabelWorkBytes,
		Waiting: heavyWaiting,
		Wait:    heavyWait,
		Busy:    garbage.setBusy,
	})
	if err := reg.Register(budget.Set{files, labels}); err != nil {
		return nil, nil, fmt.Errorf("metrics of heavy work: %w", err)
	}
	return files, labels, nil
}

// newUploads returns what receives large bodies. Their files are not those of the
// spool: a full directory must not keep purchases from being written down.
func newUploads(cfg config.Config) (*httpkit.Uploads, error) {
	dir := cmp.Or(cfg.UploadDir, os.TempDir())
	if spool := cfg.SpoolDir; spool != "" {
		inSpool, err := filepath.Rel(spool, dir)
		if err == nil && !strings.HasPrefix(inSpool, "..") {
			return nil, fmt.Errorf("UPLOAD_DIR: %s is in SPOOL_DIR; choose a directory outside of it", dir)
		}
	}
	return httpkit.NewUploads(dir), nil
}

// A collector makes the garbage collector work more often while there is heavy
// work, and a moment longer: the next piece often follows at once.
type collector struct {
	mu   sync.Mutex
	busy int // budgets that are
	idle *time.Timer
}

func newCollector() *collector {
	c := &collector{}
	c.idle = time.AfterFunc(heavyIdleAfter, c.settle)
	c.idle.Stop()
	return c
}

// setBusy is called when the heavy work of a budget begins and when it has ended.
func (c *collector) setBusy(isBusy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if isBusy {
		c.busy++
		c.idle.Stop()
		setGCPercent(heavyGCPercent)
		return
	}
	if c.busy--; c.busy == 0 {
		c.idle.Reset(heavyIdleAfter)
	}
}

// settle gives the memory of heavy work back. The collector must have run before
// it works less often again: it plans its next run by what was in use at the
// last, and that may have been during the work.
func (c *collector) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.busy == 0 {
		debug.FreeOSMemory()
		setGCPercent(gcPercent)
	}
}

// setGCPercent sets how much garbage the collector leaves, unless the operator
// has set it.
func setGCPercent(percent int) {
	if _, isSet := os.LookupEnv("GOGC"); !isSet {
		debug.SetGCPercent(percent)
	}
}
