package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Tally counts shipments that have a day, a carrier, a status and a state in
// common.
type Tally = store.Tally

// An Overview is how an account did in some days, and in as many before them.
type Overview struct {
	From, Until time.Time // days, UTC; Until is the day after the last
	Tallies     []Tally
	Before      []Tally // of as many days before From
	Ready       bool    // false while what was there before is still being counted
}

// Overview counts the shipments that were made from one day to before another.
func (s *Service) Overview(ctx context.Context, t ship.Tenant, from, until time.Time) (Overview, error) {
	o := Overview{From: from, Until: until}
	all, ready, err := s.store.Tallies(ctx, t, from.Add(from.Sub(until)), until)
	o.Ready = ready
	for _, a := range all {
		if a.Day.Before(from) {
			o.Before = append(o.Before, a)
		} else {
			o.Tallies = append(o.Tallies, a)
		}
	}
	return o, err
}
