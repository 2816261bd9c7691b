package account

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// RecordMeasurement stores how late a connection showed a purchase.
func (s *Service) RecordMeasurement(ctx context.Context, t ship.Tenant, connection ship.ConnectionID, delay time.Duration) error {
	return s.store.MeasureDelay(ctx, t, connection, delay)
}

// MeasureLater schedules the look-ups of a label that is not visible yet.
func (s *Service) MeasureLater(ctx context.Context, later job.MeasureDelay) error {
	t := ship.Tenant{Account: later.Account, Livemode: later.Livemode}
	return s.store.InTx(ctx, t, func(tx *store.Store) error { return tx.Enqueue(ctx, later, 0) })
}
