package tracking

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	// renewBefore is how long before its end a subscription is made again.
	renewBefore = 48 * time.Hour
	// subscribeClaim is for how long parcels count as subscribed while the
	// carrier is asked.
	subscribeClaim = 10 * time.Minute
	// forGood stands for a subscription without an end: it is looked at now
	// and then all the same.
	forGood = 7 * 24 * time.Hour
)

// Subscribe has carriers push what becomes of parcels, over every connection
// that can, and renews what ends soon. It reports how many calls it made.
// Nothing is subscribed while the service has no public address.
func (s *Service) Subscribe(ctx context.Context) (int, error) {
	if s.pushBase == "" {
		return 0, nil
	}
	all, err := s.store.WatchedConnections(ctx)
	if err != nil {
		return 0, err
	}
	made := 0
	for _, w := range all {
		c, err := s.connection(ctx, w.Tenant, w.Connection)
		if err != nil || !can(c, "subscribe") {
			continue
		}
		n, err := s.subscribe(ctx, c, w)
		made += n
		if err != nil {
			s.log.WarnContext(ctx, "a carrier is not told to push", "connection", w.Connection, "error", err)
		}
	}
	return made, nil
}

func can(c *carrier.Carrier, ability string) bool {
	for _, a := range c.Abilities() {
		if a == ability {
			return true
		}
	}
	return false
}

func (s *Service) subscribe(ctx context.Context, c *carrier.Carrier, w store.Watch) (int, error) {
	now := time.Now().UTC()
	to := s.pushBase + PushPath(s.key, w.Connection)
	if c.Spec().SubscribeBatch == 0 {
		until, err := s.store.SubscribedUntil(ctx, w.Tenant, w.Connection)
		if err != nil || until.After(now.Add(renewBefore)) {
			return 0, err
		}
		if until, err = c.Subscribe(ctx, carrier.Subscription{URL: to}); err != nil {
			return 0, err
		}
		return 1, s.store.SetSubscription(ctx, w.Tenant, w.Connection, orForGood(until, now))
	}
	parcels, err := s.store.Unsubscribed(ctx, w.Connection, now.Add(renewBefore), now.Add(subscribeClaim), c.Spec().SubscribeBatch)
	if err != nil || len(parcels) == 0 {
		return 0, err
	}
	numbers, err := s.store.Numbers(ctx, parcels)
	if err != nil {
		return 0, err
	}
	var list []string
	for _, p := range parcels {
		list = append(list, numbers[p].Numbers...)
	}
	until, err := c.Subscribe(ctx, carrier.Subscription{URL: to, Numbers: list[:min(len(list), c.Spec().SubscribeBatch)]})
	if err != nil {
		return 0, err
	}
	return 1, s.store.SetPushed(ctx, parcels, orForGood(until, now))
}

func orForGood(until, now time.Time) time.Time {
	if until.IsZero() {
		return now.Add(forGood)
	}
	return until
}
