package log_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/webhook"
	"github.com/waybillhq/waybill/test/proving"
)

// A reader follows the cursors of one tenant's log.
type reader struct {
	rng    *rand.Rand
	ledger *ledger
	log    *webhook.Service
	tenant ship.Tenant
	number int              // of the tenant
	kinds  []ship.EventKind // nil for all

	seen    map[ship.RawID]int
	numbers map[ship.ShipmentID][]int // in the order of the log
	pages   int

	expected int // events, once the writers have ended
	wrong    []string
}

// follow reads on until done is closed, everything that was committed has come and
// nothing more comes. The log shows an event when all transactions before it have
// ended, which takes a while on a slow machine.
func (r *reader) follow(ctx context.Context, done <-chan struct{}) error {
	cursor, quiet := "", 0
	patience := proving.Patiently(15 * time.Second)
	last := time.Now() // when something came
	for {
		over := false
		select {
		case <-done:
			over = len(r.seen) >= r.wanted() || time.Since(last) > patience
		default:
		}
		got, err := r.log.Events(ctx, r.tenant, cursor, r.kinds, 1+r.rng.IntN(400))
		if ship.KindOf(err) == ship.Unavailable {
			time.Sleep(100 * time.Millisecond) // a reader asks again with the same cursor
			continue
		}
		if err != nil {
			return err
		}
		r.pages++
		cursor = got.Next
		for _, e := range got.Entries {
			r.take(e.Event)
			last = time.Now()
		}
		switch {
		case len(got.Entries) > 0:
			quiet = 0
		case over && quiet >= 3:
			return nil
		default:
			quiet++
			time.Sleep(time.Duration(r.rng.IntN(30)) * time.Millisecond)
		}
	}
}

// wanted is how many events of the reader were committed. The writers have ended.
func (r *reader) wanted() int {
	if r.expected == 0 {
		for _, f := range r.ledger.committed {
			if f.tenant == r.number && (r.kinds == nil || f.kind == r.kinds[0]) {
				r.expected++
			}
		}
	}
	return r.expected
}

// take notes an event.
func (r *reader) take(e ship.Event) {
	id := e.ID.Raw()
	if r.seen[id]++; r.seen[id] > 1 {
		r.wrong = append(r.wrong, fmt.Sprintf("%s was shown %d times", e.ID, r.seen[id]))
	}
	if e.Shipment == "" || r.kinds != nil {
		return
	}
	r.numbers[e.Shipment] = append(r.numbers[e.Shipment], e.Sequence)
}

// check holds what was seen against what was committed.
func (r *reader) check(l *ledger) {
	wanted := 0
	for id, f := range l.committed {
		if f.tenant != r.number || r.kinds != nil && f.kind != r.kinds[0] {
			continue
		}
		if wanted++; r.seen[id] == 0 {
			r.wrong = append(r.wrong, fmt.Sprintf("%s was never shown", ship.EventIDOf(id)))
		}
	}
	if len(r.seen) != wanted {
		r.wrong = append(r.wrong, fmt.Sprintf("%d events were shown, %d were committed", len(r.seen), wanted))
	}
}

// checkNumbers says how often a shipment's events came in another order than
// they were numbered, which may be: Postgres may give a transaction its number
// while it waits for the row that another one holds. None may be missing.
func (r *reader) checkNumbers() (swaps int) {
	for id, numbers := range r.numbers {
		for i := range len(numbers) - 1 {
			if numbers[i+1] < numbers[i] {
				swaps++
			}
		}
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != i+1 {
				r.wrong = append(r.wrong, fmt.Sprintf("%s: event %d of %d has number %d", id, i+1, len(numbers), n))
				break
			}
		}
	}
	return swaps
}
