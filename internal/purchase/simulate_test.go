package purchase

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// TestSimulatedPurchasesEndWithOneLiveLabelAtMost runs as many purchases as
// SIMULATE says. A seed that fails is run again alone by SEED.
func TestSimulatedPurchasesEndWithOneLiveLabelAtMost(t *testing.T) {
	t.Parallel()
	n, err := strconv.Atoi(os.Getenv("SIMULATE"))
	if err != nil {
		n = 20_000
	}
	first := rand.Uint64() >> 1
	if seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = seed, 1
	}
	began := time.Now()
	var next, bad atomic.Int64
	var mu sync.Mutex
	ends := map[ship.State]int{}
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			mine := map[ship.State]int{}
			for i := next.Add(1) - 1; i < int64(n) && bad.Load() < 5; i = next.Add(1) - 1 {
				seed := first + uint64(i)
				w := newWorld(seed)
				w.live()
				w.conclude()
				mine[w.state]++
				if len(w.wrong) > 0 {
					bad.Add(1)
					t.Errorf("SEED=%d: %s\n%s", seed, strings.Join(w.wrong, "; "), w.story())
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for state, count := range mine {
				ends[state] += count
			}
		})
	}
	group.Wait()
	t.Logf("%d purchases from seed %d in %v, %d violations; ended %v", n, first, time.Since(began).Round(time.Millisecond), bad.Load(), ends)
}
