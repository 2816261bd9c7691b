package tracking

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Advance moves a test shipment's parcel on: to the given status, or by one
// step. What follows from the scan is the same as for a real one.
func (s *Service) Advance(ctx context.Context, t ship.Tenant, id ship.ShipmentID, status ship.Status, reason string) (Tracked, error) {
	if t.Livemode {
		return Tracked{}, ship.Coded(ship.Forbidden, "test_key_required", "only test shipments can be advanced; use a test key")
	}

	subject := ship.Subject{Tenant: t, ID: id.Raw()}
	err := s.store.InTx(ctx, t, func(tx *store.Store) error {
		trackingStates, err := tx.LockTrackingStates(ctx, []ship.Subject{subject})
		if err != nil {
			return err
		}
		if len(trackingStates) == 0 || trackingStates[0].Sequence == 0 {
			return ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
		}

		trackingState := trackingStates[0]
		if trackingState.State != ship.StatePurchased || trackingState.Progress.Status == ship.Delivered && status == "" {
			return cannotAdvance()
		}
		next, err := s.nextScans(ctx, tx, trackingState, status, reason)
		if err != nil {
			return err
		}
		if len(next) == 0 {
			return cannotAdvance()
		}

		if err := s.lockAndApply(ctx, tx, []Update{{Subject: subject, Scans: next}}); err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "shipment.advanced", string(id)))
	})
	if err != nil {
		return Tracked{}, err
	}

	// Only after the commit: before it there is nothing to read.
	s.notify()
	return s.Track(ctx, t, string(id), "")
}

func cannotAdvance() error {
	return ship.Coded(ship.Conflict, "cannot_advance", "the parcel has no next status: it is delivered, or it has no label")
}

// nextScans returns the simulated scans that come next.
func (s *Service) nextScans(ctx context.Context, tx *store.Store, trackingState ship.TrackingState, status ship.Status, reason string) ([]store.NewScan, error) {
	orders, err := tx.Orders(ctx, []ship.Subject{trackingState.Subject})
	if err != nil {
		return nil, err
	}
	scans, err := tx.Scans(ctx, []ship.TrackingState{trackingState})
	if err != nil {
		return nil, err
	}

	order := orders[trackingState.Subject]
	known := scans[trackingState.Subject]
	now := timeAfter(known, time.Now().UTC())
	if status == "" {
		next, _ := sandbox.Next(order, known, now, trackingState.Carrier)
		return newScans(next), nil
	}

	scan := sandbox.ScanFor(order, status, reason, now, trackingState.Carrier)
	if scan.Code == "" {
		return nil, ship.InvalidFields([]ship.FieldError{{Pointer: "/status", Code: "invalid", Detail: "is not a status that carriers report"}})
	}

	var next []ship.Scan // simulated pieces travel together
	for piece := range max(trackingState.Pieces, 1) {
		scan.Piece = piece
		next = append(next, scan)
	}
	return newScans(next), nil
}

// timeAfter returns now, or the second after the newest scan: a parcel that is
// advanced twice in a second still moves forward.
func timeAfter(scans []ship.Scan, now time.Time) time.Time {
	now = now.Truncate(time.Second)
	for _, scan := range scans {
		if !scan.At.Before(now) {
			now = scan.At.Truncate(time.Second).Add(time.Second)
		}
	}
	return now
}

func newScans(scans []ship.Scan) []store.NewScan {
	list := make([]store.NewScan, len(scans))
	for i, scan := range scans {
		list[i].Scan = scan
	}
	return list
}

// liveBatch is how many simulated parcels move in one transaction.
const liveBatch = 200

// Live moves simulated parcels that are due on by one step, and returns how
// many it moved.
func (s *Service) Live(ctx context.Context) (int, error) {
	if s.sandboxStep <= 0 {
		return 0, nil
	}

	now := time.Now().UTC()
	due, err := s.store.DuePolls(ctx, now, now.Add(s.sandboxStep), liveBatch)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error { return s.advanceDue(ctx, tx, due, now) })
	return len(due), err
}

// advanceDue moves simulated parcels on by one step, and ends the lives of
// those that have arrived or were voided.
func (s *Service) advanceDue(ctx context.Context, tx *store.Store, due []ship.Subject, now time.Time) error {
	trackingStates, err := tx.LockTrackingStates(ctx, due)
	if err != nil {
		return err
	}
	known, err := tx.Scans(ctx, trackingStates)
	if err != nil {
		return err
	}
	orders, err := tx.Orders(ctx, due)
	if err != nil {
		return err
	}

	var changes []store.Change
	var ended []ship.Subject
	for _, trackingState := range trackingStates {
		// A void may still be refused, so the parcel neither moves nor ends.
		if trackingState.State == ship.StateVoiding {
			continue
		}

		subject := trackingState.Subject
		trackingState.IsReturn = orders[subject].IsReturn
		next, done := sandbox.Next(orders[subject], known[subject], timeAfter(known[subject], now), trackingState.Carrier)
		if done || trackingState.State != ship.StatePurchased {
			ended = append(ended, subject)
		}
		if len(next) > 0 && trackingState.State == ship.StatePurchased {
			update := Update{Subject: subject, Scans: newScans(next)}
			changes = append(changes, s.changeOf(trackingState, known[subject], update, now))
		}
	}

	if err := tx.EndPolls(ctx, ended); err != nil {
		return err
	}
	return tx.Apply(ctx, changes)
}
