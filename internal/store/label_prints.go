package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A LabelPrint says how often a label was printed, and when it was last.
type LabelPrint struct {
	Count  int
	LastAt time.Time
}

// sqlRecordPrints takes the rows in the order of their ids: two files with the
// same labels wait for each other instead of deadlocking.
const sqlRecordPrints = `
INSERT INTO label_prints AS p (account_id, livemode, shipment_id, print_count, last_printed_at)
SELECT @account, @livemode, v.id, 1, @at
FROM (SELECT DISTINCT unnest(@shipments::uuid[]) AS id ORDER BY 1) v
ON CONFLICT (account_id, livemode, shipment_id) DO UPDATE SET
  print_count = p.print_count + 1,
  last_printed_at = excluded.last_printed_at`

// RecordPrints counts that the labels of shipments were printed.
func (s *Store) RecordPrints(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID, at time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	args := tenantArgs(t, nil, pgx.NamedArgs{"shipments": rawIDs(ids), "at": at})
	if _, err := s.exec(ctx, t, sqlRecordPrints, args); err != nil {
		return fmt.Errorf("record prints: %w", err)
	}
	return nil
}

const sqlLabelPrints = `
SELECT shipment_id, print_count, last_printed_at FROM label_prints
WHERE account_id = $1 AND livemode = $2 AND shipment_id = ANY ($3::uuid[])`

// LabelPrints returns how often the labels of shipments were printed; those that
// never were are left out.
func (s *Store) LabelPrints(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) (map[ship.ShipmentID]LabelPrint, error) {
	found := map[ship.ShipmentID]LabelPrint{}
	if len(ids) == 0 {
		return found, nil
	}

	var id ship.ShipmentID
	var printed LabelPrint
	err := s.queryEach(ctx, t, []any{&id, &printed.Count, &printed.LastAt}, func() error {
		found[id] = printed
		return nil
	}, sqlLabelPrints, t.Account, t.Livemode, rawIDs(ids))
	return found, err
}
