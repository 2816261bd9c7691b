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
	pollBatch      = 500             // parcels that are claimed at once
	pollClaim      = 5 * time.Minute // how long a process that dies blocks its parcels
	maxPollers     = 8               // connections that are polled at once
	unclaimTimeout = 2 * time.Second // time for giving parcels back when a process stops
)

// Poll asks carriers about the parcels that are due, and returns how many it
// asked about. No two copies of the program ask about the same parcel.
func (s *Service) Poll(ctx context.Context) (int, error) {
	now := time.Now().UTC()
	due, err := s.store.DueWatches(ctx, now, now.Add(s.pollClaim), s.pollBatch, s.paused(now))
	if err != nil || len(due) == 0 {
		return 0, err
	}

	parcels := make([]ship.Subject, len(due))
	byConnection := map[ship.ConnectionID][]store.Watch{}
	for i, watch := range due {
		parcels[i] = watch.Subject
		byConnection[watch.Connection] = append(byConnection[watch.Connection], watch)
	}
	numbers, err := s.store.Numbers(ctx, parcels)
	if err != nil {
		return 0, err
	}

	// A push has reported the delivery of some. Without a number they cost no
	// call, and are not polled again.
	maps.DeleteFunc(numbers, func(_ ship.Subject, watched store.Watched) bool { return watched.IsDelivered })

	slots := make(chan struct{}, maxPollers)
	var group sync.WaitGroup
	for id, watches := range byConnection {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			s.pollConnection(ctx, id, watches, numbers)
		})
	}
	group.Wait()
	return len(due), nil
}

// pollConnection polls over one connection, as many numbers at once as the
// carrier accepts.
func (s *Service) pollConnection(ctx context.Context, id ship.ConnectionID, watches []store.Watch, numbers map[ship.Subject]store.Watched) {
	connection, err := s.connection(ctx, watches[0].Tenant, id)
	if err != nil {
		s.pause(id, time.Now().Add(s.pollClaim))
		s.log.WarnContext(ctx, "parcels cannot be polled", "connection", id, "error", err)
		return
	}

	for len(watches) > 0 {
		n := fitCall(watches, numbers, connection.Spec().TrackBatch)
		err := s.pollParcels(ctx, connection, watches[:n], numbers)

		switch kind := ship.KindOf(err); {
		case err == nil:

		case kind == ship.Limited || kind == ship.Unavailable || kind == ship.Forbidden || ctx.Err() != nil:
			// The next call would fail in the same way. The parcels go back, so
			// that they do not wait for the end of the claim.
			wait := time.Minute
			if e, ok := errors.AsType[*ship.Error](err); ok && e.RetryAfter > 0 {
				wait = e.RetryAfter
			}
			s.pause(id, time.Now().Add(wait))
			s.log.InfoContext(ctx, "polling of a carrier is postponed", "connection", id, "after", wait.String(), "kind", string(kind))
			s.unclaim(ctx, watches)
			return

		default:
			s.log.WarnContext(ctx, "polling of parcels failed", "connection", id, "error", err)
		}
		watches = watches[n:]
	}
}

// fitCall returns how many of the first parcels have no more numbers together
// than a carrier accepts in a call; at least one.
func fitCall(watches []store.Watch, numbers map[ship.Subject]store.Watched, limit int) int {
	for i, watch := range watches {
		limit -= len(numbers[watch.Subject].Numbers)
		if limit < 0 {
			return max(i, 1)
		}
	}
	return len(watches)
}

// unclaim makes parcels due again as before: the next poll begins with those
// that have waited longest. What cannot be given back is due after the claim.
func (s *Service) unclaim(ctx context.Context, watches []store.Watch) {
	// The process may be stopping: its context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unclaimTimeout)
	defer cancel()

	due := make(map[ship.Subject]time.Time, len(watches))
	for _, watch := range watches {
		due[watch.Subject] = watch.Due
	}
	if err := s.store.MoveWatches(ctx, due); err != nil {
		s.log.WarnContext(ctx, "parcels stay claimed until their claim expires", "error", err)
	}
}

// pollParcels asks about parcels, applies the answer and sets when each is
// polled next.
func (s *Service) pollParcels(ctx context.Context, connection *carrier.Carrier, watches []store.Watch, numbers map[ship.Subject]store.Watched) error {
	spec := connection.Spec()

	// Two parcels may have one number: one that was bought here and is followed
	// as well.
	asked := map[string][]pieceRef{}
	for _, watch := range watches {
		for piece, number := range numbers[watch.Subject].Numbers {
			asked[number] = append(asked[number], pieceRef{subject: watch.Subject, piece: piece, carrier: spec.Name})
		}
	}

	// There is no call if the parcels were removed since, and there are several
	// for a parcel of more pieces than fit in one.
	updates := updatesByShipment{}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(asked)), max(spec.TrackBatch, 1)) {
		answers, err := connection.Track(ctx, chunk)
		if err != nil {
			return err
		}
		for _, answer := range answers {
			s.addUpdate(updates, answer, spec.Name, asked[ship.NormalizeTrackingNumber(answer.TrackingNumber)])
		}
	}

	if err := s.ApplyUpdates(ctx, updates.list(true)); err != nil {
		return err
	}
	s.notify()
	return s.reschedule(ctx, watches)
}

// reschedule sets when each of the parcels is polled next.
func (s *Service) reschedule(ctx context.Context, watches []store.Watch) error {
	parcels := make([]ship.Subject, len(watches))
	pushedUntil := make(map[ship.Subject]time.Time, len(watches))
	for i, watch := range watches {
		parcels[i] = watch.Subject
		pushedUntil[watch.Subject] = watch.PushedUntil
	}

	trackingStates, err := s.store.TrackingStates(ctx, parcels)
	if err != nil {
		return err
	}
	routes, err := s.store.Routes(ctx, parcels)
	if err != nil {
		return err
	}

	now := time.Now().UTC()
	due := make(map[ship.Subject]time.Time, len(watches))
	for _, parcel := range parcels {
		due[parcel] = time.Time{} // stays for one that no longer exists
	}
	for _, trackingState := range trackingStates {
		isPushed := pushedUntil[trackingState.Subject].After(now)
		due[trackingState.Subject], _ = nextPoll(trackingState, outlookFor(routes[trackingState.Subject], isPushed), now)
	}
	if err := s.store.MoveWatches(ctx, due); err != nil {
		return err
	}
	return s.store.CountDeliveries(ctx, transitDays(trackingStates, routes))
}

// outlookFor returns the outlook of a parcel on a route; the zero route is one
// that is not known.
func outlookFor(route store.Route, pushed bool) outlook {
	return outlook{
		pushed: pushed,
		from:   clockAt(route.From.Country, route.From.State),
		to:     clockAt(route.To.Country, route.To.State),
	}
}

// pause stops this copy from polling over a connection until a time.
func (s *Service) pause(id ship.ConnectionID, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pauses[id] = until
}

// paused returns the connections that may not be polled now.
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
