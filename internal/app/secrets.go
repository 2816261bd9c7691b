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
	InDatabase int // connections whose key is in the database too, also removed ones: their credentials are kept
	Unreadable int // connections in use whose key is in no setting; not known with SECRET_KMS
}

// InspectLiveSecrets looks at the live connections of a migrated database.
func InspectLiveSecrets(ctx context.Context, cfg config.Config) (LiveSecrets, error) {
	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return LiveSecrets{}, err
	}
	defer st.Close()

	return liveSecrets(ctx, cfg, st)
}

func liveSecrets(ctx context.Context, cfg config.Config, st *store.Store) (LiveSecrets, error) {
	keys, err := st.LiveConnectionKeys(ctx)
	if err != nil || len(keys) == 0 {
		return LiveSecrets{}, err
	}

	own, err := st.SigningKey(ctx)
	if err != nil {
		return LiveSecrets{}, err
	}
	inDatabase, err := seal.New(own)
	if err != nil {
		return LiveSecrets{}, fmt.Errorf("load the key of stored secrets: %w", err)
	}
	all, err := newBox(ctx, cfg, st)
	if err != nil {
		return LiveSecrets{}, err
	}

	var found LiveSecrets
	for _, key := range keys {
		switch {
		case inDatabase.Holds(key.Wrapped):
			found.InDatabase++
		case len(cfg.SecretKMS) == 0 && !key.Removed && !all.Holds(key.Wrapped):
			found.Unreadable++
		}
	}
	return found, nil
}

// checkLiveSecrets refuses to serve live connections whose key is missing: it
// fails at startup, when an operator is watching, and not at the first purchase.
//
// Connections of an earlier version may be encrypted with the key in the
// database. They keep working, because a shop must not stand still over an
// upgrade, but every start warns about them and no new ones are accepted.
func checkLiveSecrets(ctx context.Context, cfg config.Config, st *store.Store, log *slog.Logger) error {
	found, err := liveSecrets(ctx, cfg, st)
	if err != nil {
		return err
	}

	if found.Unreadable > 0 && !cfg.HasOutsideKey() {
		return fmt.Errorf("%d live carrier connections were encrypted with a key that is not in the settings: %s",
			found.Unreadable, config.HowToSetOutsideKey)
	}
	if found.Unreadable > 0 {
		log.WarnContext(ctx, "live carrier connections were encrypted with another key and cannot be used: add it after the present one, separated by a comma",
			"connections", found.Unreadable)
	}

	switch {
	case found.InDatabase == 0:
	case cfg.HasOutsideKey():
		log.WarnContext(ctx, "live carrier credentials are still encrypted with the key in the database: run \"waybill secret-key rotate\"",
			"connections", found.InDatabase)
	default:
		log.WarnContext(ctx, "live carrier credentials are encrypted with a key in the same database, so a copy of it is enough to buy labels; new live connections are refused: "+
			config.HowToSetOutsideKey+"; then run \"waybill secret-key rotate\"",
			"connections", found.InDatabase)
	}
	return nil
}
