package app

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/store"
)

// LiveSecrets says where the encryption keys of live carrier credentials are.
type LiveSecrets struct {
	Connections int // live ones that are in use
	InDatabase  int // those of them whose key is in the database too
}

// InspectLiveSecrets looks at the live connections of a migrated database.
func InspectLiveSecrets(ctx context.Context, cfg config.Config) (LiveSecrets, error) {
	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return LiveSecrets{}, err
	}
	defer st.Close()

	return liveSecrets(ctx, st)
}

func liveSecrets(ctx context.Context, st *store.Store) (LiveSecrets, error) {
	keys, err := st.LiveConnectionKeys(ctx)
	if err != nil || len(keys) == 0 {
		return LiveSecrets{}, err
	}

	own, err := st.SigningKey(ctx)
	if err != nil {
		return LiveSecrets{}, err
	}
	box, err := seal.New(own)
	if err != nil {
		return LiveSecrets{}, fmt.Errorf("load the key of stored secrets: %w", err)
	}

	found := LiveSecrets{Connections: len(keys)}
	for _, key := range keys {
		if box.Holds(key) {
			found.InDatabase++
		}
	}
	return found, nil
}

// requireOutsideKey refuses to serve live connections with a key that is in the
// database with them. It fails at startup, when an operator is watching, and
// not at the first purchase.
func requireOutsideKey(ctx context.Context, cfg config.Config, st *store.Store, log *slog.Logger) error {
	found, err := liveSecrets(ctx, st)
	if err != nil {
		return err
	}

	if found.Connections > 0 && !cfg.HasOutsideKey() {
		return fmt.Errorf("%d live carrier connections need an encryption key that is not in the database: %s; then run \"waybill connection rotate\"",
			found.Connections, config.HowToSetOutsideKey)
	}
	if found.InDatabase > 0 {
		log.WarnContext(ctx, "live carrier credentials are still encrypted with the key in the database: run \"waybill connection rotate\"",
			"connections", found.InDatabase)
	}
	return nil
}
