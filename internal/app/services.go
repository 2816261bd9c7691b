package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/api"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// services are all of them, wired.
type services struct {
	account  *account.Service
	shipping *shipping.Service
	tracking *tracking.Service
	webhook  *webhook.Service
}

func openStore(ctx context.Context, cfg config.Config, tracer pgx.QueryTracer) (*store.Store, error) {
	return store.Open(ctx, store.Options{URL: cfg.DatabaseURL, Connections: cfg.DatabaseConnections, Tracer: tracer})
}

func newServices(ctx context.Context, cfg config.Config, baseURL string, st *store.Store, reg prometheus.Registerer, log *slog.Logger) (services, error) {
	key := cfg.SigningKey
	if key == nil {
		var err error
		if key, err = st.SigningKey(ctx); err != nil {
			return services{}, err
		}
	}
	simulated, err := openSimulated(reg)
	if err != nil {
		return services{}, err
	}
	labels, err := label.NewRenderer(cfg.FontDir)
	if err != nil {
		return services{}, fmt.Errorf("label renderer: %w", err)
	}
	return services{
		account: account.New(st),
		shipping: shipping.New(shipping.Config{
			Store: st, Simulated: simulated, Labels: labels, SigningKey: key, BaseURL: baseURL, Waits: waits(cfg), Log: log,
		}),
		tracking: tracking.New(tracking.Config{Store: st, BaseURL: baseURL, SandboxStep: cfg.SandboxStep, Log: log}),
		webhook:  webhook.New(st),
	}, nil
}

func waits(cfg config.Config) shipping.Waits {
	w := shipping.DefaultWaits
	w.SoftQuote, w.Answer = cfg.QuoteTimeout, cfg.PurchaseTimeout
	w.Settle, w.Look = cfg.SettleAfter, cfg.LookEvery
	w.SandboxAge = cfg.SandboxStep
	return w
}

// openSimulated opens the carriers of the sandbox, without a network between.
func openSimulated(reg prometheus.Registerer) ([]*carrier.Carrier, error) {
	calls, err := newCarrierMetrics(reg)
	if err != nil {
		return nil, err
	}
	var list []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		c, err := carrier.Open(watched(spec, calls), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("simulated carrier %s: %w", spec.Name, err)
		}
		list = append(list, c)
	}
	return list, nil
}

func (a *App) newAPI() (http.Handler, error) {
	metrics, err := httpkit.NewMetrics(a.registry)
	if err != nil {
		return nil, fmt.Errorf("request metrics: %w", err)
	}
	limit := a.cfg.RateLimit
	if limit == 0 {
		limit = -1 // zero would mean the default
	}
	return api.New(api.Config{
		Account: a.services.account, Shipping: a.services.shipping, Tracking: a.services.tracking, Webhook: a.services.webhook,
		BaseURL: a.baseURL, TrustedProxies: a.cfg.TrustedProxies, Log: a.log, Metrics: metrics, Ready: a.ready,
		Limits: api.Limits{Body: a.cfg.MaxBodyBytes, Timeout: a.cfg.RequestTimeout, RequestsPerSec: limit, Burst: a.cfg.RateBurst},
	})
}

// OpenAccounts wires what operators' commands need: the accounts, and how to
// let go of them. The database must be migrated.
func OpenAccounts(ctx context.Context, cfg config.Config) (*account.Service, func(), error) {
	state, err := store.InspectSchema(ctx, cfg.DatabaseURL)
	if err == nil {
		err = state.NeedsMigration()
	}
	if err != nil {
		return nil, nil, err
	}
	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return nil, nil, err
	}
	return account.New(st), st.Close, nil
}

// NewLogger writes lines as the settings say. No line holds a name, an address
// or a key: ids, routes and codes alone.
func NewLogger(cfg config.Config, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}
