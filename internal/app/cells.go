package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/cell"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/tracking"
)

// guardCell has the handler refuse requests of accounts that are in other cells. An
// installation with one database has none, and keeps its handler.
func (a *App) guardCell(handler http.Handler) (http.Handler, error) {
	if a.store.Cell() == "" {
		return handler, nil
	}

	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	shards, err := shardsOf(ctx, a.cfg, a.store)
	if err != nil {
		return nil, err
	}
	if a.places, err = cell.NewMap(ctx, a.store, a.log); err != nil {
		return nil, err
	}
	return cell.Guard(handler, a.store.Cell(), a.places, shards), nil
}

// shardsOf returns what finds the shards of requests.
func shardsOf(ctx context.Context, cfg config.Config, st *store.Store) (*cell.Shards, error) {
	keys, err := signingKeys(ctx, cfg, st)
	if err != nil {
		return nil, err
	}
	return &cell.Shards{OfPage: tracking.ShardOfPage(keys)}, nil
}

// OpenDirectory opens the database with the map of the cells, which must be
// migrated.
func OpenDirectory(ctx context.Context, cfg config.Config) (*store.Store, error) {
	cfg.Cell = ""
	if cfg.DirectoryURL != "" {
		cfg.DatabaseURL = cfg.DirectoryURL
	}

	state, err := store.InspectSchema(ctx, cfg.DatabaseURL)
	if err == nil {
		err = state.NeedsMigration()
	}
	if err != nil {
		return nil, err
	}
	cfg.DatabaseConnections = 2
	return openStore(ctx, cfg, nil)
}

// Route sends requests to the cells that own their shards, until ctx ends.
func Route(ctx context.Context, cfg config.Config) error {
	log := NewLogger(cfg, os.Stderr)
	directory := &directory{cfg: cfg}
	defer directory.close()

	router, places, err := newRouter(ctx, cfg, directory, log)
	if err != nil {
		return err
	}
	front, err := newServer(cfg, cfg.Listen, "LISTEN", log)
	if err != nil {
		return err
	}
	front.http.Handler = router

	// A held request takes longer than the one behind it. The router extends the time
	// to write with each part of an answer.
	front.http.ReadTimeout += routeSlack

	following, stop := context.WithCancel(ctx)
	defer stop()
	go places.Run(following)
	go cell.ReleaseShards(following, directory.releaseShards, log)

	failed := make(chan error, 1)
	go func() { failed <- front.serve() }()
	log.InfoContext(ctx, "started", "roles", "route", "listen", front.listener.Addr().String(), "cells", len(places.Cells()))
	notifySupervisor(log, "READY=1")

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	notifySupervisor(log, "STOPPING=1")
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownTimeout)
	defer cancel()
	return front.stop(ending)
}

// routeSlack is how much longer than in a cell a request may take at a router.
const routeSlack = 5 * time.Second

// A directory is the database with the map of the cells. It is opened when it answers: a
// router starts without it.
type directory struct {
	cfg config.Config

	opening sync.Mutex
	opened  atomic.Pointer[store.Store]
	shards  atomic.Pointer[cell.Shards] // nil until the keys of links are known
}

var errConnecting = errors.New("the directory is being connected to")

// open returns the database, if it answers. Nobody waits for somebody else who tries.
func (d *directory) open(ctx context.Context) (*store.Store, error) {
	if opened := d.opened.Load(); opened != nil {
		return opened, nil
	}
	if !d.opening.TryLock() {
		return nil, errConnecting
	}
	defer d.opening.Unlock()
	if opened := d.opened.Load(); opened != nil {
		return opened, nil
	}

	opened, err := OpenDirectory(ctx, d.cfg)
	if err != nil {
		return nil, err
	}
	shards, err := shardsOf(ctx, d.cfg, opened)
	if err != nil {
		opened.Close()
		return nil, err
	}
	d.shards.Store(shards)
	d.opened.Store(opened)
	return opened, nil
}

func (d *directory) close() {
	if opened := d.opened.Load(); opened != nil {
		opened.Close()
	}
}

// CellMap reads the map.
func (d *directory) CellMap(ctx context.Context) (*store.CellMap, error) {
	opened, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	return opened.CellMap(ctx)
}

// WatchShards follows changes of the map.
func (d *directory) WatchShards(ctx context.Context, changed func()) error {
	opened, err := d.open(ctx)
	if err != nil {
		return err
	}
	return opened.WatchShards(ctx, changed)
}

// releaseShards serves shards again whose mover has died.
func (d *directory) releaseShards(ctx context.Context) ([]int, error) {
	opened, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	return opened.ReleaseShards(ctx)
}

// shardOfPage reads the shard from the token of a tracking page.
func (d *directory) shardOfPage(token string) (ship.Shard, bool) {
	shards := d.shards.Load()
	if shards == nil {
		return 0, false
	}
	return shards.OfPage(token)
}

// mapFile is where a router keeps the map of its directory; empty if there is no place.
// The spool's own default place follows from the database, which a router may not reach.
func mapFile(cfg config.Config) string {
	dir := cfg.SpoolDir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(cache, "waybill")
	}
	address := cmp.Or(cfg.DirectoryURL, cfg.DatabaseURL)
	if parsed, err := pgx.ParseConfig(address); err == nil {
		address = fmt.Sprint(parsed.Host, parsed.Port, parsed.Database)
	}
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(dir, "router", "map-"+hex.EncodeToString(sum[:6])+".json")
}

func newRouter(ctx context.Context, cfg config.Config, directory *directory, log *slog.Logger) (*cell.Router, *cell.Map, error) {
	// Without the directory, only keys of the settings are known.
	if len(cfg.SigningKeys) > 0 && !slices.ContainsFunc(cfg.SigningKeys, func(key []byte) bool { return key == nil }) {
		directory.shards.Store(&cell.Shards{OfPage: tracking.ShardOfPage(cfg.SigningKeys)})
	}
	shards := &cell.Shards{
		OfPage:          directory.shardOfPage,
		ArePagesUnknown: func() bool { return directory.shards.Load() == nil },
	}
	places, err := cell.NewKeptMap(ctx, directory, mapFile(cfg), log)
	if err != nil {
		return nil, nil, err
	}
	if len(places.Cells()) == 0 {
		return nil, nil, errors.New("the directory has no cells: add the first with \"waybill cell add\"; an installation with one database needs no router")
	}

	// A cell that has not begun to answer by then never will.
	answered := cfg.HeaderTimeout + cfg.RequestTimeout + writeSlack
	router := cell.NewRouter(cell.RouterConfig{
		Places:         places,
		Shards:         shards,
		MaxBody:        cfg.MaxBodyBytes,
		TrustedProxies: cfg.TrustedProxies,
		IsHTTPS:        strings.HasPrefix(cfg.BaseURL, "https://"),
		AnswerTimeout:  answered + routeSlack,
		WriteTimeout:   answered,
		Log:            log,
	})
	return router, places, nil
}
