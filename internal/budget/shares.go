package budget

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/waybillhq/waybill/internal/ship"
)

// shareOf is the part of a resource, and of the places in its queue, that one account
// can have while others wait: one of so many.
const shareOf = 4

// errFull is the error of work that the queue has no place for.
var errFull = errors.New("the queue is full")

// Shares divide a resource of the process, such as memory or connections, among
// accounts. It is safe for concurrent use.
//
// Work begins in the order in which it was asked for, with one exception: while
// other accounts wait, an account has at most a quarter, or one piece of work. So an
// account that asks for everything delays itself, and others by no more than the
// work that is under way. While nobody else waits, it can have everything.
type Shares struct {
	limit  int64
	places int // in the queue; 0 for any number

	mu    sync.Mutex
	used  int64
	held  map[ship.AccountID]int64
	queue []*waiter
}

// A waiter is a piece of work in the queue.
type waiter struct {
	owner  ship.AccountID
	amount int64
	begin  chan bool // receives whether the work may begin, once
}

// NewShares returns the shares of a resource, with places for work that waits; 0 for
// any number.
func NewShares(limit int64, places int) *Shares {
	return &Shares{limit: limit, places: places, held: map[ship.AccountID]int64{}}
}

// Acquire takes an amount for the account, and waits for it until ctx ends. Nothing
// was taken if it returns an error.
func (s *Shares) Acquire(ctx context.Context, owner ship.AccountID, amount int64) error {
	amount = min(amount, s.limit)
	s.mu.Lock()
	if len(s.queue) == 0 && s.used+amount <= s.limit {
		s.take(owner, amount)
		s.mu.Unlock()
		return nil
	}
	if !s.hasPlace(owner) {
		s.mu.Unlock()
		return errFull
	}
	waiting := &waiter{owner: owner, amount: amount, begin: make(chan bool, 1)}
	s.queue = append(s.queue, waiting)
	s.admit()
	s.mu.Unlock()

	select {
	case begins := <-waiting.begin:
		if !begins {
			return errFull
		}
		return nil
	case <-ctx.Done():
		return s.leave(ctx, waiting)
	}
}

// Release gives an amount back.
func (s *Shares) Release(owner ship.AccountID, amount int64) {
	amount = min(amount, s.limit)
	s.mu.Lock()
	defer s.mu.Unlock()

	s.used -= amount
	if s.held[owner] -= amount; s.held[owner] == 0 {
		delete(s.held, owner)
	}
	s.admit()
}

// InUse returns how much is taken, and how many wait.
func (s *Shares) InUse() (used int64, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, len(s.queue)
}

func (s *Shares) take(owner ship.AccountID, amount int64) {
	s.used += amount
	s.held[owner] += amount
}

// hasPlace reports whether the queue has a place for the account. In a full queue,
// an account with less than its share of places takes the last one of the account
// that has the most.
func (s *Shares) hasPlace(owner ship.AccountID) bool {
	if s.places == 0 || len(s.queue) < s.places {
		return true
	}

	places := map[ship.AccountID]int{}
	for _, waiting := range s.queue {
		places[waiting.owner]++
	}
	most := owner
	for other, count := range places {
		if count > places[most] {
			most = other
		}
	}
	if most == owner || (places[owner]+1)*shareOf > max(s.places, shareOf) {
		return false
	}

	for i := len(s.queue) - 1; i >= 0; i-- {
		if last := s.queue[i]; last.owner == most {
			s.queue = slices.Delete(s.queue, i, i+1)
			last.begin <- false
			return true
		}
	}
	return false
}

// admit lets work begin that there is room for. The first in the queue whose account
// has its share left is the next; if there is no room for it, those behind it wait
// too, or large work would wait for ever.
func (s *Shares) admit() {
	for {
		i := s.next()
		if i < 0 || s.used+s.queue[i].amount > s.limit {
			return
		}
		next := s.queue[i]
		s.queue = slices.Delete(s.queue, i, i+1)
		s.take(next.owner, next.amount)
		next.begin <- true
	}
}

// next returns the place of the work that is to begin next; -1 if none may.
func (s *Shares) next() int {
	if len(s.queue) == 0 {
		return -1
	}
	first := s.queue[0].owner
	isCrowded := slices.ContainsFunc(s.queue, func(other *waiter) bool { return other.owner != first })
	if !isCrowded {
		return 0
	}
	return slices.IndexFunc(s.queue, func(waiting *waiter) bool {
		held := s.held[waiting.owner]
		return held == 0 || (held+waiting.amount)*shareOf <= s.limit
	})
}

// leave takes work out of the queue whose request has ended. It may begin if it was
// admitted at the same moment.
func (s *Shares) leave(ctx context.Context, leaving *waiter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.queue, leaving); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
		s.admit() // those behind it may fit
		return ctx.Err()
	}
	if <-leaving.begin {
		return nil
	}
	return errFull
}
