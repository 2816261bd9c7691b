package tracking

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	replayPage     = 2000 // parcels that are read in one statement
	replayBatch    = 100  // parcels that are corrected in one transaction
	replayAttempts = 5    // waits between retries while the database is busy
)

// ReplayInput says over which history a carrier's status table is run again.
type ReplayInput struct {
	Spec  carrier.Spec // whose Meaning is the better table
	Since time.Time    // parcels that were created since
	Apply bool         // correct what differs; else only report
}

// A Difference is a code whose meaning has changed.
type Difference struct {
	Code            string
	Was, Is         CodeMeaning
	Events, Parcels int
	Notified        bool // clients were notified of these events, and are not notified again
}

// A CodeMeaning is what a code means.
type CodeMeaning struct {
	Status ship.Status // empty if the code changes nothing
	Reason string
}

// A ReplayReport is what a better table changes. The last three are zero
// unless it was applied.
type ReplayReport struct {
	Parcels     int          // that were read
	Differences []Difference // those with the most events first

	Corrected int // tracking events
	Written   int // log events: those that have a status for the first time
	Moved     int // parcels that have another status
}

// Replay runs a better status table over the tracking events that are stored.
// Clients are notified of an event that has a status for the first time; what
// they were notified of before is corrected silently, so that nobody receives a
// change twice. It may be stopped at any moment and run again.
func (s *Service) Replay(ctx context.Context, in ReplayInput) (ReplayReport, error) {
	if in.Spec.MeaningOf == nil {
		return ReplayReport{}, ship.Errorf(ship.Unsupported, "%s has no status table", in.Spec.Title)
	}

	r := replay{
		Service:     s,
		in:          in,
		differences: map[Difference]*Difference{},
		connections: map[ship.Tenant]ship.ConnectionID{},
	}
	var after ship.Subject
	for pages := 0; ; pages++ {
		parcels, last, err := s.store.ParcelsSince(ctx, in.Spec.Name, in.Since, after, replayPage)
		if err != nil {
			return r.result(), err
		}
		if err := r.replayParcels(ctx, parcels); err != nil {
			return r.result(), err
		}
		if last == (ship.Subject{}) {
			return r.result(), nil
		}

		after = last
		if pages%100 == 99 {
			s.log.InfoContext(ctx, "replaying", "carrier", in.Spec.Name, "parcels", r.report.Parcels, "corrected", r.report.Corrected)
		}
	}
}

// replay is one run.
type replay struct {
	*Service
	in          ReplayInput
	report      ReplayReport
	differences map[Difference]*Difference        // by the difference without its counts
	connections map[ship.Tenant]ship.ConnectionID // over which followed parcels are polled
}

// result returns the report, with its differences in order.
func (r *replay) result() ReplayReport {
	for _, difference := range r.differences {
		r.report.Differences = append(r.report.Differences, *difference)
	}
	slices.SortFunc(r.report.Differences, func(a, b Difference) int {
		return cmp.Or(
			cmp.Compare(b.Events, a.Events),
			strings.Compare(a.Code, b.Code),
			strings.Compare(string(a.Was.Status)+a.Was.Reason, string(b.Was.Status)+b.Was.Reason),
		)
	})
	return r.report
}

// replayParcels compares some parcels, and corrects those that differ.
func (r *replay) replayParcels(ctx context.Context, parcels []ship.Subject) error {
	if len(parcels) == 0 {
		return nil
	}

	r.report.Parcels += len(parcels)
	meanings, err := r.store.StoredMeanings(ctx, parcels)
	if err != nil {
		return err
	}
	differing, undelivered := r.compare(meanings)
	if !r.in.Apply {
		return nil
	}

	// Carriers are opened for this, so it is done before the transaction.
	connections, err := r.connectionsFor(ctx, undelivered)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(differing, replayBatch) {
		if err := r.correctWithRetry(ctx, batch, connections); err != nil {
			return err
		}
	}
	return nil
}

// compare counts what differs. It returns the parcels in which something does,
// and those that may not be delivered after all.
func (r *replay) compare(meanings []store.StoredMeaning) (differing, undelivered []ship.Subject) {
	type parcelDifference struct {
		ship.Subject
		Difference
	}
	counted := map[parcelDifference]bool{}
	isDiffering := map[ship.Subject]bool{}
	isUndelivered := map[ship.Subject]bool{}

	for _, meaning := range meanings {
		scan := meaning.Scan
		now, differs := scan.Remap(r.in.Spec.MeaningOf)
		if !differs {
			continue
		}

		key := Difference{
			Code:     scan.Code,
			Was:      CodeMeaning{scan.Status, scan.Reason},
			Is:       CodeMeaning{now.Status, now.Reason},
			Notified: now.Notified,
		}
		if r.differences[key] == nil {
			r.differences[key] = new(key)
		}
		r.differences[key].Events += meaning.Events
		if inParcel := (parcelDifference{meaning.Subject, key}); !counted[inParcel] {
			counted[inParcel] = true
			r.differences[key].Parcels++
		}

		if !isDiffering[meaning.Subject] {
			isDiffering[meaning.Subject] = true
			differing = append(differing, meaning.Subject)
		}
		if scan.Status == ship.Delivered && now.Status != ship.Delivered && !isUndelivered[meaning.Subject] {
			isUndelivered[meaning.Subject] = true
			undelivered = append(undelivered, meaning.Subject)
		}
	}
	return differing, undelivered
}

// connectionsFor returns the connections over which parcels can be polled that
// may not be delivered after all: their delivery had ended the polling.
func (r *replay) connectionsFor(ctx context.Context, parcels []ship.Subject) (map[ship.Subject]ship.ConnectionID, error) {
	if len(parcels) == 0 {
		return nil, nil
	}

	connections, err := r.store.BoughtOver(ctx, parcels)
	if err != nil {
		return nil, err
	}
	trackingStates, err := r.store.TrackingStates(ctx, parcels)
	if err != nil {
		return nil, err
	}

	for _, trackingState := range trackingStates {
		switch {
		case trackingState.Followed:
			if connections[trackingState.Subject], err = r.tenantConnection(ctx, trackingState.Tenant); err != nil {
				return nil, err
			}
		case trackingState.State != ship.StatePurchased:
			delete(connections, trackingState.Subject)
		}
	}
	return connections, nil
}

// tenantConnection is connectionFor, once per tenant.
func (r *replay) tenantConnection(ctx context.Context, t ship.Tenant) (ship.ConnectionID, error) {
	id, known := r.connections[t]
	if known {
		return id, nil
	}

	id, err := r.connectionFor(ctx, t, r.in.Spec.Name)
	if err == nil {
		r.connections[t] = id
	}
	return id, err
}

// correctWithRetry corrects parcels, and tries again while the database is
// busy.
func (r *replay) correctWithRetry(ctx context.Context, parcels []ship.Subject, connections map[ship.Subject]ship.ConnectionID) error {
	for attempt := 1; ; attempt++ {
		err := r.correct(ctx, parcels, connections)
		if ship.KindOf(err) != ship.Unavailable || attempt == replayAttempts {
			return err
		}

		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(attempt) * 200 * time.Millisecond):
		}
	}
}

// correct corrects what is stored about some parcels, in one transaction.
func (r *replay) correct(ctx context.Context, parcels []ship.Subject, connections map[ship.Subject]ship.ConnectionID) error {
	var sum ReplayReport

	err := r.store.InSystemTx(ctx, func(tx *store.Store) error {
		trackingStates, err := tx.LockTrackingStates(ctx, parcels)
		if err != nil {
			return err
		}
		known, err := tx.Scans(ctx, trackingStates)
		if err != nil {
			return err
		}

		if err := markReturns(ctx, tx, trackingStates, func(ship.TrackingState) bool { return true }); err != nil {
			return err
		}

		var changes []store.Change
		delivery := ship.EventContext{Now: time.Now().UTC().Truncate(time.Millisecond), BaseURL: r.baseURL}
		for _, trackingState := range trackingStates {
			// The comparison was made without a lock: another run may have
			// corrected the parcel meanwhile.
			before := trackingState.Progress.Status
			changed, events := trackingState.Remap(known[trackingState.Subject], r.in.Spec.MeaningOf, delivery)
			if len(changed) == 0 {
				continue
			}
			changes = append(changes, store.Change{State: trackingState, Scans: newScans(changed), Events: events})
			sum.add(changed, events, trackingState.Progress.Status != before)

			isUndelivered := before == ship.Delivered && trackingState.Progress.Status != ship.Delivered
			if id := connections[trackingState.Subject]; id != "" && isUndelivered {
				if err := tx.Watch(ctx, trackingState.Subject, id, delivery.Now); err != nil {
					return err
				}
			}
		}
		return tx.Correct(ctx, changes)
	})
	if err != nil {
		return err
	}

	// A transaction that is rolled back and tried again counts once.
	r.report.Corrected += sum.Corrected
	r.report.Written += sum.Written
	r.report.Moved += sum.Moved
	if sum.Written > 0 {
		r.notify()
	}
	return nil
}

func (r *ReplayReport) add(changed []ship.Scan, events []ship.Event, moved bool) {
	r.Corrected += len(changed)
	r.Written += len(events)
	if moved {
		r.Moved++
	}
}

// An UnmappedCode is a code that was reported and has no meaning.
type UnmappedCode struct {
	store.Unmapped
	Known bool // by the table as it is now: a replay gives it its meaning
}

// maxUnmappedCodes is how many codes are listed at most.
const maxUnmappedCodes = 1000

// UnmappedCodes lists the codes without a meaning of parcels that were created
// since a time, the one that was reported last first.
func (s *Service) UnmappedCodes(ctx context.Context, specs []carrier.Spec, since time.Time) ([]UnmappedCode, error) {
	found, err := s.store.Unmapped(ctx, since, maxUnmappedCodes)
	return unmappedOf(found, specs), err
}

// UnmappedOf is UnmappedCodes of one tenant, including simulated parcels.
func (s *Service) UnmappedOf(ctx context.Context, t ship.Tenant, specs []carrier.Spec, since time.Time) ([]UnmappedCode, error) {
	found, err := s.store.UnmappedOf(ctx, t, since, maxUnmappedCodes)
	return unmappedOf(found, specs), err
}

func unmappedOf(found []store.Unmapped, specs []carrier.Spec) []UnmappedCode {
	list := make([]UnmappedCode, len(found))
	for i, code := range found {
		list[i].Unmapped = code
		for _, spec := range specs {
			if spec.Name == code.Carrier && spec.MeaningOf != nil {
				_, _, list[i].Known = spec.MeaningOf(code.Code)
			}
		}
	}
	return list
}
