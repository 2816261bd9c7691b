package coalesce

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A recorder counts how operations ran. Each trip takes a second of the test's
// clock.
type recorder struct {
	mu     sync.Mutex
	alone  int
	groups [][]int
}

func (r *recorder) group(solo, lanes, limit int) *Group[int] {
	return &Group[int]{
		Crowd:   &Crowd{Solo: solo},
		Lanes:   lanes,
		Limit:   limit,
		Timeout: time.Minute,
		Alone: func(context.Context, int) error {
			time.Sleep(time.Second)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.alone++
			return nil
		},
		Together: func(_ context.Context, items []int) []error {
			time.Sleep(time.Second)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.groups = append(r.groups, slices.Clone(items))
			return make([]error, len(items))
		},
	}
}

// start runs n operations that begin one after the other, at the same moment
// of the test's clock, and returns how long all take.
func start(g *Group[int], n int) time.Duration {
	begun := time.Now()
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { _ = g.Do(context.Background(), i) })
		synctest.Wait()
	}
	running.Wait()
	return time.Since(begun)
}

func TestAFewOperationsRunByThemselves(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var r recorder
		took := start(r.group(4, 1, 64), 4)
		if r.alone != 4 || len(r.groups) != 0 || took != time.Second {
			t.Errorf("%d ran by themselves and %d groups in %s; want 4, 0 and 1 s", r.alone, len(r.groups), took)
		}
	})
}

func TestWhatComesMeanwhileRunsTogether(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var r recorder

		// Two run by themselves, the third has the lane, and ten wait for it.
		took := start(r.group(2, 1, 64), 13)
		if r.alone != 3 || len(r.groups) != 1 || len(r.groups[0]) != 10 || took != 2*time.Second {
			t.Errorf("%d ran by themselves and groups %v in %s; want 3, one of 10, 2 s", r.alone, r.groups, took)
		}
	})
}

func TestGroupsCountTheirOperationsTogether(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var busy, quiet recorder
		first := busy.group(3, 1, 64)
		second := quiet.group(3, 1, 64)
		second.Crowd = first.Crowd

		// Three of the first group run by themselves. Of the second, one has the
		// lane, and two wait for it.
		var running sync.WaitGroup
		for i := range 3 {
			running.Go(func() { _ = first.Do(context.Background(), i) })
		}
		synctest.Wait()
		start(second, 3)
		running.Wait()
		if quiet.alone != 1 || len(quiet.groups) != 1 || len(quiet.groups[0]) != 2 {
			t.Errorf("%d ran by themselves and groups %v; want 1 and one of 2", quiet.alone, quiet.groups)
		}
	})
}

func TestAGroupHasALimitAndTheLaneIsHandedOn(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var r recorder
		took := start(r.group(0, 2, 4), 2+10)
		sizes := make([]int, len(r.groups))
		for i, group := range r.groups {
			sizes[i] = len(group)
		}
		slices.Sort(sizes)
		if r.alone != 2 || !slices.Equal(sizes, []int{2, 4, 4}) || took != 3*time.Second {
			t.Errorf("%d ran by themselves and groups of %v in %s; want 2, [2 4 4], 3 s", r.alone, sizes, took)
		}
	})
}

func TestEachOperationGetsItsOwnError(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		odd := errors.New("odd")
		g := (&recorder{}).group(0, 1, 64)
		g.Together = func(_ context.Context, items []int) []error {
			errs := make([]error, len(items))
			for i, item := range items {
				if item%2 == 1 {
					errs[i] = odd
				}
			}
			return errs
		}

		var running sync.WaitGroup
		for i := range 9 {
			running.Go(func() {
				if err := g.Do(context.Background(), i); i > 0 && (err == odd) != (i%2 == 1) {
					t.Errorf("operation %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		running.Wait()
	})
}

func TestWhatCannotRunWithOthersRunsByItself(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g := r.group(0, 1, 64)
		g.Together = func(_ context.Context, items []int) []error {
			errs := make([]error, len(items))
			for i, item := range items {
				if item < 5 {
					errs[i] = ErrAlone
				}
			}
			return errs
		}
		start(g, 8)
		if r.alone != 5 { // the first has no others, and 1 to 4 of the group
			t.Errorf("%d ran by themselves, want 5", r.alone)
		}
	})
}

func TestAPanicIsTheErrorOfTheGroup(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		g := (&recorder{}).group(0, 1, 64)
		g.Together = func(context.Context, []int) []error { panic("odd") }
		var failed atomic.Int64
		var running sync.WaitGroup
		for i := range 5 {
			running.Go(func() {
				if err := g.Do(context.Background(), i); err != nil && strings.Contains(err.Error(), "odd") {
					failed.Add(1)
				}
			})
			synctest.Wait()
		}
		running.Wait()
		if failed.Load() != 4 {
			t.Errorf("%d operations have the error, want the 4 of the group", failed.Load())
		}
	})
}

func TestAGroupOutlivesTheRequestOfItsLeader(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		g := (&recorder{}).group(0, 1, 64)
		g.Together = func(ctx context.Context, items []int) []error {
			time.Sleep(time.Second)
			errs := make([]error, len(items))
			for i := range errs {
				errs[i] = ctx.Err()
			}
			return errs
		}

		ctx, hangUp := context.WithTimeout(context.Background(), 1500*time.Millisecond)
		defer hangUp()
		var running sync.WaitGroup
		for i := range 3 {
			own := context.Background()
			if i == 1 { // the first to wait leads
				own = ctx
			}
			running.Go(func() {
				if err := g.Do(own, i); err != nil {
					t.Errorf("operation %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		running.Wait()
	})
}

// TestNobodyWaitsBehindAllOperationsOfOneAccount has one account come with many times
// as many operations as a group has places, and then others with one each. They are in
// the next group.
func TestNobodyWaitsBehindAllOperationsOfOneAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		g := r.group(0, 1, 8)
		const greedy, others = 100, 3
		g.Owner = func(item int) string {
			if item < greedy {
				return "greedy"
			}
			return "other"
		}
		start(g, greedy+others)

		ran := 0
		for _, group := range r.groups {
			ran += len(group)
		}
		if ran+r.alone != greedy+others {
			t.Fatalf("%d operations ran, want %d", ran+r.alone, greedy+others)
		}
		for item := greedy; item < greedy+others; item++ {
			if !slices.Contains(slices.Concat(r.groups[:2]...), item) {
				t.Errorf("operation %d of another account is not in the first two groups: %v", item, r.groups[:3])
			}
		}
		if len(r.groups[0]) != 8 {
			t.Errorf("the first group has %d operations, want a full one", len(r.groups[0]))
		}
	})
}
