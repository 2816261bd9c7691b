package batch

import (
	"cmp"
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Pending lines are checked soon at first and then more rarely: most are
// settled in minutes, some wait for a person.
const (
	minSettleDelay = 5 * time.Second
	maxSettleDelay = 10 * time.Minute
)

// settlePage is how many pending lines are read together.
const settlePage = 500

// settle records the outcomes of the lines that are pending. What it returns
// beside the error is after how long to check again; zero when none is left.
// The shipments settle by themselves: this only reads them.
func (s *Service) settle(ctx context.Context, batch Batch) (again time.Duration, err error) {
	for after := 0; ; {
		rows, err := s.Store.BatchRows(ctx, batch.Tenant, batch.ID, after, settlePage, RowPending)
		if err != nil || len(rows) == 0 {
			return again, err
		}
		after = rows[len(rows)-1].Number

		wait, err := s.settleRows(ctx, batch, rows)
		if err != nil {
			return 0, err
		}

		// The newest of the pending lines says how soon to check again.
		if again == 0 || wait > 0 && wait < again {
			again = wait
		}
	}
}

// settleRows records the outcomes of some lines. What it returns beside the
// error is after how long to check again; zero if all are settled.
func (s *Service) settleRows(ctx context.Context, batch Batch, rows []store.BatchRow) (time.Duration, error) {
	ids := make([]ship.ShipmentID, len(rows))
	for i, row := range rows {
		ids[i] = row.Shipment
	}
	shipments, err := s.Store.ShipmentsByID(ctx, batch.Tenant, ids)
	if err != nil {
		return 0, err
	}
	byID := make(map[ship.ShipmentID]ship.Shipment, len(shipments))
	for _, shipment := range shipments {
		byID[shipment.ID] = shipment
	}

	var changed []store.ChangedRow
	again := maxSettleDelay
	for _, row := range rows {
		settled, err := s.settleRow(ctx, batch, &row, byID[row.Shipment])
		switch {
		case err != nil:
			return 0, err
		case settled:
			changed = append(changed, store.ChangedRow{BatchRow: row, Was: row.Revision})
		default:
			age := time.Since(row.Shipment.Raw().Time())
			again = min(again, max(age/4, minSettleDelay))
		}
	}
	if len(changed) == len(rows) {
		again = 0
	}

	_, err = s.Store.SaveBatchRows(ctx, batch.Tenant, batch.ID, changed, RowPending)
	return again, err
}

// settleRow sets a line to the outcome of its shipment, and reports whether
// that is known.
func (s *Service) settleRow(ctx context.Context, batch Batch, row *store.BatchRow, shipment ship.Shipment) (bool, error) {
	if shipment.State != ship.StateFailed {
		return markBought(row, shipment), nil
	}

	attempts, err := s.Store.Attempts(ctx, batch.Tenant, shipment.ID)
	if err != nil {
		return false, err
	}
	code := "carrier_rejected"
	why := "the carrier did not complete the purchase, and nothing was bought: try the line again"
	if n := len(attempts); n > 0 {
		why = cmp.Or(attempts[n-1].Message, why)
		if last := attempts[n-1].Code; last == "approval_denied" || last == "approval_expired" {
			code = last
		}
	}

	row.State = RowFailed
	row.Problems = encodeProblems([]Problem{{Detail: why, Reason: code}})
	row.Shipment = ""
	row.Tries = 0
	return true, nil
}

// markBought marks a line as bought if its shipment is, and reports whether it
// is.
func markBought(row *store.BatchRow, shipment ship.Shipment) bool {
	if !shipment.State.Bought() {
		return false
	}
	row.State = RowBought
	if !shipment.Purchase.Price.IsZero() {
		row.Price = shipment.Purchase.Price
	}
	return true
}
