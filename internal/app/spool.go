package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// The directory of a machine's spool and recovery log.

const (
	recoveryLogDir = "recovery-log"

	// packagedSpool is where the systemd unit and the image have their spool. A
	// command in the shell of an operator may not have the setting of the unit.
	packagedSpool = "/var/lib/waybill/spool"
)

// spoolDir returns the directory of the installation's spool. Without SPOOL_DIR it is
// in the user's cache directory and named after the installation, so that several of
// one user do not share it.
func spoolDir(ctx context.Context, cfg config.Config, st *store.Store) (string, error) {
	if cfg.SpoolDir != "" {
		return cfg.SpoolDir, nil
	}

	own, err := st.SigningKey(ctx)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("set SPOOL_DIR: %w", err)
	}
	database, err := pgconn.ParseConfig(cfg.DatabaseURL)
	if err != nil {
		return "", fmt.Errorf("database address: %w", err)
	}

	// A copy of a database has the same key, and is another installation.
	name := sha256.Sum256(append([]byte("waybill spool "+database.Database+" "), own...))
	return filepath.Join(cache, "waybill", "spool-"+hex.EncodeToString(name[:6])), nil
}

// sharedSpool returns the directory that all installations of a user shared without
// SPOOL_DIR, up to v0.1; empty if there is none.
func sharedSpool() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(cache, "waybill", "spool")
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// openSpool opens the directory that holds what was bought until it is
// recorded, and in it the log of what carriers were asked for lately.
func openSpool(dir string, box *seal.Box) (*seal.Spool, *seal.RecoveryLog, error) {
	spool, err := seal.OpenSpool(dir, box)
	if err != nil {
		return nil, nil, fmt.Errorf("set SPOOL_DIR to a writable directory: %w", err)
	}
	recoveryLog, err := seal.OpenRecoveryLog(filepath.Join(dir, recoveryLogDir), box, shipping.RecoveryLogRetention)
	if err != nil {
		return nil, nil, fmt.Errorf("set SPOOL_DIR to a writable directory: %w", err)
	}
	return spool, recoveryLog, nil
}

// addSpool adds the spool of this machine to the settings of purchases.
func addSpool(ctx context.Context, cfg config.Config, box *seal.Box, c *shipping.Config) error {
	var recoveryLog *seal.RecoveryLog
	dir, err := spoolDir(ctx, cfg, c.Store)
	if err == nil {
		c.Spool, recoveryLog, err = openSpool(dir, box)
	}
	if err != nil && !cfg.SpoolRequired {
		c.Log.WarnContext(ctx, "there is no local spool: a purchase that a crash or a restore of the database loses can only be looked up at its carrier", "error", err)
		return nil
	}
	if err != nil {
		return err
	}

	c.SpoolRequired = cfg.SpoolRequired
	recoveryLog.Sync = cfg.SpoolSync
	if cfg.SpoolDir == "" {
		if err := takeOverShared(ctx, c.Spool, recoveryLog, c.Log); err != nil {
			return err
		}
	}
	return addRestores(ctx, dir, box, recoveryLog, c)
}

// takeOverShared moves what this installation has in the directory that was shared.
func takeOverShared(ctx context.Context, spool *seal.Spool, recoveryLog *seal.RecoveryLog, log *slog.Logger) error {
	shared := sharedSpool()
	if shared == "" {
		return nil
	}

	purchases, err := spool.TakeOver(shared)
	if err != nil {
		return err
	}
	files, err := recoveryLog.TakeOver(filepath.Join(shared, recoveryLogDir))
	if purchases+files > 0 {
		log.InfoContext(ctx, "moved the local spool to a directory of this installation", "from", shared, "purchases", purchases, "recovery_log_files", files)
	}
	return err
}

// A spoolPlace is a directory on this machine that may hold secrets of the
// installation.
type spoolPlace struct {
	dir   string
	isOwn bool // it is that of the settings: whatever is in it is the installation's
}

// spoolPlaces lists the directories that are there, the one of the settings first.
// It fails if one may hold secrets of the installation and cannot be read.
func spoolPlaces(ctx context.Context, cfg config.Config, st *store.Store) ([]spoolPlace, error) {
	own, err := spoolDir(ctx, cfg, st)
	if err != nil {
		return nil, err
	}

	var places []spoolPlace
	for _, dir := range []string{own, sharedSpool(), packagedSpool} {
		isOwn := dir == own
		if dir == "" || !isOwn && len(places) > 0 && places[0].dir == dir {
			continue
		}

		switch _, err := os.ReadDir(filepath.Join(dir, recoveryLogDir)); {
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, fs.ErrPermission) && !isOwn && cfg.SpoolDir != "":
			// The settings name the directory of the installation, so this one is
			// most likely another's.
		case err != nil:
			return nil, fmt.Errorf("%s: %w; run the command as root or as the user of the service, with the settings of the service (--env-file)", dir, err)
		default:
			places = append(places, spoolPlace{dir: dir, isOwn: isOwn})
		}
	}
	return places, nil
}

// mayWriteTo is an error if the directory belongs to another user, who could not
// read what this one writes there. What root writes gets the owner of the directory.
func mayWriteTo(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() != 0 && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user: run the command as root or as the user of the service", dir)
	}
	return nil
}

// spoolStats reports what is on this machine's disk, and whether it can be written
// to.
func spoolStats(spool *seal.Spool, failure func() error) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "waybill_spool_files",
			Help: "Purchases in the local spool that may not be in the database yet.",
		}, func() float64 {
			names, err := spool.Names()
			if err != nil {
				return -1
			}
			return float64(len(names))
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "waybill_spool_up",
			Help: "Whether the local spool and the recovery log can be written to: 1 or 0.",
		}, func() float64 {
			if failure() != nil {
				return 0
			}
			return 1
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "waybill_spool_reserved_bytes",
			Help: "Room that is reserved in the local spool for purchases that are under way.",
		}, func() float64 { return float64(spool.Reserved() * seal.SaleRoom) }),
	}
}

// SpoolState is what is known of this machine's spool.
type SpoolState struct {
	Dir      string
	IsUsed   bool   // it is there
	Volatile string // name of the file system, if it does not survive a restart
	Failure  error  // why it cannot be written to, as far as this user can see
}

// InspectSpool looks at the spool of a migrated database on this machine. It changes
// nothing.
func InspectSpool(ctx context.Context, cfg config.Config) (SpoolState, error) {
	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return SpoolState{}, err
	}
	defer st.Close()

	dir, err := spoolDir(ctx, cfg, st)
	if err != nil {
		return SpoolState{}, err
	}
	state := SpoolState{Dir: dir}
	switch _, err := os.ReadDir(filepath.Join(dir, recoveryLogDir)); {
	case errors.Is(err, fs.ErrNotExist):
		return state, nil
	case err != nil:
		return state, err
	}
	state.IsUsed = true

	box, err := newDiskBox(ctx, cfg, st)
	if err != nil {
		return state, err
	}
	spool, _, err := openSpool(dir, box)
	if err != nil {
		return state, err
	}
	state.Volatile = spool.Volatile()
	state.Failure = spool.HasRoom()
	return state, nil
}
