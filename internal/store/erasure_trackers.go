package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// What an erasure changes of trackers. A tracker has a number and nobody's address,
// but carriers write into its scans who signed for the parcel.

// sqlTrackerTexts reads trackers whose people are not erased, with their number and
// the texts of their scans.
const sqlTrackerTexts = `
SELECT l.subject_id, ARRAY[convert_to(coalesce(st.tracking_number, ''), 'UTF8')] || ARRAY(
    SELECT convert_to(t.description || ' ' || coalesce(t.raw::text, ''), 'UTF8')
    FROM tracking_events t
    WHERE t.account_id = @account AND t.livemode = @livemode AND t.subject_id = l.subject_id)
FROM lookup_keys l
JOIN shipment_states st ON st.account_id = @account AND st.livemode = @livemode AND st.id = l.subject_id
WHERE l.account_id = @account AND l.livemode = @livemode AND l.kind = 'f' AND l.value = ''
  AND l.subject_id > @after AND st.erased_at IS NULL
ORDER BY l.subject_id LIMIT @limit`

// TrackersMentioning returns the next trackers after an id whose number or scans
// have one of the terms, and the last that was looked at; that is zero at the end.
func (s *Store) TrackersMentioning(ctx context.Context, t ship.Tenant, terms []string, after ship.RawID) (found []ship.TrackerID, last ship.RawID, err error) {
	terms = foldTerms(terms)
	var (
		id    ship.RawID
		texts [][]byte
		rows  int
	)
	err = selectEach(ctx, s.system(), []any{&id, &texts}, func() error {
		rows++
		last = id
		if mentions(texts, terms) {
			found = append(found, ship.TrackerIDOf(id))
		}
		return nil
	}, sqlTrackerTexts, tenantArgs(t, nil, pgx.NamedArgs{"after": after, "limit": textWindow}))
	if err != nil {
		return nil, last, fmt.Errorf("look through trackers: %w", err)
	}
	if rows < textWindow {
		last = ship.RawID{}
	}
	return found, last, nil
}

// eraseTrackers erases the texts of trackers that mention the person, or that have a
// number of the shipments that were erased.
func eraseTrackers(ctx context.Context, w *erasureWork) (finished bool, err error) {
	var after ship.RawID
	if len(w.cursor) == 1 {
		id, _ := ship.ParseTrackerID(w.cursor[0])
		after = id.Raw()
	}
	numbers, err := w.numbers(ctx)
	if err != nil {
		return false, err
	}
	found, last, err := w.tx.TrackersMentioning(ctx, w.Tenant, append(w.terms(), numbers...), after)
	if err != nil {
		return false, err
	}

	if err := w.tx.eraseTrackerRows(ctx, w.Tenant, found); err != nil {
		return false, err
	}
	w.count("trackers", len(found))
	w.cursor = []string{string(ship.TrackerIDOf(last))}

	// Their events are erased with those of shipments.
	_, err = w.tx.run(ctx, sqlNoteErasureShipments, w.args(pgx.NamedArgs{"shipments": rawIDs(found)}))
	return last.IsZero(), err
}

// eraseTrackerRows erases the texts of trackers in the transaction. The mark comes
// first: it waits for whoever writes about the tracker, and what they wrote is
// erased by the next statement.
func (s *Store) eraseTrackerRows(ctx context.Context, t ship.Tenant, ids []ship.TrackerID) error {
	if len(ids) == 0 {
		return nil
	}
	statuses, texts := scanTexts()
	args := tenantArgs(t, nil, pgx.NamedArgs{"shipments": rawIDs(ids), "statuses": statuses, "texts": texts})
	for _, sql := range []string{sqlMarkErased, sqlEraseScans} {
		if _, err := s.run(ctx, sql, args); err != nil {
			return fmt.Errorf("erase trackers: %w", err)
		}
	}
	return nil
}

// sqlLockTrackerRetention is sqlLockRetention for trackers.
const sqlLockTrackerRetention = `
INSERT INTO retention_progress (account_id, livemode, erased_through)
VALUES (@account, @livemode, '00000000-0000-0000-0000-000000000000')
ON CONFLICT (account_id, livemode) DO UPDATE SET erased_through = retention_progress.erased_through
RETURNING trackers_through`

const sqlExpiredTrackers = `
SELECT subject_id FROM lookup_keys
WHERE account_id = @account AND livemode = @livemode AND kind = 'f' AND value = ''
  AND subject_id > @after AND subject_id < @before
ORDER BY subject_id LIMIT @limit`

const sqlSaveTrackerRetention = `
UPDATE retention_progress SET trackers_through = @through WHERE account_id = @account AND livemode = @livemode`

// EraseOlderTrackers erases the texts of the next trackers from before the time, and
// reports whether there are more to look at.
func (s *Store) EraseOlderTrackers(ctx context.Context, t ship.Tenant, before time.Time) (more bool, err error) {
	err = s.InSystemTx(ctx, func(tx *Store) error {
		through, err := selectOne(ctx, tx.tx, pgx.RowTo[ship.RawID], sqlLockTrackerRetention, tenantArgs(t, nil, nil))
		if err != nil {
			return err
		}
		ids, err := selectList(ctx, tx.tx, pgx.RowTo[ship.TrackerID], sqlExpiredTrackers, tenantArgs(t, nil, pgx.NamedArgs{
			"after":  through,
			"before": ship.RawIDAt(before),
			"limit":  erasureShipments,
		}))
		if err != nil || len(ids) == 0 {
			return err
		}
		more = len(ids) == erasureShipments

		if err := tx.eraseTrackerRows(ctx, t, ids); err != nil {
			return err
		}
		_, err = tx.run(ctx, sqlSaveTrackerRetention, tenantArgs(t, nil, pgx.NamedArgs{"through": ids[len(ids)-1]}))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("erase old trackers: %w", err)
	}
	return more, nil
}
