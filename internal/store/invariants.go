package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Violation is something that must never be, and how often it is.
type Violation struct {
	Rule    string // what must be
	Count   int
	Example ship.ShipmentID
}

// invariants are what holds of every purchase since a moment, whatever died
// when. Each finds the purchases of which it does not. The moment is given in
// an id, and the purchases of the last minutes may still be on their way.
var invariants = []struct{ rule, sql string }{
	{"a purchase is settled within a day, or given to a person", sqlUnsettled},
	{"what is bought has a label, and was told", sqlUntold},
	{"what is bought was bought by one attempt", sqlBoughtTwice},
	{"what is bought is charged once, what is voided is credited", sqlWrongLedger},
	{"what failed costs nothing", sqlFailedCosts},
	{"a stranded label is taken back within ten minutes", sqlStrandedLong},
	{"an event's number follows the one before it", sqlGaps},
}

const sqlUnsettled = `
SELECT st.id FROM shipment_states st
WHERE $1::uuid IS NOT NULL AND $2::uuid IS NOT NULL AND st.state IN ('purchasing', 'uncertain') AND st.id < $3`

const sqlUntold = `
SELECT st.id FROM shipment_states st
WHERE st.id >= $1 AND st.id < $2 AND $3::uuid IS NOT NULL AND st.state IN ('purchased', 'voiding', 'refund_pending', 'voided') AND (
  NOT EXISTS (SELECT FROM labels l WHERE l.account_id = st.account_id AND l.livemode = st.livemode AND l.shipment_id = st.id)
  OR NOT EXISTS (SELECT FROM events e WHERE e.account_id = st.account_id AND e.livemode = st.livemode AND e.subject_id = st.id AND e.kind = 'label.generated' AND e.id >= $1))`

const sqlBoughtTwice = `
SELECT a.shipment_id FROM purchase_attempts a
WHERE a.shipment_id >= $1 AND a.shipment_id < $2 AND $3::uuid IS NOT NULL AND a.outcome = 'purchased'
GROUP BY a.account_id, a.livemode, a.shipment_id HAVING count(*) > 1`

const sqlWrongLedger = `
SELECT s.id FROM shipments s JOIN shipment_states st USING (account_id, livemode, id)
WHERE s.id >= $1 AND s.id < $2 AND $3::uuid IS NOT NULL AND s.purchase->>'connection' IS NOT NULL
  AND st.state IN ('purchased', 'voiding', 'refund_pending', 'voided')
  AND (SELECT count(*) FROM charges c WHERE c.account_id = s.account_id AND c.livemode = s.livemode AND c.shipment_id = s.id AND c.tracking_number = s.purchase->>'trackingNumber')
    <> CASE WHEN st.state IN ('refund_pending', 'voided') THEN 2 ELSE 1 END`

const sqlFailedCosts = `
SELECT st.id FROM shipment_states st JOIN charges c ON c.account_id = st.account_id AND c.livemode = st.livemode AND c.shipment_id = st.id
WHERE st.id >= $1 AND st.id < $2 AND $3::uuid IS NOT NULL AND st.state = 'failed'
  AND NOT EXISTS (SELECT FROM orphaned_labels x WHERE x.account_id = st.account_id AND x.livemode = st.livemode AND x.shipment_id = st.id AND x.state IN ('pending', 'void_declined'))
GROUP BY st.account_id, st.livemode, st.id HAVING sum(c.amount_minor) <> 0`

const sqlStrandedLong = `
SELECT x.shipment_id FROM orphaned_labels x
WHERE x.shipment_id >= $1 AND x.shipment_id < $2 AND $3::uuid IS NOT NULL AND (x.state = 'void_declined' OR x.state = 'pending' AND x.found_at < now() - interval '10 minutes')`

const sqlGaps = `
SELECT e.subject_id FROM events e
WHERE e.id >= $1 AND e.subject_id >= $1 AND e.subject_id < $2 AND $3::uuid IS NOT NULL
GROUP BY e.account_id, e.livemode, e.subject_id HAVING count(*) <> max(e.sequence) OR count(DISTINCT e.sequence) <> count(*)`

// watchedFor is how far back invariants are looked at, but for purchases that
// are open: an installation may make millions a day.
const watchedFor = 26 * time.Hour

// queueInvariants adds the statements that look for violations to b.
func queueInvariants(b *pgx.Batch, now time.Time, found *[]Violation) {
	since, until := [16]byte(ship.RawIDAt(now.Add(-watchedFor))), [16]byte(ship.RawIDAt(now))
	dayAgo := [16]byte(ship.RawIDAt(now.Add(-25 * time.Hour)))
	for _, i := range invariants {
		b.Queue(`SELECT count(*), (array_agg(v.id))[1] FROM (`+i.sql+`) AS v (id)`, since, until, dayAgo).QueryRow(func(r pgx.Row) error {
			var n int
			var example *[16]byte
			if err := r.Scan(&n, &example); err != nil {
				return fmt.Errorf("%s: %w", i.rule, err)
			}
			if n > 0 {
				*found = append(*found, Violation{Rule: i.rule, Count: n, Example: ship.ShipmentIDOf(*example)})
			}
			return nil
		})
	}
}

// Violations looks for purchases of the last day of which something does not
// hold that always must.
func (s *Store) Violations(ctx context.Context, now time.Time) ([]Violation, error) {
	var list []Violation
	b := &pgx.Batch{}
	queueInvariants(b, now, &list)
	if err := s.sys.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("look for violations: %w", explain(err))
	}
	return list, nil
}
