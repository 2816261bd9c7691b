package app

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/plugin"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/webhook"
)

// newPlugins wires the carriers that operators registered.
func newPlugins(cfg config.Config, st *store.Store, box *seal.Box, log *slog.Logger) *plugin.Service {
	reserved := []string{ship.CheckedByRules, "sandbox"}
	for _, spec := range append(sandbox.Specs(), all.Specs...) {
		reserved = append(reserved, spec.Name)
	}
	return plugin.New(plugin.Config{
		Store:    st,
		Box:      box,
		Policy:   PluginPolicy(cfg),
		Reserved: reserved,
		Log:      log,
	})
}

// PluginPolicy returns where carrier plug-ins may run: on the internet, and in
// the networks that the operator opened for them.
func PluginPolicy(cfg config.Config) webhook.Policy {
	policy := webhook.Policy{Networks: cfg.PluginNetworks, Deny: ownAddresses(cfg)}
	for _, network := range cfg.PluginNetworks {
		policy.Loopback = policy.Loopback || network.Contains(netip.AddrFrom4([4]byte{127, 0, 0, 1})) || network.Contains(netip.IPv6Loopback())
	}
	return policy
}

// pluginSpecs returns the carriers of plug-ins, with the quotas of the settings.
func pluginSpecs(cfg config.Config, plugins *plugin.Service) func() []carrier.Spec {
	return func() []carrier.Spec { return withQuotas(cfg, plugins.Specs()) }
}

// OpenPlugins wires what the commands about plug-ins need, and a function that
// releases it. The database must be migrated.
func OpenPlugins(ctx context.Context, cfg config.Config, log *slog.Logger) (*plugin.Service, func(), error) {
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
	box, err := newBox(ctx, cfg, st)
	if err != nil {
		st.Close()
		return nil, nil, err
	}
	return newPlugins(cfg, st, box, log), st.Close, nil
}
