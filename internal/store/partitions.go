package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Partitions of large tables: made ahead of time, dropped after their retention.
// Which tables are partitioned, and by what, is in the table partition_rules;
// functions of the database make and drop partitions, because the login that
// serves may not own the tables.

// How long the log and the record of deliveries are kept.
const (
	EventRetention   = 30 * 24 * time.Hour
	AttemptRetention = 30 * 24 * time.Hour
	PushRetention    = 30 * 24 * time.Hour
	CallRetention    = 3 * 24 * time.Hour

	// The ledger is kept as long as bookkeeping asks for in most countries. It has
	// amounts and numbers, and no personal data.
	ChargeRetention = 3653 * 24 * time.Hour

	// These two are defaults; the operator may choose others.
	RequestRetention  = 7 * 24 * time.Hour
	ExchangeRetention = 30 * 24 * time.Hour
)

// Retention is how long the rows of tables are kept, by name, where that differs from
// the default.
type Retention map[string]time.Duration

// defaultRetention has the tables whose partitions are dropped one by one. The years
// of shipments are dropped together: see shipment_retention.go.
var defaultRetention = Retention{
	"events":            EventRetention,
	"webhook_attempts":  AttemptRetention,
	"pushes":            PushRetention,
	"api_requests":      RequestRetention,
	"carrier_exchanges": ExchangeRetention,
	"carrier_calls":     CallRetention,
	"charges":           ChargeRetention,
}

// merge returns the default retention with what the operator chose.
func (chosen Retention) merge() Retention {
	merged := maps.Clone(defaultRetention)
	for table, keep := range chosen {
		if keep > 0 {
			merged[table] = keep
		}
	}
	return merged
}

const (
	sqlCreateDuePartitions  = `SELECT create_due_partitions()`
	sqlDropExpiredPartition = `SELECT drop_expired_partition($1, $2)`
)

// MaintainPartitions makes the partitions that the near future needs and drops those
// past their retention: the default, unless other has another. One of an archived
// table is dropped only if isKept says that it is in the archive; nil means that
// there is no archive.
func (s *Store) MaintainPartitions(ctx context.Context, other Retention, isKept func(Partition) bool) error {
	if _, err := s.sys.Exec(ctx, sqlCreateDuePartitions); err != nil {
		return fmt.Errorf("create partitions: %w", explain(err))
	}

	// One that is in use does not keep the others from being dropped.
	keep := other.merge()
	var failed error
	for _, table := range slices.Sorted(maps.Keys(keep)) {
		err := dropPartitions(func() (*string, error) {
			if isKept != nil && IsArchived(table) {
				return s.dropKept(ctx, table, keep[table], isKept)
			}
			var dropped *string
			err := s.sys.QueryRow(ctx, sqlDropExpiredPartition, table, keep[table]).Scan(&dropped)
			return dropped, explain(err)
		})
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("drop partitions of %s: %w", table, err))
		}
	}
	return failed
}

// dropKept drops the oldest partition past its retention if it is in the archive.
// The archive is asked first: the drop locks the table.
func (s *Store) dropKept(ctx context.Context, table string, keep time.Duration, isKept func(Partition) bool) (dropped *string, err error) {
	expired, err := s.expiredPartitions(ctx, table, keep)
	if err != nil || len(expired) == 0 || !isKept(expired[0]) {
		return nil, err
	}

	err = s.InSystemTx(ctx, func(tx *Store) error {
		err := tx.tx.QueryRow(ctx, sqlDropExpiredPartition, table, keep).Scan(&dropped)
		if err == nil && dropped != nil && *dropped != expired[0].Name {
			err = ship.Errorf(ship.Conflict, "%s is not the partition that was archived", *dropped)
		}
		return err
	})
	return dropped, err
}

const (
	sqlMakePartitions = `SELECT make_partitions($1)`
	sqlDropPartition  = `SELECT drop_partition($1, $2)`
)

// MaintainPartitions does what the method of Store does, for any time: it connects to
// url, which must be that of the tables' owner.
func MaintainPartitions(ctx context.Context, url string, now time.Time, other Retention) error {
	conn, err := connect(ctx, url)
	if err != nil {
		return ship.Errorf(ship.Unavailable, "cannot connect to the database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	if _, err := conn.Exec(ctx, sqlMakePartitions, now); err != nil {
		return fmt.Errorf("create partitions: %w", explain(err))
	}

	keep := other.merge()
	for _, table := range slices.Sorted(maps.Keys(keep)) {
		err := dropPartitions(func() (*string, error) {
			var dropped *string
			err := conn.QueryRow(ctx, sqlDropPartition, table, now.Add(-keep[table]-time.Hour)).Scan(&dropped)
			return dropped, explain(err)
		})
		if err != nil {
			return fmt.Errorf("drop partitions of %s: %w", table, err)
		}
	}
	return nil
}

// dropPartitions calls drop until it finds no more to drop. Each is dropped in a
// transaction of its own: the lock that it takes stops all users of the table.
func dropPartitions(drop func() (*string, error)) error {
	for {
		dropped, err := drop()
		if err != nil || dropped == nil {
			return err
		}
	}
}
