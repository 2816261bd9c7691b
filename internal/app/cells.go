package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/cell"
	"github.com/waybillhq/waybill/internal/config"
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
	directory, err := OpenDirectory(ctx, cfg)
	if err != nil {
		return err
	}
	defer directory.Close()

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

func newRouter(ctx context.Context, cfg config.Config, directory *store.Store, log *slog.Logger) (*cell.Router, *cell.Map, error) {
	shards, err := shardsOf(ctx, cfg, directory)
	if err != nil {
		return nil, nil, err
	}
	places, err := cell.NewMap(ctx, directory, log)
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
