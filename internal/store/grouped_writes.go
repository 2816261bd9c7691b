package store

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/coalesce"
	"github.com/waybillhq/waybill/internal/ship"
)

// Grouped writes: under load, the statements of many purchases share one round
// trip and one transaction. They are the same statements as those of one
// purchase, each behind the tenant that it is for.

// A write is the statements of one purchase, for a tenant.
type write struct {
	tenant ship.Tenant

	// order is where the write comes among those of its transaction: two copies
	// that write the same in different orders would deadlock.
	order string

	// queue queues the statements. It is called again if the write is repeated.
	queue func(*batch)

	// isGrouped tells that the transaction has other writes too.
	isGrouped bool

	// isRefused tells that a statement returned no row: it wrote nothing.
	isRefused bool
}

// row returns a function that reads the row of a statement which may refuse. In
// a group, no row must not be an error: it would be the error of all.
func (w *write) row(targets ...any) func(pgx.Row) error {
	return func(r pgx.Row) error {
		err := r.Scan(targets...)
		if errors.Is(err, pgx.ErrNoRows) {
			w.isRefused = true
			return nil
		}
		return err
	}
}

// How writes are grouped. Two groups at once let one use the processor while
// the other waits for the disk.
const (
	writeLanes   = 2
	maxGroup     = 64 // readers of the log wait for the oldest writer
	groupTimeout = 15 * time.Second
)

// soloAtOnce is up to how many operations of a kind at once go by themselves.
// Eight were measured on two cores; that more cores carry more is assumed.
func soloAtOnce() int { return max(8, 4*runtime.GOMAXPROCS(0)) }

// newWriteGroup returns what groups writes of one kind.
func (s *Store) newWriteGroup() *coalesce.Group[*write] {
	return &coalesce.Group[*write]{
		Solo:     soloAtOnce(),
		Lanes:    writeLanes,
		Limit:    maxGroup,
		Timeout:  groupTimeout,
		Alone:    s.writeAlone,
		Together: s.writeTogether,
	}
}

// write makes a write, with those of others if the database is busy. Inside
// InTx it is part of the transaction.
func (s *Store) write(ctx context.Context, group *coalesce.Group[*write], w *write) error {
	if s.tx != nil {
		return s.writeAlone(ctx, w)
	}
	return group.Do(ctx, w)
}

func (s *Store) writeAlone(ctx context.Context, w *write) error {
	w.isGrouped = false
	w.isRefused = false
	b := s.newHotBatch(w.tenant)
	w.queue(b)
	if err := s.send(ctx, b); err != nil {
		return err
	}
	if w.isRefused {
		return explain(pgx.ErrNoRows)
	}
	return nil
}

func (s *Store) writeTogether(ctx context.Context, list []*write) []error {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b *write) int { return strings.Compare(a.order, b.order) })
	b := &batch{}
	for _, w := range sorted {
		w.isGrouped = true
		w.isRefused = false
		b.Queue(sqlSetTenantAndPlan, uuidText(w.tenant.Account.Raw()), boolText(w.tenant.Livemode))
		w.queue(b)
	}

	// A write that Postgres rejects takes the others with it: nothing is
	// written, and each goes by itself. If the connection is lost instead,
	// nobody knows whether they were written, and they must not be repeated.
	err := s.app.SendBatch(ctx, &b.Batch).Close()
	rejected, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && rejected.Severity == "ERROR":
		err = coalesce.ErrAlone
	case err != nil:
		err = explain(err)
	}

	errs := slices.Repeat([]error{err}, len(list))
	for i, w := range list {
		if err == nil && w.isRefused {
			errs[i] = coalesce.ErrAlone // for the answer that it gets there
		}
	}
	return errs
}

// writeOrder is the order of writes of a tenant's things.
func writeOrder(t ship.Tenant, name string) string {
	return uuidText(t.Account.Raw()) + boolText(t.Livemode) + name
}
