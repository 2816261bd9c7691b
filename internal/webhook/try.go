package webhook

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// testEvery is how often an endpoint can be tested, so that nobody can use the
// service to flood a stranger.
const testEvery = time.Second

// Test sends one made-up event of the kind to an endpoint, at once, and returns
// the result. The event is marked as a test and is in no log; the attempt is.
// An endpoint that is disabled can be tested too.
func (s *Service) Test(ctx context.Context, t ship.Tenant, id ship.EndpointID, kind ship.EventKind) (Attempt, error) {
	endpoint, err := s.store.Endpoint(ctx, t, id)
	if err != nil {
		return Attempt{}, notFound(err)
	}
	if !s.mayTest(id, time.Now()) {
		return Attempt{}, &ship.Error{Kind: ship.Limited, Message: "a webhook can be tested once per second", RetryAfter: testEvery}
	}

	event, shipment := s.sampleEvent(t, kind, time.Now())
	body, err := s.body(endpoint.Signature, Entry{Event: event, Shipment: shipment})
	if err != nil {
		return Attempt{}, err
	}
	target, err := s.Open(endpoint)
	if err != nil {
		return Attempt{}, err
	}
	result := s.sender.Send(ctx, Delivery{
		Target:  target,
		Event:   event.ID,
		Body:    body,
		Number:  1,
		Trigger: TriggerTest,
	})

	// The event was sent, so the attempt is recorded even if the client has
	// disconnected.
	ctx = context.WithoutCancel(ctx)
	if err := s.store.AddAttempts(ctx, []store.WebhookAttempt{result.WebhookAttempt}); err != nil {
		return result, err
	}
	if result.Delivered() {
		err = s.store.VerifyEndpoint(ctx, t, id, endpoint.URL, time.Now())
	}
	return result, err
}

// mayTest reports whether the endpoint may be tested now, and counts the test.
func (s *Service) mayTest(id ship.EndpointID, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	if now.Sub(s.tested[id]) < testEvery {
		return false
	}

	for other, at := range s.tested {
		if now.Sub(at) >= testEvery {
			delete(s.tested, other)
		}
	}
	s.tested[id] = now
	return true
}

// sampleEvent returns a made-up event of the kind, and the shipment that it is
// about.
func (s *Service) sampleEvent(t ship.Tenant, kind ship.EventKind, now time.Time) (ship.Event, ship.Shipment) {
	bought := now.UTC().Truncate(time.Millisecond).Add(-48 * time.Hour)
	shipment := ship.Shipment{
		ID:     ship.NewShipmentID(t.Shard(), bought),
		Tenant: t,
		State:  ship.StatePurchased,
		Order: ship.Order{
			OrderID: "TEST-1001",
			Parcels: []ship.Parcel{{Weight: 4.2, WeightUnit: ship.Pound, WeightGrams: 1905}},
		},
		Purchase: ship.Purchase{
			Carrier:        "ups",
			Service:        "ground",
			TrackingNumber: "1Z999AA10123456784",
			Price:          ship.Money{Minor: 1234, Currency: "USD"},
			BoughtAt:       bought,
			Simulated:      true,
		},
	}

	event := ship.Event{
		ID:       ship.NewEventIDs(t.Shard(), now, 1)[0],
		Tenant:   t,
		Kind:     kind,
		Shipment: shipment.ID,
		Sequence: 1,
		Version:  wire.EventVersion,
		Test:     true,
		Snapshot: ship.Snapshot{
			State:          ship.StatePurchased,
			BaseURL:        s.baseURL,
			Status:         ship.Exception,
			PreviousStatus: ship.InTransit,
			EstimateAt:     bought.Add(72 * time.Hour),
			EstimateSource: "service",
		},
	}

	// The statuses of a parcel without an exception, in order.
	statuses := []ship.Status{ship.Created, ship.LabelGenerated, ship.PickedUp, ship.InTransit, ship.Delivered}
	for i, status := range statuses {
		if status.Kind() != kind {
			continue
		}
		event.Sequence = i + 1
		event.Snapshot.Status = status
		event.Snapshot.PreviousStatus = ""
		if i > 0 {
			event.Snapshot.PreviousStatus = statuses[i-1]
		}
	}

	scan := ship.Scan{
		Code:        "TEST",
		At:          now.UTC().Truncate(time.Second),
		Status:      event.Snapshot.Status,
		Description: "A test event",
		Location:    "Louisville, KY, US",
	}
	switch kind {
	case ship.ShipmentCreated, ship.ShipmentLabelGenerated:
		return event, shipment // the service's own events have no scan
	case ship.ShipmentException:
		event.Sequence = 5
		event.Snapshot.Reason = "address_not_found"
		scan.Reason = "address_not_found"
	}
	event.Snapshot.Scan = scan.Note()
	return event, shipment
}
