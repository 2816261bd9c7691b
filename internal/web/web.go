// Package web is the dashboard: pages for people, rendered here, under /app,
// and the public tracking page under /track. It calls the same services as the
// API; it decodes forms and renders, and has no rule and no query of its own.
// Pages ask nothing of anybody but this server, and run no script but its own.
package web

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

//go:generate go tool -modfile=../../tools/go.mod templ generate -path .

// Config is what the dashboard needs.
type Config struct {
	Account  *account.Service
	Member   *member.Service
	Rules    *rulebook.Service
	Shipping *shipping.Service
	Tracking *tracking.Service
	Webhook  *webhook.Service
	Batch    *batch.Service
	Journal  *journal.Service
	Box      *seal.Box // encrypts forms that wait for a sign-in; nil holds none

	// Waits says how long the next call of each operation would wait at the
	// connection, as far as this copy of the program knows; nil knows nothing.
	Waits func(ship.ConnectionID) map[carrier.Operation]time.Duration

	API       http.Handler           // of this program, for pages that show what it answers; may be nil
	Reference func() ([]byte, error) // of the API, as it tells it; nil for none

	BaseURL        string // address of the service; https makes the cookie a __Host- one
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
	Metrics        *httpkit.Metrics // nil counts nothing
}

// Web is the dashboard, and what its open pages are told.
type Web struct {
	Config
	handler http.Handler
	mux     *http.ServeMux // of all pages but the stream
	hub     *hub
	groups  func() []refGroup // of the reference, read when somebody first asks
	tracks  *httpkit.Limiter  // of public pages, by address
}

// requestTime is how long a page may take: as long as a purchase.
const requestTime = 30 * time.Second

// New returns the dashboard.
func New(c Config) *Web {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	s := &Web{Config: c, tracks: httpkit.NewLimiter(trackRate, trackBurst)}
	s.hub = newHub(s.Webhook, s.Shipping.States, c.Log)
	s.groups = sync.OnceValue(func() []refGroup {
		groups, err := readReference(c.Reference)
		if err != nil {
			c.Log.Error("the reference cannot be shown", "error", err)
		}
		return groups
	})
	mux := http.NewServeMux()
	s.mux = mux
	for _, rt := range s.table() {
		for _, pattern := range rt.patterns() {
			mux.HandleFunc(pattern, s.serve(rt))
		}
	}
	mux.HandleFunc("/", s.serve(route{path: "none", open: true, handle: s.noPage}))
	pages := httpkit.Wrap(mux, httpkit.Options{
		BaseURL: c.BaseURL, Timeout: requestTime, Log: c.Log, Metrics: c.Metrics, Quiet: []string{staticPath},
	})
	outer := http.NewServeMux()
	// A stream outlives any request's time, so it stands beside the wrapper.
	for _, pattern := range (route{method: http.MethodGet, path: livePath}).patterns() {
		outer.HandleFunc(pattern, s.serveLive)
	}
	outer.Handle("/", pages)
	guard := http.NewCrossOriginProtection()
	s.handler = guard.Handler(outer)
	return s
}

// ServeHTTP answers with a page.
func (s *Web) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Owns reports whether the path is one of the dashboard's.
func Owns(path string) bool {
	return path == "/" || path == "/app" || strings.HasPrefix(path, "/app/") || strings.HasPrefix(path, "/track/")
}

// Stop ends the streams of open pages; they find another copy, or this one
// when it is back.
func (s *Web) Stop() { s.hub.stop() }
