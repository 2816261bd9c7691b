package app

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/config"
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

// newBudget returns the memory for heavy work, with its metrics.
func newBudget(cfg config.Config, reg prometheus.Registerer) (*budget.Budget, error) {
	heavy := budget.New(budget.Options{
		Bytes:   cfg.HeavyWorkBytes,
		Waiting: heavyWaiting,
		Wait:    heavyWait,
		Busy:    newCollector().setBusy,
	})
	if err := reg.Register(heavy); err != nil {
		return nil, fmt.Errorf("metrics of heavy work: %w", err)
	}
	return heavy, nil
}

// A collector makes the garbage collector work more often while there is heavy
// work, and a moment longer: the next piece often follows at once.
type collector struct {
	mu     sync.Mutex
	isBusy bool
	idle   *time.Timer
}

func newCollector() *collector {
	c := &collector{}
	c.idle = time.AfterFunc(heavyIdleAfter, c.settle)
	c.idle.Stop()
	return c
}

// setBusy is called when heavy work begins and when it has ended.
func (c *collector) setBusy(isBusy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.isBusy = isBusy
	if isBusy {
		c.idle.Stop()
		setGCPercent(heavyGCPercent)
	} else {
		c.idle.Reset(heavyIdleAfter)
	}
}

// settle gives the memory of heavy work back. The collector must have run before
// it works less often again: it plans its next run by what was in use at the
// last, and that may have been during the work.
func (c *collector) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()

	if !c.isBusy {
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
