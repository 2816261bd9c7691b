package store

import (
	"context"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Polls of the simulated carrier.

// sqlDuePolls claims parcels that are due by moving their time on: if this
// process dies, they are due again then. Another copy skips what is claimed.
// Rows are found by their ctid, because a join would be planned for a tenth of
// the table.
const sqlDuePolls = `
UPDATE sandbox_polls SET due_at = $2
WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM sandbox_polls
  WHERE due_at <= $1
  ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED))
RETURNING account_id, livemode, subject_id`

// DuePolls claims up to limit parcels that are due at now; each is due again
// at again unless it is ended.
func (s *Store) DuePolls(ctx context.Context, now, again time.Time, limit int) ([]ship.Subject, error) {
	list, err := selectList(ctx, s.sys, scanSubject, sqlDuePolls, now, again, limit)
	if err != nil {
		return nil, fmt.Errorf("claim polls: %w", err)
	}
	return list, nil
}

const sqlEndPolls = `
DELETE FROM sandbox_polls p USING ` + subjectKeys + `
WHERE p.account_id = k.account_id AND p.livemode = k.livemode AND p.subject_id = k.id`

// EndPolls stops polling for the parcels.
func (s *Store) EndPolls(ctx context.Context, parcels []ship.Subject) error {
	if len(parcels) == 0 {
		return nil
	}
	if _, err := s.system().Exec(ctx, sqlEndPolls, subjectArgs(parcels)); err != nil {
		return fmt.Errorf("end polls: %w", explain(err))
	}
	return nil
}

const sqlOrders = `
SELECT s.account_id, s.livemode, s.id, s.request
FROM ` + subjectKeys + ` JOIN shipments s USING (account_id, livemode, id)`

// Orders returns what was ordered for each of the parcels.
func (s *Store) Orders(ctx context.Context, parcels []ship.Subject) (map[ship.Subject]ship.Order, error) {
	orders := make(map[ship.Subject]ship.Order, len(parcels))
	var parcel ship.Subject
	var order ship.Order
	err := selectEach(ctx, s.tx, append(subjectTargets(&parcel), &order), func() error {
		orders[parcel] = order
		return nil
	}, sqlOrders, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	return orders, nil
}
