package app

import (
	"context"
	"log/slog"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/bulk"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// newBulk wires bulk actions to the services that void, buy and hand over.
func newBulk(cfg config.Config, st *store.Store, accounts *account.Service, buying *shipping.Service, handovers *handover.Service, log *slog.Logger) *bulk.Service {
	return bulk.New(bulk.Config{
		Store:     st,
		Account:   accounts.AccountIn,
		Void:      buying.Void,
		Retention: min(cfg.BatchesFor, cfg.ShipmentsFor),
		Log:       log,

		RefusedVoid: func(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (string, error) {
			refused, _, err := buying.RefusedVoidOf(ctx, t, id)
			return refused.Reason, err
		},

		// The key alone identifies the purchase, so the fingerprint is that of the
		// key. The person's limit is read for every return, because an owner may
		// change it meanwhile.
		Return: func(ctx context.Context, request bulk.ReturnRequest) (ship.Shipment, error) {
			limit, err := st.DailyLimit(ctx, request.Tenant.Account, request.Person)
			if err != nil {
				return ship.Shipment{}, err
			}
			bought, err := buying.Return(ctx, shipping.ReturnInput{
				BuyInput: shipping.BuyInput{
					Tenant:         request.Tenant,
					Account:        request.Account,
					Person:         request.Person,
					Limits:         ship.SpendingLimits{Daily: limit},
					IdempotencyKey: request.Key,
					Fingerprint:    ship.KeyFingerprint(request.Key),
				},
				Shipment: request.Shipment,
			})
			return bought.Shipment, err
		},

		Close: func(ctx context.Context, request bulk.ManifestRequest) (store.Manifest, error) {
			closed, err := handovers.CloseManifest(ctx, handover.ManifestInput{
				Tenant:    request.Tenant,
				Account:   request.Account,
				Seller:    handover.Seller{Connection: request.Connection, Carrier: request.Carrier},
				Shipments: request.Shipments,
				Address:   request.Address,
				Name:      ship.NameOf(request.Key),
			})
			return closed.Manifest, err
		},
	})
}
