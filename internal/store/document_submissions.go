package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
)

// DocumentQueued is the state of a document that no attempt was made for yet,
// besides those of every effect.
const DocumentQueued effect.State = "queued"

// A DocumentSubmission is an uploaded document that is sent to the carrier.
type DocumentSubmission struct {
	ID         ship.RawID
	Tenant     ship.Tenant
	Shipment   ship.ShipmentID
	Position   int // among the uploads of the shipment, from 0
	Type       string
	Carrier    string
	Connection ship.ConnectionID // empty for a simulated carrier
	Receipt    ship.DocumentReceipt
	EffectState
}

const sqlAddSubmission = `
INSERT INTO document_submissions (account_id, livemode, id, shipment_id, position, type, carrier, connection_id)
VALUES (@account, @livemode, @id, @shipment, @position, @type, @carrier, @connection)`

// addSubmission writes down that a document is to be sent. It is part of the
// transaction that stores the document.
func (s *Store) addSubmission(ctx context.Context, d DocumentSubmission) error {
	_, err := s.exec(ctx, d.Tenant, sqlAddSubmission, tenantArgs(d.Tenant, d.ID, pgx.NamedArgs{
		"shipment":   d.Shipment,
		"position":   d.Position,
		"type":       d.Type,
		"carrier":    d.Carrier,
		"connection": null(d.Connection),
	}))
	return err
}

const sqlDocumentSubmissions = `
SELECT id, shipment_id, position, type, carrier, connection_id, coalesce(receipt, ''), ` + effectColumns + ` FROM document_submissions
WHERE account_id = $1 AND livemode = $2 AND shipment_id = $3
ORDER BY position`

// DocumentSubmissions lists the documents of a shipment that are sent to its
// carrier, in their order.
func (s *Store) DocumentSubmissions(ctx context.Context, t ship.Tenant, id ship.ShipmentID) ([]DocumentSubmission, error) {
	return queryList(ctx, s, t, func(r pgx.CollectableRow) (DocumentSubmission, error) {
		document := DocumentSubmission{Tenant: t}
		common, complete := document.targets()
		err := r.Scan(append([]any{
			&document.ID, &document.Shipment, &document.Position, &document.Type, &document.Carrier, &document.Connection, &document.Receipt.ID,
		}, common...)...)
		complete()
		return document, err
	}, sqlDocumentSubmissions, t.Account, t.Livemode, id)
}

const sqlBeginSubmission = `
UPDATE document_submissions SET
  state = 'pending',
  attempt = 1,
  attempt_started_at = now()
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = 'queued'`

// BeginSubmission writes the first attempt down; ship.Conflict if somebody else
// has.
func (s *Store) BeginSubmission(ctx context.Context, t ship.Tenant, id ship.RawID) error {
	return s.guarded(ctx, t, sqlBeginSubmission, tenantArgs(t, id, pgx.NamedArgs{}))
}

const sqlTurnSubmission = `UPDATE document_submissions` + turned

// TurnSubmission moves an open submission on.
func (s *Store) TurnSubmission(ctx context.Context, t ship.Tenant, id ship.RawID, turn Turn) error {
	return s.guarded(ctx, t, sqlTurnSubmission, turn.args(t, id))
}

const sqlTrySubmissionAgain = `UPDATE document_submissions` + attemptedAgain

// TrySubmissionAgain writes the attempt after this one down.
func (s *Store) TrySubmissionAgain(ctx context.Context, t ship.Tenant, id ship.RawID, attempt int) error {
	return s.guarded(ctx, t, sqlTrySubmissionAgain, tenantArgs(t, id, pgx.NamedArgs{"attempt": attempt}))
}

const sqlRecordSubmission = `
UPDATE document_submissions SET
  state = 'succeeded',
  receipt = @receipt,
  error_code = NULL,
  error_message = NULL
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state IN ('pending', 'uncertain', 'needs_review')`

// RecordSubmission stores what the carrier confirmed.
func (s *Store) RecordSubmission(ctx context.Context, t ship.Tenant, id ship.RawID, receipt ship.DocumentReceipt) error {
	return s.guarded(ctx, t, sqlRecordSubmission, tenantArgs(t, id, pgx.NamedArgs{"receipt": null(receipt.ID)}))
}

const sqlDropSubmission = `
UPDATE document_submissions SET
  state = 'failed',
  error_code = @code,
  error_message = @message
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = 'queued'`

// DropSubmission gives a document up that was never sent.
func (s *Store) DropSubmission(ctx context.Context, t ship.Tenant, id ship.RawID, code, message string) error {
	return s.guarded(ctx, t, sqlDropSubmission, tenantArgs(t, id, pgx.NamedArgs{"code": code, "message": message}))
}

const sqlResolveSubmission = `
UPDATE document_submissions SET
  state = @to,
  receipt = @number,
  error_code = @code,
  error_message = @message
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = 'needs_review'`

// ResolveSubmission ends the review of a document; ship.Conflict if it is not in
// review.
func (s *Store) ResolveSubmission(ctx context.Context, d DocumentSubmission, resolution Resolution) error {
	return s.InTx(ctx, d.Tenant, func(tx *Store) error {
		if err := tx.guarded(ctx, d.Tenant, sqlResolveSubmission, resolution.args(d.Tenant, d.ID)); err != nil {
			return err
		}
		return tx.AuditChange(ctx, resolution.entry(d.Tenant, "document.resolved", string(d.Shipment)))
	})
}

const sqlOpenSubmissions = `
SELECT account_id, livemode, shipment_id FROM document_submissions
WHERE state IN ('queued', 'pending', 'uncertain') AND attempt_started_at < $1
ORDER BY id`

// OpenSubmissions lists the shipments with documents that wait to be sent, or for
// an outcome, since before the moment.
func (s *Store) OpenSubmissions(ctx context.Context, before time.Time) ([]OpenEffect[ship.ShipmentID], error) {
	return openEffects[ship.ShipmentID](ctx, s, sqlOpenSubmissions, before)
}
