package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// overviewReach is how many of the newest shipments an overview counts.
const overviewReach = 20_000

// A Tally counts shipments that have a day, a carrier, a status and a state in
// common.
type Tally = store.Tally

// An Overview is how an account did of late.
type Overview struct {
	Since    time.Time
	Tallies  []Tally
	Troubled []ship.Shipment // that need a person, newest first
	Cut      bool            // there were more shipments than are counted
}

// Overview counts the newest shipments since a time.
func (s *Service) Overview(ctx context.Context, t ship.Tenant, since time.Time) (Overview, error) {
	o := Overview{Since: since}
	var err error
	if o.Tallies, err = s.store.Tallies(ctx, t, since, overviewReach); err != nil {
		return o, err
	}
	n := 0
	for _, a := range o.Tallies {
		n += a.Count
	}
	o.Cut = n >= overviewReach
	o.Troubled, err = s.store.Troubled(ctx, t, since, overviewReach, 8)
	return o, err
}
