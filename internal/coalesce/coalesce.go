// Package coalesce lets operations that come at the same time share one trip
// to the database. It knows neither the operations nor the database.
package coalesce

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrAlone is the error of an operation that could not be run with others.
var ErrAlone = errors.New("the operation must run by itself")

// A Crowd counts the operations at once, of all groups that share a database.
type Crowd struct {
	Solo int // up to so many at once run by themselves

	inside atomic.Int64 // operations that wait or run
}

// A Group runs operations of one kind. While the crowd is small, each runs by
// itself, because nothing is faster. Above that, those that come are gathered,
// and run together as soon as the group before them has returned: the busier
// the database, the larger the groups. Nobody waits for a timer, and nobody
// joins a group that has begun.
type Group[T any] struct {
	Crowd   *Crowd
	Lanes   int           // how many groups run at once
	Limit   int           // how many operations a group has at most
	Timeout time.Duration // of a group: it must not end with the request of one of its operations

	// Alone runs one operation.
	Alone func(context.Context, T) error

	// Together runs several in one trip and returns the error of each, in their
	// order. An operation with ErrAlone had no effect, and runs by itself.
	Together func(context.Context, []T) []error

	// Owner returns the account of an operation. While more operations wait than
	// fit into a group, an account has at most a quarter of its places. Nil takes
	// them in their order.
	Owner func(T) string

	mu      sync.Mutex
	lanes   int // groups that run
	waiting []*operation[T]
}

// An operation waits to be run.
type operation[T any] struct {
	item T
	turn chan turn
}

// A turn is what an operation that waited does next.
type turn struct {
	as  role
	err error // if it is done
}

type role int

const (
	done  role = iota // its group has run
	lead              // it runs the next group
	retry             // it could not be run with its group: it runs by itself
)

// Do runs the operation, by itself or with others, and returns its error.
func (g *Group[T]) Do(ctx context.Context, item T) error {
	defer g.Crowd.inside.Add(-1)
	if g.Crowd.inside.Add(1) <= int64(g.Crowd.Solo) {
		return g.Alone(ctx, item)
	}

	g.mu.Lock()
	own := &operation[T]{item: item, turn: make(chan turn, 1)}
	if g.lanes < g.Lanes {
		g.lanes++
		g.mu.Unlock()
		return g.run(ctx, own)
	}
	g.waiting = append(g.waiting, own)
	g.mu.Unlock()

	// The operation is under way with others from here on, whether or not its
	// request is still wanted.
	switch next := <-own.turn; next.as {
	case lead:
		return g.run(ctx, own)
	case retry:
		return g.Alone(ctx, item)
	default:
		return next.err
	}
}

// run runs the group of the operation, which has a lane, and hands the lane on.
func (g *Group[T]) run(ctx context.Context, own *operation[T]) error {
	g.mu.Lock()
	others := g.choose(own)
	g.mu.Unlock()
	defer g.leaveLane()

	if len(others) == 0 {
		return g.Alone(ctx, own.item)
	}
	errs := g.together(ctx, own, others)
	for i, other := range others {
		next := turn{as: done, err: errs[i+1]}
		if next.err == ErrAlone {
			next = turn{as: retry}
		}
		other.turn <- next
	}
	if errs[0] == ErrAlone {
		return g.Alone(ctx, own.item)
	}
	return errs[0]
}

// shareOf is the part of a group that an account can have while others wait: one of
// so many.
const shareOf = 4

// choose takes those that run with an operation out of the queue.
func (g *Group[T]) choose(own *operation[T]) []*operation[T] {
	n := min(len(g.waiting), g.Limit-1)
	if n == len(g.waiting) || g.Owner == nil {
		others := g.waiting[:n:n]
		g.waiting = g.waiting[n:]
		return others
	}

	// Not all fit. Those within the share of their account come first, and the
	// places that are left go to the others, in their order.
	places := map[string]int{g.Owner(own.item): 1}
	chosen := make([]*operation[T], 0, n)
	var over, left []*operation[T]
	for _, waiting := range g.waiting {
		owner := g.Owner(waiting.item)
		switch {
		case len(chosen) == n:
			left = append(left, waiting)
		case places[owner]*shareOf >= g.Limit:
			over = append(over, waiting)
		default:
			places[owner]++
			chosen = append(chosen, waiting)
		}
	}
	fill := min(n-len(chosen), len(over))
	chosen = append(chosen, over[:fill]...)

	// What was passed over came before those that are left.
	g.waiting = append(over[fill:], left...)
	return chosen
}

// leaveLane hands the lane to the operation that has waited longest, if any.
func (g *Group[T]) leaveLane() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.lanes--
		return
	}

	next := g.waiting[0]
	g.waiting = g.waiting[1:]
	next.turn <- turn{as: lead}
}

// together runs a group. A panic is the error of all: they must not wait for a
// group that has ended.
func (g *Group[T]) together(ctx context.Context, own *operation[T], others []*operation[T]) (errs []error) {
	items := make([]T, 1, 1+len(others))
	items[0] = own.item
	for _, other := range others {
		items = append(items, other.item)
	}
	defer func() {
		if cause := recover(); cause != nil {
			err := fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
			errs = slices.Repeat([]error{err}, len(items))
		}
	}()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Timeout)
	defer cancel()
	return g.Together(ctx, items)
}
