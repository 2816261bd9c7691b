package app

import (
	"context"
	"log/slog"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// newBatches wires batches to what ships.
func newBatches(st *store.Store, accounts *account.Service, buying *shipping.Service, log *slog.Logger) *batch.Service {
	return batch.New(batch.Config{
		Store: st, Account: accounts.Account, Log: log,
		Quote: func(ctx context.Context, r batch.Request) (ship.Rate, error) {
			return buying.Offer(ctx, shipping.TryInput{Tenant: r.Tenant, Account: r.Account, Order: r.Order, OneParcel: true})
		},
		Purchase: func(ctx context.Context, r batch.Request) (ship.Shipment, error) {
			b, err := buying.Buy(ctx, shipping.BuyInput{
				Tenant: r.Tenant, Account: r.Account, Order: r.Order, OneParcel: true, MaxAmount: r.Limit, OnDuplicate: "reject",
				IdempotencyKey: r.Key, Fingerprint: r.Fingerprint,
			})
			return b.Shipment, err
		},
	})
}
