package account

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Difference is something that a carrier answered on a live connection and its
// driver does not know.
type Difference = store.Difference

// manyDifferences bounds a list of all accounts.
const manyDifferences = 10_000

// Differences returns those of the tenant's connections, newest first.
func (s *Service) Differences(ctx context.Context, t ship.Tenant) ([]Difference, error) {
	return s.store.Differences(ctx, t)
}

// AllDifferences returns the newest of all accounts.
func (s *Service) AllDifferences(ctx context.Context) ([]Difference, error) {
	return s.store.AllDifferences(ctx, manyDifferences)
}
