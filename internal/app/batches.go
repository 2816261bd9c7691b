package app

import (
	"context"
	"log/slog"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// newBatches wires batches to what ships.
func newBatches(cfg config.Config, st *store.Store, accounts *account.Service, buying *shipping.Service, log *slog.Logger) *batch.Service {
	return batch.New(batch.Config{
		Store: st, Account: accounts.Account, Keep: cfg.BatchesFor, Log: log,
		Carriers: func(ctx context.Context, t ship.Tenant) (list []batch.Carrier, err error) {
			known, err := buying.Carriers(ctx, t)
			for _, c := range known {
				one := batch.Carrier{Name: c.Name, Title: c.Title}
				for _, s := range c.Services {
					one.Services = append(one.Services, batch.Offered{Code: s.Code, Name: s.Name})
				}
				list = append(list, one)
			}
			return list, err
		},
		Quote: func(ctx context.Context, r batch.Request) (ship.Rate, error) {
			return buying.Offer(ctx, shipping.TryInput{Tenant: r.Tenant, Account: r.Account, Order: r.Order, OneParcel: len(r.Order.Parcels) == 1, Carrier: r.Carrier, Service: r.Service})
		},
		Purchase: func(ctx context.Context, r batch.Request) (ship.Shipment, error) {
			b, err := buying.Buy(ctx, shipping.BuyInput{
				Tenant: r.Tenant, Account: r.Account, Order: r.Order, OneParcel: len(r.Order.Parcels) == 1, Carrier: r.Carrier, Service: r.Service, MaxAmount: r.Limit, OnDuplicate: "reject",
				IdempotencyKey: r.Key, Fingerprint: r.Fingerprint, AcceptDuplicate: r.AcceptDuplicate,
			})
			return b.Shipment, err
		},
	})
}
