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

// A Stranded label was sold by a carrier and is used by nobody: it is taken
// back.
type Stranded struct {
	Tenant   ship.Tenant
	Shipment ship.ShipmentID
	Attempt  int
	FoundBy  string    // "response", "lookup", "sweep", "spool", "restore"
	Deal     ship.Deal // what the carrier needs to take it back
	State    string    // OrphanPending and so on
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

// sqlStrand writes nothing if the label is the one that counts.
const sqlStrand = `
INSERT INTO orphaned_labels (account_id, livemode, carrier, tracking_number, shipment_id, attempt, found_by, purchase)
SELECT @account, @livemode, @carrier, @number, @id, @attempt, @found_by, @purchase
WHERE NOT EXISTS (
  SELECT FROM shipment_states st WHERE st.account_id = @account AND st.livemode = @livemode AND st.id = @id AND st.carrier = @carrier AND st.tracking_number = @number)
  AND NOT EXISTS ( -- after a restore the same label may count under another id
  SELECT FROM lookup_keys l JOIN shipment_states st ON st.account_id = l.account_id AND st.livemode = l.livemode AND st.id = l.subject_id
  WHERE l.account_id = @account AND l.livemode = @livemode AND l.kind = 't' AND l.value = @number AND st.carrier = @carrier AND st.tracking_number = @number AND NOT st.is_tracker)
ON CONFLICT DO NOTHING`

const sqlIsStranded = `
SELECT EXISTS (SELECT FROM orphaned_labels WHERE account_id = @account AND livemode = @livemode AND carrier = @carrier AND tracking_number = @number)`

// sqlCharge writes a line of the ledger once.
const sqlCharge = `
INSERT INTO charges (shipment_id, account_id, livemode, tracking_number, kind, attempt, carrier, connection_id, amount_minor, currency)
VALUES (@id, @account, @livemode, @number, @kind, @attempt, @carrier, @connection, @minor, @currency)
ON CONFLICT DO NOTHING`

// Strand writes a label down that nobody may use, its charge, and the job that
// takes it back. It is ship.Conflict if the label is the one that counts.
func (s *Store) Strand(ctx context.Context, x Stranded) error {
	deal, err := json.Marshal(x.Deal)
	if err != nil {
		return fmt.Errorf("write a deal: %w", err)
	}
	args := func() pgx.NamedArgs {
		return tenantArgs(x.Tenant, x.Shipment.Raw(), pgx.NamedArgs{
			"carrier": x.Deal.Carrier, "number": x.Deal.TrackingNumber, "attempt": x.Attempt, "found_by": x.FoundBy, "purchase": deal,
		})
	}
	return s.InTx(ctx, x.Tenant, func(tx *Store) error {
		var fresh int64
		var stranded bool
		b := tx.newBatch(x.Tenant)
		b.Queue(sqlLockPurchase, args())
		b.Queue(sqlStrand, args()).Exec(func(tag pgconn.CommandTag) error { fresh = tag.RowsAffected(); return nil })
		b.Queue(sqlIsStranded, args()).QueryRow(func(r pgx.Row) error { return r.Scan(&stranded) })
		if err := tx.send(ctx, b); err != nil {
			return fmt.Errorf("strand a label: %w", err)
		}
		switch {
		case !stranded:
			return ship.Errorf(ship.Conflict, "the label is the one that counts")
		case fresh == 0:
			return nil
		}
		if err := tx.charge(ctx, x.Tenant, x.Shipment, x.Attempt, x.Deal, "purchase", x.Deal.Price.Minor); err != nil {
			return err
		}
		return tx.Enqueue(ctx, job.VoidStranded{Account: x.Tenant.Account, Livemode: x.Tenant.Livemode, Carrier: x.Deal.Carrier, Number: x.Deal.TrackingNumber}, 0)
	})
}

func (s *Store) charge(ctx context.Context, t ship.Tenant, id ship.ShipmentID, attempt int, d ship.Deal, kind string, minor int64) error {
	if d.Simulated {
		return nil
	}
	_, err := s.exec(ctx, t, sqlCharge, tenantArgs(t, id.Raw(), pgx.NamedArgs{
		"number": d.TrackingNumber, "kind": kind, "attempt": attempt, "carrier": d.Carrier, "connection": nullConnection(d.Connection),
		"minor": minor, "currency": d.Price.Currency,
	}))
	return err
}

// Credit writes down that the carrier takes the price of a label back.
func (s *Store) Credit(ctx context.Context, sh ship.Shipment) error {
	return s.charge(ctx, sh.Tenant, sh.ID, 0, sh.Deal, "void", -sh.Deal.Price.Minor)
}

const sqlStranded = `
SELECT shipment_id, attempt, found_by, purchase, state, found_at FROM orphaned_labels
WHERE account_id = @account AND livemode = @livemode AND carrier = @carrier AND tracking_number = @number`

// Stranded returns a stranded label; ship.NotFound if there is none.
func (s *Store) Stranded(ctx context.Context, t ship.Tenant, carrier, number string) (Stranded, error) {
	x := Stranded{Tenant: t}
	var shipment [16]byte
	var deal []byte
	err := s.queryRow(ctx, t, func(r pgx.Row) error {
		return r.Scan(&shipment, &x.Attempt, &x.FoundBy, &deal, &x.State, &x.FoundAt)
	}, sqlStranded, tenantArgs(t, ship.RawID{}, pgx.NamedArgs{"carrier": carrier, "number": number}))
	if err != nil {
		return x, err
	}
	x.Shipment = ship.ShipmentIDOf(shipment)
	return x, json.Unmarshal(deal, &x.Deal)
}

const sqlEndStranded = `
UPDATE orphaned_labels SET state = @state, message = @message, resolved_at = now()
WHERE account_id = @account AND livemode = @livemode AND carrier = @carrier AND tracking_number = @number AND state = 'pending'`

// EndStranded writes down what became of a stranded label: one of the states
// but OrphanPending.
func (s *Store) EndStranded(ctx context.Context, x Stranded, state, message string) error {
	return s.InTx(ctx, x.Tenant, func(tx *Store) error {
		n, err := tx.exec(ctx, x.Tenant, sqlEndStranded, tenantArgs(x.Tenant, ship.RawID{}, pgx.NamedArgs{
			"carrier": x.Deal.Carrier, "number": x.Deal.TrackingNumber, "state": state, "message": null(message),
		}))
		if err != nil || n == 0 || state == OrphanVoidDeclined {
			return err
		}
		return tx.charge(ctx, x.Tenant, x.Shipment, x.Attempt, x.Deal, "void", -x.Deal.Price.Minor)
	})
}

// A Doubt is a purchase with attempts that may yet turn out to have bought
// something.
type Doubt struct {
	Tenant   ship.Tenant
	Shipment ship.ShipmentID
}

const sqlDoubts = `
SELECT DISTINCT shipment_id, account_id, livemode FROM purchase_attempts
WHERE outcome IN ('uncertain', 'not_found') AND shipment_id >= $1 AND shipment_id > $2 ORDER BY shipment_id LIMIT 500`

// Doubts lists purchases since a time, after one of them, that have attempts
// in doubt.
func (s *Store) Doubts(ctx context.Context, since time.Time, after ship.ShipmentID) ([]Doubt, error) {
	var last ship.RawID
	if after != "" {
		last = after.Raw()
	}
	rows, err := s.sys.Query(ctx, sqlDoubts, [16]byte(ship.RawIDAt(since)), [16]byte(last))
	if err != nil {
		return nil, fmt.Errorf("attempts in doubt: %w", explain(err))
	}
	var list []Doubt
	err = each(rows, func(r pgx.Rows) error {
		var id, account [16]byte
		var d Doubt
		err := r.Scan(&id, &account, &d.Tenant.Livemode)
		d.Shipment, d.Tenant.Account = ship.ShipmentIDOf(id), ship.AccountIDOf(account)
		list = append(list, d)
		return err
	})
	return list, explain(err)
}

const sqlKnown = `
SELECT s.account_id, s.livemode, s.id FROM ` + subjectKeys + ` JOIN shipments s USING (account_id, livemode, id)`

// Known tells which of these shipments are written down.
func (s *Store) Known(ctx context.Context, list []ship.Subject) (map[ship.Subject]bool, error) {
	rows, err := s.sys.Query(ctx, sqlKnown, subjectArgs(list))
	if err != nil {
		return nil, fmt.Errorf("known shipments: %w", explain(err))
	}
	known := make(map[ship.Subject]bool, len(list))
	err = each(rows, func(r pgx.Rows) error {
		var account, id [16]byte
		var x ship.Subject
		err := r.Scan(&account, &x.Tenant.Livemode, &id)
		x.Tenant.Account, x.ID = ship.AccountIDOf(account), id
		known[x] = true
		return err
	})
	return known, explain(err)
}

const sqlRestored = `SELECT restored_at FROM instance`

// RestoredAt is when the database was last put back to an earlier moment; the
// zero time if never.
func (s *Store) RestoredAt(ctx context.Context) (time.Time, error) {
	var at *time.Time
	err := s.sys.QueryRow(ctx, sqlRestored).Scan(&at)
	return timeOrZero(at), explain(err)
}

const sqlSetRestored = `UPDATE instance SET restored_at = now()`

// SetRestored notes that the database was put back to an earlier moment.
func (s *Store) SetRestored(ctx context.Context) error {
	_, err := s.sys.Exec(ctx, sqlSetRestored)
	return explain(err)
}

const sqlReleaseKey = `
DELETE FROM idempotency_keys k USING shipment_states st
WHERE k.account_id = @account AND k.livemode = @livemode AND k.key = @key
  AND st.account_id = @account AND st.livemode = @livemode AND st.id = k.shipment_id AND st.state NOT IN ('purchasing', 'uncertain', 'needs_review')`

// ReleaseKey forgets a key whose purchase is settled.
func (s *Store) ReleaseKey(ctx context.Context, t ship.Tenant, key string) error {
	_, err := s.exec(ctx, t, sqlReleaseKey, tenantArgs(t, ship.RawID{}, pgx.NamedArgs{"key": key}))
	return err
}
