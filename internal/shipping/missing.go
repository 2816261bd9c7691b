package shipping

import (
	"context"

	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// What people see of purchases that a restore lost, and what they decide.

// A MissingChoice chooses missing purchases, and a MissingDecision is about them.
type (
	MissingChoice   = store.MissingChoice
	MissingDecision = store.MissingDecision
)

// A MissingView is a missing purchase as people see it.
type MissingView struct {
	store.MissingPurchase
	Order ship.Order // zero where the log does not have it, or once the purchase is ended
}

// MissingPurchases lists missing purchases of a tenant, those first that wait for a
// decision, and reports whether there are more.
func (s *Service) MissingPurchases(ctx context.Context, choice MissingChoice, limit, skip int) ([]MissingView, bool, error) {
	list, err := s.store.MissingPage(ctx, choice, limit+1, skip)
	if err != nil {
		return nil, false, err
	}

	views := make([]MissingView, min(limit, len(list)))
	for i := range views {
		views[i].MissingPurchase = list[i]
		if s.restores == nil || list[i].Entry == nil {
			continue
		}

		// An entry under a key that is not at hand is listed without its order.
		entry, err := s.restores.Open(list[i])
		if err != nil {
			s.log.WarnContext(ctx, "the entry of a missing purchase cannot be decrypted", "shipment", list[i].Shipment, "error", err)
			continue
		}
		views[i].Order = entry.Order
	}
	return views, len(list) > limit, nil
}

// MissingNeeds lists missing purchases that need a person, the oldest first.
func (s *Service) MissingNeeds(ctx context.Context, t ship.Tenant, limit, skip int) ([]store.MissingPurchase, error) {
	return s.store.MissingNeeds(ctx, t, limit, skip)
}

// CountMissing counts missing purchases by state and currency.
func (s *Service) CountMissing(ctx context.Context, choice MissingChoice) ([]store.MissingCount, error) {
	return s.store.CountMissing(ctx, choice)
}

// DecideMissing records what a person decided about missing purchases, and returns how many
// that changes. The decision is carried out within seconds.
func (s *Service) DecideMissing(ctx context.Context, decision MissingDecision) (int, error) {
	return DecideMissing(ctx, s.store, decision)
}

// DecideMissing is Service.DecideMissing for a command, which has no service.
func DecideMissing(ctx context.Context, st *store.Store, decision MissingDecision) (n int, err error) {
	err = failpoint.Around("decide_missing", func() error {
		n, err = st.DecideMissing(ctx, decision)
		return err
	})
	return n, err
}
