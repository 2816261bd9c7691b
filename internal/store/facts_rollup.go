package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The roll-up: it follows the log and brings the facts and counts of shipments up to
// date.

// RollUpBatch is how many events, or older shipments, one step takes.
const RollUpBatch = 2000

// sqlLockRollUp lets one copy of the program roll up at a time; the others skip
// the locked row and have nothing to do.
const sqlLockRollUp = `
SELECT ready, cursor_txid::text, cursor_id,
  coalesce(backfill_account_id, '00000000-0000-0000-0000-000000000000'),
  coalesce(backfill_livemode, false),
  coalesce(backfill_shipment_id, '00000000-0000-0000-0000-000000000000'),
  backfill_shipment_id IS NULL
FROM facts_progress FOR UPDATE SKIP LOCKED`

// sqlRollUpPlan has the step's statements look up the keys they are given: how
// many these are is not known when they are planned. Nor does the step wait
// for the disk: counts and cursor are lost together, and made again. The last
// setting has a trigger for copies of v0.1.0 do nothing.
const sqlRollUpPlan = `
SELECT set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true),
  set_config('enable_seqscan', 'off', true),
  set_config('synchronous_commit', 'off', true),
  set_config('waybill.writes_search_numbers', 'on', true)`

// A rollUp is how far the roll-up has got. It first reads the shipments that
// were there before it (the backfill), and then follows the log.
type rollUp struct {
	ready    bool // the backfill is done
	cursor   Position
	backfill ship.Subject // the last older shipment that is counted
	fresh    bool         // the backfill has not begun
}

// RollUp brings the facts and counts of shipments up to date with what changed
// after the log's cursor, and reports how much it was. Counts and cursor change
// in one transaction, so everything is counted once.
func (s *Store) RollUp(ctx context.Context) (did int, err error) {
	hash, err := s.wordHash(ctx)
	if err != nil {
		return 0, err
	}

	err = pgx.BeginFunc(ctx, s.sys, func(tx pgx.Tx) error {
		progress, err := lockRollUp(ctx, tx)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // another copy is rolling up
		}
		if err != nil {
			return err
		}

		next := progress.follow
		if !progress.ready {
			next = progress.catchUp
		}
		keys, n, err := next(ctx, tx)
		if err != nil {
			return err
		}

		did = n
		if err := updateFacts(ctx, tx, hash, keys); err != nil || n == 0 {
			return err
		}
		return progress.save(ctx, tx)
	})
	if err != nil {
		return 0, fmt.Errorf("roll up: %w", explain(err))
	}
	return did, nil
}

// lockRollUp reads how far the roll-up has got, and keeps other copies from
// rolling up until the transaction ends.
func lockRollUp(ctx context.Context, tx pgx.Tx) (*rollUp, error) {
	var progress rollUp
	var number string
	batch := &pgx.Batch{}
	batch.Queue(sqlRollUpPlan)
	batch.Queue(sqlLockRollUp).QueryRow(func(r pgx.Row) error {
		return r.Scan(
			&progress.ready,
			&number,
			&progress.cursor.ID,
			&progress.backfill.Tenant.Account,
			&progress.backfill.Tenant.Livemode,
			&progress.backfill.ID,
			&progress.fresh,
		)
	})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}

	var err error
	progress.cursor.Tx, err = strconv.ParseUint(number, 10, 64)
	return &progress, err
}

// sqlBackfill reads on in the shipments of all tenants.
const sqlBackfill = `
SELECT account_id, livemode, id FROM shipments
WHERE (account_id, livemode, id) > ($1, $2, $3)
ORDER BY account_id, livemode, id LIMIT $4`

const sqlWholeLogEnd = `
SELECT txid::text, id FROM events
WHERE txid < log_horizon()
ORDER BY txid DESC, id DESC LIMIT 1`

// catchUp takes the next older shipments.
func (p *rollUp) catchUp(ctx context.Context, tx pgx.Tx) (keys []ship.Subject, did int, err error) {
	// The log will be followed from where it ended when the backfill began, so
	// what changes during the backfill is brought up to date after it.
	if p.fresh {
		rows, _ := tx.Query(ctx, sqlWholeLogEnd) // its error is returned by the rows
		if err := p.cursor.readFrom(rows); err != nil {
			return nil, 0, err
		}
	}

	keys, err = collectSubjects(ctx, tx, sqlBackfill,
		p.backfill.Tenant.Account, p.backfill.Tenant.Livemode, p.backfill.ID, RollUpBatch)
	if err != nil {
		return nil, 0, err
	}

	if len(keys) > 0 {
		p.backfill = keys[len(keys)-1]
	}
	p.ready = len(keys) < RollUpBatch
	return keys, len(keys) + 1, nil
}

const sqlTakeChanges = `
DELETE FROM shipment_changes
WHERE ctid = ANY (ARRAY(SELECT ctid FROM shipment_changes LIMIT $1))
RETURNING account_id, livemode, shipment_id`

const sqlRollUpHeads = `
SELECT e.txid::text, e.id, e.account_id, e.livemode, e.subject_id, e.is_tracker,
  e.kind NOT IN ('shipment.created', 'label.generated')
FROM events e
WHERE (e.txid, e.id) > ($1::text::xid8, $2) AND e.txid < log_horizon()
ORDER BY e.txid, e.id LIMIT $3`

// follow takes the next events of the log, and what changed without one.
func (p *rollUp) follow(ctx context.Context, tx pgx.Tx) (keys []ship.Subject, did int, err error) {
	if keys, err = collectSubjects(ctx, tx, sqlTakeChanges, RollUpBatch); err != nil {
		return nil, 0, err
	}
	did = len(keys)

	var scanned []ship.Subject // shipments that carriers reported about
	var subject subjectReader
	var number string
	var isTracker, isScan bool
	targets := slices.Concat([]any{&number, &p.cursor.ID}, subject.targets(), []any{&isTracker, &isScan})
	err = selectEach(ctx, tx, targets, func() (err error) {
		did++
		switch {
		case isTracker: // followed parcels have no facts
		case isScan:
			scanned = append(scanned, subject.read())
		default:
			keys = append(keys, subject.read())
		}
		p.cursor.Tx, err = strconv.ParseUint(number, 10, 64)
		return err
	}, sqlRollUpHeads, strconv.FormatUint(p.cursor.Tx, 10), p.cursor.ID, RollUpBatch)
	if err != nil || len(scanned) == 0 {
		return keys, did, err
	}

	moved, err := collectSubjects(ctx, tx, sqlMoved, subjectArgs(distinct(scanned)))
	return append(keys, moved...), did, err
}

// sqlMoved returns those of the shipments whose facts a scan may have changed.
// Most scans change none of them, and comparing costs a fraction of making the
// facts anew from a shipment's request and purchase. Whether a delivery was on
// time is not compared, so delivered shipments are always returned.
const sqlMoved = `
SELECT k.account_id, k.livemode, k.id
FROM ` + subjectKeys + `
JOIN shipment_states st USING (account_id, livemode, id)
LEFT JOIN shipment_facts f ON f.account_id = k.account_id AND f.livemode = k.livemode AND f.shipment_id = k.id
WHERE st.status = 'delivered'
  OR (f.status, f.state, f.estimated_delivery_at) IS DISTINCT FROM (` + statusFact + `, ` + stateFact + `, ` + estimateFact + `)`

const sqlSaveRollUp = `
UPDATE facts_progress SET
  ready = @ready,
  cursor_txid = @cursor_txid::text::xid8,
  cursor_id = @cursor_id,
  backfill_account_id = @account,
  backfill_livemode = @livemode,
  backfill_shipment_id = @id,
  tail_from_id = @tail_from_id`

// tailMargin is by how much an event can be older than one that was committed
// before it: longer than any transaction lasts, and than clocks differ. Readers
// of the tail skip all partitions before it.
const tailMargin = time.Hour

// sqlDropEmptyDays keeps the counts to those that count something.
const sqlDropEmptyDays = `DELETE FROM daily_shipment_counts WHERE shipments = 0`

func (p *rollUp) save(ctx context.Context, tx pgx.Tx) error {
	tailFrom := ship.RawIDAt(p.cursor.ID.Time().Add(-tailMargin))

	batch := &pgx.Batch{}
	batch.Queue(sqlDropEmptyDays)
	batch.Queue(sqlSaveRollUp, tenantArgs(p.backfill.Tenant, p.backfill.ID, pgx.NamedArgs{
		"ready":        p.ready,
		"cursor_txid":  strconv.FormatUint(p.cursor.Tx, 10),
		"cursor_id":    p.cursor.ID,
		"tail_from_id": tailFrom,
	}))
	return tx.SendBatch(ctx, batch).Close()
}

// Recount deletes all facts and counts, so that they are made again from the
// shipments. It runs as the database's owner.
func Recount(ctx context.Context, url string) error {
	conn, err := connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()

	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// The row is locked first, as RollUp does: in another order the two could
		// deadlock.
		for _, sql := range []string{
			"UPDATE facts_progress SET ready = false, backfill_account_id = NULL, backfill_livemode = NULL, backfill_shipment_id = NULL",
			"TRUNCATE shipment_facts, daily_shipment_counts, search_numbers, search_words",
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("recount: %w", err)
	}
	return nil
}
