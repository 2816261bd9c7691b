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
	replayPage  = 2000 // parcels that are looked at in one statement
	replayBatch = 100  // parcels that are corrected in one transaction
	replayTries = 5    // while the database is busy
)

// ReplayInput says over which history a carrier's status table is run again.
type ReplayInput struct {
	Spec  carrier.Spec // whose Meaning is the better table
	Since time.Time    // parcels that were made since
	Apply bool         // correct what differs; else only tell
}

// A Difference is a code that means something else than it did.
type Difference struct {
	Code            string
	Was, Is         Sense
	Events, Parcels int
	Told            bool // clients were told of these events, and are not told again
}

// A Sense is what a code means.
type Sense struct {
	Status ship.Status // empty: it changes nothing
	Reason string
}

// A ReplayReport is what a better table changes. The last three are zero
// unless it was applied.
type ReplayReport struct {
	Parcels     int          // that were looked at
	Differences []Difference // those of the most events first

	Corrected int // tracking events
	Written   int // log events: those that have a status for the first time
	Moved     int // parcels that have another status
}

// Replay runs a better status table over the tracking events that are stored.
// An event that has a status for the first time is told; what was told before
// is put right in silence, so that nobody hears of a change twice. It may be
// stopped at any moment and run again.
func (s *Service) Replay(ctx context.Context, in ReplayInput) (ReplayReport, error) {
	if in.Spec.Meaning == nil {
		return ReplayReport{}, ship.Errorf(ship.Unsupported, "%s has no status table", in.Spec.Title)
	}
	r := replay{Service: s, in: in, found: map[Difference]*Difference{}, own: map[ship.Tenant]ship.ConnectionID{}}
	var after ship.Subject
	for pages := 0; ; pages++ {
		parcels, last, err := s.store.ParcelsSince(ctx, in.Spec.Name, in.Since, after, replayPage)
		if err != nil {
			return r.done(), err
		}
		if err := r.page(ctx, parcels); err != nil {
			return r.done(), err
		}
		if last == (ship.Subject{}) {
			return r.done(), nil
		}
		if after = last; pages%100 == 99 {
			s.log.InfoContext(ctx, "replaying", "carrier", in.Spec.Name, "parcels", r.report.Parcels, "corrected", r.report.Corrected)
		}
	}
}

// replay is one run.
type replay struct {
	*Service
	in     ReplayInput
	report ReplayReport
	found  map[Difference]*Difference        // by itself without counts
	own    map[ship.Tenant]ship.ConnectionID // that followed parcels are asked about over
}

func (r *replay) done() ReplayReport {
	for _, d := range r.found {
		r.report.Differences = append(r.report.Differences, *d)
	}
	slices.SortFunc(r.report.Differences, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.Events, a.Events), strings.Compare(a.Code, b.Code), strings.Compare(string(a.Was.Status)+a.Was.Reason, string(b.Was.Status)+b.Was.Reason))
	})
	return r.report
}

// page looks at some parcels, and corrects those that differ.
func (r *replay) page(ctx context.Context, parcels []ship.Subject) error {
	if len(parcels) == 0 {
		return nil
	}
	r.report.Parcels += len(parcels)
	meant, err := r.store.Meanings(ctx, parcels)
	if err != nil {
		return err
	}
	differ, undelivered := r.compare(meant)
	if !r.in.Apply {
		return nil
	}
	over, err := r.askedOver(ctx, undelivered)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(differ, replayBatch) {
		if err := r.insist(ctx, some, over); err != nil {
			return err
		}
	}
	return nil
}

// compare counts what differs, and returns the parcels in which something does
// and those of which a delivery may be none.
func (r *replay) compare(meant []store.Meant) (differ, undelivered []ship.Subject) {
	type parcelsCode struct {
		ship.Subject
		Difference
	}
	counted, some, back := map[parcelsCode]bool{}, map[ship.Subject]bool{}, map[ship.Subject]bool{}
	for _, m := range meant {
		now, differs := m.Scan.Reread(r.in.Spec.Meaning)
		if !differs {
			continue
		}
		key := Difference{Code: m.Scan.Code, Was: Sense{m.Scan.Status, m.Scan.Reason}, Is: Sense{now.Status, now.Reason}, Told: now.Told}
		if r.found[key] == nil {
			r.found[key] = new(key)
		}
		r.found[key].Events += m.Events
		if of := (parcelsCode{m.Subject, key}); !counted[of] {
			counted[of] = true
			r.found[key].Parcels++
		}
		if !some[m.Subject] {
			some[m.Subject] = true
			differ = append(differ, m.Subject)
		}
		if m.Scan.Status == ship.Delivered && now.Status != ship.Delivered && !back[m.Subject] {
			back[m.Subject] = true
			undelivered = append(undelivered, m.Subject)
		}
	}
	return differ, undelivered
}

// askedOver says over which connections parcels can be asked about that may not
// be delivered after all: their delivery had ended it. Carriers are opened for
// it, so it is done before the transaction.
func (r *replay) askedOver(ctx context.Context, parcels []ship.Subject) (map[ship.Subject]ship.ConnectionID, error) {
	if len(parcels) == 0 {
		return nil, nil
	}
	over, err := r.store.BoughtOver(ctx, parcels)
	if err != nil {
		return nil, err
	}
	journeys, err := r.store.Journeys(ctx, parcels)
	if err != nil {
		return nil, err
	}
	for _, j := range journeys {
		switch {
		case j.Followed:
			if over[j.Subject], err = r.connectionOf(ctx, j.Tenant); err != nil {
				return nil, err
			}
		case j.State != ship.StatePurchased:
			delete(over, j.Subject)
		}
	}
	return over, nil
}

// connectionOf is connectionFor, once a tenant.
func (r *replay) connectionOf(ctx context.Context, t ship.Tenant) (ship.ConnectionID, error) {
	id, known := r.own[t]
	if known {
		return id, nil
	}
	id, err := r.connectionFor(ctx, t, r.in.Spec.Name)
	if err == nil {
		r.own[t] = id
	}
	return id, err
}

// insist corrects parcels, again and again while the database is busy.
func (r *replay) insist(ctx context.Context, parcels []ship.Subject, over map[ship.Subject]ship.ConnectionID) error {
	for try := 1; ; try++ {
		err := r.correct(ctx, parcels, over)
		if ship.KindOf(err) != ship.Unavailable || try == replayTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(try) * 200 * time.Millisecond):
		}
	}
}

// correct puts right what is stored of some parcels, in one transaction.
func (r *replay) correct(ctx context.Context, parcels []ship.Subject, over map[ship.Subject]ship.ConnectionID) error {
	var sum ReplayReport
	err := r.store.InSystemTx(ctx, func(tx *store.Store) error {
		journeys, err := tx.LockJourneys(ctx, parcels)
		if err != nil {
			return err
		}
		known, err := tx.Scans(ctx, journeys)
		if err != nil {
			return err
		}
		var changes []store.Change
		telling := ship.Telling{Now: time.Now().UTC().Truncate(time.Millisecond), BaseURL: r.baseURL}
		for _, j := range journeys {
			before := j.Progress.Status
			changed, events := j.Reread(known[j.Subject], r.in.Spec.Meaning, telling)
			if len(changed) == 0 {
				continue // somebody was faster
			}
			changes = append(changes, store.Change{Journey: j, Scans: newScans(changed), Events: events})
			sum.add(changed, events, j.Progress.Status != before)
			if id := over[j.Subject]; id != "" && before == ship.Delivered && j.Progress.Status != ship.Delivered {
				if err := tx.Watch(ctx, j.Subject, id, telling.Now); err != nil {
					return err
				}
			}
		}
		return tx.Correct(ctx, changes)
	})
	if err != nil {
		return err
	}
	r.report.Corrected += sum.Corrected
	r.report.Written += sum.Written
	r.report.Moved += sum.Moved
	if sum.Written > 0 {
		r.told()
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

// An UnmappedCode is a code that was told and has no meaning.
type UnmappedCode struct {
	store.Unmapped
	Known bool // by the table as it is now: a replay gives it its meaning
}

// unmappedCodes is how many codes are listed at most.
const unmappedCodes = 1000

// UnmappedCodes lists the codes of parcels made since that have no meaning, the
// one last told first.
func (s *Service) UnmappedCodes(ctx context.Context, specs []carrier.Spec, since time.Time) ([]UnmappedCode, error) {
	found, err := s.store.Unmapped(ctx, since, unmappedCodes)
	list := make([]UnmappedCode, len(found))
	for i, u := range found {
		list[i].Unmapped = u
		for _, spec := range specs {
			if spec.Name == u.Carrier && spec.Meaning != nil {
				_, _, list[i].Known = spec.Meaning(u.Code)
			}
		}
	}
	return list, err
}

// UnmappedOf lists the codes on an account's newest parcels, made since, that
// have no meaning.
func (s *Service) UnmappedOf(ctx context.Context, t ship.Tenant, since time.Time, limit int) ([]store.Unmapped, error) {
	return s.store.UnmappedOf(ctx, t, since, limit)
}
