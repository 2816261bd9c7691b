package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/coalesce"
	"github.com/waybillhq/waybill/internal/ship"
)

// Grouped settlements: each has statements of its own, in one transaction.

// A settling is the statements that settle one purchase.
type settling struct {
	tenant ship.Tenant
	id     ship.ShipmentID

	// queue queues the statements. It is called again if they are repeated.
	queue func(*batch)

	// isGrouped tells that the transaction has other settlements too.
	isGrouped bool

	// isRefused tells that a statement returned no row: it wrote nothing.
	isRefused bool
}

// row returns a function that reads the row of a statement which may refuse. In
// a group, no row must not be an error: it would be the error of all.
func (w *settling) row(targets ...any) func(pgx.Row) error {
	return func(r pgx.Row) error {
		err := r.Scan(targets...)
		if errors.Is(err, pgx.ErrNoRows) {
			w.isRefused = true
			return nil
		}
		return err
	}
}

// newSettlementGroup returns what groups settlements.
func (s *Store) newSettlementGroup() *coalesce.Group[*settling] {
	return &coalesce.Group[*settling]{
		Crowd:    s.crowd,
		Lanes:    settlementLanes,
		Limit:    maxGroup,
		Timeout:  groupTimeout,
		Alone:    s.settleAlone,
		Together: s.settleTogether,
		Owner:    func(w *settling) string { return string(w.tenant.Account) },
	}
}

// settle settles a purchase, with those of others if the database is busy.
// Inside InTx it is part of the transaction.
func (s *Store) settle(ctx context.Context, w *settling) error {
	if s.tx != nil {
		return s.settleAlone(ctx, w)
	}
	return s.settlements.Do(ctx, w)
}

func (s *Store) settleAlone(ctx context.Context, w *settling) error {
	w.isGrouped = false
	w.isRefused = false
	b := s.newHotBatch(w.tenant)
	w.queue(b)
	if err := s.send(ctx, b); err != nil {
		return err
	}
	if w.isRefused {
		return ship.Errorf(ship.Conflict, "shipment %s is no longer open", w.id)
	}
	return nil
}

func (s *Store) settleTogether(ctx context.Context, list []*settling) []error {
	// The order is that in which tracking locks parcels.
	sorted := slices.SortedFunc(slices.Values(list), func(a, b *settling) int {
		return cmp.Or(a.tenant.Compare(b.tenant), compareIDs(a.id.Raw(), b.id.Raw()))
	})

	b := &batch{}
	for _, w := range sorted {
		w.isGrouped = true
		w.isRefused = false
		s.setTenantAndPlan(b, w.tenant)
		w.queue(b)
	}
	return groupErrors(s.sendGroup(ctx, b), list, func(w *settling) bool { return w.isRefused })
}
