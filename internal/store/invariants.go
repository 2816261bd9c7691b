package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Violation is an invariant that does not hold, and how often.
type Violation struct {
	Rule    string // what must be
	Count   int
	Example ship.ShipmentID
}

// invariants are what holds of every purchase since a moment, whichever process
// died when. Each statement finds the purchases that violate it. The moments are
// given as ids: $1 is the first, $2 the last, and $3 is a day ago. Every
// statement names all three, because Postgres must know their types. Purchases
// of the last minutes may still be on their way.
var invariants = []struct{ rule, sql string }{
	{"a purchase is settled within a day or marked for review", sqlUnsettled},
	{"a purchased shipment has a label and its event", sqlNotAnnounced},
	{"a purchased shipment was bought by exactly one attempt", sqlBoughtTwice},
	{"a purchase is charged once and a void is credited", sqlLedgerMismatch},
	{"a failed purchase costs nothing", sqlFailedCharged},
	{"an orphaned label is voided within ten minutes", sqlOrphanedTooLong},
	{"event sequence numbers have no gaps", sqlSequenceGaps},
}

const sqlUnsettled = `
SELECT st.id FROM shipment_states st
WHERE $1::uuid IS NOT NULL AND $2::uuid IS NOT NULL AND st.state IN ('purchasing', 'uncertain') AND st.id < $3`

const sqlNotAnnounced = `
SELECT st.id FROM shipment_states st
WHERE st.id >= $1 AND st.id < $2 AND $3::uuid IS NOT NULL
  AND st.state IN ('purchased', 'voiding', 'refund_pending', 'voided')
  AND NOT EXISTS ( -- the label of what a restore lost may be lost
    SELECT FROM missing_purchases m
    WHERE m.account_id = st.account_id AND m.livemode = st.livemode AND m.shipment_id = st.id)
  AND (
    NOT EXISTS (
      SELECT FROM labels l
      WHERE l.account_id = st.account_id AND l.livemode = st.livemode AND l.shipment_id = st.id)
    OR NOT EXISTS (
      SELECT FROM events e
      WHERE e.account_id = st.account_id AND e.livemode = st.livemode AND e.subject_id = st.id
        AND e.kind = 'label.generated' AND e.id >= $1))`

const sqlBoughtTwice = `
SELECT a.shipment_id FROM purchase_attempts a
WHERE a.shipment_id >= $1 AND a.shipment_id < $2 AND $3::uuid IS NOT NULL AND a.outcome = 'purchased'
GROUP BY a.account_id, a.livemode, a.shipment_id
HAVING count(*) > 1`

// sqlLedgerMismatch expects one charge of a purchase over a connection, and a
// second line that takes it back once the label is voided.
const sqlLedgerMismatch = `
SELECT s.id FROM shipments s JOIN shipment_states st USING (account_id, livemode, id)
WHERE s.id >= $1 AND s.id < $2 AND $3::uuid IS NOT NULL AND s.purchase->>'connection' IS NOT NULL
  AND st.state IN ('purchased', 'voiding', 'refund_pending', 'voided')
  AND (
    SELECT count(*) FROM charges c
    WHERE c.account_id = s.account_id AND c.livemode = s.livemode AND c.shipment_id = s.id
      AND c.tracking_number = s.purchase->>'trackingNumber')
    <> CASE WHEN st.state IN ('refund_pending', 'voided') THEN 2 ELSE 1 END`

// sqlFailedCharged leaves out shipments with an orphaned label that the carrier
// has not voided: its charge stands until then.
const sqlFailedCharged = `
SELECT st.id FROM shipment_states st
JOIN charges c ON c.account_id = st.account_id AND c.livemode = st.livemode AND c.shipment_id = st.id
WHERE st.id >= $1 AND st.id < $2 AND $3::uuid IS NOT NULL AND st.state = 'failed'
  AND NOT EXISTS (
    SELECT FROM orphaned_labels x
    WHERE x.account_id = st.account_id AND x.livemode = st.livemode AND x.shipment_id = st.id
      AND x.state IN ('pending', 'void_declined'))
GROUP BY st.account_id, st.livemode, st.id
HAVING sum(c.amount_minor) <> 0`

const sqlOrphanedTooLong = `
SELECT x.shipment_id FROM orphaned_labels x
WHERE x.shipment_id >= $1 AND x.shipment_id < $2 AND $3::uuid IS NOT NULL
  AND (x.state = 'void_declined' OR x.state = 'pending' AND x.found_at < now() - interval '10 minutes')`

const sqlSequenceGaps = `
SELECT e.subject_id FROM events e
WHERE e.id >= $1 AND e.subject_id >= $1 AND e.subject_id < $2 AND $3::uuid IS NOT NULL
GROUP BY e.account_id, e.livemode, e.subject_id
HAVING count(*) <> max(e.sequence) OR count(DISTINCT e.sequence) <> count(*)`

// watchedFor is how far back invariants are checked, except for open purchases:
// an installation may make millions of purchases a day.
const watchedFor = 26 * time.Hour

// queueInvariants adds the statements that look for violations to the batch.
func queueInvariants(batch *pgx.Batch, now time.Time, found *[]Violation) {
	since := ship.RawIDAt(now.Add(-watchedFor))
	until := ship.RawIDAt(now)
	dayAgo := ship.RawIDAt(now.Add(-25 * time.Hour))

	for _, invariant := range invariants {
		sql := `SELECT count(*), (array_agg(v.id))[1] FROM (` + invariant.sql + `) AS v (id)`
		batch.Queue(sql, since, until, dayAgo).QueryRow(func(r pgx.Row) error {
			violation := Violation{Rule: invariant.rule}
			if err := r.Scan(&violation.Count, &violation.Example); err != nil {
				return fmt.Errorf("%s: %w", invariant.rule, err)
			}
			if violation.Count > 0 {
				*found = append(*found, violation)
			}
			return nil
		})
	}
}

// Violations looks for purchases of the last day that violate an invariant.
func (s *Store) Violations(ctx context.Context, now time.Time) ([]Violation, error) {
	var list []Violation
	batch := &pgx.Batch{}
	queueInvariants(batch, now, &list)
	if err := s.sys.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("look for violations: %w", explain(err))
	}
	return list, nil
}
