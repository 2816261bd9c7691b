package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/waybillhq/waybill/internal/ship"
)

// Job is the arguments of a background job.
type Job interface{ Kind() string }

// The queues. Jobs about purchases never wait behind others.
const (
	QueueMoney    = "money"
	QueueWebhooks = "webhooks"
)

// maxAttempts is far more than any job needs: no job here is ever discarded, and
// each crash in the middle of one uses up an attempt.
const maxAttempts = 30_000

// Enqueue stores a job, to run after the delay. It works only inside a
// transaction: state and job commit together.
func (s *Store) Enqueue(ctx context.Context, j Job, after time.Duration) error {
	if s.tx == nil {
		panic("store: Enqueue outside a transaction")
	}

	queue := QueueMoney
	if own, ok := j.(interface{ Queue() string }); ok {
		queue = own.Queue()
	}

	_, err := s.queue.InsertTx(ctx, s.tx, j, &river.InsertOpts{
		Queue:       queue,
		ScheduledAt: time.Now().Add(after),
		MaxAttempts: maxAttempts,
	})
	if err != nil {
		return fmt.Errorf("enqueue %s: %w", j.Kind(), explain(err))
	}
	return nil
}

// OpenParcel is a purchase or void that waits for an outcome.
type OpenParcel struct {
	ship.Subject
	State ship.State
}

const sqlOpen = `
SELECT account_id, livemode, id, state::text
FROM shipment_states
WHERE state IN ('purchasing', 'uncertain', 'voiding') AND id < $1
ORDER BY id LIMIT 1000`

// OpenPurchases lists purchases and voids older than before that wait for an
// outcome.
func (s *Store) OpenPurchases(ctx context.Context, before time.Time) ([]OpenParcel, error) {
	list, err := selectList(ctx, s.sys, scanOpenParcel, sqlOpen, ship.RawIDAt(before))
	if err != nil {
		return nil, fmt.Errorf("open purchases: %w", err)
	}
	return list, nil
}

func scanOpenParcel(r pgx.CollectableRow) (OpenParcel, error) {
	var open OpenParcel
	err := r.Scan(&open.Tenant.Account, &open.Tenant.Livemode, &open.ID, &open.State)
	return open, err
}
