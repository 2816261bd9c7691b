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

// Heard is what a carrier told of one parcel.
type Heard struct {
	Subject    ship.Subject
	Scans      []store.NewScan
	EstimateAt time.Time // zero when the carrier gave none
	// EstimateOf is the time of the scan that the estimate came with. One that
	// is older than what is known changes nothing; the zero time is the
	// carrier's last word.
	EstimateOf time.Time
}

// Absorb takes in what carriers told, many parcels in one transaction. It may
// be told things late, twice and in any order.
func (s *Service) Absorb(ctx context.Context, heard []Heard) error {
	return s.store.InSystemTx(ctx, func(tx *store.Store) error { return s.absorb(ctx, tx, heard) })
}

// absorb locks the parcels and takes in what was heard of them.
func (s *Service) absorb(ctx context.Context, tx *store.Store, heard []Heard) error {
	subjects, _ := gather(heard)
	journeys, err := tx.LockJourneys(ctx, subjects)
	if err != nil {
		return err
	}
	return s.absorbInto(ctx, tx, journeys, heard)
}

// absorbInto keeps the scans that are new to the journeys, which are locked,
// writes one log event for each that has a status, and sets what follows from
// all of them.
func (s *Service) absorbInto(ctx context.Context, tx *store.Store, journeys []ship.Journey, heard []Heard) error {
	_, byID := gather(heard)
	journeys = slices.DeleteFunc(slices.Clone(journeys), func(j ship.Journey) bool { _, told := byID[j.Subject]; return !told })
	scans, err := tx.Scans(ctx, journeys)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	changes := make([]store.Change, len(journeys))
	for i := range journeys {
		changes[i] = s.changeOf(journeys[i], scans[journeys[i].Subject], byID[journeys[i].Subject], now)
	}
	return tx.Apply(ctx, changes)
}

// gather puts together what was heard of each parcel, because each is locked
// and changed once.
func gather(heard []Heard) (subjects []ship.Subject, byID map[ship.Subject]Heard) {
	byID = make(map[ship.Subject]Heard, len(heard))
	for _, h := range heard {
		all, more := byID[h.Subject]
		if !more {
			subjects = append(subjects, h.Subject)
			all.Subject = h.Subject
		}
		all.Scans = slices.Concat(all.Scans, h.Scans)
		if !h.EstimateAt.IsZero() {
			all.EstimateAt, all.EstimateOf = h.EstimateAt, h.EstimateOf
		}
		byID[h.Subject] = all
	}
	return subjects, byID
}

// changeOf is what hearing h does to a journey.
func (s *Service) changeOf(j ship.Journey, known []ship.Scan, h Heard, now time.Time) store.Change {
	j.Progress.CheckedAt = now
	late := !h.EstimateOf.IsZero() && h.EstimateOf.Before(j.NewestAt.Truncate(time.Second))
	if !h.EstimateAt.IsZero() && (!late || j.Progress.EstimateAt.IsZero()) {
		j.Progress.EstimateAt, j.Progress.EstimateSource = h.EstimateAt, "carrier"
	}
	raw := make(map[ship.ScanKey][]byte, len(h.Scans))
	told := make([]ship.Scan, len(h.Scans))
	for i, n := range h.Scans {
		told[i] = storable(n.Scan)
		if _, ok := raw[told[i].Key()]; !ok && json.Valid(n.Raw) {
			raw[told[i].Key()] = n.Raw
		}
	}
	fresh, events := j.Hear(known, told, ship.Telling{Now: now, BaseURL: s.baseURL})
	c := store.Change{Journey: j, Events: events}
	for _, f := range fresh {
		c.Scans = append(c.Scans, store.NewScan{Scan: f, Raw: raw[f.Key()]})
	}
	return c
}

// storable is s without what the database refuses: one parcel's odd text must
// not keep a whole batch out.
func storable(s ship.Scan) ship.Scan {
	for _, text := range []*string{&s.Code, &s.Reason, &s.Description, &s.Location} {
		*text = strings.ReplaceAll(strings.ToValidUTF8(*text, "\uFFFD"), "\x00", "\uFFFD")
	}
	if s.Status != "" && !s.Status.Valid() {
		s.Status, s.Reason = "", ship.ReasonUnmapped
	}
	return s
}
