package tracking

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Update is what a carrier reported about one parcel.
type Update struct {
	Subject    ship.Subject
	Scans      []store.NewScan
	EstimateAt time.Time // zero when the carrier gave none
	// EstimateOf is the time of the scan that the estimate came with. An
	// estimate that is older than the newest scan changes nothing. With the
	// zero time the estimate is the carrier's latest.
	EstimateOf time.Time
}

// ApplyUpdates applies updates of carriers, many parcels in one transaction. They may
// come late, twice and in any order.
func (s *Service) ApplyUpdates(ctx context.Context, updates []Update) error {
	return s.store.InSystemTx(ctx, func(tx *store.Store) error { return s.lockAndApply(ctx, tx, updates) })
}

// lockAndApply locks the parcels and applies their updates.
func (s *Service) lockAndApply(ctx context.Context, tx *store.Store, updates []Update) error {
	subjects, _ := groupByShipment(updates)
	trackingStates, err := tx.LockTrackingStates(ctx, subjects)
	if err != nil {
		return err
	}
	return s.applyUpdates(ctx, tx, trackingStates, updates)
}

// applyUpdates stores the scans that are new, writes one log event for each
// that has a status, and updates the tracking states accordingly. The caller
// holds the locks on the states.
func (s *Service) applyUpdates(ctx context.Context, tx *store.Store, trackingStates []ship.TrackingState, updates []Update) error {
	_, bySubject := groupByShipment(updates)
	trackingStates = slices.DeleteFunc(slices.Clone(trackingStates), func(j ship.TrackingState) bool {
		_, hasUpdate := bySubject[j.Subject]
		return !hasUpdate
	})

	scans, err := tx.Scans(ctx, trackingStates)
	if err != nil {
		return err
	}

	err = markReturns(ctx, tx, trackingStates, func(j ship.TrackingState) bool {
		return slices.ContainsFunc(scans[j.Subject], goesBack) ||
			slices.ContainsFunc(bySubject[j.Subject].Scans, func(scan store.NewScan) bool { return goesBack(scan.Scan) })
	})
	if err != nil {
		return err
	}

	now := time.Now().UTC().Truncate(time.Millisecond)
	changes := make([]store.Change, len(trackingStates))
	for i, trackingState := range trackingStates {
		changes[i] = s.changeOf(trackingState, scans[trackingState.Subject], bySubject[trackingState.Subject], now)
	}
	return tx.Apply(ctx, changes)
}

// markReturns marks the return shipments among the parcels that isAsked selects. It
// matters only for those that go back to their sender, which are few: the
// others save the reading of their orders.
func markReturns(ctx context.Context, tx *store.Store, trackingStates []ship.TrackingState, isAsked func(ship.TrackingState) bool) error {
	var asked []ship.Subject
	for _, trackingState := range trackingStates {
		if !trackingState.Followed && isAsked(trackingState) {
			asked = append(asked, trackingState.Subject)
		}
	}
	if len(asked) == 0 {
		return nil
	}

	orders, err := tx.Orders(ctx, asked)
	if err != nil {
		return err
	}
	for i := range trackingStates {
		trackingStates[i].IsReturn = orders[trackingStates[i].Subject].IsReturn
	}
	return nil
}

// goesBack reports whether a scan says that its parcel goes back to its sender.
func goesBack(scan ship.Scan) bool { return scan.Reason == ship.ReasonReturnToSender }

// groupByShipment merges the updates of each parcel, because each is locked and
// changed once. The subjects are in the order of their first update.
func groupByShipment(updates []Update) (subjects []ship.Subject, bySubject map[ship.Subject]Update) {
	bySubject = make(map[ship.Subject]Update, len(updates))
	for _, update := range updates {
		merged, seen := bySubject[update.Subject]
		if !seen {
			subjects = append(subjects, update.Subject)
			merged.Subject = update.Subject
		}

		merged.Scans = slices.Concat(merged.Scans, update.Scans)
		if !update.EstimateAt.IsZero() {
			merged.EstimateAt = update.EstimateAt
			merged.EstimateOf = update.EstimateOf
		}
		bySubject[update.Subject] = merged
	}
	return subjects, bySubject
}

// changeOf returns what an update changes in a tracking state.
func (s *Service) changeOf(trackingState ship.TrackingState, known []ship.Scan, update Update, now time.Time) store.Change {
	trackingState.Progress.CheckedAt = now

	// An estimate that arrives late does not replace a newer one.
	isLate := !update.EstimateOf.IsZero() && update.EstimateOf.Before(trackingState.NewestAt.Truncate(time.Second))
	if !update.EstimateAt.IsZero() && (!isLate || trackingState.Progress.EstimateAt.IsZero()) {
		trackingState.Progress.EstimateAt = update.EstimateAt
		trackingState.Progress.EstimateSource = "carrier"
	}

	raw := make(map[ship.ScanKey][]byte, len(update.Scans))
	reported := make([]ship.Scan, len(update.Scans))
	for i, scan := range update.Scans {
		reported[i] = storable(scan.Scan)
		if trackingState.IsErased {
			reported[i] = reported[i].WithoutPersonalData()
			continue // what the carrier sent is not kept either
		}
		key := reported[i].Key()
		if _, ok := raw[key]; !ok && json.Valid(scan.Raw) {
			raw[key] = scan.Raw
		}
	}

	fresh, events := trackingState.Apply(known, reported, ship.EventContext{Now: now, BaseURL: s.baseURL})
	change := store.Change{State: trackingState, Events: events}
	for _, scan := range fresh {
		change.Scans = append(change.Scans, store.NewScan{Scan: scan, Raw: raw[scan.Key()]})
	}
	return change
}

// storable returns a scan without anything that the database would refuse: the
// odd text of one parcel must not fail a whole batch.
func storable(scan ship.Scan) ship.Scan {
	for _, text := range []*string{&scan.Code, &scan.Reason, &scan.Description, &scan.Location} {
		*text = strings.ReplaceAll(strings.ToValidUTF8(*text, "\uFFFD"), "\x00", "\uFFFD")
	}
	if scan.Status != "" && !scan.Status.Valid() {
		scan.Status = ""
		scan.Reason = ship.ReasonUnmapped
	}
	return scan
}
