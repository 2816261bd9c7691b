package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Purchases that a person must approve before anything is bought.

// sqlAddApproval makes a purchase that was written down in the same transaction
// wait for a person. It writes nothing if a client knows of the purchase.
const sqlAddApproval = `
WITH waiting AS (
  UPDATE shipment_states SET state = 'awaiting_approval'
  WHERE account_id = @account AND livemode = @livemode AND id = @shipment AND state = 'purchasing' AND sequence = 0
  RETURNING 1
)
INSERT INTO approvals (account_id, livemode, id, shipment_id, api_key_id, price_minor, price_currency, expires_at)
SELECT @account, @livemode, @id, @shipment, @key, @minor, @currency, @expires FROM waiting`

// AddApproval stores an approval that a new purchase waits for.
func (s *Store) AddApproval(ctx context.Context, a ship.Approval) error {
	err := s.guarded(ctx, a.Tenant, sqlAddApproval, tenantArgs(a.Tenant, a.ID, pgx.NamedArgs{
		"shipment": a.Shipment,
		"key":      a.Key,
		"minor":    a.Price.Minor,
		"currency": a.Price.Currency,
		"expires":  a.ExpiresAt,
	}))
	if err != nil {
		return fmt.Errorf("store the approval of shipment %s: %w", a.Shipment, err)
	}
	return nil
}

const approvalColumns = `id, shipment_id, api_key_id, status, price_minor, price_currency, expires_at, decided_at, decided_by_person_id, coalesce(decided_by, '')`

// approvalScanner returns a function that reads approvals of the tenant.
func approvalScanner(t ship.Tenant) pgx.RowToFunc[ship.Approval] {
	return func(r pgx.CollectableRow) (ship.Approval, error) {
		approval := ship.Approval{Tenant: t}
		var decided *time.Time
		err := r.Scan(
			&approval.ID, &approval.Shipment, &approval.Key, &approval.Status, &approval.Price.Minor, &approval.Price.Currency,
			&approval.ExpiresAt, &decided, &approval.DecidedBy, &approval.Decider,
		)
		approval.ExpiresAt = approval.ExpiresAt.UTC()
		approval.DecidedAt = timeOrZero(decided)
		return approval, err
	}
}

const sqlApproval = `
SELECT ` + approvalColumns + ` FROM approvals
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// Approval returns an approval; ship.NotFound if there is none.
func (s *Store) Approval(ctx context.Context, t ship.Tenant, id ship.ApprovalID) (ship.Approval, error) {
	return queryOne(ctx, s, t, approvalScanner(t), sqlApproval, t.Account, t.Livemode, id)
}

const sqlWaitingApprovals = `
SELECT ` + approvalColumns + ` FROM approvals
WHERE account_id = @account AND livemode = @livemode AND status = 'waiting' AND id > @after
ORDER BY id LIMIT @limit`

// WaitingApprovals lists approvals that wait for a person, oldest first, after one
// of them.
func (s *Store) WaitingApprovals(ctx context.Context, t ship.Tenant, after ship.RawID, limit int) ([]ship.Approval, error) {
	args := tenantArgs(t, nil, pgx.NamedArgs{"after": after, "limit": limit})
	return queryList(ctx, s, t, approvalScanner(t), sqlWaitingApprovals, args)
}

const sqlDecidedApprovals = `
SELECT ` + approvalColumns + ` FROM approvals
WHERE account_id = @account AND livemode = @livemode AND status <> 'waiting' AND id < @before
ORDER BY id DESC LIMIT @limit`

// DecidedApprovals lists approvals that wait no longer, newest first.
func (s *Store) DecidedApprovals(ctx context.Context, t ship.Tenant, p ship.Page) ([]ship.Approval, error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	args := tenantArgs(t, nil, pgx.NamedArgs{"before": before, "limit": p.Limit})
	return queryList(ctx, s, t, approvalScanner(t), sqlDecidedApprovals, args)
}

// sqlDecideApproval decides an approval that waits. A person can approve until it
// expires; after that it can only expire.
const sqlDecideApproval = `
UPDATE approvals SET status = @status, decided_at = now(), decided_by_person_id = @person, decided_by = @decider
WHERE account_id = @account AND livemode = @livemode AND id = @id AND status = 'waiting'
  AND (expires_at > now()) = (@status <> 'expired')`

// DecideApproval stores what a person decided, or that nobody did in time, with the
// job that goes on with the purchase and the entry of the audit log; ship.Conflict
// if it was decided before, or has expired.
func (s *Store) DecideApproval(ctx context.Context, a ship.Approval, goOn Job) error {
	return s.InTx(ctx, a.Tenant, func(tx *Store) error {
		err := tx.guarded(ctx, a.Tenant, sqlDecideApproval, tenantArgs(a.Tenant, a.ID, pgx.NamedArgs{
			"status":  string(a.Status),
			"person":  null(a.DecidedBy),
			"decider": null(a.Decider),
		}))
		if err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, goOn, 0); err != nil {
			return err
		}

		entry := EntryOf(a.Tenant, "approval."+string(a.Status), string(a.ID))
		entry.Details = map[string]string{
			"shipment": string(a.Shipment),
			"price":    a.Price.String(),
			"key":      string(a.Key),
		}
		return tx.AuditChange(ctx, entry)
	})
}

// sqlBeginApproved starts the attempt of a purchase that waited for its approval.
// It writes nothing unless the purchase is approved and still waits: so one process
// at most asks the carrier.
const sqlBeginApproved = `
WITH begun AS (
  UPDATE shipment_states SET state = 'purchasing'
  WHERE account_id = @account AND livemode = @livemode AND id = @id AND attempt = @attempt AND state = 'awaiting_approval'
    AND EXISTS (
      SELECT FROM approvals a
      WHERE a.account_id = @account AND a.livemode = @livemode AND a.shipment_id = @id AND a.status = 'approved')
  RETURNING 1
), changed_shipment AS (
  UPDATE shipments SET request = @request
  FROM begun WHERE account_id = @account AND livemode = @livemode AND id = @id
), started_attempt AS (
  UPDATE purchase_attempts SET started_at = now()
  FROM begun WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id AND attempt = @attempt
), closed_approval AS (
  UPDATE approvals SET closed_at = now()
  FROM begun WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id
)
INSERT INTO shipment_changes (account_id, livemode, shipment_id)
SELECT @account, @livemode, @id FROM begun`

// BeginApproved starts the attempt of an approved purchase, with the order as it is
// now; ship.Conflict if it is not approved, or has begun already.
func (s *Store) BeginApproved(ctx context.Context, shipment ship.Shipment, attempt int) error {
	request, _, err := orderJSON(shipment)
	if err != nil {
		return err
	}
	return s.guarded(ctx, shipment.Tenant, sqlBeginApproved, tenantArgs(shipment.Tenant, shipment.ID, pgx.NamedArgs{
		"attempt": attempt,
		"request": request,
	}))
}

const sqlCloseApproval = `
UPDATE approvals SET closed_at = now()
WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id AND closed_at IS NULL`

// CloseApproval records that the purchase of the shipment no longer waits.
func (s *Store) CloseApproval(ctx context.Context, t ship.Tenant, id ship.ShipmentID) error {
	_, err := s.exec(ctx, t, sqlCloseApproval, tenantArgs(t, id, nil))
	return err
}

const sqlDueApprovals = `
SELECT account_id, livemode, shipment_id FROM approvals
WHERE closed_at IS NULL AND (status <> 'waiting' OR expires_at <= now())
ORDER BY expires_at LIMIT 500`

// DueApprovals returns shipments whose approval was decided or has expired, and
// which wait all the same.
func (s *Store) DueApprovals(ctx context.Context) ([]ship.Subject, error) {
	var subject ship.Subject
	var list []ship.Subject
	err := selectEach(ctx, s.sys, subjectTargets(&subject), func() error {
		list = append(list, subject)
		return nil
	}, sqlDueApprovals)
	if err != nil {
		return nil, fmt.Errorf("due approvals: %w", err)
	}
	return list, nil
}
