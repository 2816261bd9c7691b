package batch

import (
	"cmp"
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Pending lines are looked at soon at first and then more rarely: most are
// settled in minutes, some wait for a person.
const (
	soonest = 5 * time.Second
	latest  = 10 * time.Minute
)

// settle writes down what became of the lines that are pending. What it
// returns beside the error is after how long to look again; zero when none is
// left. The shipments settle by themselves: this only reads them.
func (s *Service) settle(ctx context.Context, b Batch) (time.Duration, error) {
	rows, err := s.Store.BatchRows(ctx, b.Tenant, b.ID, 0, MaxRows, RowPending)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	ids := make([]ship.ShipmentID, len(rows))
	for i, row := range rows {
		ids[i] = row.Shipment
	}
	list, err := s.Store.ShipmentsByID(ctx, b.Tenant, ids)
	if err != nil {
		return 0, err
	}
	known := make(map[ship.ShipmentID]ship.Shipment, len(list))
	for _, sh := range list {
		known[sh.ID] = sh
	}
	var changed []store.ChangedRow
	again := latest
	for _, row := range rows {
		settled, err := s.settled(ctx, b, &row, known[row.Shipment])
		switch {
		case err != nil:
			return 0, err
		case settled:
			changed = append(changed, store.ChangedRow{BatchRow: row, Was: row.Revision})
		default:
			age := time.Since(row.Shipment.Raw().Time())
			again = min(again, max(age/4, soonest)) // the newest says how soon
		}
	}
	if len(changed) == len(rows) {
		again = 0
	}
	_, err = s.Store.SaveBatchRows(ctx, b.Tenant, b.ID, changed, RowPending)
	return again, err
}

// settled makes of a line what became of its shipment, and reports whether
// that is known.
func (s *Service) settled(ctx context.Context, b Batch, row *store.BatchRow, sh ship.Shipment) (bool, error) {
	if sh.State != ship.StateFailed {
		return sold(row, sh), nil
	}
	attempts, err := s.Store.Attempts(ctx, b.Tenant, sh.ID)
	if err != nil {
		return false, err
	}
	why := "the carrier did not sell it, and nothing was bought: try the line again"
	if n := len(attempts); n > 0 {
		why = cmp.Or(attempts[n-1].Message, why)
	}
	row.State, row.Wrong, row.Shipment, row.Tries = RowFailed, encode([]Wrong{{Detail: why}}), "", 0
	return true, nil
}

// sold makes a line bought if its shipment is, and reports whether.
func sold(row *store.BatchRow, sh ship.Shipment) bool {
	if !sh.State.Bought() {
		return false
	}
	row.State = RowBought
	if !sh.Deal.Price.IsZero() {
		row.Price = sh.Deal.Price
	}
	return true
}
