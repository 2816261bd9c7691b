package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Vitals are the numbers that show an operator whether the service is healthy.
type Vitals struct {
	HorizonAge     time.Duration      // for how long the log's horizon has stood still while newer events wait
	HorizonHolders []HorizonHolder    // what it stands still for; of Inspect alone
	Open           map[ship.State]int // purchases and voids that wait for an outcome or a person
	OldestOpen     time.Duration      // of those that wait for an outcome
	JobsWaiting    int                // jobs that are due and not begun
	OldestJob      time.Duration      // since the oldest of them was due
	OrphanedLabels map[string]int     // labels that wait to be voided ("pending"), or that the carrier does not void ("void_declined")
	Parked         int                // webhook endpoints that fail and are tried now and then
	GivenUp        []string           // webhook endpoints that were switched off because they failed; at most a few
	Restore        RestoreState       // the last restore that was noticed
	Held           []HeldAccount      // accounts whose purchases it lost, and that buy nothing new
	FrozenShards   int                // shards whose accounts are refused, because a move has not ended

	horizon horizonSample
}

const sqlOpenCounts = `
SELECT state::text, count(*)::int, (min(id::text) FILTER (WHERE state <> 'needs_review'))::uuid
FROM shipment_states
WHERE state IN ('purchasing', 'uncertain', 'voiding', 'needs_review')
GROUP BY state`

const sqlCountParked = `
SELECT count(*)::int FROM webhook_endpoints
WHERE (parked OR NOT enabled) AND parked AND enabled`

// sqlDisabledEndpoints repeats the condition of an index that holds only parked
// and disabled endpoints, as sqlCountParked does.
const sqlDisabledEndpoints = `
SELECT id FROM webhook_endpoints
WHERE (parked OR NOT enabled) AND NOT enabled AND disabled_reason <> 'client'
ORDER BY id LIMIT 10`

const sqlJobsWaiting = `
SELECT count(*)::int, coalesce(extract(epoch FROM max(now() - scheduled_at)), 0)::float8
FROM river_job
WHERE state = 'available' OR state IN ('scheduled', 'retryable') AND scheduled_at < now()`

const sqlCountFrozen = `SELECT count(*)::int FROM shards WHERE frozen`

const sqlCountOrphans = `
SELECT state, count(*) FROM orphaned_labels
WHERE state IN ('pending', 'void_declined')
GROUP BY state`

// Vitals reads them.
func (s *Store) Vitals(ctx context.Context) (Vitals, error) {
	var v Vitals
	batch := &pgx.Batch{}
	v.queue(batch)
	if err := s.sys.SendBatch(ctx, batch).Close(); err != nil {
		return v, fmt.Errorf("vitals: %w", explain(err))
	}

	now := time.Now()
	v.HorizonAge = max(v.horizon.age(now), s.horizon.note(v.horizon, now))
	return v, nil
}

// sqlRole changes the role until the transaction ends; "none" is the owner.
const sqlRole = `SELECT set_config('role', $1, true)`

// queue adds the statements that fill v in to the batch, all but the age of the
// horizon, and leaves it under the system's role.
func (v *Vitals) queue(batch *pgx.Batch) {
	v.Open = map[ship.State]int{}
	v.OrphanedLabels = map[string]int{}

	// Only the system's role may see the rows of all tenants.
	batch.Queue(sqlRole, roleSys)
	batch.Queue(sqlHorizonSample).QueryRow(v.horizon.scan)

	batch.Queue(sqlJobsWaiting).QueryRow(func(r pgx.Row) error {
		var age float64
		err := r.Scan(&v.JobsWaiting, &age)
		v.OldestJob = seconds(age)
		return err
	})

	batch.Queue(sqlCountOrphans).Query(func(rows pgx.Rows) error {
		var state string
		var count int
		_, err := pgx.ForEachRow(rows, []any{&state, &count}, func() error {
			v.OrphanedLabels[state] = count
			return nil
		})
		return err
	})

	batch.Queue(sqlRestoreState).Query(collectOneInto(&v.Restore, scanRestoreState))
	batch.Queue(sqlHeldAccounts).Query(collectInto(&v.Held, scanHeldAccount))
	batch.Queue(sqlCountFrozen).QueryRow(func(r pgx.Row) error { return r.Scan(&v.FrozenShards) })

	batch.Queue(sqlCountParked).QueryRow(func(r pgx.Row) error { return r.Scan(&v.Parked) })
	batch.Queue(sqlDisabledEndpoints).Query(collectInto(&v.GivenUp, func(r pgx.CollectableRow) (string, error) {
		var id ship.EndpointID
		err := r.Scan(&id)
		return string(id), err
	}))

	now := time.Now()
	batch.Queue(sqlOpenCounts).Query(func(rows pgx.Rows) error {
		var state ship.State
		var count int
		var oldest ship.RawID // zero if none waits for an outcome
		_, err := pgx.ForEachRow(rows, []any{&state, &count, &oldest}, func() error {
			v.Open[state] = count
			if !oldest.IsZero() {
				v.OldestOpen = max(v.OldestOpen, now.Sub(oldest.Time()))
			}
			return nil
		})
		return err
	})
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
