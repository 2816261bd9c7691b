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

// Heard is what a carrier reported about one parcel.
type Heard struct {
	Subject    ship.Subject
	Scans      []store.NewScan
	EstimateAt time.Time // zero when the carrier gave none
	// EstimateOf is the time of the scan that the estimate came with. An
	// estimate that is older than the newest scan changes nothing; with the zero
	// time it is the carrier's latest.
	EstimateOf time.Time
}

// Absorb applies updates of carriers, many parcels in one transaction. They may
// come late, twice and in any order.
func (s *Service) Absorb(ctx context.Context, updates []Heard) error {
	return s.store.InSystemTx(ctx, func(tx *store.Store) error { return s.lockAndApply(ctx, tx, updates) })
}

// lockAndApply locks the parcels and applies their updates.
func (s *Service) lockAndApply(ctx context.Context, tx *store.Store, updates []Heard) error {
	subjects, _ := groupByShipment(updates)
	journeys, err := tx.LockJourneys(ctx, subjects)
	if err != nil {
		return err
	}
	return s.applyUpdates(ctx, tx, journeys, updates)
}

// applyUpdates stores the scans that are new to the journeys, which are locked,
// writes one log event for each that has a status, and sets what follows from
// all of them.
func (s *Service) applyUpdates(ctx context.Context, tx *store.Store, journeys []ship.Journey, updates []Heard) error {
	_, bySubject := groupByShipment(updates)
	journeys = slices.DeleteFunc(slices.Clone(journeys), func(j ship.Journey) bool {
		_, hasUpdate := bySubject[j.Subject]
		return !hasUpdate
	})

	scans, err := tx.Scans(ctx, journeys)
	if err != nil {
		return err
	}

	now := time.Now().UTC().Truncate(time.Millisecond)
	changes := make([]store.Change, len(journeys))
	for i, journey := range journeys {
		changes[i] = s.changeOf(journey, scans[journey.Subject], bySubject[journey.Subject], now)
	}
	return tx.Apply(ctx, changes)
}

// groupByShipment merges the updates of each parcel, because each is locked and
// changed once. The subjects are in the order of their first update.
func groupByShipment(updates []Heard) (subjects []ship.Subject, bySubject map[ship.Subject]Heard) {
	bySubject = make(map[ship.Subject]Heard, len(updates))
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

// changeOf is what an update changes in a journey.
func (s *Service) changeOf(journey ship.Journey, known []ship.Scan, update Heard, now time.Time) store.Change {
	journey.Progress.CheckedAt = now

	// An estimate that arrives late does not replace a newer one.
	isLate := !update.EstimateOf.IsZero() && update.EstimateOf.Before(journey.NewestAt.Truncate(time.Second))
	if !update.EstimateAt.IsZero() && (!isLate || journey.Progress.EstimateAt.IsZero()) {
		journey.Progress.EstimateAt = update.EstimateAt
		journey.Progress.EstimateSource = "carrier"
	}

	raw := make(map[ship.ScanKey][]byte, len(update.Scans))
	reported := make([]ship.Scan, len(update.Scans))
	for i, scan := range update.Scans {
		reported[i] = storable(scan.Scan)
		key := reported[i].Key()
		if _, ok := raw[key]; !ok && json.Valid(scan.Raw) {
			raw[key] = scan.Raw
		}
	}

	fresh, events := journey.Hear(known, reported, ship.Telling{Now: now, BaseURL: s.baseURL})
	change := store.Change{Journey: journey, Events: events}
	for _, scan := range fresh {
		change.Scans = append(change.Scans, store.NewScan{Scan: scan, Raw: raw[scan.Key()]})
	}
	return change
}

// storable is a scan without what the database refuses: one parcel's odd text
// must not keep a whole batch out.
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
