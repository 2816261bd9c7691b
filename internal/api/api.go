// Package api is the JSON interface of the service under /v1, its OpenAPI
// document and its documentation. It translates between HTTP and the
// services, and decides nothing: no rule, no query, no carrier lives here.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/docsite"
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
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// Config is what the API needs.
type Config struct {
	Account   *account.Service
	Quoting   *quoting.Service
	Shipping  *shipping.Service
	Tracking  *tracking.Service
	Webhook   *webhook.Service
	Rules     *rulebook.Service
	Privacy   *privacy.Service
	Handover  *handover.Service
	Returns   *returns.Service
	Addresses *addresscheck.Service
	Inquiry   *inquiry.Service
	Batch     *batch.Service
	Journal   *journal.Service
	Box       *seal.Box        // seals stored answers that hold secrets
	Heavy     *budget.Budget   // memory for large bodies; nil sets no limit
	Uploads   *httpkit.Uploads // receives large bodies; nil reads them as they arrive

	BaseURL        string // address of the service, the start of every absolute URL that it gives out
	Limits         Limits
	Limiter        *httpkit.Limiter // of requests by key, if other edges count them too; nil makes one by Limits
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
	Metrics        *httpkit.Metrics            // nil counts nothing
	Ready          func(context.Context) error // nil is always ready

	// Note and NoteRefusal record reads and refusals in the audit log without
	// waiting. Nil is not called.
	Note, NoteRefusal func(member.Actor, member.Entry)

	// Finished is called with every request that was answered. Nil is not
	// called.
	Finished func(httpkit.Finished)

	// Answered is called with a purchase whose definite answer was written
	// completely to a connection that was still open. Nil is not called.
	Answered func(context.Context, shipping.BuyInput)
}

// Limits bound what one request and one key may ask for. A zero value stands
// for the limit that the API's documentation promises.
type Limits struct {
	Body           int64         // bytes of a request's body
	Timeout        time.Duration // of one request
	RequestsPerSec int           // a key; negative sets no limit
	Burst          int
}

// withDefaults fills in the limits that are not set.
func (l Limits) withDefaults() Limits {
	if l.Body == 0 {
		l.Body = 256 << 10
	}
	if l.Timeout == 0 {
		l.Timeout = 30 * time.Second
	}

	if l.RequestsPerSec == 0 {
		l.RequestsPerSec = 100
	}
	if l.Burst == 0 {
		l.Burst = 2 * l.RequestsPerSec
	}
	return l
}

// KeyLimit returns the requests a second of one key, and the burst; a negative rate
// sets no limit.
func (l Limits) KeyLimit() (rate, burst int) {
	l = l.withDefaults()
	return l.RequestsPerSec, l.Burst
}

// server is the API with its services.
type server struct {
	Config
	limiter    *httpkit.Limiter
	unverified *httpkit.Limiter // of pushes, by connection
	devices    *httpkit.Limiter // of terminals that begin to sign in, by network
	api        huma.API
	order      []*route          // as in the table
	routes     map[string]*route // by pattern, "POST /v1/rates"
	public     []string          // patterns that need no key
	mux        *http.ServeMux
	docs       func() (publishedDocs, error)
}

// publishedDocs are the texts that the API publishes about itself: the OpenAPI
// document, its form for client generators, and the documentation with the
// reference page.
type publishedDocs struct {
	openapi    []byte
	generators []byte
	site       *docsite.Site
}

// New returns the API as a handler.
func New(c Config) http.Handler {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.Limits = c.Limits.withDefaults()
	s := newServer(c)

	// The documents are rendered on the first request for one, because that
	// takes longer than everything else at the start. What only the rendering
	// needed goes back to the system.
	s.docs = sync.OnceValues(func() (publishedDocs, error) {
		defer debug.FreeOSMemory()
		return renderDocs(c, false)
	})

	wrapped := httpkit.Wrap(http.HandlerFunc(s.serve), httpkit.Options{
		BaseURL:  c.BaseURL,
		Timeout:  c.Limits.Timeout,
		Log:      c.Log,
		Metrics:  c.Metrics,
		Quiet:    []string{"/healthz", "/readyz"},
		Finished: c.Finished,
	})
	return httpkit.Secure(wrapped, c.BaseURL, c.TrustedProxies)
}

// renderDocs renders the published documents. It uses a server of its own,
// because rendering changes the server's OpenAPI document. static is for a
// directory of files.
func renderDocs(c Config, static bool) (docs publishedDocs, err error) {
	doc, err := newServer(c).document()
	if err != nil {
		return docs, err
	}

	if docs.openapi, err = doc.yaml(); err != nil {
		return docs, err
	}
	if docs.generators, err = doc.forGenerators(); err != nil {
		return docs, err
	}

	groups := doc.groups(c.BaseURL)
	site := docsite.Config{
		Static:     static,
		Operations: groups,
		Reference: func(where docsite.Addresses) ([]byte, error) {
			return doc.page(c.BaseURL, groups, where)
		},
	}
	if static {
		site.Spec = map[string][]byte{"openapi.yaml": docs.openapi, "openapi.json": docs.generators}
	}
	docs.site, err = docsite.New(site)
	return docs, err
}

// Documentation returns the documentation as files of a static site, by their
// path. baseURL is the address of the service in examples; empty for that of the
// published document.
func Documentation(baseURL string) (map[string][]byte, error) {
	docs, err := renderDocs(Config{BaseURL: cmp.Or(strings.TrimRight(baseURL, "/"), exampleBase)}, true)
	if err != nil {
		return nil, err
	}
	return docs.site.Files()
}

// Document returns the OpenAPI document of the API at baseURL, as YAML.
func Document(baseURL string) ([]byte, error) {
	doc, err := newServer(Config{BaseURL: baseURL}).document()
	if err != nil {
		return nil, err
	}
	return doc.yaml()
}

// GeneratorDocument returns the OpenAPI document of the API at baseURL as JSON, in
// the form for programs that generate clients.
func GeneratorDocument(baseURL string) ([]byte, error) {
	doc, err := newServer(Config{BaseURL: baseURL}).document()
	if err != nil {
		return nil, err
	}
	return doc.forGenerators()
}
