package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Probe tries a parked endpoint with one of its waiting events: the oldest,
// the newest, then in turn, so that one event that it cannot take does not
// keep it parked. The first success resumes its backlog. It returns after how
// long to try again; zero means that there is nothing to probe.
func (s *Service) Probe(ctx context.Context, t ship.Tenant, id ship.EndpointID) (again time.Duration, err error) {
	endpoint, err := s.store.EndpointToSend(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return 0, nil
	}
	if err != nil || !endpoint.Parked || !endpoint.Enabled {
		return 0, err
	}

	waiting, err := s.store.Waiting(ctx, endpoint, endpoint.Probe)
	if err != nil {
		return firstProbe, err
	}
	if waiting.Event.Event.ID == "" {
		// Everything that waited has expired: there is nothing to try it with.
		return 0, s.store.Unpark(ctx, endpoint, store.WaitingEvent{})
	}

	result, err := s.sendWaiting(ctx, endpoint, waiting)
	if err != nil {
		// The next probe takes another event: this one may never be rendered.
		return firstProbe, errors.Join(err, s.store.ProbeFailed(ctx, endpoint, ""))
	}
	if err := s.store.AddAttempts(ctx, []store.WebhookAttempt{result.WebhookAttempt}); err != nil {
		return firstProbe, err
	}
	if result.Delivered() {
		return 0, s.store.Unpark(ctx, endpoint, waiting)
	}

	reason := ""
	switch {
	case result.Gone():
		reason = DisabledGone
	case !endpoint.FailingSince.IsZero() && time.Since(endpoint.FailingSince) > maxFailingTime:
		reason = DisabledFailing
	}
	if err := s.store.ProbeFailed(ctx, endpoint, reason); err != nil || reason != "" {
		return 0, err
	}

	// A longer wait that the endpoint asks for is honoured, up to the longest
	// time between two probes.
	return max(probeDelay(endpoint.Probe+1), min(result.RetryAfter, maxProbeDelay)), nil
}

// sendWaiting sends a waiting event once.
func (s *Service) sendWaiting(ctx context.Context, endpoint store.Endpoint, waiting store.WaitingEvent) (Attempt, error) {
	target, err := s.Open(endpoint)
	if err != nil {
		return Attempt{}, err
	}

	entry := entryOf(waiting.Event)
	body, err := s.body(endpoint.Signature, entry)
	if err != nil {
		return Attempt{}, err
	}

	return s.sender.Send(ctx, Delivery{
		Target:  target,
		Event:   entry.Event.ID,
		Body:    body,
		Number:  waiting.Attempts + 1,
		Trigger: TriggerProbe,
	}), nil
}

// Redeliver puts an event on the schedule again, due now, for one endpoint or
// for all that want its kind. It returns the number of endpoints.
func (s *Service) Redeliver(ctx context.Context, t ship.Tenant, event ship.EventID, only ship.EndpointID) (int, error) {
	n, err := s.store.Redeliver(ctx, t, event, only)
	if err == nil && n == 0 {
		err = ship.Coded(ship.NotFound, "event_not_found", "no such event, or no webhook is subscribed to it")
	}
	return n, err
}

// Recover sends an endpoint everything since a time that it has not received,
// in the order of the log.
func (s *Service) Recover(ctx context.Context, t ship.Tenant, id ship.EndpointID, since time.Time) (Endpoint, error) {
	if since.Before(time.Now().Add(-store.EventRetention)) {
		return Endpoint{}, ship.InvalidFields([]ship.FieldError{{
			Pointer: "/since",
			Code:    "invalid",
			Detail:  "is earlier than events are kept",
		}})
	}

	row, err := s.store.Recover(ctx, t, id, since)
	if err != nil {
		return Endpoint{}, notFound(err)
	}
	return s.view(row)
}
