package app

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/tracking"
)

// OpenTracking wires what the tracking commands need: the service, the carriers
// whose tables it uses, and a function that releases it. The carriers are
// specs, or all if there are none. The database must be migrated.
func OpenTracking(ctx context.Context, cfg config.Config, specs []carrier.Spec, log *slog.Logger) (*tracking.Service, []carrier.Spec, func(), error) {
	st, accounts, done, err := openConnections(ctx, cfg, specs, log)
	if err != nil {
		return nil, nil, nil, err
	}

	service := tracking.New(tracking.Config{
		Store:      st,
		BaseURL:    cmp.Or(cfg.BaseURL, "http://"+localAddr(cfg.Listen)),
		Log:        log,
		Connection: accounts.Carrier,
		Connected:  accounts.Carriers,
		TenantOf:   accounts.TenantOf,
		Specs:      accounts.Specs(),
	})
	return service, accounts.Specs(), done, nil
}
