package webhook

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// testEvery is how often an endpoint can be tried, so that nobody aims the
// service at a stranger.
const testEvery = time.Second

// Test sends one made-up event of the kind to an endpoint, at once, and returns
// what became of it. The event is marked as a test and is in no log; the
// attempt is. An endpoint that is disabled can be tried too.
func (s *Service) Test(ctx context.Context, t ship.Tenant, id ship.EndpointID, kind ship.EventKind) (Attempt, error) {
	e, err := s.store.Endpoint(ctx, t, id)
	if err != nil {
		return Attempt{}, notFound(err)
	}
	if !s.mayTest(id, time.Now()) {
		return Attempt{}, &ship.Error{Kind: ship.Limited, Message: "a webhook can be tried once a second", RetryAfter: testEvery}
	}
	event, sh := s.sample(t, kind, time.Now())
	body, err := wire.EventBody(event, sh, ship.Tracker{})
	if err != nil {
		return Attempt{}, err
	}
	target, err := s.Open(e)
	if err != nil {
		return Attempt{}, err
	}
	a := s.sender.Send(ctx, Delivery{Target: target, Event: event.ID, Body: body, Number: 1, Trigger: TriggerTest})
	ctx = context.WithoutCancel(ctx) // it was sent, so it is written down
	if err := s.store.AddAttempts(ctx, []store.WebhookAttempt{a.WebhookAttempt}); err != nil {
		return a, err
	}
	if a.Delivered() {
		err = s.store.VerifyEndpoint(ctx, t, id, e.URL, time.Now())
	}
	return a, err
}

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

// sample is a made-up event of the kind, and the shipment that it speaks of.
func (s *Service) sample(t ship.Tenant, kind ship.EventKind, now time.Time) (ship.Event, ship.Shipment) {
	bought := now.UTC().Truncate(time.Millisecond).Add(-48 * time.Hour)
	sh := ship.Shipment{
		ID: ship.NewShipmentID(t.Shard(), bought), Tenant: t, State: ship.StatePurchased,
		Order: ship.Order{OrderID: "TEST-1001", Parcels: []ship.Parcel{{Weight: 4.2, WeightUnit: ship.Pound, WeightGrams: 1905}}},
		Deal: ship.Deal{
			Carrier: "ups", Service: "ground", TrackingNumber: "1Z999AA10123456784", Price: ship.Money{Minor: 1234, Currency: "USD"}, BoughtAt: bought, Simulated: true,
		},
	}
	steps := []ship.Status{ship.Created, ship.LabelGenerated, ship.PickedUp, ship.InTransit, ship.Delivered}
	e := ship.Event{
		ID: ship.NewEventIDs(t.Shard(), now, 1)[0], Tenant: t, Kind: kind, Shipment: sh.ID, Sequence: 1, Version: wire.EventVersion, Test: true,
		Snapshot: ship.Snapshot{State: ship.StatePurchased, BaseURL: s.baseURL, Status: ship.Exception, PreviousStatus: ship.InTransit, EstimateAt: bought.Add(72 * time.Hour), EstimateSource: "service"},
	}
	for i, step := range steps {
		if step.Kind() == kind {
			e.Sequence, e.Snapshot.Status, e.Snapshot.PreviousStatus = i+1, step, ""
			if i > 0 {
				e.Snapshot.PreviousStatus = steps[i-1]
			}
		}
	}
	scan := ship.Scan{Code: "TEST", At: now.UTC().Truncate(time.Second), Status: e.Snapshot.Status, Description: "A test event", Location: "Louisville, KY, US"}
	switch kind {
	case ship.ShipmentCreated, ship.LabelMade:
		return e, sh // the service's own events have no scan
	case ship.ShipmentException:
		e.Sequence, e.Snapshot.Reason, scan.Reason = 5, "address_not_found", "address_not_found"
	}
	e.Snapshot.Scan = scan.Note()
	return e, sh
}
