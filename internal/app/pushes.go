package app

import (
	"context"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/tracking"
)

// signingKeys returns the operator's keys, or the installation's own. The first
// signs, all verify.
func signingKeys(ctx context.Context, cfg config.Config, st *store.Store) ([][]byte, error) {
	own, err := st.SigningKey(ctx)
	if err != nil {
		return nil, err
	}
	if len(cfg.SigningKeys) == 0 {
		return [][]byte{own}, nil
	}

	keys := slices.Clone(cfg.SigningKeys)
	for i, key := range keys {
		if key == nil {
			keys[i] = own
		}
	}
	return keys, nil
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

	keys, err := signingKeys(ctx, cfg, st)
	if err != nil {
		return "", "", err
	}
	if _, err := st.FindConnection(ctx, id); err != nil {
		return "", "", err
	}
	return pushBase(cfg) + tracking.PushPath(keys[0], id), tracking.PushSecret(keys[0], id), nil
}
