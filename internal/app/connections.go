package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/kms"
)

// newWrapper returns what wraps the keys of credentials: the key services of
// the settings and the installation's own box, in the order of the settings.
func newWrapper(cfg config.Config, box *seal.Box) (seal.Wrapper, error) {
	var ring seal.Ring
	hasBox := false
	for _, address := range cfg.SecretKMS {
		if address == config.LocalKeys {
			ring = append(ring, box)
			hasBox = true
			continue
		}

		service, err := kms.Open(address, os.LookupEnv)
		if err != nil {
			return nil, fmt.Errorf("SECRET_KMS: %w", err)
		}
		ring = append(ring, service)
	}

	// What the box wrapped before there was a key service is still opened with
	// it.
	if !hasBox {
		ring = append(ring, box)
	}
	return ring, nil
}

// newAccounts wires the accounts and their connections to carriers.
func newAccounts(cfg config.Config, st *store.Store, box *seal.Box, c carriers, log *slog.Logger) (*account.Service, error) {
	wrapper, err := newWrapper(cfg, box)
	if err != nil {
		return nil, err
	}
	return account.NewWith(account.Config{
		Store:         st,
		Wrapper:       wrapper,
		KeyInDatabase: !cfg.HasOutsideKey(),
		Specs:         c.specs,
		Plugins:       c.plugins,
		Via:           c.traffic.Doer,
		URLs:          cfg.CarrierURLs,
		LocalCarriers: cfg.LookupScale < 1,
		Observe:       c.observe,
		Log:           log,
		PushSecret:    c.pushSecret,

		OldPushSecrets: c.oldSecrets,
	}), nil
}

// carriers is what connections are opened with.
type carriers struct {
	specs   []carrier.Spec
	plugins func() []carrier.Spec // nil if there are none
	traffic *carrierkit.Traffic
	observe account.Observe // nil observes nothing

	pushSecret func(ship.ConnectionID) string   // nil where nothing is pushed
	oldSecrets func(ship.ConnectionID) []string // of pushes, likewise
}

// OpenConnections is OpenAccounts for the commands that purchase with connections.
// The carriers are specs, or all if there are none.
func OpenConnections(ctx context.Context, cfg config.Config, specs []carrier.Spec, log *slog.Logger) (*account.Service, func(), error) {
	_, accounts, done, err := openConnections(ctx, cfg, specs, log)
	return accounts, done, err
}

func openConnections(ctx context.Context, cfg config.Config, specs []carrier.Spec, log *slog.Logger) (*store.Store, *account.Service, func(), error) {
	state, err := store.InspectSchema(ctx, cfg.DatabaseURL)
	if err == nil {
		err = state.NeedsMigration()
	}
	if err != nil {
		return nil, nil, nil, err
	}

	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return nil, nil, nil, err
	}

	box, err := newBox(ctx, cfg, st)
	if err != nil {
		st.Close()
		return nil, nil, nil, err
	}

	plugins := newPlugins(cfg, st, box, log)
	opened := carriers{
		specs: specs,
		traffic: carrierkit.NewTraffic(carrierkit.TrafficOptions{
			UserAgent: userAgent(),

			Wrap: carrierkit.Recorder,
			Dial: plugins.Dial,
		}),
	}
	if opened.specs == nil {
		// Commands are not slowed down by quotas: a check makes a handful of
		// calls, and a person is waiting for it.
		opened.specs = withoutQuotas(all.Specs)
		opened.plugins = func() []carrier.Spec { return withoutQuotas(plugins.Specs()) }
	}
	done := func() {
		opened.traffic.Close()
		st.Close()
	}

	accounts, err := newAccounts(cfg, st, box, opened, log)
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	return st, accounts, done, nil
}

func withoutQuotas(specs []carrier.Spec) []carrier.Spec {
	specs = slices.Clone(specs)
	for i := range specs {
		specs[i].Quota = carrier.Quota{}
	}
	return specs
}
