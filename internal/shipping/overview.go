package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Tally counts shipments that have a carrier, a status and a state in common.
type Tally = store.Tally

// A DayCount is how many shipments were made on a day.
type DayCount = store.DayCount

// An Overview is how an account did in some days, and in as many before them.
type Overview = store.Counts

// Overview counts the shipments that were made from one day to before another,
// UTC.
func (s *Service) Overview(ctx context.Context, t ship.Tenant, from, until time.Time) (Overview, error) {
	return s.store.Tallies(ctx, t, from.Add(from.Sub(until)), from, until)
}
