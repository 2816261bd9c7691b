package bulk

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	concurrency = 4                     // shipments that carriers are asked about at once
	chunkSize   = 12                    // rows between two writes
	turnTime    = 15 * time.Second      // how long a job works before it lets others
	turnPause   = 10 * time.Millisecond // until its next turn
	retryDelay  = 5 * time.Second       // after carriers that did not answer
	maxTries    = 3                     // before a row fails
	slowestRow  = 25 * time.Second      // that a row takes when a carrier does not answer

	// Pending rows are checked soon at first and then more rarely: most are settled
	// in minutes, some wait for a person.
	minSettleDelay = 5 * time.Second
	maxSettleDelay = 10 * time.Minute
)

// Work continues with an action for a while. What it returns beside the error is
// after how long to continue; zero when it is done. It can end anywhere and be
// called again: what a row does is done under its key, or is safe to repeat.
func (s *Service) Work(ctx context.Context, t ship.Tenant, id ship.BulkActionID) (time.Duration, error) {
	action, err := s.Store.BulkAction(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound || err == nil && action.State == Done {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}

	left, err := s.workOnWaiting(ctx, action)
	if err != nil || left > 0 {
		return left, err
	}
	again, err := s.settle(ctx, action)
	if err != nil || again > 0 {
		return again, err
	}
	return 0, s.Store.FinishBulkAction(ctx, t, id)
}

// workOnWaiting works on rows that wait, and returns after how long to continue
// with those that are left; zero if there are none.
func (s *Service) workOnWaiting(ctx context.Context, action store.BulkAction) (time.Duration, error) {
	until := time.Now().Add(turnTime)
	isLate := job.Lateness(ctx, slowestRow)
	after := 0
	var unknown error // of rows that stay as they are; those behind them do not wait for them
	for {
		limit := chunkSize
		if action.Kind == Manifest {
			limit = MaxShipments // the labels of a manifest are handed over together
		}
		rows, err := s.Store.BulkRows(ctx, action.Tenant, action.ID, after, limit, RowWaiting)
		if err != nil {
			return 0, err
		}
		if len(rows) == 0 {
			break
		}
		if time.Now().After(until) || isLate() {
			return turnPause, unknown
		}

		var failed error
		if action.Kind == Manifest {
			failed, err = s.closeManifests(ctx, action, rows, isLate)
		} else {
			failed, err = s.workOn(ctx, action, rows, isLate)
		}
		if err != nil {
			return 0, err
		}
		unknown = errors.Join(unknown, failed)
		after = rows[len(rows)-1].Position
	}
	if unknown != nil {
		return retryDelay, unknown
	}

	// What still waits after a turn has carriers that did not answer.
	rows, err := s.Store.BulkRows(ctx, action.Tenant, action.ID, 0, 1, RowWaiting)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return retryDelay, nil
}

// workOn voids labels or buys returns, some at once, and records the outcomes. Rows
// whose outcome is not known stay as they are; unknown says why.
func (s *Service) workOn(ctx context.Context, action store.BulkAction, rows []store.BulkRow, isLate func() bool) (unknown, err error) {
	account, err := s.Account(ctx, action.Tenant)
	if err != nil {
		return nil, err
	}

	failures := make([]error, len(rows))
	var group sync.WaitGroup
	slots := make(chan struct{}, concurrency)
	for i := range rows {
		slots <- struct{}{}
		if isLate() {
			break // what is left stays as it is
		}
		group.Go(func() {
			defer func() { <-slots }()
			if action.Kind == Void {
				s.voidRow(ctx, action, &rows[i])
			} else {
				failures[i] = s.returnRow(ctx, action, account, &rows[i])
			}
		})
	}
	group.Wait()

	// The outcomes are recorded even if the job was cancelled. One that is not is
	// found again under its key.
	err = s.Store.SaveBulkRows(context.WithoutCancel(ctx), action.Tenant, action.ID, rows)
	return errors.Join(failures...), err
}

// voidRow voids a label. Asking again after a crash is safe.
func (s *Service) voidRow(ctx context.Context, action store.BulkAction, row *store.BulkRow) {
	shipment, err := s.Void(ctx, action.Tenant, row.Shipment)
	switch {
	case ship.CodeOf(err) == "void_refused":
		fail(row, err)
	case shipment.State == ship.StateVoiding:
		// It is written down, whatever went wrong after that: a job finds out.
		row.State = RowPending
	case err == nil:
		row.State = RowDone
	case (mayTryAgain(err) || isUnknown(err)) && row.Tries+1 < maxTries:
		row.Tries++
	default:
		fail(row, err)
	}
}

// returnRow buys a return. It returns an error only if it cannot be known whether
// the return was bought: then the row stays, and the same purchase is requested
// again.
func (s *Service) returnRow(ctx context.Context, action store.BulkAction, account ship.Account, row *store.BulkRow) error {
	bought, err := s.Return(ctx, ReturnRequest{
		Tenant:   action.Tenant,
		Account:  account,
		Shipment: row.Shipment,
		Person:   action.Person,
		Key:      row.Key,
	})
	switch {
	case err == nil:
		markBought(row, bought)
		return nil
	case ship.CodeOf(err) == "idempotency_in_progress":
		return nil // another run of the job is buying it right now
	case mayTryAgain(err) && row.Tries+1 < maxTries:
		row.Tries++
		return nil
	case isUnknown(err):
		return err
	}

	// A process that died after the purchase left the row as it was, and by now the
	// same request may be refused.
	earlier, lookupErr := s.boughtUnder(ctx, action.Tenant, row.Key)
	if lookupErr != nil {
		return lookupErr
	}
	if earlier.ID != "" && earlier.State != ship.StateFailed {
		markBought(row, earlier)
		return nil
	}
	fail(row, err)
	return nil
}

// boughtUnder returns the shipment that was bought under the key of a row; one
// without an id if there is none. Rows of earlier releases have keys that a client
// can send, so a purchase of a client may be there, which is not the row's.
func (s *Service) boughtUnder(ctx context.Context, t ship.Tenant, key string) (ship.Shipment, error) {
	id, err := s.Store.PurchaseUnder(ctx, t, ship.NameOf(key))
	if err != nil || id == "" {
		return ship.Shipment{}, err
	}
	list, err := s.Store.ShipmentsByID(ctx, t, []ship.ShipmentID{id})
	if err != nil || len(list) == 0 {
		return ship.Shipment{}, err
	}
	return list[0], nil
}

// markBought records the return of a row: bought, or pending until its outcome is
// known.
func markBought(row *store.BulkRow, shipment ship.Shipment) {
	row.Return = shipment.ID
	row.State = RowPending
	if shipment.State.Bought() {
		row.State = RowDone
	}
}

// mayTryAgain reports whether the same request may succeed in a moment. A conflict
// without a code is that of two requests at once.
func mayTryAgain(err error) bool {
	switch ship.KindOf(err) {
	case ship.Unavailable, ship.Limited:
		return true
	case ship.Conflict:
		return ship.CodeOf(err) == "" || ship.CodeOf(err) == "manifest_in_progress"
	}
	return false
}

// isUnknown reports whether an error does not say if the carrier did what was asked.
func isUnknown(err error) bool {
	return ship.KindOf(err) == ship.Internal || ship.KindOf(err) == ship.Uncertain
}

// fail records why a row was not done.
func fail(row *store.BulkRow, err error) {
	row.State = RowFailed
	row.Code = cmp.Or(ship.CodeOf(err), "internal_error")
	row.Message = "An internal error occurred. Try it again with the shipment itself."

	known, ok := errors.AsType[*ship.Error](err)
	if !ok || known.Kind == ship.Internal {
		return
	}
	row.Message = known.Message
	if len(known.Fields) > 0 {
		row.Message = known.Fields[0].Pointer + " " + known.Fields[0].Detail
	}
	if known.Refusal.Message != "" {
		row.Message += ": " + known.Refusal.Message
	}
}

// closeManifests hands the labels of rows over, one manifest for each key. A group
// whose outcome is not known stays as it is, and the others do not wait for it;
// unknown says why.
func (s *Service) closeManifests(ctx context.Context, action store.BulkAction, rows []store.BulkRow, isLate func() bool) (unknown, err error) {
	account, err := s.Account(ctx, action.Tenant)
	if err != nil {
		return nil, err
	}

	for len(rows) > 0 && !isLate() {
		var group, others []store.BulkRow
		for _, row := range rows {
			if row.Key == rows[0].Key {
				group = append(group, row)
			} else {
				others = append(others, row)
			}
		}
		unknown = errors.Join(unknown, s.closeManifest(ctx, action, account, group))
		rows = others
	}
	return unknown, nil
}

// closeManifest hands the labels of a group over together and records the outcome.
func (s *Service) closeManifest(ctx context.Context, action store.BulkAction, account ship.Account, rows []store.BulkRow) error {
	ids := make([]ship.ShipmentID, len(rows))
	for i, row := range rows {
		ids[i] = row.Shipment
	}
	first, err := s.Store.Shipment(ctx, action.Tenant, ids[0])
	if err != nil {
		return err // a shipment of minutes ago is not gone
	}

	manifest, err := s.Close(ctx, ManifestRequest{
		Tenant:     action.Tenant,
		Account:    account,
		Carrier:    first.Purchase.Carrier,
		Connection: first.Purchase.Connection,
		Address:    first.Order.Origin,
		Shipments:  ids,
		Key:        rows[0].Key,
	})
	// The rows stay as they are, and the same manifest is requested again.
	if isUnknown(err) {
		return err
	}
	for i := range rows {
		switch {
		case err == nil:
			rows[i].Manifest = manifest.ID
			markHandedOver(&rows[i], manifest)
		case mayTryAgain(err) && rows[i].Tries+1 < maxTries:
			rows[i].Tries++
		default:
			fail(&rows[i], err)
		}
	}
	return s.Store.SaveBulkRows(context.WithoutCancel(ctx), action.Tenant, action.ID, rows)
}

// markHandedOver sets a row to what became of its manifest.
func markHandedOver(row *store.BulkRow, manifest store.Manifest) {
	for _, excluded := range manifest.Excluded {
		if excluded.Shipment == row.Shipment {
			row.State = RowFailed
			row.Code = "excluded"
			row.Message = excluded.Reason
			row.Manifest = ""
			return
		}
	}

	switch manifest.State {
	case effect.Succeeded:
		row.State = RowDone
	case effect.Failed, effect.NeedsReview:
		row.State = RowFailed
		row.Code = manifest.Code
		row.Message = manifest.Message
	default:
		row.State = RowPending
	}
}

// settle records the outcomes of pending rows. What it returns beside the error is
// after how long to check again; zero when none is left.
func (s *Service) settle(ctx context.Context, action store.BulkAction) (time.Duration, error) {
	rows, err := s.Store.BulkRows(ctx, action.Tenant, action.ID, 0, MaxShipments, RowPending)
	if err != nil || len(rows) == 0 {
		return 0, err
	}

	var settled []store.BulkRow
	for _, row := range rows {
		if err := s.settleRow(ctx, action, &row); err != nil {
			return 0, err
		}
		if row.State != RowPending {
			settled = append(settled, row)
		}
	}
	if err := s.Store.SaveBulkRows(ctx, action.Tenant, action.ID, settled); err != nil || len(settled) == len(rows) {
		return 0, err
	}
	age := time.Since(action.ID.Raw().Time())
	return min(max(age/4, minSettleDelay), maxSettleDelay), nil
}

// settleRow sets a pending row to its outcome, if that is known. What the carrier
// was asked for settles by itself: this only reads it.
func (s *Service) settleRow(ctx context.Context, action store.BulkAction, row *store.BulkRow) error {
	if action.Kind == Manifest {
		manifest, err := s.Store.Manifest(ctx, action.Tenant, row.Manifest)
		if err == nil {
			markHandedOver(row, manifest)
		}
		return err
	}

	id := row.Shipment
	if action.Kind == Return {
		id = row.Return
	}
	shipment, err := s.Store.Shipment(ctx, action.Tenant, id)
	if ship.KindOf(err) == ship.NotFound {
		fail(row, ship.Coded(ship.NotFound, "shipment_not_found", "the shipment is no longer kept"))
		return nil
	}
	if err != nil {
		return err
	}
	if action.Kind == Return {
		return s.settleReturn(ctx, action, row, shipment)
	}

	switch shipment.State {
	case ship.StateVoided, ship.StateRefundPending:
		row.State = RowDone
	case ship.StatePurchased:
		reason, err := s.RefusedVoid(ctx, action.Tenant, id)
		if err != nil {
			return err
		}
		fail(row, ship.Coded(ship.Conflict, "void_refused", "%s", cmp.Or(reason, "the carrier did not void the label")))
	}
	return nil
}

// settleReturn sets a row to the outcome of its return.
func (s *Service) settleReturn(ctx context.Context, action store.BulkAction, row *store.BulkRow, shipment ship.Shipment) error {
	if shipment.State != ship.StateFailed {
		markBought(row, shipment)
		return nil
	}

	attempts, err := s.Store.Attempts(ctx, action.Tenant, shipment.ID)
	if err != nil {
		return err
	}
	why := "the carrier did not complete the purchase, and nothing was bought"
	if n := len(attempts); n > 0 {
		why = cmp.Or(attempts[n-1].Message, why)
	}
	fail(row, ship.Coded(ship.Conflict, "carrier_rejected", "%s", why))
	row.Return = ""
	return nil
}
