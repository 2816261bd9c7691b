// Package api is the JSON interface of the service under /v1, its OpenAPI
// document and its reference page. It translates between HTTP and the
// services, and decides nothing: no rule, no query, no carrier lives here.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// Config is what the API needs.
type Config struct {
	Account  *account.Service
	Shipping *shipping.Service
	Tracking *tracking.Service
	Webhook  *webhook.Service
	Rules    *rulebook.Service
	Box      *seal.Box // seals the kept answers that hold secrets

	BaseURL        string // address of the service, in every absolute address it gives out
	Limits         Limits
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
	Metrics        *httpkit.Metrics            // nil counts nothing
	Ready          func(context.Context) error // nil is always ready

	// Finished is told of every request that was answered. Nil tells nobody.
	Finished func(httpkit.Finished)

	// Answered is told of a purchase whose definite answer was written whole
	// to a connection that was still there. Nil tells nobody.
	Answered func(context.Context, shipping.BuyInput)
}

// Limits bound what one request and one key may ask for. Zero values are the
// contract's.
type Limits struct {
	Body           int64         // bytes of a request's body
	Timeout        time.Duration // of one request
	RequestsPerSec int           // a key; negative sets no limit
	Burst          int
}

func (l Limits) complete() Limits {
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

// server is the API with its services.
type server struct {
	Config
	limiter *httpkit.Limiter
	api     huma.API
	order   []*route          // as in the table
	routes  map[string]*route // by pattern, "POST /v1/rates"
	mux     *http.ServeMux
	texts   func() (texts, error)
}

// texts are what the API says about itself: the document, the same for
// generators, and the page of it.
type texts struct{ openapi, generators, docs []byte }

// New returns the API as a handler.
func New(c Config) http.Handler {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.Limits = c.Limits.complete()
	s := newServer(c)
	// Made when somebody first asks: it takes longer than all else at the start.
	s.texts = sync.OnceValues(func() (texts, error) { return textsOf(c) })
	return httpkit.Wrap(http.HandlerFunc(s.serve), httpkit.Options{
		BaseURL: c.BaseURL, Timeout: c.Limits.Timeout, Log: c.Log, Metrics: c.Metrics, Quiet: []string{"/healthz", "/readyz"}, Finished: c.Finished,
	})
}

// textsOf makes them from a server of their own: making them changes it.
func textsOf(c Config) (t texts, err error) {
	doc, err := newServer(c).document()
	if err != nil {
		return t, err
	}
	if t.openapi, err = doc.yaml(); err != nil {
		return t, err
	}
	if t.generators, err = doc.forGenerators(); err != nil {
		return t, err
	}
	t.docs, err = doc.page(c.BaseURL)
	return t, err
}

// Document is the OpenAPI document of the API at baseURL, as YAML.
func Document(baseURL string) ([]byte, error) {
	doc, err := newServer(Config{BaseURL: baseURL}).document()
	if err != nil {
		return nil, err
	}
	return doc.yaml()
}

// GeneratorDocument is the OpenAPI document of the API at baseURL as JSON, in
// the form for programs that generate clients.
func GeneratorDocument(baseURL string) ([]byte, error) {
	doc, err := newServer(Config{BaseURL: baseURL}).document()
	if err != nil {
		return nil, err
	}
	return doc.forGenerators()
}
