// Package mcp lets assistants and agents use the service: an edge at /mcp that
// speaks the Model Context Protocol (Streamable HTTP, without sessions).
//
// Its tools call the API of this process through the public client, with the
// caller's own key and address. Scopes, limits, rate limits, idempotency and the
// request log are therefore those of the API, and nothing is enforced twice. What
// the edge adds are guards for callers that may be talked into something: a
// purchase and a void take two steps, and the second takes nothing but a token of
// the first.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
)

// Config is what the edge needs.
type Config struct {
	API     http.Handler // of this process; the tools call it
	Account *account.Service
	Box     *seal.Box // seals the tokens of purchases and voids

	// QuotedRate returns what a rate id stands for.
	QuotedRate func(context.Context, ship.Tenant, string) (ship.Rate, bool)
	// SpentToday returns what the key's purchases of this day cost.
	SpentToday func(context.Context, ship.Tenant, ship.KeyID) (int64, error)

	Version        string // of the program
	BaseURL        string // of the service
	MaxBody        int64  // bytes of a request's body; 0 means 256 KiB
	Timeout        time.Duration
	Limiter        *httpkit.Limiter // of requests by key; nil sets no limit
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
	Metrics        *httpkit.Metrics

	// NoteRefusal records refusals in the audit log without waiting; Finished is called
	// with every request that was answered. Nil is not called.
	NoteRefusal func(member.Actor, member.Entry)
	Finished    func(httpkit.Finished)
}

// server is the edge.
type server struct {
	Config
	tools  []*tool
	byName map[string]*tool
	now    func() time.Time

	protected http.Handler        // the endpoint, closed to pages of other sites
	protocol  func() http.Handler // speaks the protocol; made for the first message
}

// Where the edge is, and where it describes itself (RFC 9728): the address of a
// resource with a path has the path behind the well-known part.
const (
	endpoint     = "/mcp"
	metadataPath = "/.well-known/oauth-protected-resource"
)

// Owns reports whether a path belongs to this edge.
func Owns(path string) bool {
	return path == endpoint || path == metadataPath || path == metadataPath+endpoint
}

// New returns the edge as a handler.
func New(c Config) http.Handler {
	s := newServer(c)

	wrapped := httpkit.Wrap(http.HandlerFunc(s.route), httpkit.Options{
		BaseURL:  s.BaseURL,
		Timeout:  s.Timeout,
		Log:      s.Log,
		Metrics:  s.Metrics,
		Finished: s.Finished,
	})
	return httpkit.Secure(wrapped, s.BaseURL, s.TrustedProxies)
}

func newServer(c Config) *server {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.MaxBody == 0 {
		c.MaxBody = 256 << 10
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}

	s := &server{Config: c, now: time.Now}
	s.protected = protect(s.serve)
	s.protocol = sync.OnceValue(s.newProtocol)
	s.tools = s.allTools()
	s.byName = make(map[string]*tool, len(s.tools))
	for _, t := range s.tools {
		s.byName[t.name] = t
	}
	return s
}

// route tells the description from the endpoint.
func (s *server) route(w http.ResponseWriter, r *http.Request) {
	ex := httpkit.From(r.Context())
	ex.Route = r.URL.Path
	if r.URL.Path != endpoint {
		s.describe(w, r)
		return
	}
	s.protected.ServeHTTP(w, r)
}

// protect keeps pages of other sites out: browsers say where a request comes from.
func protect(next http.HandlerFunc) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpkit.Fail(w, r, ship.Coded(ship.Forbidden, "forbidden", "pages of other sites may not use this address"))
	}))
	return protection.Handler(next)
}

// serve answers a request to the endpoint. The caller is identified before the body
// is read.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	ex := httpkit.From(r.Context())
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		httpkit.Fail(w, r, ship.Coded(ship.Unsupported, "method_not_allowed", "messages are sent with POST; there are no streams and no sessions"))
		return
	}
	key, err := s.authenticate(ex, w, r)
	if err != nil {
		s.refuse(ex, w, err)
		return
	}

	done, err := ex.ReadJSON(w, r, s.MaxBody)
	defer done()
	if err != nil {
		httpkit.Fail(w, r, err)
		return
	}
	var in message
	if ex.JSON == nil || ex.JSON.Node(0).Kind != httpkit.Object || json.Unmarshal(ex.Body, &in) != nil || in.Version != "2.0" {
		writeJSON(w, http.StatusBadRequest, failure(nil, jsonrpc.CodeInvalidRequest, "the body must be one JSON-RPC 2.0 message"))
		return
	}

	c := &call{
		server:  s,
		caller:  ex.Principal,
		key:     key,
		request: r,
	}
	c.answer(w, in)
}

// authenticate finds the caller and counts the request against the limit of its key.
// The API does so again for each request that a tool makes.
func (s *server) authenticate(ex *httpkit.Exchange, w http.ResponseWriter, r *http.Request) (key string, err error) {
	key = httpkit.BearerKey(r)
	if key == "" {
		return "", ship.Coded(ship.Forbidden, "invalid_api_key", "send the header Authorization: Bearer with an API key")
	}
	from := httpkit.ClientAddr(r, s.TrustedProxies)
	caller, err := s.Account.Authenticate(r.Context(), key, from)
	if err != nil {
		// A key that is known but may not be used is recorded for its account, no
		// more often than it could be used. A header of its own: the refused caller
		// is not shown the limit.
		if caller.Key != "" && s.Limiter.Admit(http.Header{}, "refused "+string(caller.Key)) == nil {
			ex.Refused = caller
			s.noteRefusal(caller, member.Origin{Addr: from, Agent: r.UserAgent()}, err)
		}
		return "", err
	}
	ex.Principal = caller
	return key, s.Limiter.Admit(w.Header(), string(caller.Key))
}

// noteRefusal records a refused key in the audit log of its account.
func (s *server) noteRefusal(caller account.Principal, from member.Origin, err error) {
	refused, ok := errors.AsType[*ship.Error](err)
	if s.NoteRefusal == nil || !ok {
		return
	}
	s.NoteRefusal(member.Program(caller.Tenant.Account, caller.Key, caller.KeyName, caller.KeyHint, from), member.Entry{
		Action:  "key.denied",
		Target:  string(caller.Key),
		Mode:    modeOf(caller.Tenant),
		Details: map[string]string{"reason": refused.Code, "route": http.MethodPost + " " + endpoint},
	})
}

// modeOf returns the name of a tenant's mode.
func modeOf(t ship.Tenant) string {
	if t.Livemode {
		return "live"
	}
	return "test"
}

// refuse answers a request without a valid key, and says where the endpoint is
// described.
func (s *server) refuse(ex *httpkit.Exchange, w http.ResponseWriter, err error) {
	problem := ex.Problem(err)
	if problem.Status == http.StatusUnauthorized {
		problem.SetHeader("Www-Authenticate", `Bearer resource_metadata="`+s.BaseURL+metadataPath+endpoint+`", scope="`+strings.Join(s.scopes(), " ")+`"`)
	}
	problem.Write(w)
}

// A description is the metadata of the endpoint as an OAuth resource (RFC 9728). It
// names no authorization server: keys are made in the dashboard or by device
// sign-in, and a client that was sent to an authorization page would find none.
type description struct {
	Resource      string   `json:"resource"`
	Name          string   `json:"resource_name"`
	Methods       []string `json:"bearer_methods_supported"`
	Scopes        []string `json:"scopes_supported"`
	Documentation string   `json:"resource_documentation"`
}

// describe answers with the metadata of the endpoint.
func (s *server) describe(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		httpkit.Fail(w, r, ship.Coded(ship.Unsupported, "method_not_allowed", "the description is read with GET"))
		return
	}
	writeJSON(w, http.StatusOK, description{
		Resource:      s.BaseURL + endpoint,
		Name:          "Waybill",
		Methods:       []string{"header"},
		Scopes:        s.scopes(),
		Documentation: s.BaseURL + "/docs",
	})
}

// scopes returns the scopes that tools need.
func (s *server) scopes() []string {
	var list []string
	for _, t := range s.tools {
		for _, scope := range t.scopes {
			if !slices.Contains(list, scope) {
				list = append(list, scope)
			}
		}
	}
	slices.Sort(list)
	return list
}
