package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// addRestores gives purchases the recovery log on this machine's disk, and what notices
// that the database was put back to an earlier moment.
func addRestores(ctx context.Context, dir string, box *seal.Box, recoveryLog *seal.RecoveryLog, c *shipping.Config) error {
	installation, err := installationOf(ctx, c.Store)
	if err != nil {
		return err
	}

	c.RecoveryLog = &restore.Log{RecoveryLog: recoveryLog, Installation: installation}
	c.Restores = restore.New(restore.Config{
		Store: c.Store,
		Log:   c.RecoveryLog,
		Box:   box,
		Dir:   dir,
		Slog:  c.Log,
	})
	return nil
}

// installationOf is what entries of the recovery log name their installation by: it
// follows from a secret that never changes, and stays the same after a restore.
func installationOf(ctx context.Context, st *store.Store) (string, error) {
	own, err := st.SigningKey(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte("installation\x00"), own...))
	return hex.EncodeToString(sum[:8]), nil
}

// A RestoreReview is how a person decides about what a restore lost.
type RestoreReview struct{ store *store.Store }

// OpenRestoreReview connects to the database. Close ends that.
func OpenRestoreReview(ctx context.Context, cfg config.Config) (*RestoreReview, error) {
	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return nil, err
	}
	return &RestoreReview{store: st}, nil
}

// Close ends the connections.
func (r *RestoreReview) Close() { r.store.Close() }

// State is what is recorded of the last restore.
func (r *RestoreReview) State(ctx context.Context) (store.RestoreState, error) {
	return r.store.RestoreState(ctx)
}

// Record records a restore that no copy has noticed.
func (r *RestoreReview) Record(ctx context.Context) error {
	state, err := r.store.RestoreState(ctx)
	if err != nil {
		return err
	}
	_, err = r.store.NoticeRestore(ctx, store.NoticedRestore{
		By:          "command",
		MayHaveLost: true,
		Since:       state.Number,
	})
	return err
}

// maxMissing is up to how many missing purchases are listed at once.
const maxMissing = 100_000

// Missing lists the purchases that a restore lost and that are not ended, of an account or
// all. An account that is in another cell has none here.
func (r *RestoreReview) Missing(ctx context.Context, account ship.AccountID) ([]store.MissingPurchase, error) {
	if account != "" {
		if err := r.store.Elsewhere(ctx, account.Raw().Shard()); err != nil {
			return nil, err
		}
	}
	return r.store.MissingPurchases(ctx, account, false, maxMissing)
}

// commandLine is who has decided in a command.
const commandLine = "command line"

// Decide records a decision about purchases that are listed, which the service carries out.
// Each account has one entry for it in its audit log, or one for each purchase that is named.
func (r *RestoreReview) Decide(ctx context.Context, list []store.MissingPurchase, areNamed bool, state string) error {
	byTenant := map[ship.Tenant][]ship.ShipmentID{}
	var tenants []ship.Tenant
	for _, missing := range list {
		if byTenant[missing.Tenant] == nil {
			tenants = append(tenants, missing.Tenant)
		}
		byTenant[missing.Tenant] = append(byTenant[missing.Tenant], missing.Shipment)
	}

	for _, tenant := range tenants {
		atOnce := len(byTenant[tenant])
		if areNamed {
			atOnce = 1
		}
		for ids := range slices.Chunk(byTenant[tenant], atOnce) {
			_, err := shipping.DecideMissing(ctx, r.store, shipping.MissingDecision{
				MissingChoice: shipping.MissingChoice{Tenant: tenant, Shipments: ids},
				To:            state,
				By:            commandLine,
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Continue releases all accounts: what is undecided is held, which the audit logs of the
// accounts have, and nothing is looked up any more.
func (r *RestoreReview) Continue(ctx context.Context) error {
	list, err := r.store.MissingPurchases(ctx, "", false, maxMissing)
	if err != nil {
		return err
	}
	undecided := slices.DeleteFunc(list, func(missing store.MissingPurchase) bool { return missing.State != store.PurchaseMissing })
	if err := r.Decide(ctx, undecided, false, store.PurchaseHeld); err != nil {
		return err
	}
	return r.store.Continue(ctx, commandLine)
}
