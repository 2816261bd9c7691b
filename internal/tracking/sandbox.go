package tracking

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Advance moves a test shipment's parcel on: to the given status, or by one
// step. Everything after the scan is the real path.
func (s *Service) Advance(ctx context.Context, t ship.Tenant, id ship.ShipmentID, status ship.Status, reason string) (Tracked, error) {
	if t.Livemode {
		return Tracked{}, ship.Coded(ship.Forbidden, "test_key_required", "only test shipments can be advanced; use a test key")
	}
	subject := ship.Subject{Tenant: t, ID: id.Raw()}
	err := s.store.InTx(ctx, t, func(tx *store.Store) error {
		journeys, err := tx.LockJourneys(ctx, []ship.Subject{subject})
		if err != nil {
			return err
		}
		if len(journeys) == 0 || journeys[0].Sequence == 0 {
			return ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
		}
		j := journeys[0]
		if j.State != ship.StatePurchased || j.Progress.Status == ship.Delivered && status == "" {
			return noStep()
		}
		next, err := s.nextScans(ctx, tx, j, status, reason)
		if err != nil {
			return err
		}
		if len(next) == 0 {
			return noStep()
		}
		if err := s.absorb(ctx, tx, []Heard{{Subject: subject, Scans: next}}); err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "shipment.advanced", string(id)))
	})
	if err != nil {
		return Tracked{}, err
	}
	s.told()
	return s.Track(ctx, t, string(id), "")
}

func noStep() error {
	return ship.Coded(ship.Conflict, "cannot_advance", "the parcel has no further step")
}

// nextScans are the simulated scans that come next.
func (s *Service) nextScans(ctx context.Context, tx *store.Store, j ship.Journey, status ship.Status, reason string) ([]store.NewScan, error) {
	orders, err := tx.Orders(ctx, []ship.Subject{j.Subject})
	if err != nil {
		return nil, err
	}
	known, err := tx.Scans(ctx, []ship.Journey{j})
	if err != nil {
		return nil, err
	}
	now := afterAll(known[j.Subject], time.Now().UTC())
	if status == "" {
		next, _ := sandbox.Next(orders[j.Subject], known[j.Subject], now, j.Carrier)
		return newScans(next), nil
	}
	scan := sandbox.ScanFor(orders[j.Subject], status, reason, now, j.Carrier)
	if scan.Code == "" {
		return nil, ship.InvalidFields([]ship.FieldError{{Pointer: "/status", Code: "invalid", Detail: "is not a status that a carrier tells"}})
	}
	var all []ship.Scan // simulated pieces travel together
	for piece := range max(j.Pieces, 1) {
		scan.Piece = piece
		all = append(all, scan)
	}
	return newScans(all), nil
}

// afterAll is now, or the second after the newest scan: a parcel that is
// advanced twice in a second still moves forward.
func afterAll(scans []ship.Scan, now time.Time) time.Time {
	now = now.Truncate(time.Second)
	for _, sc := range scans {
		if !sc.At.Before(now) {
			now = sc.At.Truncate(time.Second).Add(time.Second)
		}
	}
	return now
}

func newScans(scans []ship.Scan) []store.NewScan {
	list := make([]store.NewScan, len(scans))
	for i, sc := range scans {
		list[i].Scan = sc
	}
	return list
}

// liveBatch is how many simulated parcels move in one transaction.
const liveBatch = 200

// Live moves simulated parcels that are due on by one step, and reports how
// many it moved.
func (s *Service) Live(ctx context.Context) (int, error) {
	if s.step <= 0 {
		return 0, nil
	}
	now := time.Now().UTC()
	due, err := s.store.DuePolls(ctx, now, now.Add(s.step), liveBatch)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error { return s.step1(ctx, tx, due, now) })
	return len(due), err
}

func (s *Service) step1(ctx context.Context, tx *store.Store, due []ship.Subject, now time.Time) error {
	journeys, err := tx.LockJourneys(ctx, due)
	if err != nil {
		return err
	}
	known, err := tx.Scans(ctx, journeys)
	if err != nil {
		return err
	}
	orders, err := tx.Orders(ctx, due)
	if err != nil {
		return err
	}
	var changes []store.Change
	var ended []ship.Subject
	for _, j := range journeys {
		if j.State == ship.StateVoiding {
			continue // a void may be refused
		}
		next, done := sandbox.Next(orders[j.Subject], known[j.Subject], afterAll(known[j.Subject], now), j.Carrier)
		if done || j.State != ship.StatePurchased {
			ended = append(ended, j.Subject)
		}
		if len(next) > 0 && j.State == ship.StatePurchased {
			changes = append(changes, s.changeOf(j, known[j.Subject], Heard{Subject: j.Subject, Scans: newScans(next)}, now))
		}
	}
	if err := tx.EndPolls(ctx, ended); err != nil {
		return err
	}
	return tx.Apply(ctx, changes)
}
