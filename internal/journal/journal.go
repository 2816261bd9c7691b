// Package journal records what happened, for people who look into it: the
// requests that programs made of the API, the exchanges with carriers about a
// shipment, how the calls of each connection go, and what carriers answered that
// their drivers do not know. All of it is buffered in memory and written now and
// then; all but the last is kept for days. It decides nothing, and nothing waits
// for it: under pressure it drops records and counts what it dropped.
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
	// Standing returns how the connections stand now in this copy of the
	// program; may be nil.
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

// Service buffers, writes and reads the journal. It is safe for concurrent use.
type Service struct {
	Config

	mu        sync.Mutex
	requests  []Request
	exchanges []store.CarrierExchange
	bytes     int // of exchanges
	calls     map[callKey]*store.Calls

	differences map[differenceKey]*pendingDifference

	droppedRequests, droppedExchanges, droppedCalls atomic.Int64
}

// The bounds of what is buffered until it is written.
const (
	maxRequests  = 20_000
	maxExchanges = 8 << 20 // bytes
	maxCalls     = 20_000
)

// New returns a service.
func New(c Config) *Service {
	return &Service{
		Config:      c,
		calls:       map[callKey]*store.Calls{},
		differences: map[differenceKey]*pendingDifference{},
	}
}

// The bounds of what is kept of a request.
const (
	maxPath        = 300
	maxIdempotency = 255
	maxProblem     = 16 << 10
)

// Note records a request. It never waits for the database.
func (s *Service) Note(request Request) {
	if !s.Requests || request.Tenant.Account == "" {
		return
	}

	// A problem is JSON, so it is kept in full or not at all.
	request.Path = truncate(request.Path, maxPath)
	request.Idempotency = truncate(request.Idempotency, maxIdempotency)
	if len(request.Problem) > maxProblem {
		request.Problem = nil
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) >= maxRequests {
		s.droppedRequests.Add(1)
		return
	}
	s.requests = append(s.requests, request)
}

// truncate cuts a text to n bytes at most, between two characters.
func truncate(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return text[:n]
}

// Dropped returns how many records were not kept since the start.
func (s *Service) Dropped() (requests, exchanges, calls int64) {
	return s.droppedRequests.Load(), s.droppedExchanges.Load(), s.droppedCalls.Load()
}

// perStatement bounds one statement.
const perStatement = 2000

// Flush writes what is buffered. What cannot be written is dropped: the journal
// must never get in the way of what it records.
func (s *Service) Flush(ctx context.Context) error {
	// The buffers are swapped, so that nobody waits for the database.
	s.mu.Lock()
	requests := s.requests
	exchanges := s.exchanges
	calls := s.calls
	s.requests = nil
	s.exchanges = nil
	s.bytes = 0
	s.calls = map[callKey]*store.Calls{}
	differences := s.takeDifferences(time.Now())
	s.mu.Unlock()

	return errors.Join(
		writeParts(requests, &s.droppedRequests, func(part []Request) error { return s.Store.AddRequests(ctx, part) }),
		writeParts(exchanges, &s.droppedExchanges, func(part []store.CarrierExchange) error { return s.Store.AddExchanges(ctx, part) }),
		writeParts(callList(calls), &s.droppedCalls, func(part []store.Calls) error { return s.Store.AddCalls(ctx, part) }),
		s.writeDifferences(ctx, differences),
	)
}

// writeParts writes the list in parts, and counts those that fail as dropped.
func writeParts[T any](list []T, dropped *atomic.Int64, add func([]T) error) (err error) {
	for len(list) > 0 {
		n := min(len(list), perStatement)
		if failed := add(list[:n]); failed != nil {
			dropped.Add(int64(n))
			err = failed
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
	Except       string     // a route whose requests are left out; empty for none
	From, Before time.Time
}

// List returns a page of the tenant's requests, newest first, and whether
// there are more.
func (s *Service) List(ctx context.Context, t ship.Tenant, filter RequestFilter, page ship.Page) (list []Request, more bool, err error) {
	// One row more than a page says whether there are more.
	limit := page.Limit
	page.Limit++
	list, err = s.Store.Requests(ctx, t, store.RequestQuery{
		Class:  filter.Class,
		Key:    filter.Key,
		Route:  filter.Route,
		From:   filter.From,
		Before: filter.Before,
		Page:   page,
	})

	if len(list) > limit {
		list = list[:limit]
		more = true
	}
	return list, more, err
}

// After returns the tenant's requests whose ids follow one, oldest first. Of the
// filter, only the class and the exception are used.
func (s *Service) After(ctx context.Context, t ship.Tenant, filter RequestFilter, after ship.RawID, limit int) ([]Request, error) {
	return s.Store.RequestsAfter(ctx, t, after, filter.Class, filter.Except, limit)
}

// Request is one of the tenant's requests, with the problem that was answered.
func (s *Service) Request(ctx context.Context, t ship.Tenant, id ship.RequestID) (Request, error) {
	request, err := s.Store.Request(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return request, ship.Errorf(ship.NotFound, "no such request, or it is no longer kept")
	}
	return request, err
}
