package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
)

// An OrphanedLabel is a label that a carrier sold and no shipment uses. It is
// voided.
type OrphanedLabel struct {
	Tenant   ship.Tenant
	Shipment ship.ShipmentID
	Attempt  int
	FoundBy  string        // "response", "lookup", "sweep", "spool", "restore"
	Purchase ship.Purchase // what the carrier needs to void it
	State    string        // OrphanPending and so on
	FoundAt  time.Time
}

// The states of an orphaned label.
const (
	OrphanPending       = "pending" // it is to be voided
	OrphanVoided        = "voided"
	OrphanRefundPending = "refund_pending"
	OrphanVoidDeclined  = "void_declined"   // the carrier does not void it
	OrphanVoidNotNeeded = "void_not_needed" // the carrier voids nothing, and bills only what it has scanned
)

// sqlAddOrphan writes nothing if the label is the one that its shipment uses, or
// if it is recorded already.
const sqlAddOrphan = `
INSERT INTO orphaned_labels (account_id, livemode, carrier, tracking_number, shipment_id, attempt, found_by, purchase)
SELECT @account, @livemode, @carrier, @number, @id, @attempt, @found_by, @purchase
WHERE NOT EXISTS (
    SELECT FROM shipment_states st
    WHERE st.account_id = @account AND st.livemode = @livemode AND st.id = @id
      AND st.carrier = @carrier AND st.tracking_number = @number)
  AND NOT EXISTS ( -- after a restore the same label may count under another id
    SELECT FROM lookup_keys l
    JOIN shipment_states st ON st.account_id = l.account_id AND st.livemode = l.livemode AND st.id = l.subject_id
    WHERE l.account_id = @account AND l.livemode = @livemode AND l.kind = 't' AND l.value = @number
      AND st.carrier = @carrier AND st.tracking_number = @number AND NOT st.is_tracker)
ON CONFLICT DO NOTHING`

const sqlIsOrphan = `
SELECT EXISTS (
  SELECT FROM orphaned_labels
  WHERE account_id = @account AND livemode = @livemode AND carrier = @carrier AND tracking_number = @number)`

// RecordOrphan records an orphaned label, its charge, and the job that voids it. It is
// ship.Conflict if the label is the one that its shipment uses.
func (s *Store) RecordOrphan(ctx context.Context, label OrphanedLabel) error {
	purchase, err := json.Marshal(label.Purchase)
	if err != nil {
		return fmt.Errorf("encode a purchase: %w", err)
	}
	args := tenantArgs(label.Tenant, label.Shipment, pgx.NamedArgs{
		"carrier":  label.Purchase.Carrier,
		"number":   label.Purchase.TrackingNumber,
		"attempt":  label.Attempt,
		"found_by": label.FoundBy,
		"purchase": purchase,
	})

	return s.InTx(ctx, label.Tenant, func(tx *Store) error {
		// The lock comes first, as in Settle: a label is either the shipment's or
		// orphaned, and whoever comes second must see the decision of the first.
		var added int64
		var isOrphan bool
		batch := tx.newBatch(label.Tenant)
		batch.Queue(sqlLockPurchase, label.Tenant.Account, label.Tenant.Livemode, label.Shipment)
		batch.Queue(sqlAddOrphan, args).Exec(func(tag pgconn.CommandTag) error {
			added = tag.RowsAffected()
			return nil
		})
		batch.Queue(sqlIsOrphan, args).QueryRow(func(r pgx.Row) error { return r.Scan(&isOrphan) })
		if err := tx.send(ctx, batch); err != nil {
			return fmt.Errorf("record an orphaned label: %w", err)
		}

		switch {
		case !isOrphan:
			return ship.Errorf(ship.Conflict, "the label belongs to its shipment and is not orphaned")
		case added == 0:
			return nil // it was recorded before, with its charge and its job
		}

		if err := tx.charge(ctx, label.Tenant, label.Shipment, label.Attempt, label.Purchase, "purchase", label.Purchase.Price.Minor); err != nil {
			return err
		}
		return tx.Enqueue(ctx, job.VoidOrphanedLabel{
			Account:  label.Tenant.Account,
			Livemode: label.Tenant.Livemode,
			Carrier:  label.Purchase.Carrier,
			Number:   label.Purchase.TrackingNumber,
		}, 0)
	})
}

const sqlHasLiveOrphan = `
SELECT EXISTS (
  SELECT FROM orphaned_labels
  WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id AND attempt = @attempt
    AND state IN ('pending', 'void_declined'))`

// HasLiveOrphan reports whether an attempt bought a label that is orphaned and not
// voided.
func (s *Store) HasLiveOrphan(ctx context.Context, t ship.Tenant, id ship.ShipmentID, attempt int) (has bool, err error) {
	err = s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&has) }, sqlHasLiveOrphan, tenantArgs(t, id, pgx.NamedArgs{"attempt": attempt}))
	return has, err
}

const sqlOrphan = `
SELECT shipment_id, attempt, found_by, purchase, state, found_at FROM orphaned_labels
WHERE account_id = @account AND livemode = @livemode AND carrier = @carrier AND tracking_number = @number`

// OrphanedLabel returns an orphaned label; ship.NotFound if there is none.
func (s *Store) OrphanedLabel(ctx context.Context, t ship.Tenant, carrier, number string) (OrphanedLabel, error) {
	label := OrphanedLabel{Tenant: t}
	var purchase []byte
	err := s.queryRow(ctx, t, func(r pgx.Row) error {
		return r.Scan(&label.Shipment, &label.Attempt, &label.FoundBy, &purchase, &label.State, &label.FoundAt)
	}, sqlOrphan, tenantArgs(t, nil, pgx.NamedArgs{"carrier": carrier, "number": number}))
	if err != nil {
		return label, err
	}

	err = json.Unmarshal(purchase, &label.Purchase)
	return label, err
}

const sqlEndOrphan = `
UPDATE orphaned_labels SET state = @state, message = @message, resolved_at = now()
WHERE account_id = @account AND livemode = @livemode AND carrier = @carrier AND tracking_number = @number AND state = 'pending'`

// CloseOrphan records what became of an orphaned label: one of the states but
// OrphanPending.
func (s *Store) CloseOrphan(ctx context.Context, label OrphanedLabel, state, message string) error {
	return s.InTx(ctx, label.Tenant, func(tx *Store) error {
		n, err := tx.exec(ctx, label.Tenant, sqlEndOrphan, tenantArgs(label.Tenant, nil, pgx.NamedArgs{
			"carrier": label.Purchase.Carrier,
			"number":  label.Purchase.TrackingNumber,
			"state":   state,
			"message": null(message),
		}))
		if err != nil || n == 0 {
			return err
		}

		// A label that the carrier does not void stays charged.
		if state == OrphanVoidDeclined {
			return nil
		}
		return tx.charge(ctx, label.Tenant, label.Shipment, label.Attempt, label.Purchase, "void", -label.Purchase.Price.Minor)
	})
}

const sqlOpenOrphans = `
SELECT x.shipment_id, x.carrier, x.tracking_number, x.state, x.found_at FROM orphaned_labels x
WHERE ` + openOrphans + `
ORDER BY x.found_at DESC, x.carrier, x.tracking_number LIMIT $3 OFFSET $4`

// OrphanedLabels lists the labels that nobody may use and no carrier has
// voided, the last found first, without the first skip of them.
func (s *Store) OrphanedLabels(ctx context.Context, t ship.Tenant, limit, skip int) (list []OrphanedLabel, err error) {
	scan := func(r pgx.CollectableRow) (OrphanedLabel, error) {
		label := OrphanedLabel{Tenant: t}
		err := r.Scan(&label.Shipment, &label.Purchase.Carrier, &label.Purchase.TrackingNumber, &label.State, &label.FoundAt)
		return label, err
	}
	return queryList(ctx, s, t, scan, sqlOpenOrphans, t.Account, t.Livemode, limit, skip)
}
