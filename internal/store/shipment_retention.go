package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The end of shipments: a year of them is dropped when its youngest is older than
// the installation keeps them. What tables without partitions have about them is
// deleted before, in portions.

// An ExpiredYear is a year of shipments that is kept no longer.
type ExpiredYear struct {
	Year string     // "2024"
	End  ship.RawID // the first id after it
}

const sqlExpiredYear = `SELECT year, end_id FROM expired_shipment_year($1)`

// ExpiredYear returns the oldest year whose shipments are all older than keep;
// ship.NotFound if there is none.
func (s *Store) ExpiredYear(ctx context.Context, keep time.Duration) (ExpiredYear, error) {
	return selectOne(ctx, s.system(), func(r pgx.CollectableRow) (year ExpiredYear, err error) {
		err = r.Scan(&year.Year, &year.End)
		return year, err
	}, sqlExpiredYear, keep)
}

// OpenWork is what keeps a year of shipments from being dropped.
type OpenWork struct {
	Purchases int // purchases and voids that are not settled, or need a person
	Orphans   int // labels that are to be voided
	Moving    int // parcels that a carrier reported about lately, and purchases that were settled lately
	Example   ship.ShipmentID
}

// Any reports whether there is any.
func (w OpenWork) Any() bool { return w.Purchases+w.Orphans+w.Moving > 0 }

// recentNews is how long after the last news about a parcel it may still move, and
// its events may still be read and delivered. It is longer than carriers are
// polled without news, and than the log is kept.
const recentNews = 45 * 24 * time.Hour

// sqlOpenPurchases reads an index that has nothing else, so that it can run while
// everybody waits.
const sqlOpenPurchases = `
SELECT count(*)::int, (array_agg(id))[1] FROM shipment_states
WHERE state IN ('purchasing', 'uncertain', 'needs_review', 'voiding') AND id < $1`

const sqlOpenOrphansBefore = `
SELECT count(*)::int, (array_agg(shipment_id))[1] FROM orphaned_labels
WHERE state = 'pending' AND shipment_id < $1`

const sqlMovingParcels = `
SELECT count(*)::int, (array_agg(id))[1] FROM shipment_states
WHERE id < $1 AND (last_event_at > $2 OR purchased_at > $2)`

// OpenWorkBefore counts what is open of the shipments before an id.
func (s *Store) OpenWorkBefore(ctx context.Context, before ship.RawID, now time.Time) (OpenWork, error) {
	work, err := s.openPurchasesBefore(ctx, before)
	if err != nil {
		return work, err
	}

	err = work.read(s.system().QueryRow(ctx, sqlMovingParcels, before, now.Add(-recentNews)), &work.Moving)
	return work, err
}

// openPurchasesBefore is the part of OpenWorkBefore that concerns money.
func (s *Store) openPurchasesBefore(ctx context.Context, before ship.RawID) (OpenWork, error) {
	var work OpenWork
	if err := work.read(s.system().QueryRow(ctx, sqlOpenPurchases, before), &work.Purchases); err != nil {
		return work, err
	}
	err := work.read(s.system().QueryRow(ctx, sqlOpenOrphansBefore, before), &work.Orphans)
	return work, err
}

// read reads a count and an example.
func (w *OpenWork) read(row pgx.Row, count *int) error {
	var example ship.ShipmentID
	if err := row.Scan(count, &example); err != nil {
		return explain(err)
	}
	if *count > 0 && w.Example == "" {
		w.Example = example
	}
	return nil
}

// InspectRetention returns the oldest year of shipments that is past keep and still
// there, with what is open in it; ship.NotFound if there is none. It changes nothing.
func InspectRetention(ctx context.Context, url string, keep time.Duration, now time.Time) (ExpiredYear, OpenWork, error) {
	s, err := Open(ctx, Options{URL: url})
	if err != nil {
		return ExpiredYear{}, OpenWork{}, err
	}
	defer s.Close()

	year, err := s.ExpiredYear(ctx, keep)
	if err != nil {
		return year, OpenWork{}, err
	}
	work, err := s.OpenWorkBefore(ctx, year.End, now)
	return year, work, err
}

// sweptBlocks is how many blocks of a table one portion reads.
const sweptBlocks = 128

// withinBlocks is the condition that restricts a statement to a portion.
const withinBlocks = `ctid >= ('(' || @first::bigint || ',0)')::tid AND ctid < ('(' || @end::bigint || ',0)')::tid`

// The statements that delete rows about shipments and trackers before an id.
const (
	sqlSweepLookupKeys      = `DELETE FROM lookup_keys WHERE ` + withinBlocks + ` AND subject_id < @before`
	sqlSweepFacts           = `DELETE FROM shipment_facts WHERE ` + withinBlocks + ` AND shipment_id < @before`
	sqlSweepSearchNumbers   = `DELETE FROM search_numbers WHERE ` + withinBlocks + ` AND shipment_id < @before`
	sqlSweepSearchWords     = `DELETE FROM search_words WHERE ` + withinBlocks + ` AND shipment_id < @before`
	sqlSweepIdempotencyKeys = `DELETE FROM idempotency_keys WHERE ` + withinBlocks + ` AND shipment_id < @before`
	sqlSweepManifests       = `DELETE FROM manifest_shipments WHERE ` + withinBlocks + ` AND shipment_id < @before`
	sqlSweepLabelPrints     = `DELETE FROM label_prints WHERE ` + withinBlocks + ` AND shipment_id < @before`
	sqlSweepRenderings      = `DELETE FROM label_renderings WHERE ` + withinBlocks + ` AND shipment_id < @before`
	sqlSweepSubmissions     = `DELETE FROM document_submissions WHERE ` + withinBlocks + ` AND shipment_id < @before`
	sqlSweepReturnRequests  = `DELETE FROM return_requests WHERE ` + withinBlocks + ` AND shipment_id < @before`
	sqlSweepApprovals       = `DELETE FROM approvals WHERE ` + withinBlocks + ` AND shipment_id < @before`
	sqlSweepCarrierPolls    = `DELETE FROM carrier_polls WHERE ` + withinBlocks + ` AND subject_id < @before`
	sqlSweepSandboxPolls    = `DELETE FROM sandbox_polls WHERE ` + withinBlocks + ` AND subject_id < @before`
)

// sweptTables are the tables without partitions that have rows about shipments.
// Counts of days and transit times have no rows of one shipment and stay; so do
// orphaned labels, which like the ledger are about money.
var sweptTables = []struct{ name, sql string }{
	{"carrier_polls", sqlSweepCarrierPolls},
	{"sandbox_polls", sqlSweepSandboxPolls},
	{"manifest_shipments", sqlSweepManifests},
	{"label_prints", sqlSweepLabelPrints},
	{"label_renderings", sqlSweepRenderings},
	{"document_submissions", sqlSweepSubmissions},
	{"return_requests", sqlSweepReturnRequests},
	{"approvals", sqlSweepApprovals},
	{"lookup_keys", sqlSweepLookupKeys},
	{"shipment_facts", sqlSweepFacts},
	{"search_numbers", sqlSweepSearchNumbers},
	{"search_words", sqlSweepSearchWords},
	{"idempotency_keys", sqlSweepIdempotencyKeys},
}

// sqlLockSweep takes the progress of a table, which begins again for another year.
const sqlLockSweep = `
INSERT INTO shipment_sweeps AS p (relation, before_id, next_block)
VALUES (@relation, @before, 0)
ON CONFLICT (relation) DO UPDATE SET
  before_id = excluded.before_id,
  next_block = CASE WHEN p.before_id = excluded.before_id THEN p.next_block ELSE 0 END
RETURNING next_block, pg_relation_size(@relation::text::regclass) / current_setting('block_size')::bigint`

const sqlSaveSweep = `UPDATE shipment_sweeps SET next_block = @next WHERE relation = @relation`

// SweepShipments deletes the next portion of what tables without partitions have
// about shipments before an id, in one transaction with the note of how far it has
// got. It reports how many rows it deleted, and whether there is nothing more.
func (s *Store) SweepShipments(ctx context.Context, before ship.RawID) (deleted int, finished bool, err error) {
	for _, table := range sweptTables {
		var swept bool
		err := s.InSystemTx(ctx, func(tx *Store) error {
			var next, size int64
			args := pgx.NamedArgs{"relation": table.name, "before": before}
			err := tx.tx.QueryRow(ctx, sqlLockSweep, args).Scan(&next, &size)
			if err != nil || next >= size {
				return err
			}

			swept = true
			end := next + sweptBlocks
			deleted, err = tx.run(ctx, table.sql, pgx.NamedArgs{"first": next, "end": end, "before": before})
			if err != nil {
				return err
			}
			_, err = tx.run(ctx, sqlSaveSweep, pgx.NamedArgs{"relation": table.name, "next": end})
			return err
		})
		if err != nil {
			return 0, false, fmt.Errorf("delete old rows of %s: %w", table.name, err)
		}
		if swept {
			return deleted, false, nil
		}
	}
	return 0, true, nil
}

// The lock stops everybody who reads or writes shipments, so it is not waited for
// behind a slow reader: the caller tries again.
const (
	sqlShortLock     = `SET LOCAL lock_timeout = '250ms'`
	sqlLockShipments = `LOCK TABLE shipments, shipment_states, purchase_attempts, tracking_events IN ACCESS EXCLUSIVE MODE`
	sqlDropShipments = `SELECT drop_expired_shipments($1)`
	sqlEndSweeps     = `DELETE FROM shipment_sweeps`
)

// DropShipments drops the year, unless something of it has become open: nobody
// can open anything between this look and the end of the transaction. It is
// ship.Conflict if there is open work, or if another copy was faster.
func (s *Store) DropShipments(ctx context.Context, year ExpiredYear, keep time.Duration) error {
	err := s.InSystemTx(ctx, func(tx *Store) error {
		for _, sql := range []string{sqlShortLock, sqlLockShipments} {
			if _, err := tx.tx.Exec(ctx, sql); err != nil {
				return err
			}
		}

		oldest, err := tx.ExpiredYear(ctx, keep)
		if err != nil {
			return err
		}
		work, err := tx.openPurchasesBefore(ctx, year.End)
		if err != nil {
			return err
		}
		if oldest != year || work.Any() {
			return ship.Errorf(ship.Conflict, "%d purchases and %d orphaned labels of %s are open, and %s is the oldest year",
				work.Purchases, work.Orphans, year.Year, oldest.Year)
		}

		if _, err := tx.tx.Exec(ctx, sqlDropShipments, keep); err != nil {
			return err
		}
		_, err = tx.tx.Exec(ctx, sqlEndSweeps)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop the shipments of %s: %w", year.Year, err)
	}
	return nil
}

// sqlTenantsToErase finds the tenants that have shipments or trackers from before an
// id whose personal data was not erased because of their age.
const sqlTenantsToErase = `
SELECT a.id, m.livemode
FROM accounts a
CROSS JOIN (VALUES (true), (false)) AS m (livemode)
LEFT JOIN retention_progress p ON p.account_id = a.id AND p.livemode = m.livemode
WHERE EXISTS (
  SELECT FROM shipments s
  WHERE s.account_id = a.id AND s.livemode = m.livemode AND s.id < $1
    AND s.id > coalesce(p.erased_through, '00000000-0000-0000-0000-000000000000'))
  OR EXISTS (
  SELECT FROM lookup_keys l
  WHERE l.account_id = a.id AND l.livemode = m.livemode AND l.kind = 'f' AND l.value = '' AND l.subject_id < $1
    AND l.subject_id > coalesce(p.trackers_through, '00000000-0000-0000-0000-000000000000'))
ORDER BY a.id, m.livemode`

// TenantsToErase returns the tenants with shipments or trackers from before the time
// whose personal data is still there.
func (s *Store) TenantsToErase(ctx context.Context, before time.Time) ([]ship.Tenant, error) {
	list, err := selectList(ctx, s.system(), func(r pgx.CollectableRow) (t ship.Tenant, err error) {
		err = r.Scan(&t.Account, &t.Livemode)
		return t, err
	}, sqlTenantsToErase, ship.RawIDAt(before))
	if err != nil {
		return nil, fmt.Errorf("find tenants with old shipments: %w", err)
	}
	return list, nil
}
