package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// newBatches wires batches to the services that quote and buy.
func newBatches(cfg config.Config, st *store.Store, accounts *account.Service, addresses *addresscheck.Service, quotes *quoting.Service, buying *shipping.Service, traffic *carrierkit.Traffic, log *slog.Logger) *batch.Service {
	return batch.New(batch.Config{
		Store:     st,
		Account:   accounts.AccountIn,
		Retention: min(cfg.BatchesFor, cfg.ShipmentsFor),
		Log:       log,

		Carriers: func(ctx context.Context, tenant ship.Tenant) (list []batch.Carrier, err error) {
			connected, err := buying.Carriers(ctx, tenant)
			for _, c := range connected {
				one := batch.Carrier{Name: c.Name, Title: c.Title, Origins: c.Origins}
				for _, service := range c.Services {
					one.Services = append(one.Services, batch.Offered{Code: service.Code, Name: service.Name})
				}
				list = append(list, one)
			}
			return list, err
		},

		Quote: func(ctx context.Context, request batch.Request) (batch.Quoted, error) {
			offered, err := quotes.Offer(ctx, quoting.DryRunInput{
				Tenant:    request.Tenant,
				Account:   request.Account,
				Order:     request.Order,
				OneParcel: request.OneParcel,
				Carrier:   request.Carrier,
				Service:   request.Service,

				ForPurchase: true,
			})
			return batch.Quoted{Rate: offered.Rate, NotQuoted: offered.NotQuoted, Warnings: offered.Warnings}, err
		},
		Wait: func(connection ship.ConnectionID, rates int) time.Duration {
			return traffic.WaitFor(string(connection), carrier.OpRates, rates)
		},

		// A carrier is asked only if its quota has room: purchases need it more.
		CheckAddress: func(ctx context.Context, tenant ship.Tenant, address ship.Address) (ship.AddressCheck, error) {
			normalized, invalid := address.Normalize("")
			if len(invalid) > 0 {
				return ship.AddressCheck{}, ship.InvalidFields(invalid)
			}
			return addresses.Check(ctx, addresscheck.Request{Tenant: tenant, Address: normalized, Spare: true})
		},

		Purchase: func(ctx context.Context, request batch.Request) (ship.Shipment, error) {
			limits, err := limitsOf(ctx, st, accounts, request.Tenant.Account, ship.Spender{Key: request.APIKey, Person: request.Buyer})
			if err != nil {
				return ship.Shipment{}, err
			}
			bought, err := buying.Buy(ctx, shipping.BuyInput{
				Tenant:            request.Tenant,
				Account:           request.Account,
				Key:               request.APIKey,
				Person:            request.Buyer,
				Limits:            limits,
				Order:             request.Order,
				OneParcel:         request.OneParcel,
				Carrier:           request.Carrier,
				Service:           request.Service,
				Connection:        request.Connection,
				RateID:            request.RateID,
				MaxAmount:         request.Limit,
				MaxIsShown:        request.LimitShown,
				OnDuplicate:       request.OnDuplicate,
				AddressValidation: shipping.AddressValidation(request.AddressValidation),
				IdempotencyKey:    request.Key,
				Fingerprint:       request.Fingerprint,
				FormerName:        request.FormerName,
				AcceptDuplicate:   request.AcceptDuplicate,
			})
			return bought.Shipment, err
		},
	})
}

// limitsOf returns what the spender of a purchase in the background may buy: an API
// key, or a person. They are read for every purchase, because an owner may change
// them meanwhile or revoke the key.
func limitsOf(ctx context.Context, st *store.Store, accounts *account.Service, owner ship.AccountID, spender ship.Spender) (ship.SpendingLimits, error) {
	if spender.Key != "" {
		return accounts.LimitsOfKey(ctx, owner, spender.Key)
	}
	daily, err := st.DailyLimit(ctx, owner, spender.Person)
	return ship.SpendingLimits{Daily: daily}, err
}
