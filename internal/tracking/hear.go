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
	hearAgain = time.Minute      // before a push that could not be taken in is looked at again
)

// Hear takes in what carriers pushed, many pushes in one transaction. It
// reports how many there were if there may be more. One that proves itself is
// believed; any other is only a reason to ask.
func (s *Service) Hear(ctx context.Context) (int, error) {
	list := s.intake.take(hearBatch)
	if missing := hearBatch - len(list); missing > 0 {
		now := time.Now().UTC()
		due, err := s.store.DuePushes(ctx, now, now.Add(hearClaim), missing)
		if err != nil && len(list) == 0 {
			return 0, err
		}
		list = append(list, due...)
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
	if len(list) < hearBatch {
		return 0, nil
	}
	return len(list), nil
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
	tenant  ship.Tenant
	carrier string
	looks   int
}

func (t told) named(number string) store.Named {
	return store.Named{Tenant: t.tenant, Number: ship.NormalizeTrackingNumber(number)}
}

// spoken are the numbers of which something is told that is believed, one for
// each thing heard.
func (t told) spoken() (list []store.Named) {
	if t.Proven {
		for _, h := range t.Heard {
			list = append(list, t.named(h.TrackingNumber))
		}
	}
	return list
}

// silent are the numbers that are to be asked about.
func (t told) silent() (list []store.Named) {
	if !t.Proven {
		for _, h := range t.Heard {
			list = append(list, t.named(h.TrackingNumber))
		}
	}
	for _, n := range t.Numbers {
		list = append(list, t.named(n))
	}
	return list
}

func (t told) names() []store.Named { return append(t.spoken(), t.silent()...) }

// takeIn takes pushes in, in one transaction with the note that it was done.
func (s *Service) takeIn(ctx context.Context, list []store.Unheard) error {
	news, later, err := s.read(ctx, list)
	if err != nil {
		return err
	}
	holders, err := s.holders(ctx, news)
	if err != nil {
		return err
	}
	ask := map[ship.Subject]time.Time{}
	now := time.Now().UTC()
	for id, t := range news {
		for _, n := range t.silent() {
			for _, p := range holders[n] {
				ask[p] = now
			}
		}
		// A carrier may tell of a parcel before its purchase is recorded here.
		if t.looks <= 1 && slices.ContainsFunc(t.names(), func(n store.Named) bool { return len(holders[n]) == 0 }) {
			later[id] = true
		}
	}
	if err := s.store.MoveWatches(ctx, ask); err != nil {
		return err
	}
	var done, again []ship.Subject
	for _, u := range list {
		if later[u.Subject] {
			again = append(again, u.Subject)
		} else {
			done = append(done, u.Subject)
		}
	}
	if err := s.record(ctx, news, holders, done); err != nil || len(again) == 0 {
		return err
	}
	return s.store.PostponePushes(ctx, again, now.Add(hearAgain))
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
	return told{Push: push, tenant: p.Tenant, carrier: c.Spec().Name}, err
}

// holders are the parcels of the numbers that pushes name.
func (s *Service) holders(ctx context.Context, news map[ship.Subject]told) (map[store.Named][]ship.Subject, error) {
	asked := map[store.Named]bool{}
	for _, t := range news {
		for _, n := range t.names() {
			asked[n] = true
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	return s.store.Holders(ctx, slices.Collect(maps.Keys(asked)))
}

// record writes down what pushes tell, and that they were taken in.
func (s *Service) record(ctx context.Context, news map[ship.Subject]told, holders map[store.Named][]ship.Subject, done []ship.Subject) error {
	parcels := map[ship.Subject]bool{}
	for _, t := range news {
		for _, n := range t.spoken() {
			for _, p := range holders[n] {
				parcels[p] = true
			}
		}
	}
	// Batches often name the same parcels: here they take turns, and read the
	// next one meanwhile, instead of waiting for each other's locks.
	s.recording.Lock()
	defer s.recording.Unlock()
	err := s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if len(parcels) > 0 {
			journeys, err := tx.LockJourneys(ctx, slices.Collect(maps.Keys(parcels)))
			if err != nil {
				return err
			}
			of, err := placesOf(ctx, tx, journeys, holders)
			if err != nil {
				return err
			}
			if err := s.absorbInto(ctx, tx, journeys, s.pileOf(news, of)); err != nil {
				return err
			}
		}
		return tx.HeardPushes(ctx, done)
	})
	if err == nil && len(parcels) > 0 {
		s.told()
	}
	return err
}

func (s *Service) pileOf(news map[ship.Subject]told, of map[store.Named][]place) []Heard {
	all := pile{}
	for _, t := range news {
		for i, n := range t.spoken() {
			s.put(all, t.Heard[i], t.carrier, of[n])
		}
	}
	return all.list(false)
}

// placesOf says which piece of which parcels each number is: of the newest
// shipment and the newest followed parcel of each carrier, because numbers are
// reused.
func placesOf(ctx context.Context, tx *store.Store, journeys []ship.Journey, holders map[store.Named][]ship.Subject) (map[store.Named][]place, error) {
	byID := make(map[ship.Subject]*ship.Journey, len(journeys))
	var several []ship.Subject
	for i, j := range journeys {
		byID[j.Subject] = &journeys[i]
		if j.Pieces > 1 {
			several = append(several, j.Subject)
		}
	}
	numbers := map[ship.Subject]store.Watched{}
	if len(several) > 0 {
		var err error
		if numbers, err = tx.Numbers(ctx, several); err != nil {
			return nil, err
		}
	}
	of := make(map[store.Named][]place, len(holders))
	for name, list := range holders {
		slices.SortFunc(list, func(a, b ship.Subject) int { return slices.Compare(b.ID[:], a.ID[:]) })
		for _, p := range list {
			j := byID[p]
			if j == nil {
				continue
			}
			at := place{subject: p, carrier: j.Carrier, followed: j.Followed}
			if j.Pieces > 1 {
				at.piece = slices.Index(numbers[p].Numbers, name.Number)
			}
			older := slices.ContainsFunc(of[name], func(o place) bool { return o.carrier == at.carrier && o.followed == at.followed })
			if at.piece >= 0 && !older {
				of[name] = append(of[name], at)
			}
		}
	}
	return of, nil
}
