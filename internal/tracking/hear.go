package tracking

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	hearBatch = 250              // pushes that are claimed at once
	hearBytes = 8 << 20          // of bodies that are taken in at once
	hearClaim = 10 * time.Second // a process that dies leaves them for so long
	hearSpare = 3 * time.Second  // of that, for taking them in
	hearAgain = time.Minute      // before a push that could not be taken in is looked at again

	claimEvery = 200 * time.Millisecond // what others left is looked for, while this copy has its own to hear
)

// Hear takes in what carriers pushed, many pushes in one transaction. It
// reports how many there were if there may be more. One that proves itself is
// believed; any other is only a reason to ask.
func (s *Service) Hear(ctx context.Context) (int, error) {
	list, more, err := s.nextPushes(ctx)
	if err != nil {
		return 0, err
	}
	for rest := list; len(rest) > 0; {
		n := fitting(rest)
		if err := s.hear(ctx, rest[:n]); err != nil {
			// Nobody minds if this fails too: they are due again after the claim.
			_ = s.store.PostponePushes(ctx, idsOf(rest), time.Now().UTC().Add(time.Second))
			return 0, err
		}
		rest = rest[n:]
	}
	if !more {
		return 0, nil
	}
	return len(list), nil
}

// nextPushes are a batch to hear, and whether there may be more: what came to
// this copy, and now and then what others left. That is not for free, because
// the index of what is due holds for a while those that were heard.
func (s *Service) nextPushes(ctx context.Context) (list []store.Unheard, more bool, err error) {
	now := time.Now().UTC()
	own, look := hearBatch, s.claims.Load() < now.Add(-claimEvery).UnixMilli()
	if look {
		own = hearBatch / 2 // however busy this copy is
	}
	list = s.intake.take(own)
	more = len(list) == own
	if !look && len(list) > 0 {
		return list, more, nil
	}
	s.claims.Store(now.UnixMilli())
	missing := hearBatch - len(list)
	due, err := s.store.DuePushes(ctx, now, now.Add(hearClaim), missing)
	if err != nil && len(list) == 0 {
		return nil, false, err
	}
	return append(list, due...), more || len(due) == missing, nil
}

// fitting is how many pushes are taken in at once.
func fitting(list []store.Unheard) int {
	bytes := 0
	for n, u := range list {
		if bytes += u.Bytes; n > 0 && bytes > hearBytes {
			return n
		}
	}
	return len(list)
}

func idsOf(list []store.Unheard) []ship.Subject {
	ids := make([]ship.Subject, len(list))
	for i, u := range list {
		ids[i] = u.Subject
	}
	return ids
}

// hear takes pushes in together. If that fails each has a try of its own, so
// that an odd one does not hold up the others; it waits.
func (s *Service) hear(ctx context.Context, list []store.Unheard) error {
	err := s.takeIn(ctx, list)
	if err == nil || ship.KindOf(err) == ship.Unavailable || ctx.Err() != nil {
		return err
	}
	if len(list) > 1 {
		for i := range list {
			if err := s.hear(ctx, list[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	s.log.ErrorContext(ctx, "a push cannot be taken in", "push", list[0].ID, "looks", list[0].Looks, "error", err)
	return s.store.PostponePushes(ctx, idsOf(list), time.Now().UTC().Add(hearAgain*time.Duration(min(list[0].Looks, 60))))
}

// told is a push that was understood.
type told struct {
	carrier.Push
	carrier string
	looks   int

	spoken []store.Named // numbers of which something is told that is believed, one for each thing heard
	silent []store.Named // numbers that are to be asked about
}

func toldBy(p carrier.Push, t ship.Tenant, carrier string) told {
	named := func(number string) store.Named {
		return store.Named{Tenant: t, Number: ship.NormalizeTrackingNumber(number)}
	}
	all := told{Push: p, carrier: carrier}
	for _, h := range p.Heard {
		if p.Proven {
			all.spoken = append(all.spoken, named(h.TrackingNumber))
		} else {
			all.silent = append(all.silent, named(h.TrackingNumber))
		}
	}
	for _, n := range p.Numbers {
		all.silent = append(all.silent, named(n))
	}
	return all
}

// ahead reports whether a push tells of a parcel before its purchase is recorded
// here, as a carrier may: of those numbers, one has no holder.
func (t told) ahead(numbers []store.Named, holders map[store.Named][]ship.Subject) bool {
	return t.looks <= 1 && slices.ContainsFunc(numbers, func(n store.Named) bool { return len(holders[n]) == 0 })
}

// takeIn takes pushes in, in one transaction with the note that it was done.
func (s *Service) takeIn(ctx context.Context, list []store.Unheard) error {
	news, later, err := s.read(ctx, list)
	if err != nil {
		return err
	}
	if err := s.askAbout(ctx, news, later); err != nil {
		return err
	}
	again, err := s.record(ctx, list, news, later)
	if err != nil || len(again) == 0 {
		return err
	}
	return s.store.PostponePushes(ctx, again, time.Now().UTC().Add(hearAgain))
}

// read verifies and reads pushes. What is not believed is in neither answer.
func (s *Service) read(ctx context.Context, list []store.Unheard) (news map[ship.Subject]told, later map[ship.Subject]bool, err error) {
	var stored []ship.Subject
	pushes := make([]store.Push, 0, len(list))
	looks := make(map[ship.Subject]int, len(list))
	for _, u := range list {
		looks[u.Subject] = u.Looks
		if u.Push != nil {
			pushes = append(pushes, *u.Push)
		} else {
			stored = append(stored, u.Subject)
		}
	}
	if len(stored) > 0 {
		more, err := s.store.Pushes(ctx, stored)
		if err != nil {
			return nil, nil, err
		}
		pushes = append(pushes, more...)
	}
	news, later = make(map[ship.Subject]told, len(pushes)), map[ship.Subject]bool{}
	for _, p := range pushes {
		id := ship.Subject{Tenant: p.Tenant, ID: p.ID}
		t, err := s.understand(ctx, p)
		switch ship.KindOf(err) {
		case "":
			t.looks = looks[id]
			news[id] = t
		case ship.Forbidden, ship.Invalid, ship.Unsupported, ship.NotFound:
			s.log.WarnContext(ctx, "a push is not believed", "connection", p.Connection, "error", err)
		default:
			s.log.WarnContext(ctx, "a push cannot be read now", "connection", p.Connection, "error", err)
			later[id] = true
		}
	}
	return news, later, nil
}

// understand verifies and reads a push. What a carrier sends must not stop the
// program, whatever it is.
func (s *Service) understand(ctx context.Context, p store.Push) (t told, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.ErrorContext(ctx, "panic over a push", "connection", p.Connection, "push", p.ID, "cause", cause, "stack", string(debug.Stack()))
			err = ship.Errorf(ship.Invalid, "panic over a push: %s", fmt.Sprint(cause))
		}
	}()
	c, err := s.connection(ctx, p.Tenant, p.Connection)
	if err != nil {
		return told{}, err
	}
	push, err := c.Hear(p.Header, p.Body)
	return toldBy(push, p.Tenant, c.Spec().Name), err
}

// askAbout has the carrier asked now about what pushes only name. Pushes that
// are ahead of their parcels are added to those for later.
func (s *Service) askAbout(ctx context.Context, news map[ship.Subject]told, later map[ship.Subject]bool) error {
	numbers := numbersOf(news, func(t told) []store.Named { return t.silent })
	if len(numbers) == 0 {
		return nil
	}
	holders, err := s.store.Holders(ctx, numbers)
	if err != nil {
		return err
	}
	ask := map[ship.Subject]time.Time{}
	now := time.Now().UTC()
	for id, t := range news {
		for _, n := range t.silent {
			for _, p := range holders[n] {
				ask[p] = now
			}
		}
		if t.ahead(t.silent, holders) {
			later[id] = true
		}
	}
	return s.store.MoveWatches(ctx, ask)
}

// numbersOf are those of all pushes, each once.
func numbersOf(news map[ship.Subject]told, of func(told) []store.Named) []store.Named {
	all := make(map[store.Named]bool, len(news))
	for _, t := range news {
		for _, n := range of(t) {
			all[n] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

// record writes down what pushes tell, and that they were taken in, but for
// those for later, which it returns.
func (s *Service) record(ctx context.Context, list []store.Unheard, news map[ship.Subject]told, later map[ship.Subject]bool) (again []ship.Subject, err error) {
	numbers := numbersOf(news, func(t told) []store.Named { return t.spoken })
	// Batches often name the same parcels: here they take turns, and read the
	// next one meanwhile, instead of waiting for each other's locks.
	s.recording.Lock()
	defer s.recording.Unlock()
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if err := tx.KeysOnly(ctx); err != nil {
			return err
		}
		if len(numbers) > 0 {
			if err := s.write(ctx, tx, numbers, news, later); err != nil {
				return err
			}
		}
		var done []ship.Subject
		for _, u := range list {
			if later[u.Subject] {
				again = append(again, u.Subject)
			} else {
				done = append(done, u.Subject)
			}
		}
		return tx.HeardPushes(ctx, done)
	})
	if err == nil && len(numbers) > 0 {
		s.told()
	}
	return again, err
}

// write writes down what pushes tell of the numbers. Those that are ahead of
// their parcels are added to those for later.
func (s *Service) write(ctx context.Context, tx *store.Store, numbers []store.Named, news map[ship.Subject]told, later map[ship.Subject]bool) error {
	journeys, holders, err := tx.LockHolders(ctx, numbers)
	if err != nil {
		return err
	}
	for id, t := range news {
		if t.ahead(t.spoken, holders) {
			later[id] = true
		}
	}
	of, err := placesOf(ctx, tx, journeys, holders)
	if err != nil || len(journeys) == 0 {
		return err
	}
	return s.absorbInto(ctx, tx, journeys, s.pileOf(news, of))
}
