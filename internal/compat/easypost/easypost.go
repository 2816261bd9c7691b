// Package easypost speaks the API of EasyPost under /v2, so that its official
// client libraries work with this service after a change of base address and key.
//
// It translates between that API and the services and decides nothing: what may be
// bought, for how much and how often, is decided below it. What the service does
// not have is answered in EasyPost's error format, with the address of the guide
// that lists it.
package easypost

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// Config is what the edge needs.
type Config struct {
	Account   *account.Service
	Quoting   *quoting.Service
	Shipping  *shipping.Service
	Tracking  *tracking.Service
	Webhook   *webhook.Service
	Handover  *handover.Service
	Addresses *addresscheck.Service
	Compat    *compat.Service

	BaseURL        string // of the service, the start of every absolute URL that it gives out
	MaxBody        int64  // bytes of a request's body; 0 means 256 KiB
	Timeout        time.Duration
	Limiter        *httpkit.Limiter // of requests by key; nil sets no limit
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
	Metrics        *httpkit.Metrics

	// Note and NoteRefusal record reads and refusals in the audit log without
	// waiting; Finished is called with every request that was answered. Nil is
	// not called.
	Note, NoteRefusal func(member.Actor, member.Entry)
	Finished          func(httpkit.Finished)
}

// server is the edge with its services.
type server struct {
	Config
	mux *http.ServeMux
}

// Owns reports whether a path belongs to this edge.
func Owns(path string) bool {
	return strings.HasPrefix(path, "/v2/") || strings.HasPrefix(path, "/beta/")
}

// New returns the edge as a handler.
func New(c Config) http.Handler {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.MaxBody == 0 {
		c.MaxBody = 256 << 10
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}

	s := &server{Config: c, mux: http.NewServeMux()}
	for _, rt := range s.table() {
		s.mux.HandleFunc(rt.Method+" "+rt.Path, s.guard(rt))
	}
	s.mux.HandleFunc("/", s.serveUnknown)

	wrapped := httpkit.Wrap(http.HandlerFunc(s.serve), httpkit.Options{
		BaseURL:  c.BaseURL,
		Timeout:  c.Timeout,
		Log:      c.Log,
		Metrics:  c.Metrics,
		Finished: c.Finished,
	})
	return httpkit.Secure(wrapped, c.BaseURL, c.TrustedProxies)
}
