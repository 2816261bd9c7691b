// Package site is what all pages of the dashboard share: the request of a
// person (Visit), the frame around a page, routes and their permissions,
// sessions, forms that survive a sign-in or an outage, lists, downloads,
// updates of open pages, and static files. The pages themselves are in the
// areas beside it.
package site

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/bulk"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/inquiry"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/privacy"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/returns"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// Config is what the dashboard needs.
type Config struct {
	Account   *account.Service
	Member    *member.Service
	Rules     *rulebook.Service
	Quoting   *quoting.Service
	Addresses *addresscheck.Service
	Shipping  *shipping.Service
	Handover  *handover.Service
	Inquiry   *inquiry.Service
	Returns   *returns.Service
	Tracking  *tracking.Service
	Webhook   *webhook.Service
	Batch     *batch.Service
	Bulk      *bulk.Service
	Journal   *journal.Service
	Privacy   *privacy.Service
	Box       *seal.Box        // encrypts forms that wait for a sign-in; nil disables it
	Heavy     *budget.Budget   // memory for large files; nil sets no limit
	Uploads   *httpkit.Uploads // receives large files; nil reads them as they arrive

	// NeedsCustoms reports whether a parcel between the addresses is declared to
	// customs, which some are inside one country; nil compares the countries.
	NeedsCustoms func(from, to ship.Address) bool

	// Waits says how long the next call of each operation would wait at the
	// connection, as far as this copy of the program knows; nil knows nothing.
	Waits func(ship.ConnectionID) map[carrier.Operation]time.Duration

	API http.Handler // of this process, for pages that show its responses; may be nil

	// Reference returns the API's description of itself; nil for none.
	Reference func() ([]httpkit.ReferenceGroup, error)

	// RateLimit is the number of requests per second of each session, in this
	// process; 0 sets no limit. RateBurst is how many it can make at once.
	RateLimit, RateBurst int

	BaseURL        string // address of the service; https makes the cookie a __Host- one
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
	Metrics        *httpkit.Metrics // nil counts nothing
}

// Dashboard is the dashboard, with the hub that notifies its open pages.
type Dashboard struct {
	Config
	pages   Pages
	handler http.Handler
	mux     *http.ServeMux // of all pages but the stream
	hub     *hub
	limits  limits
}

// requestTime is how long a page may take: as long as a purchase.
const requestTime = 30 * time.Second

// Pages is what the dashboard is made of.
type Pages struct {
	Routes  []Route
	Missing func(*Visit) error             // answers for addresses that do not exist
	SignIn  func(v *Visit, err error) bool // sends people who must sign in to the page for it, and reports whether it did
}

// New returns the dashboard of the pages.
func New(config Config, pages Pages) *Dashboard {
	config.BaseURL = strings.TrimRight(config.BaseURL, "/")
	s := &Dashboard{Config: config, pages: pages, limits: newLimits(config.RateLimit, config.RateBurst)}
	s.hub = newHub(s.Webhook, s.Shipping.States, config.Log)

	// The pages of accounts have a mux of their own. In one mux with the others
	// their patterns would conflict: /app/{account}/{mode}/shipments and
	// /app/static/{hash}/{file} have paths in common, and neither is more specific.
	s.mux = http.NewServeMux()
	accounts := http.NewServeMux()
	s.mux.Handle(accountPath, accounts)
	s.mux.Handle(accountPath+"/{rest...}", accounts)
	for _, rt := range pages.Routes {
		mux := s.mux
		if rt.isOfAccount() {
			mux = accounts
		}
		mux.HandleFunc(rt.Method+" "+rt.Path, s.serve(rt))
	}
	for _, mux := range []*http.ServeMux{s.mux, accounts} {
		mux.HandleFunc("/", s.serve(Route{Path: "none", Open: true, Handle: pages.Missing}))
	}
	limited := httpkit.Wrap(s.mux, httpkit.Options{
		BaseURL: config.BaseURL,
		Timeout: requestTime,
		Log:     config.Log,
		Metrics: config.Metrics,
		Quiet:   []string{staticPath},
	})

	// A stream outlives any request's time limit, so it is outside the wrapper.
	outer := http.NewServeMux()
	outer.HandleFunc("GET "+livePath, s.serveLive)
	outer.Handle("/", limited)

	// Forms of other sites are rejected by the browser's own headers, so pages
	// carry no token against forged requests.
	protected := http.NewCrossOriginProtection().Handler(outer)
	s.handler = httpkit.Secure(protected, config.BaseURL, config.TrustedProxies)
	return s
}

// ServeHTTP answers with a page.
func (s *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Stop ends the streams of open pages; they reconnect to another copy, or to
// this one when it is back.
func (s *Dashboard) Stop() { s.hub.stop() }
