package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The lease of a mover on the shard that it holds: if it dies, copies of the service
// serve the shard again at its source.

const (
	// LeaseFor is how long a mover may be silent.
	LeaseFor = 15 * time.Second

	renewEvery   = 5 * time.Second
	renewTimeout = 4 * time.Second
)

const (
	sqlNewToken = `SELECT nextval('shard_lease_tokens')`

	sqlRenewLease = `
UPDATE shards SET lease_until = clock_timestamp() + @lease::interval
WHERE shard = @shard AND lease_token = @token AND moving_to IS NOT NULL AND lease_until IS NOT NULL`

	// sqlCommit ends the lease before the switch. A shard that was given back, or whose
	// lease is over, is not switched.
	sqlCommit = `
UPDATE shards SET lease_until = NULL
WHERE shard = @shard AND lease_token = @token AND frozen AND moving_to IS NOT NULL AND lease_until > clock_timestamp()`
)

// errTakenBack is the error of a mover whose shard was given back to its source.
func errTakenBack(move *Move) error {
	return ship.Errorf(ship.Conflict, "shard %d was given back to %s, because its mover was silent for %s", move.Shard, move.Source, LeaseFor)
}

// Renew renews the lease on a shard that is held until stop is called. It has
// connections of its own, so a statement that takes long does not end the lease.
func (m *Mover) Renew(ctx context.Context, move *Move) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	args := moveArgs(move)
	addresses := []string{m.directoryURL, m.databases[move.Source]}

	go func() {
		defer close(ended)
		ticks := time.NewTicker(renewEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return
			}
			for _, address := range addresses {
				renew(ctx, address, args)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// renew renews the lease in one database. If that fails, the next time may be early
// enough; otherwise the lease ends, which the mover notices before the switch.
func renew(ctx context.Context, address string, args pgx.NamedArgs) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, _ = conn.Exec(ctx, sqlRenewLease, args)
}

// Commit is the last moment before the switch: from here on, no copy of the service
// gives the shard back.
func (m *Mover) Commit(ctx context.Context, move *Move) error {
	tag, err := m.source.Exec(ctx, sqlCommit, moveArgs(move))
	if err == nil && tag.RowsAffected() == 0 {
		return errTakenBack(move)
	}
	return explain(err)
}

const sqlReleaseShards = `SELECT release_shards()`

// ReleaseShards serves the shards again whose mover died before the switch, and returns
// them. Where this database is the directory, routers send their requests again.
func (s *Store) ReleaseShards(ctx context.Context) (released []int, err error) {
	err = s.InSystemTx(ctx, func(tx *Store) error {
		if released, err = selectList(ctx, tx.tx, pgx.RowTo[int], sqlReleaseShards); err != nil {
			return err
		}

		// While a shard was frozen, its webhooks' dispatcher saw none of its events.
		for _, shard := range released {
			if _, err := tx.tx.Exec(ctx, sqlNoticeEndpoints, pgx.NamedArgs{"shard": shard}); err != nil {
				return err
			}
		}
		return nil
	})
	return released, err
}
