package tracking

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	pollBatch = 500             // parcels that are claimed at once
	pollClaim = 5 * time.Minute // a process that dies leaves them for so long
	pollers   = 8               // connections that are asked at once
	putBack   = 2 * time.Second // for what a process that is stopped still writes
)

// Poll asks carriers about the parcels that are due, and reports how many it
// asked about. No two copies of the program ask about the same parcel.
func (s *Service) Poll(ctx context.Context) (int, error) {
	now := time.Now().UTC()
	due, err := s.store.DueWatches(ctx, now, now.Add(s.pollClaim), s.pollBatch, s.paused(now))
	if err != nil || len(due) == 0 {
		return 0, err
	}
	parcels := make([]ship.Subject, len(due))
	byConnection := map[ship.ConnectionID][]store.Watch{}
	for i, w := range due {
		parcels[i] = w.Subject
		byConnection[w.Connection] = append(byConnection[w.Connection], w)
	}
	numbers, err := s.store.Numbers(ctx, parcels)
	if err != nil {
		return 0, err
	}
	slots := make(chan struct{}, pollers)
	var group sync.WaitGroup
	for id, list := range byConnection {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			s.pollConnection(ctx, id, list, numbers)
		})
	}
	group.Wait()
	return len(due), nil
}

// pollConnection asks over one connection, as many numbers at once as the
// carrier takes.
func (s *Service) pollConnection(ctx context.Context, id ship.ConnectionID, list []store.Watch, numbers map[ship.Subject]store.Watched) {
	c, err := s.connection(ctx, list[0].Tenant, id)
	if err != nil {
		s.pause(id, time.Now().Add(s.pollClaim))
		s.log.WarnContext(ctx, "parcels cannot be asked about", "connection", id, "error", err)
		return
	}
	for len(list) > 0 {
		n := inOneCall(list, numbers, c.Spec().TrackBatch)
		err := s.ask(ctx, c, list[:n], numbers)
		switch kind := ship.KindOf(err); {
		case err == nil:
		case kind == ship.Limited || kind == ship.Unavailable || kind == ship.Forbidden || ctx.Err() != nil:
			wait := time.Minute
			if e, ok := errors.AsType[*ship.Error](err); ok && e.RetryAfter > 0 {
				wait = e.RetryAfter
			}
			s.pause(id, time.Now().Add(wait))
			s.log.InfoContext(ctx, "a carrier is asked later", "connection", id, "after", wait.String(), "kind", string(kind))
			s.unclaim(ctx, list)
			return
		default:
			s.log.WarnContext(ctx, "a question about parcels failed", "connection", id, "error", err)
		}
		list = list[n:]
	}
}

// inOneCall is how many of the first parcels have no more numbers together than
// a carrier takes in a call; at least one.
func inOneCall(list []store.Watch, numbers map[ship.Subject]store.Watched, most int) int {
	for i, w := range list {
		if most -= len(numbers[w.Subject].Numbers); most < 0 {
			return max(i, 1)
		}
	}
	return len(list)
}

// unclaim makes parcels due as they were: whoever asks next begins with those
// that have waited longest. What cannot be given back is due after the claim.
func (s *Service) unclaim(ctx context.Context, list []store.Watch) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBack)
	defer cancel()
	due := make(map[ship.Subject]time.Time, len(list))
	for _, w := range list {
		due[w.Subject] = w.Due
	}
	if err := s.store.MoveWatches(ctx, due); err != nil {
		s.log.WarnContext(ctx, "parcels wait until their claim ends", "error", err)
	}
}

// ask asks about parcels in one call and takes in what it hears.
func (s *Service) ask(ctx context.Context, c *carrier.Carrier, batch []store.Watch, numbers map[ship.Subject]store.Watched) error {
	asked := map[string][]place{} // two parcels may have one number: one bought here and followed as well
	for _, w := range batch {
		for piece, n := range numbers[w.Subject].Numbers {
			asked[n] = append(asked[n], place{subject: w.Subject, piece: piece, carrier: c.Spec().Name})
		}
	}
	all := pile{}
	// None if the parcels were removed since, several for one of many pieces.
	for some := range slices.Chunk(slices.Sorted(maps.Keys(asked)), max(c.Spec().TrackBatch, 1)) {
		heard, err := c.Track(ctx, some)
		if err != nil {
			return err
		}
		for _, h := range heard {
			s.put(all, h, c.Spec().Name, asked[ship.NormalizeTrackingNumber(h.TrackingNumber)])
		}
	}
	if err := s.Absorb(ctx, all.list(true)); err != nil {
		return err
	}
	s.told()
	return s.reschedule(ctx, batch)
}

// reschedule sets when each of the parcels is asked about next.
func (s *Service) reschedule(ctx context.Context, batch []store.Watch) error {
	parcels := make([]ship.Subject, len(batch))
	pushed := make(map[ship.Subject]time.Time, len(batch))
	for i, w := range batch {
		parcels[i], pushed[w.Subject] = w.Subject, w.PushedUntil
	}
	journeys, err := s.store.Journeys(ctx, parcels)
	if err != nil {
		return err
	}
	routes, err := s.store.Routes(ctx, parcels)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	due := make(map[ship.Subject]time.Time, len(batch))
	for _, p := range parcels {
		due[p] = time.Time{} // one that is there no more
	}
	for _, j := range journeys {
		due[j.Subject], _ = nextLook(j, outlookOn(routes[j.Subject], pushed[j.Subject].After(now)), now)
	}
	if err := s.store.MoveWatches(ctx, due); err != nil {
		return err
	}
	return s.store.CountDeliveries(ctx, deliveries(journeys, routes))
}

// outlookOn is the outlook of a parcel on a route; the zero route is one that
// is not known.
func outlookOn(r store.Route, pushed bool) outlook {
	return outlook{pushed: pushed, from: clockAt(r.From.Country, r.From.State), to: clockAt(r.To.Country, r.To.State)}
}

// pause has a connection not asked until a time, by this copy.
func (s *Service) pause(id ship.ConnectionID, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pauses[id] = until
}

// paused are the connections that may not be asked now.
func (s *Service) paused(now time.Time) (list []ship.ConnectionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, until := range s.pauses {
		if now.After(until) {
			delete(s.pauses, id)
			continue
		}
		list = append(list, id)
	}
	return list
}
