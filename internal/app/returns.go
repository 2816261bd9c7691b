package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/returns"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// returnLinkLife is how long a mailed link to a return label works: recipients pack
// when they have time.
const returnLinkLife = 7 * 24 * time.Hour

// newReturns wires the returns that recipients ask for to the service that buys
// them.
func newReturns(cfg config.Config, baseURL string, st *store.Store, accounts *account.Service, buying *shipping.Service, pages *tracking.Service, log *slog.Logger, reg prometheus.Registerer) (*returns.Service, error) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_return_requests_total",
		Help: "Return requests of recipients, by the status that they got.",
	}, []string{"status"})
	if err := reg.Register(requests); err != nil {
		return nil, fmt.Errorf("metrics of return requests: %w", err)
	}

	c := returns.Config{
		Store: st,
		Log:   log,

		Observe: func(state ship.ReturnState) { requests.WithLabelValues(string(state)).Inc() },

		Buy: func(ctx context.Context, purchase returns.Purchase) (returns.Bought, error) {
			return buyReturn(ctx, st, accounts, buying, purchase)
		},

		LabelLink: func(ctx context.Context, tenant ship.Tenant, id ship.ShipmentID) (string, time.Time, error) {
			link, err := buying.LabelLink(ctx, tenant, id, label.PDF, returnLinkLife)
			address := baseURL + "/v1/labels/" + string(id) + "." + string(label.PDF) + "?token=" + url.QueryEscape(link.Token)
			return address, link.ExpiresAt, err
		},

		PageURL: func(ctx context.Context, shipment ship.Shipment) (string, error) {
			path, err := pages.CurrentPagePath(ctx, shipment)
			return baseURL + path + "/return", err
		},

		Sender: func(ctx context.Context, id ship.AccountID) (string, error) {
			sender, err := accounts.Account(ctx, id)
			return sender.Name, err
		},
	}
	if cfg.SMTPURL != nil {
		c.Mail = webhook.NewMailer(cfg.SMTPURL, cfg.MailFrom).Send
	}
	return returns.New(c), nil
}

// buyReturn buys the return of a shipment. The limits are those of whoever
// approved it, as they are now.
func buyReturn(ctx context.Context, st *store.Store, accounts *account.Service, buying *shipping.Service, purchase returns.Purchase) (returns.Bought, error) {
	owner, err := accounts.Account(ctx, purchase.Tenant.Account)
	if err != nil {
		return returns.Bought{}, err
	}
	limits, err := limitsOf(ctx, st, accounts, owner.ID, purchase.Spender)
	if err != nil {
		return returns.Bought{}, err
	}

	bought, err := buying.Return(ctx, shipping.ReturnInput{
		BuyInput: shipping.BuyInput{
			Tenant:         purchase.Tenant,
			Account:        owner,
			Key:            purchase.Spender.Key,
			Person:         purchase.Spender.Person,
			Limits:         limits,
			Carrier:        purchase.Carrier,
			Service:        purchase.Service,
			MaxAmount:      purchase.MaxAmount,
			IdempotencyKey: purchase.Key,
			Fingerprint:    purchase.Fingerprint,
		},
		Shipment: purchase.Shipment,
	})
	if err == nil && bought.Shipment.ID == "" {
		return returns.Bought{}, errors.New("the purchase of a return has no shipment")
	}
	return returns.Bought{Shipment: bought.Shipment.ID, Pending: bought.Pending}, err
}
