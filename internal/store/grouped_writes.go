package store

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/coalesce"
)

// Grouped writes: under load, purchases share one round trip and one
// transaction. Each tenant's statements come behind the tenant that they are
// for.

// How writes are grouped. Two groups of creations at once let one use the
// processor while the other waits for the disk. Live purchases have two kinds of
// groups, intents and settlements, which do that for each other.
const (
	creationLanes   = 2
	intentLanes     = 1
	settlementLanes = 1

	maxGroup     = 64 // readers of the log wait for the oldest writer
	groupTimeout = 15 * time.Second
)

// soloAtOnce is up to how many operations at once go by themselves. Eight were
// measured on two cores; that more cores carry more is assumed.
func soloAtOnce() int { return max(8, 4*runtime.GOMAXPROCS(0)) }

// sendGroup writes a group. Its error is coalesce.ErrAlone if Postgres rejects a
// write: that takes the others with it, so nothing is written, and each goes by
// itself. If the connection is lost instead, nobody knows whether they were
// written, and they must not be repeated.
func (s *Store) sendGroup(ctx context.Context, b *batch) error {
	err := s.app.SendBatch(ctx, &b.Batch).Close()
	rejected, ok := errors.AsType[*pgconn.PgError](err)
	if ok && rejected.Severity == "ERROR" {
		return coalesce.ErrAlone
	}
	return explain(err)
}

// groupErrors returns the error of each write of a group that was sent. A write
// that was refused goes by itself, for the answer that it gets there.
func groupErrors[W any](sent error, list []W, isRefused func(W) bool) []error {
	errs := slices.Repeat([]error{sent}, len(list))
	for i, w := range list {
		if sent == nil && isRefused(w) {
			errs[i] = coalesce.ErrAlone
		}
	}
	return errs
}
