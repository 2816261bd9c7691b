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

// buckets is how many times are told apart: each bound is sqrt(2) times the one
// before, from a millisecond to over a minute.
const buckets = 33

func bucketOf(d time.Duration) int {
	ms := float64(d) / float64(time.Millisecond)
	if ms <= 1 {
		return 0
	}
	return min(int(math.Ceil(2*math.Log2(ms))), buckets-1)
}

// upTo is the longest time of a bucket.
func upTo(bucket int) time.Duration {
	return time.Duration(math.Pow(2, float64(bucket)/2) * float64(time.Millisecond))
}

// Observe is a connection's Observe: it counts every call.
func (s *Service) Observe(t ship.Tenant, id ship.ConnectionID) func(carrier.Operation, time.Duration, error) {
	return func(op carrier.Operation, took time.Duration, err error) {
		begin := time.Now().Truncate(slot)
		key := callKey{id, op, begin.Unix()}
		s.mu.Lock()
		defer s.mu.Unlock()
		c := s.calls[key]
		if c == nil {
			if len(s.calls) >= maxCalls {
				s.droppedCalls.Add(1)
				return
			}
			c = &store.Calls{Tenant: t, Connection: id, Operation: string(op), Slot: begin, Times: make([]int32, buckets)}
			s.calls[key] = c
		}
		c.Calls++
		c.Times[bucketOf(took)]++
		switch ship.KindOf(err) {
		case "":
		case ship.Invalid, ship.NotFound, ship.Unsupported, ship.Conflict:
			c.Refused++
		default:
			c.Failed++
		}
	}
}

func counted(m map[callKey]*store.Calls) []store.Calls {
	list := make([]store.Calls, 0, len(m))
	for _, c := range m {
		list = append(list, *c)
	}
	return list
}

// Health is how a connection did lately.
type Health struct {
	Tally
	Operations []OperationHealth // that were asked for, or stand badly; most calls first
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

func (t *Tally) add(c store.Calls) {
	t.Calls, t.Refused, t.Failed = t.Calls+c.Calls, t.Refused+c.Refused, t.Failed+c.Failed
	for i, n := range c.Times[:min(len(c.Times), buckets)] {
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
	need, seen := int(math.Ceil(share*float64(total))), 0
	for i, n := range t.times {
		if seen += n; seen >= need {
			return upTo(i)
		}
	}
	return upTo(buckets - 1)
}

// Span and parts of Health.
const (
	healthFor   = 24 * time.Hour
	healthParts = 48
)

// Health tells how the tenant's connections did in the last 24 hours. One that
// made no call is not in it.
func (s *Service) Health(ctx context.Context, t ship.Tenant) (map[ship.ConnectionID]*Health, error) {
	part := healthFor / healthParts
	begin := time.Now().Truncate(part).Add(part - healthFor)
	rows, err := s.Store.Calls(ctx, t, begin)
	if err != nil {
		return nil, err
	}
	all := map[ship.ConnectionID]*Health{}
	of := func(id ship.ConnectionID) *Health {
		if all[id] == nil {
			all[id] = &Health{Parts: make([]Tally, healthParts), Begin: begin, Part: part, QuotaLeft: -1}
		}
		return all[id]
	}
	for _, c := range rows {
		h := of(c.Connection)
		h.add(c)
		h.Parts[min(max(int(c.Slot.Sub(begin)/part), 0), healthParts-1)].add(c)
		h.operation(carrier.Operation(c.Operation)).add(c)
	}
	s.standing(all)
	for _, h := range all {
		slices.SortFunc(h.Operations, func(a, b OperationHealth) int {
			return cmp.Or(b.Calls-a.Calls, cmp.Compare(a.Operation, b.Operation))
		})
	}
	return all, nil
}

// standing adds what this copy of the program knows of those connections now.
// Another tenant's are not among them.
func (s *Service) standing(all map[ship.ConnectionID]*Health) {
	if s.Standing == nil {
		return
	}
	for _, st := range s.Standing() {
		h := all[st.Connection]
		if st.Operation == "" || h == nil {
			continue
		}
		h.QuotaLeft = st.QuotaLeft
		op := h.operation(st.Operation)
		op.Breaker, op.HeldFor = st.Breaker, st.HeldFor
	}
}

func (h *Health) operation(op carrier.Operation) *OperationHealth {
	for i := range h.Operations {
		if h.Operations[i].Operation == op {
			return &h.Operations[i]
		}
	}
	h.Operations = append(h.Operations, OperationHealth{Operation: op})
	return &h.Operations[len(h.Operations)-1]
}
