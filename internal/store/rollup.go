package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// rollUpBatch is how many events, or shipments of the past, one step takes.
const rollUpBatch = 2000

// sqlLockRollUp lets one copy of the program count at a time; the others have
// nothing to do.
const sqlLockRollUp = `
SELECT ready, cursor_txid::text, cursor_id,
  coalesce(backfill_account_id, '00000000-0000-0000-0000-000000000000'),
  coalesce(backfill_livemode, false),
  coalesce(backfill_shipment_id, '00000000-0000-0000-0000-000000000000'),
  backfill_shipment_id IS NULL
FROM facts_progress FOR UPDATE SKIP LOCKED`

// sqlRollUpPlan keeps the step's statements on the keys they are given: how
// many these are is not known when they are planned. Nor does the step wait
// for the disk: counts and cursor are lost together, and made again.
const sqlRollUpPlan = `
SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('enable_seqscan', 'off', true),
  set_config('synchronous_commit', 'off', true)`

// A rollUp is how far the log is counted.
type rollUp struct {
	ready  bool
	cursor Position
	past   ship.Subject // the last shipment of the past that is counted
	fresh  bool         // the past is not begun
}

// RollUp takes what changed behind the log's cursor into the facts and counts
// of shipments, and reports how much it was. Counts and cursor change in one
// transaction, so everything is counted once.
func (s *Store) RollUp(ctx context.Context) (did int, err error) {
	hash, err := s.wordHash(ctx)
	if err != nil {
		return 0, err
	}

	err = pgx.BeginFunc(ctx, s.sys, func(tx pgx.Tx) error {
		r, err := lockRollUp(ctx, tx)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // another copy is at it
		}
		if err != nil {
			return err
		}
		step := r.follow
		if !r.ready {
			step = r.catchUp
		}
		keys, n, err := step(ctx, tx)
		if err != nil {
			return err
		}
		did = n
		if err := noteFacts(ctx, tx, hash, keys); err != nil || n == 0 {
			return err
		}
		return r.save(ctx, tx)
	})
	if err != nil {
		return 0, fmt.Errorf("roll up: %w", explain(err))
	}
	return did, nil
}

func lockRollUp(ctx context.Context, tx pgx.Tx) (*rollUp, error) {
	var r rollUp
	var number string
	var account [16]byte
	b := &pgx.Batch{}
	b.Queue(sqlRollUpPlan)
	b.Queue(sqlLockRollUp).QueryRow(func(row pgx.Row) error {
		return row.Scan(&r.ready, &number, (*[16]byte)(&r.cursor.ID), &account, &r.past.Tenant.Livemode, (*[16]byte)(&r.past.ID), &r.fresh)
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	r.past.Tenant.Account = ship.AccountIDOf(account)
	var err error
	r.cursor.Tx, err = strconv.ParseUint(number, 10, 64)
	return &r, err
}

// sqlPast reads on in the shipments of all tenants.
const sqlPast = `
SELECT account_id, livemode, id FROM shipments WHERE (account_id, livemode, id) > ($1, $2, $3)
ORDER BY account_id, livemode, id LIMIT $4`

const sqlWholeLogEnd = `
SELECT txid::text, id FROM events WHERE txid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY txid DESC, id DESC LIMIT 1`

// catchUp takes the next shipments of the past. The log is followed from where
// it ended when the past was begun.
func (r *rollUp) catchUp(ctx context.Context, tx pgx.Tx) (keys []ship.Subject, did int, err error) {
	if r.fresh {
		err := scanPosition(tx.QueryRow(ctx, sqlWholeLogEnd), &r.cursor)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return nil, 0, err
		}
	}
	keys, err = collectSubjects(ctx, tx, sqlPast, [16]byte(r.past.Tenant.Account.Raw()), r.past.Tenant.Livemode, [16]byte(r.past.ID), rollUpBatch)
	if err != nil {
		return nil, 0, err
	}
	if len(keys) > 0 {
		r.past = keys[len(keys)-1]
	}
	r.ready = len(keys) < rollUpBatch
	return keys, len(keys) + 1, nil
}

const sqlTakeChanges = `
DELETE FROM shipment_changes WHERE ctid = ANY (ARRAY(SELECT ctid FROM shipment_changes LIMIT $1)) RETURNING account_id, livemode, shipment_id`

const sqlRollUpHeads = `
SELECT e.txid::text, e.id, e.account_id, e.livemode, e.subject_id, e.is_tracker FROM events e
WHERE (e.txid, e.id) > ($1::text::xid8, $2) AND e.txid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY e.txid, e.id LIMIT $3`

// follow takes the next events of the log, and what changed without one.
func (r *rollUp) follow(ctx context.Context, tx pgx.Tx) (keys []ship.Subject, did int, err error) {
	if keys, err = collectSubjects(ctx, tx, sqlTakeChanges, rollUpBatch); err != nil {
		return nil, 0, err
	}
	did = len(keys)
	rows, err := tx.Query(ctx, sqlRollUpHeads, strconv.FormatUint(r.cursor.Tx, 10), [16]byte(r.cursor.ID), rollUpBatch)
	if err != nil {
		return nil, 0, err
	}
	var subject subjectReader
	var number string
	var followed bool
	targets := append(append([]any{&number, (*[16]byte)(&r.cursor.ID)}, subject.targets()...), &followed)
	err = each(rows, func(row pgx.Rows) error {
		if err := row.Scan(targets...); err != nil {
			return err
		}
		did++
		if !followed {
			keys = append(keys, subject.read())
		}
		r.cursor.Tx, err = strconv.ParseUint(number, 10, 64)
		return err
	})
	return keys, did, err
}

func collectSubjects(ctx context.Context, tx pgx.Tx, sql string, args ...any) (list []ship.Subject, err error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	var subject subjectReader
	targets := subject.targets()
	err = each(rows, func(row pgx.Rows) error {
		err := row.Scan(targets...)
		list = append(list, subject.read())
		return err
	})
	return list, err
}

const sqlSaveRollUp = `
UPDATE facts_progress SET
  ready = $1,
  cursor_txid = $2::text::xid8,
  cursor_id = $3,
  backfill_account_id = $4,
  backfill_livemode = $5,
  backfill_shipment_id = $6,
  tail_from_id = $7`

// tailMargin is by how much an event can be older than one that was committed
// before it: longer than any transaction lasts, and than clocks differ.
const tailMargin = time.Hour

// sqlDropEmptyDays keeps the counts to those that count something.
const sqlDropEmptyDays = `DELETE FROM daily_shipment_counts WHERE shipments = 0`

func (r *rollUp) save(ctx context.Context, tx pgx.Tx) error {
	b := &pgx.Batch{}
	b.Queue(sqlDropEmptyDays)
	b.Queue(sqlSaveRollUp, r.ready, strconv.FormatUint(r.cursor.Tx, 10), [16]byte(r.cursor.ID),
		[16]byte(r.past.Tenant.Account.Raw()), r.past.Tenant.Livemode, [16]byte(r.past.ID), [16]byte(ship.RawIDAt(r.cursor.ID.Time().Add(-tailMargin))))
	return tx.SendBatch(ctx, b).Close()
}

// Recount forgets all facts and counts, so that they are made again from the
// shipments. It runs as the database's owner.
func Recount(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// The row first, as in a step: two that wait for each other must not be.
		for _, sql := range []string{
			"UPDATE facts_progress SET ready = false, backfill_account_id = NULL, backfill_livemode = NULL, backfill_shipment_id = NULL",
			"TRUNCATE shipment_facts, daily_shipment_counts, search_words",
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
