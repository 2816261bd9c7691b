package journal

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// slot is how long calls are counted together.
const slot = 5 * time.Minute

// callKey is what is counted together.
type callKey struct {
	connection ship.ConnectionID
	operation  carrier.Operation
	slot       int64
}

// buckets is how many durations are distinguished: each bound is sqrt(2) times
// the one before, from a millisecond to over a minute.
const buckets = 33

func bucketOf(d time.Duration) int {
	ms := float64(d) / float64(time.Millisecond)
	if ms <= 1 {
		return 0
	}
	return min(int(math.Ceil(2*math.Log2(ms))), buckets-1)
}

// longestOf is the longest time of a bucket.
func longestOf(bucket int) time.Duration {
	return time.Duration(math.Pow(2, float64(bucket)/2) * float64(time.Millisecond))
}

// Observe is a connection's Observe: it counts every call, and keeps what the
// driver did not know.
func (s *Service) Observe(t ship.Tenant, id ship.ConnectionID) func(carrier.Operation, time.Duration, error) {
	return func(operation carrier.Operation, took time.Duration, err error) {
		begin := time.Now().Truncate(slot)
		key := callKey{id, operation, begin.Unix()}
		difference, differs := differenceOf(t, operation, err)

		s.mu.Lock()
		defer s.mu.Unlock()
		if differs {
			s.noteDifference(t, id, difference)
		}

		calls := s.calls[key]
		if calls == nil {
			// A count that exists goes on under pressure; only new ones are
			// dropped.
			if len(s.calls) >= maxCalls {
				s.droppedCalls.Add(1)
				return
			}
			calls = &store.Calls{
				Tenant:     t,
				Connection: id,
				Operation:  string(operation),
				Slot:       begin,
				Times:      make([]int32, buckets),
			}
			s.calls[key] = calls
		}

		// A carrier that declines a request works: it is not a failure.
		calls.Calls++
		calls.Times[bucketOf(took)]++
		switch ship.KindOf(err) {
		case "":
		case ship.Invalid, ship.NotFound, ship.Unsupported, ship.Conflict:
			calls.Refused++
		default:
			calls.Failed++
		}
	}
}

func callList(byKey map[callKey]*store.Calls) []store.Calls {
	list := make([]store.Calls, 0, len(byKey))
	for _, calls := range byKey {
		list = append(list, *calls)
	}
	return list
}

// Health is how a connection did lately.
type Health struct {
	Tally
	Operations []OperationHealth // with calls, or with a standing in this copy of the program; most calls first
	Parts      []Tally           // of the time, oldest first
	Begin      time.Time         // of the first part
	Part       time.Duration
	QuotaLeft  int // in this copy of the program; -1 without a quota
}

// OperationHealth is the same of one operation.
type OperationHealth struct {
	Tally
	Operation carrier.Operation
	Breaker   string        // in this copy of the program: "closed", "open", "half-open"; empty if it made no call
	HeldFor   time.Duration // the pause that the carrier asked for
}

// A Tally is calls, added up.
type Tally struct {
	Calls, Refused, Failed int
	times                  [buckets]int
}

func (t *Tally) add(calls store.Calls) {
	t.Calls += calls.Calls
	t.Refused += calls.Refused
	t.Failed += calls.Failed
	for i, n := range calls.Times[:min(len(calls.Times), buckets)] {
		t.times[i] += int(n)
	}
}

// Within is the time that the share of the calls took at most, a little
// rounded up; zero without calls.
func (t Tally) Within(share float64) time.Duration {
	total := 0
	for _, n := range t.times {
		total += n
	}
	if total == 0 {
		return 0
	}

	needed := int(math.Ceil(share * float64(total)))
	seen := 0
	for i, n := range t.times {
		seen += n
		if seen >= needed {
			return longestOf(i)
		}
	}
	return longestOf(buckets - 1)
}

// Span and parts of Health.
const (
	healthFor   = 24 * time.Hour
	healthParts = 48
)

// Health returns how the tenant's connections did in the last 24 hours. One that
// made no call is not in it.
func (s *Service) Health(ctx context.Context, t ship.Tenant) (map[ship.ConnectionID]*Health, error) {
	part := healthFor / healthParts
	begin := time.Now().Truncate(part).Add(part - healthFor)
	rows, err := s.Store.Calls(ctx, t, begin)
	if err != nil {
		return nil, err
	}

	byConnection := map[ship.ConnectionID]*Health{}
	for _, calls := range rows {
		health := byConnection[calls.Connection]
		if health == nil {
			health = &Health{
				Parts:     make([]Tally, healthParts),
				Begin:     begin,
				Part:      part,
				QuotaLeft: -1,
			}
			byConnection[calls.Connection] = health
		}

		n := min(max(int(calls.Slot.Sub(begin)/part), 0), healthParts-1)
		health.add(calls)
		health.Parts[n].add(calls)
		health.operation(carrier.Operation(calls.Operation)).add(calls)
	}

	s.addStanding(byConnection)
	for _, health := range byConnection {
		slices.SortFunc(health.Operations, func(a, b OperationHealth) int {
			return cmp.Or(b.Calls-a.Calls, cmp.Compare(a.Operation, b.Operation))
		})
	}
	return byConnection, nil
}

// addStanding adds what this copy of the program knows of those connections now.
func (s *Service) addStanding(byConnection map[ship.ConnectionID]*Health) {
	if s.Standing == nil {
		return
	}

	for _, standing := range s.Standing() {
		// Standing lists the connections of all tenants. Only those with calls
		// of this tenant are shown.
		health := byConnection[standing.Connection]
		if standing.Operation == "" || health == nil {
			continue
		}

		health.QuotaLeft = standing.QuotaLeft
		operation := health.operation(standing.Operation)
		operation.Breaker = standing.Breaker
		operation.HeldFor = standing.HeldFor
	}
}

// operation returns the entry of an operation, which it adds if need be. The
// pointer is valid until the next call.
func (h *Health) operation(name carrier.Operation) *OperationHealth {
	for i := range h.Operations {
		if h.Operations[i].Operation == name {
			return &h.Operations[i]
		}
	}
	h.Operations = append(h.Operations, OperationHealth{Operation: name})
	return &h.Operations[len(h.Operations)-1]
}
