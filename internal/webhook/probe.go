package webhook

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// Probe tries a parked endpoint with one of its waiting events: the oldest,
// the newest, then in turn, so that one event that it cannot take does not
// keep it parked. The first success lets its backlog go on. It reports after
// how long to try again; zero means that there is nothing to probe.
func (s *Service) Probe(ctx context.Context, t ship.Tenant, id ship.EndpointID) (again time.Duration, err error) {
	e, err := s.store.EndpointToSend(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return 0, nil
	}
	if err != nil || !e.Parked || !e.Enabled {
		return 0, err
	}
	waiting, err := s.store.Waiting(ctx, e, e.Probe)
	if err != nil {
		return firstProbe, err
	}
	if waiting.Event.Event.ID == "" {
		// Everything that waited is past its time: there is nothing to try it with.
		return 0, s.store.Unpark(ctx, e, store.WaitingEvent{})
	}
	a, err := s.deliver(ctx, e, waiting)
	if err != nil {
		return firstProbe, err
	}
	if err := s.store.AddAttempts(ctx, []store.WebhookAttempt{a.WebhookAttempt}); err != nil {
		return firstProbe, err
	}
	if a.Delivered() {
		return 0, s.store.Unpark(ctx, e, waiting)
	}
	reason := ""
	switch {
	case a.Gone():
		reason = "gone"
	case !e.FailingSince.IsZero() && time.Since(e.FailingSince) > patience:
		reason = "failing"
	}
	if err := s.store.ProbeFailed(ctx, e, reason); err != nil || reason != "" {
		return 0, err
	}
	return max(probeAfter(e.Probe+1), min(a.RetryAfter, rarest)), nil
}

// deliver sends a waiting event once.
func (s *Service) deliver(ctx context.Context, e store.Endpoint, w store.WaitingEvent) (Attempt, error) {
	target, err := s.Open(e)
	if err != nil {
		return Attempt{}, err
	}
	entry := entryOf(w.Event)
	body, err := wire.EventBody(entry.Event, entry.Shipment, entry.Tracker)
	if err != nil {
		return Attempt{}, err
	}
	return s.sender.Send(ctx, Delivery{Target: target, Event: entry.Event.ID, Body: body, Number: w.Attempts + 1, Trigger: TriggerProbe}), nil
}

// Redeliver puts an event on the schedule again, due now, for one endpoint or
// for all that want its kind. It reports for how many.
func (s *Service) Redeliver(ctx context.Context, t ship.Tenant, event ship.EventID, only ship.EndpointID) (int, error) {
	n, err := s.store.Redeliver(ctx, t, event, only)
	if err == nil && n == 0 {
		err = ship.Coded(ship.NotFound, "event_not_found", "no such event, or no webhook that wants it")
	}
	return n, err
}

// Recover sends an endpoint everything since a time that it has not got, in
// the order of the log.
func (s *Service) Recover(ctx context.Context, t ship.Tenant, id ship.EndpointID, since time.Time) (Endpoint, error) {
	if since.Before(time.Now().Add(-store.EventRetention)) {
		return Endpoint{}, ship.InvalidFields([]ship.FieldError{{Pointer: "/since", Code: "invalid", Detail: "is longer ago than events are kept"}})
	}
	e, err := s.store.Recover(ctx, t, id, since)
	if err != nil {
		return Endpoint{}, notFound(err)
	}
	return s.shown(e)
}
