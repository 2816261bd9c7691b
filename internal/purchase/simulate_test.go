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

// A simulation is the result of many simulated purchases.
type simulation struct {
	violations int
	stories    []string // of the first violations
	ends       map[ship.State]int
}

// simulate runs purchases on all processors. It stops after so many violations.
func simulate(first uint64, count, stopAfter int, change func(*world)) simulation {
	var (
		next, violations atomic.Int64
		mu               sync.Mutex
		group            sync.WaitGroup
	)
	result := simulation{ends: map[ship.State]int{}}

	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			ends := map[ship.State]int{}
			for i := next.Add(1) - 1; i < int64(count) && violations.Load() < int64(stopAfter); i = next.Add(1) - 1 {
				seed := first + uint64(i)
				w := newWorld(seed)
				change(w)
				w.live()
				w.conclude()
				ends[w.state]++
				if len(w.wrong) == 0 {
					continue
				}

				violations.Add(1)
				mu.Lock()
				if len(result.stories) < 5 {
					result.stories = append(result.stories, "SEED="+strconv.FormatUint(seed, 10)+": "+strings.Join(w.wrong, "; ")+"\n"+w.story())
				}
				mu.Unlock()
			}

			mu.Lock()
			defer mu.Unlock()
			for state, n := range ends {
				result.ends[state] += n
			}
		})
	}
	group.Wait()

	result.violations = int(violations.Load())
	return result
}

// simulated returns how many purchases SIMULATE asks for, and the first seed. A
// seed that fails is run again alone by SEED.
func simulated() (first uint64, count int) {
	count, err := strconv.Atoi(os.Getenv("SIMULATE"))
	if err != nil {
		count = 10_000
	}
	if seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		return seed, 1
	}
	return rand.Uint64() >> 1, count
}

func TestSimulatedPurchasesEndWithOneLiveLabelAtMost(t *testing.T) {
	t.Parallel()
	first, count := simulated()

	begun := time.Now()
	got := simulate(first, count, 5, func(*world) {})

	for _, story := range got.stories {
		t.Error(story)
	}
	t.Logf("%d purchases from seed %d in %v, %d violations; ended %v",
		count, first, time.Since(begun).Round(time.Millisecond), got.violations, got.ends)
}

// TestWithoutConfirmedAbsencesSomePurchasesAreMadeTwice runs the same purchases with
// an absence believed at once and without a control. It shows that the simulation
// can find what the rule prevents.
func TestWithoutConfirmedAbsencesSomePurchasesAreMadeTwice(t *testing.T) {
	t.Parallel()
	first, count := simulated()

	got := simulate(first, count, count, func(w *world) { w.unruled = true })

	if got.violations == 0 && count > 1 {
		t.Errorf("0 of %d purchases had two live labels, want some: the simulation finds nothing", count)
	}
	t.Logf("%d purchases from seed %d, %d violations without the rule; ended %v", count, first, got.violations, got.ends)
}
