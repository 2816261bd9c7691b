package app

import (
	"context"
	"strings"

	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/tracking"
)

// signingKey returns the operator's key, or the installation's own.
func signingKey(ctx context.Context, cfg config.Config, st *store.Store) ([]byte, error) {
	if cfg.SigningKey != nil {
		return cfg.SigningKey, nil
	}
	return st.SigningKey(ctx)
}

// pushBase returns where carriers reach the service: at its public address, or
// on this machine if the carriers are emulated. It is empty if they cannot.
func pushBase(cfg config.Config) string {
	if strings.HasPrefix(cfg.BaseURL, "https://") || len(cfg.CarrierURLs) > 0 {
		return cfg.BaseURL
	}
	return ""
}

// PushAddress returns what a carrier's portal asks for where pushes are set up
// there: the address of the connection, and the secret that pushes carry.
func PushAddress(ctx context.Context, cfg config.Config, id ship.ConnectionID) (address, secret string, err error) {
	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return "", "", err
	}
	defer st.Close()

	key, err := signingKey(ctx, cfg, st)
	if err != nil {
		return "", "", err
	}
	if _, err := st.FindConnection(ctx, id); err != nil {
		return "", "", err
	}
	return pushBase(cfg) + tracking.PushPath(key, id), tracking.PushSecret(key, id), nil
}
