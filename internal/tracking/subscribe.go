package tracking

import (
	"context"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	// renewBefore is how long before its end a subscription is renewed.
	renewBefore = 48 * time.Hour
	// subscribeClaim is for how long parcels count as subscribed while the
	// carrier is asked.
	subscribeClaim = 10 * time.Minute
	// indefinite stands for a subscription without an end: it is renewed now
	// and then nevertheless.
	indefinite = 7 * 24 * time.Hour
)

// Subscribe subscribes to the carriers' pushes about parcels, over every
// connection that can, and renews what ends soon. It returns how many calls it
// made. Nothing is subscribed while the service has no public address.
func (s *Service) Subscribe(ctx context.Context) (int, error) {
	if s.pushBase == "" {
		return 0, nil
	}

	watches, err := s.store.WatchedConnections(ctx)
	if err != nil {
		return 0, err
	}

	made := 0
	for _, watch := range watches {
		connection, err := s.connection(ctx, watch.Tenant, watch.Connection)
		if err != nil || !hasAbility(connection, "subscribe") {
			continue
		}

		// One carrier that refuses must not keep the others from being
		// subscribed to.
		n, err := s.subscribe(ctx, connection, watch)
		made += n
		if err != nil {
			s.log.WarnContext(ctx, "subscribing to pushes of a carrier failed", "connection", watch.Connection, "error", err)
		}
	}
	return made, nil
}

func hasAbility(connection *carrier.Carrier, ability string) bool {
	return slices.Contains(connection.Abilities(), ability)
}

// subscribe makes at most one call over a connection: for the whole account, or
// for the parcels that are not subscribed to, as the carrier has it.
func (s *Service) subscribe(ctx context.Context, connection *carrier.Carrier, watch store.Watch) (int, error) {
	now := time.Now().UTC()
	to := s.pushBase + PushPath(s.keys[0], watch.Connection)
	batch := connection.Spec().SubscribeBatch

	// A batch of zero means that one subscription covers the whole account.
	if batch == 0 {
		until, err := s.store.SubscribedUntil(ctx, watch.Tenant, watch.Connection)
		if err != nil || until.After(now.Add(renewBefore)) {
			return 0, err
		}
		if until, err = connection.Subscribe(ctx, carrier.Subscription{URL: to}); err != nil {
			return 0, err
		}
		return 1, s.store.SetSubscription(ctx, watch.Tenant, watch.Connection, orIndefinite(until, now))
	}

	parcels, err := s.store.Unsubscribed(ctx, watch.Connection, now.Add(renewBefore), now.Add(subscribeClaim), batch)
	if err != nil || len(parcels) == 0 {
		return 0, err
	}
	byParcel, err := s.store.Numbers(ctx, parcels)
	if err != nil {
		return 0, err
	}

	// Without numbers the call would subscribe to the whole account.
	covered, numbers := fitIntoCall(parcels, byParcel, batch)
	if len(numbers) == 0 {
		return 0, nil
	}
	until, err := connection.Subscribe(ctx, carrier.Subscription{URL: to, Numbers: numbers})
	if err != nil {
		return 0, err
	}
	return 1, s.store.SetPushed(ctx, covered, orIndefinite(until, now))
}

// fitIntoCall returns the parcels whose numbers fit into one call, and these
// numbers. A parcel of several pieces has several numbers. What does not fit is
// claimed again later; only a parcel with more pieces than a call takes is cut.
func fitIntoCall(parcels []ship.Subject, byParcel map[ship.Subject]store.Watched, limit int) (covered []ship.Subject, numbers []string) {
	for _, parcel := range parcels {
		pieces := byParcel[parcel].Numbers
		if len(pieces) > limit {
			pieces = pieces[:limit]
		}
		if len(pieces) == 0 || len(numbers)+len(pieces) > limit {
			continue
		}
		covered = append(covered, parcel)
		numbers = append(numbers, pieces...)
	}
	return covered, numbers
}

func orIndefinite(until, now time.Time) time.Time {
	if until.IsZero() {
		return now.Add(indefinite)
	}
	return until
}
