package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Returns that recipients ask for: the account's rule, and the requests.

const sqlReturnRule = `
SELECT enabled, days, reasons, paid_by, approval, coalesce(max_amount_minor, 0), coalesce(max_amount_currency, ''),
  coalesce(carrier, ''), coalesce(service, ''), saved_by_person_id, saved_by_key_id, saved_at
FROM return_rules
WHERE account_id = $1 AND livemode = $2`

// ReturnRule returns the tenant's rule; ship.NotFound if it never saved one.
func (s *Store) ReturnRule(ctx context.Context, t ship.Tenant) (ship.ReturnRule, error) {
	return queryOne(ctx, s, t, func(r pgx.CollectableRow) (rule ship.ReturnRule, err error) {
		err = r.Scan(
			&rule.Enabled, &rule.Days, &rule.Reasons, &rule.PaidBy, &rule.Approval, &rule.MaxAmount.Minor, &rule.MaxAmount.Currency,
			&rule.Carrier, &rule.Service, &rule.SavedBy.Person, &rule.SavedBy.Key, &rule.SavedAt,
		)
		rule.SavedAt = rule.SavedAt.UTC()
		return rule, err
	}, sqlReturnRule, t.Account, t.Livemode)
}

const sqlSaveReturnRule = `
INSERT INTO return_rules (account_id, livemode, enabled, days, reasons, paid_by, approval,
  max_amount_minor, max_amount_currency, carrier, service, saved_by_person_id, saved_by_key_id)
VALUES (@account, @livemode, @enabled, @days, @reasons, @paid_by, @approval,
  @minor, @currency, @carrier, @service, @person, @key)
ON CONFLICT (account_id, livemode) DO UPDATE SET
  enabled = excluded.enabled,
  days = excluded.days,
  reasons = excluded.reasons,
  paid_by = excluded.paid_by,
  approval = excluded.approval,
  max_amount_minor = excluded.max_amount_minor,
  max_amount_currency = excluded.max_amount_currency,
  carrier = excluded.carrier,
  service = excluded.service,
  saved_by_person_id = excluded.saved_by_person_id,
  saved_by_key_id = excluded.saved_by_key_id,
  saved_at = now()`

// SaveReturnRule replaces the tenant's rule.
func (s *Store) SaveReturnRule(ctx context.Context, t ship.Tenant, rule ship.ReturnRule) error {
	entry := EntryOf(t, "return_rule.changed", string(t.Account))
	entry.Details = map[string]string{
		"enabled":  fmt.Sprint(rule.Enabled),
		"days":     fmt.Sprint(rule.Days),
		"paidBy":   rule.PaidBy,
		"approval": rule.Approval,
	}
	if !rule.MaxAmount.IsZero() {
		entry.Details["maxAmount"] = rule.MaxAmount.String()
	}

	_, err := s.change(ctx, t, entry, sqlSaveReturnRule, tenantArgs(t, nil, pgx.NamedArgs{
		"enabled":  rule.Enabled,
		"days":     rule.Days,
		"reasons":  rule.Reasons,
		"paid_by":  rule.PaidBy,
		"approval": rule.Approval,
		"minor":    null(rule.MaxAmount.Minor),
		"currency": null(rule.MaxAmount.Currency),
		"carrier":  null(rule.Carrier),
		"service":  null(rule.Service),
		"person":   null(rule.SavedBy.Person),
		"key":      null(rule.SavedBy.Key),
	}))
	return err
}

// sqlAddReturnRequest writes nothing if the shipment has a request already, or if
// its personal data was erased: the lock keeps an erasure from running beside it.
const sqlAddReturnRequest = `
INSERT INTO return_requests (account_id, livemode, id, shipment_id, state, reason, items, comment, email, language,
  paid_by, approvals, approval, spender_person_id, spender_key_id, decided_at)
SELECT @account, @livemode, @id, @shipment, @state, @reason, @items, @comment, @email, @language,
  @paid_by, @approvals, @approval, @person, @key, @decided
FROM (
  SELECT FROM shipment_states
  WHERE account_id = @account AND livemode = @livemode AND id = @shipment AND erased_at IS NULL
  FOR SHARE
) AS readable
ON CONFLICT (account_id, livemode, shipment_id) DO NOTHING`

// AddReturnRequest stores a request, with its job if it is approved already. It
// reports whether it was stored: not if the shipment has one, or is erased.
func (s *Store) AddReturnRequest(ctx context.Context, r ship.ReturnRequest, buy Job) (added bool, err error) {
	err = s.InTx(ctx, r.Tenant, func(tx *Store) error {
		n, err := tx.exec(ctx, r.Tenant, sqlAddReturnRequest, tenantArgs(r.Tenant, r.ID, pgx.NamedArgs{
			"shipment":  r.Shipment,
			"state":     string(r.State),
			"reason":    r.Reason,
			"items":     null(r.Items),
			"comment":   null(r.Comment),
			"email":     null(r.Email),
			"language":  r.Language,
			"paid_by":   r.PaidBy,
			"approvals": r.Approvals,
			"approval":  null(r.Approval),
			"person":    null(r.Spender.Person),
			"key":       null(r.Spender.Key),
			"decided":   nullTime(r.DecidedAt),
		}))
		if err != nil || n == 0 {
			return err
		}
		added = true
		if r.State != ship.ReturnApproved {
			return nil
		}
		return tx.Enqueue(ctx, buy, 0)
	})
	if err != nil {
		return false, fmt.Errorf("store a return request: %w", err)
	}
	return added, nil
}

const returnRequestColumns = `id, shipment_id, state, reason, coalesce(items, ''), coalesce(comment, ''), coalesce(email, ''), language,
  paid_by, approvals, coalesce(approval, ''), spender_person_id, spender_key_id, decided_at, coalesce(denial, ''),
  return_id, bought_at, mailed_at, coalesce(error_code, ''), coalesce(error_message, '')`

// returnRequestScanner returns a function that reads requests of the tenant.
func returnRequestScanner(t ship.Tenant) pgx.RowToFunc[ship.ReturnRequest] {
	return func(r pgx.CollectableRow) (ship.ReturnRequest, error) {
		request := ship.ReturnRequest{Tenant: t}
		var decided, bought, mailed *time.Time
		err := r.Scan(
			&request.ID, &request.Shipment, &request.State, &request.Reason, &request.Items, &request.Comment, &request.Email, &request.Language,
			&request.PaidBy, &request.Approvals, &request.Approval, &request.Spender.Person, &request.Spender.Key, &decided, &request.Denial,
			&request.Return, &bought, &mailed, &request.ErrorCode, &request.ErrorMessage,
		)
		request.DecidedAt = timeOrZero(decided)
		request.BoughtAt = timeOrZero(bought)
		request.MailedAt = timeOrZero(mailed)
		return request, err
	}
}

const sqlReturnRequest = `
SELECT ` + returnRequestColumns + ` FROM return_requests
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// ReturnRequest returns a request; ship.NotFound if there is none.
func (s *Store) ReturnRequest(ctx context.Context, t ship.Tenant, id ship.ReturnRequestID) (ship.ReturnRequest, error) {
	return queryOne(ctx, s, t, returnRequestScanner(t), sqlReturnRequest, t.Account, t.Livemode, id)
}

const sqlReturnRequestOf = `
SELECT ` + returnRequestColumns + ` FROM return_requests
WHERE account_id = $1 AND livemode = $2 AND shipment_id = $3`

// ReturnRequestOf returns the request for a return of the shipment; ship.NotFound
// if there is none.
func (s *Store) ReturnRequestOf(ctx context.Context, t ship.Tenant, shipment ship.ShipmentID) (ship.ReturnRequest, error) {
	return queryOne(ctx, s, t, returnRequestScanner(t), sqlReturnRequestOf, t.Account, t.Livemode, shipment)
}

const sqlReturnRequests = `
SELECT ` + returnRequestColumns + ` FROM return_requests
WHERE account_id = @account AND livemode = @livemode AND id < @before AND (@state = '' OR state = @state)
ORDER BY id DESC LIMIT @limit`

// ReturnRequests lists the tenant's requests, newest first; those in one state
// unless it is empty.
func (s *Store) ReturnRequests(ctx context.Context, t ship.Tenant, state ship.ReturnState, p ship.Page) ([]ship.ReturnRequest, error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	args := tenantArgs(t, nil, pgx.NamedArgs{"before": before, "state": string(state), "limit": p.Limit})
	return queryList(ctx, s, t, returnRequestScanner(t), sqlReturnRequests, args)
}

// sqlReturnRequestsOfPerson finds what a person asked for: about their shipments,
// or under their e-mail address.
const sqlReturnRequestsOfPerson = `
SELECT ` + returnRequestColumns + ` FROM return_requests
WHERE account_id = @account AND livemode = @livemode
  AND (shipment_id = ANY (@shipments::uuid[]) OR @email <> '' AND lower(email) = @email)
ORDER BY id LIMIT @limit`

// ReturnRequestsOf returns the requests about the shipments, and those under the
// e-mail address.
func (s *Store) ReturnRequestsOf(ctx context.Context, t ship.Tenant, shipments []ship.ShipmentID, email string, limit int) ([]ship.ReturnRequest, error) {
	args := tenantArgs(t, nil, pgx.NamedArgs{"shipments": rawIDs(shipments), "email": email, "limit": limit})
	return queryList(ctx, s, t, returnRequestScanner(t), sqlReturnRequestsOfPerson, args)
}

// returnStates are states as the statements take them.
func returnStates(list []ship.ReturnState) []string {
	texts := make([]string, len(list))
	for i, state := range list {
		texts[i] = string(state)
	}
	return texts
}

const sqlApproveReturn = `
UPDATE return_requests SET
  state = 'approved',
  approvals = approvals + 1,
  approval = 'manual',
  spender_person_id = @person,
  spender_key_id = @key,
  decided_at = now(),
  denial = NULL,
  mailed_at = NULL,
  error_code = NULL,
  error_message = NULL
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = ANY (@from::text[])`

// ApproveReturn approves a request, with the job that buys the label and the entry
// of the audit log; ship.Conflict if it is in no state that allows it.
func (s *Store) ApproveReturn(ctx context.Context, t ship.Tenant, id ship.ReturnRequestID, spender ship.Spender, buy Job) error {
	return s.InTx(ctx, t, func(tx *Store) error {
		err := tx.guarded(ctx, t, sqlApproveReturn, tenantArgs(t, id, pgx.NamedArgs{
			"person": null(spender.Person),
			"key":    null(spender.Key),
			"from":   returnStates(ship.ReturnApproved.ComesFrom()),
		}))
		if err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, buy, 0); err != nil {
			return err
		}
		return tx.AuditChange(ctx, EntryOf(t, "return_request.approved", string(id)))
	})
}

const sqlDenyReturn = `
UPDATE return_requests SET
  state = 'denied',
  decided_at = now(),
  denial = @denial,
  mailed_at = NULL,
  error_code = NULL,
  error_message = NULL
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = ANY (@from::text[])`

// DenyReturn denies a request, with the job that mails it and the entry of the audit
// log; ship.Conflict if it is in no state that allows it. The entry does not have the reason, which is
// written for a person and may name them.
func (s *Store) DenyReturn(ctx context.Context, t ship.Tenant, id ship.ReturnRequestID, denial string, mail Job) error {
	return s.InTx(ctx, t, func(tx *Store) error {
		err := tx.guarded(ctx, t, sqlDenyReturn, tenantArgs(t, id, pgx.NamedArgs{
			"denial": denial,
			"from":   returnStates(ship.ReturnDenied.ComesFrom()),
		}))
		if err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, mail, 0); err != nil {
			return err
		}
		return tx.AuditChange(ctx, EntryOf(t, "return_request.denied", string(id)))
	})
}

const sqlRecordDenialMail = `
UPDATE return_requests SET mailed_at = now()
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = 'denied' AND approvals = @approvals`

// RecordDenialMail records that the recipient was notified; ship.Conflict if the request
// was approved meanwhile.
func (s *Store) RecordDenialMail(ctx context.Context, r ship.ReturnRequest) error {
	return s.guarded(ctx, r.Tenant, sqlRecordDenialMail, tenantArgs(r.Tenant, r.ID, pgx.NamedArgs{"approvals": r.Approvals}))
}

const sqlRecordReturnLabel = `
UPDATE return_requests SET return_id = @return, bought_at = now()
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = 'approved' AND approvals = @approvals AND return_id IS NULL`

// RecordReturnLabel stores which shipment an approval has bought; ship.Conflict if
// it is stored already.
func (s *Store) RecordReturnLabel(ctx context.Context, r ship.ReturnRequest, bought ship.ShipmentID) error {
	return s.guarded(ctx, r.Tenant, sqlRecordReturnLabel, tenantArgs(r.Tenant, r.ID, pgx.NamedArgs{
		"return":    bought,
		"approvals": r.Approvals,
	}))
}

const sqlFinishReturn = `
UPDATE return_requests SET state = 'label_sent', mailed_at = CASE WHEN @mailed THEN now() END
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = 'approved' AND approvals = @approvals AND return_id IS NOT NULL`

// FinishReturn records that the recipient has the label, and whether by mail.
func (s *Store) FinishReturn(ctx context.Context, r ship.ReturnRequest, mailed bool) error {
	return s.guarded(ctx, r.Tenant, sqlFinishReturn, tenantArgs(r.Tenant, r.ID, pgx.NamedArgs{
		"mailed":    mailed,
		"approvals": r.Approvals,
	}))
}

// sqlFailReturn leaves out the message if the personal data of the shipment is
// erased: carriers quote addresses.
const sqlFailReturn = `
UPDATE return_requests SET state = 'failed', error_code = @code, error_message = CASE WHEN EXISTS (
  SELECT FROM shipment_states st
  WHERE st.account_id = @account AND st.livemode = @livemode AND st.id = shipment_id AND st.erased_at IS NULL
  FOR SHARE) THEN @message END
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = 'approved' AND approvals = @approvals AND return_id IS NULL`

// FailReturn records why an approval has bought nothing.
func (s *Store) FailReturn(ctx context.Context, r ship.ReturnRequest, code, message string) error {
	return s.guarded(ctx, r.Tenant, sqlFailReturn, tenantArgs(r.Tenant, r.ID, pgx.NamedArgs{
		"code":      code,
		"message":   message,
		"approvals": r.Approvals,
	}))
}

// erasedRequest is what an erasure changes of a request.
const erasedRequest = `items = NULL, comment = NULL, email = NULL, denial = NULL, error_message = NULL`

// sqlEraseReturnRequests erases what the recipients of shipments wrote.
const sqlEraseReturnRequests = `
UPDATE return_requests SET ` + erasedRequest + `
WHERE account_id = @account AND livemode = @livemode AND shipment_id = ANY (@shipments::uuid[])
  AND num_nonnulls(items, comment, email, denial, error_message) > 0`

const (
	// A request can name somebody else than the shipment does: whoever has the
	// parcel may send it back.
	sqlReturnTexts = `
SELECT ARRAY[id::text],
  ARRAY[convert_to(coalesce(email, ''), 'UTF8'), convert_to(coalesce(items, ''), 'UTF8'), convert_to(coalesce(comment, ''), 'UTF8'),
    convert_to(coalesce(denial, ''), 'UTF8'), convert_to(coalesce(error_message, ''), 'UTF8')]
FROM return_requests
WHERE account_id = @account AND livemode = @livemode
  AND id > coalesce((@after::text[])[1], '00000000-0000-0000-0000-000000000000')::uuid
ORDER BY id LIMIT @limit`

	sqlEraseReturnTexts = `
UPDATE return_requests r SET ` + erasedRequest + `
FROM unnest(@first::text[], @second::text[]) AS v (id, same_id)
WHERE r.account_id = @account AND r.livemode = @livemode AND r.id = v.id::uuid`
)
