// Package journal is what happened, for those who look into it: what programs
// asked of the API, what was said to carriers about a shipment, and how the
// calls of each connection go. All of it is gathered in memory, written now and
// then, and kept for days. It decides nothing, and nothing waits for it: under
// pressure it drops records and counts what it dropped.
package journal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Request is one that a program made of the API.
type Request = store.Request

// Config is what a Service needs.
type Config struct {
	Store *store.Store
	// Requests and Exchanges say whether these are kept at all.
	Requests, Exchanges bool
	// Standing tells how the connections stand now in this copy of the
	// program; nil tells nothing.
	Standing func() []Standing
}

// A Standing is how one operation of a connection stands now.
type Standing struct {
	Connection ship.ConnectionID
	Operation  carrier.Operation
	Breaker    string // "closed", "open" or "half-open"
	QuotaLeft  int    // calls that the connection may make now; -1 without a quota
	HeldFor    time.Duration
}

// Service gathers, writes and reads the journal. It is safe for concurrent use.
type Service struct {
	Config

	mu        sync.Mutex
	requests  []Request
	exchanges []store.CarrierExchange
	bytes     int // of exchanges
	calls     map[callKey]*store.Calls

	droppedRequests, droppedExchanges, droppedCalls atomic.Int64
}

// What is gathered at most until it is written.
const (
	maxRequests  = 20_000
	maxExchanges = 8 << 20 // bytes
	maxCalls     = 20_000
)

// New returns a service.
func New(c Config) *Service { return &Service{Config: c, calls: map[callKey]*store.Calls{}} }

// Most of a request that is kept.
const (
	maxPath        = 300
	maxIdempotency = 255
	maxProblem     = 16 << 10
)

// Note takes a request down. It never waits for the database.
func (s *Service) Note(r Request) {
	if !s.Requests || r.Tenant.Account == "" {
		return
	}
	r.Path, r.Idempotency = cut(r.Path, maxPath), cut(r.Idempotency, maxIdempotency)
	if len(r.Problem) > maxProblem {
		r.Problem = nil // it would not be JSON any more
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) >= maxRequests {
		s.droppedRequests.Add(1)
		return
	}
	s.requests = append(s.requests, r)
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

// Dropped tells how many records were not kept since the start.
func (s *Service) Dropped() (requests, exchanges, calls int64) {
	return s.droppedRequests.Load(), s.droppedExchanges.Load(), s.droppedCalls.Load()
}

// perStatement bounds one statement.
const perStatement = 2000

// Flush writes what was gathered. What cannot be written is dropped: the
// journal is never in the way of what it tells of.
func (s *Service) Flush(ctx context.Context) error {
	s.mu.Lock()
	requests, exchanges, calls := s.requests, s.exchanges, s.calls
	s.requests, s.exchanges, s.bytes, s.calls = nil, nil, 0, map[callKey]*store.Calls{}
	s.mu.Unlock()
	return errors.Join(
		write(requests, &s.droppedRequests, func(part []Request) error { return s.Store.AddRequests(ctx, part) }),
		write(exchanges, &s.droppedExchanges, func(part []store.CarrierExchange) error { return s.Store.AddExchanges(ctx, part) }),
		write(counted(calls), &s.droppedCalls, func(part []store.Calls) error { return s.Store.AddCalls(ctx, part) }),
	)
}

// write gives the list away in parts, and counts those that fail as dropped.
func write[T any](list []T, dropped *atomic.Int64, add func([]T) error) (err error) {
	for len(list) > 0 {
		n := min(len(list), perStatement)
		if wrong := add(list[:n]); wrong != nil {
			dropped.Add(int64(n))
			err = wrong
		}
		list = list[n:]
	}
	return err
}

// RequestFilter chooses requests; its zero value chooses all.
type RequestFilter struct {
	Class        int        // 2, 4 or 5 for a hundred of statuses; 0 for all
	Key          ship.KeyID // empty for all
	Route        string     // empty for all
	From, Before time.Time
}

// List returns a page of the tenant's requests, newest first, and whether
// there are more.
func (s *Service) List(ctx context.Context, t ship.Tenant, f RequestFilter, p ship.Page) (list []Request, more bool, err error) {
	limit := p.Limit
	p.Limit++
	list, err = s.Store.Requests(ctx, t, store.RequestQuery{Class: f.Class, Key: f.Key, Route: f.Route, From: f.From, Before: f.Before, Page: p})
	if len(list) > limit {
		list, more = list[:limit], true
	}
	return list, more, err
}

// Request is one of the tenant's, with the problem that was answered.
func (s *Service) Request(ctx context.Context, t ship.Tenant, id ship.RequestID) (Request, error) {
	r, err := s.Store.Request(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return r, ship.Errorf(ship.NotFound, "no such request is kept")
	}
	return r, err
}
