package easypost

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// A request is what a handler gets: the caller, what the client sent, and where
// it sent it.
type request struct {
	caller account.Principal
	tenant ship.Tenant
	id     string // of the path
	body   values
	raw    []byte // the body as it was sent
	query  url.Values
	note   func(action string, shipment ship.ShipmentID)
}

// An answer is the status and the body of a response.
type answer struct {
	status int
	body   any
	after  func(context.Context) // runs if the answer has reached the client's connection; nil for nothing
}

// serve answers every request. A path that is not in its canonical form matches
// nothing: the mux would redirect it, and clients treat a redirect as an error.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if escaped := r.URL.EscapedPath(); escaped != path.Clean(escaped) || !isText(r.URL.Path) {
		s.serveUnknown(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// serveUnknown answers what is not served. Strangers learn nothing: they are asked
// for a key first.
func (s *server) serveUnknown(w http.ResponseWriter, r *http.Request) {
	ex := httpkit.From(r.Context())
	if err := s.authenticate(ex, w, r, ""); err != nil {
		s.fail(ex, w, err)
		return
	}
	s.fail(ex, w, ship.Coded(ship.NotFound, "not_found", "%s %s is not served here; %s lists what is", r.Method, withoutIDs(r.URL.Path), guide))
}

// withoutIDs returns a path without what may be somebody's: ids, references and
// whatever is long.
func withoutIDs(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		isWord := len(part) <= 30 && strings.Trim(part, "abcdefghijklmnopqrstuvwxyz_") == ""
		if i > 0 && !isWord {
			parts[i] = "{id}"
		}
	}
	return "/" + strings.Join(parts[:min(len(parts), 5)], "/")
}

// guard passes on to the handler only the requests that its route allows.
func (s *server) guard(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ex := httpkit.From(r.Context())
		ex.Route = rt.Path
		defer s.noteRefusal(ex, rt, r)

		// The caller is identified before anything else is looked at, so the
		// bodies of strangers are not read.
		if err := s.authenticate(ex, w, r, rt.Scope); err != nil {
			s.fail(ex, w, err)
			return
		}

		in := &request{caller: ex.Principal, tenant: ex.Principal.Tenant, id: r.PathValue("id"), query: r.URL.Query()}
		if r.Method == http.MethodPost || r.Method == http.MethodPatch || r.Method == http.MethodPut {
			done, err := ex.ReadJSON(w, r, s.MaxBody)
			defer done()
			if err == nil {
				in.raw = ex.Body
				in.body, err = decode(ex.Body)
			}
			if err != nil {
				s.fail(ex, w, err)
				return
			}
		}
		if !isText(r.URL.RawQuery) || slices.ContainsFunc(slices.Collect(texts(in.query)), func(text string) bool { return !isText(text) }) {
			s.fail(ex, w, ship.Errorf(ship.Invalid, "the query contains characters that cannot be printed"))
			return
		}

		ctx := r.Context()
		actor := s.actor(ex.Principal, r)
		in.note = func(action string, shipment ship.ShipmentID) {
			if s.Note != nil {
				s.Note(actor, member.Entry{Action: action, Target: string(shipment), Mode: modeOf(in.tenant)})
			}
		}
		if rt.audit == changes {
			ctx = member.Audited(ctx, actor, member.Entry{})
		}
		answered, err := rt.handler(ctx, in)
		if err != nil {
			s.fail(ex, w, err)
			return
		}
		if rt.audit != "" && rt.audit != changes {
			in.note(rt.audit, "")
		}
		write(w, answered)
		if answered.after != nil && ex.Delivered(ctx) {
			answered.after(context.WithoutCancel(ctx))
		}
	}
}

// texts yields every value of a query.
func texts(query url.Values) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, values := range query {
			for _, value := range values {
				if !yield(value) {
					return
				}
			}
		}
	}
}

// write writes an answer as JSON.
func write(w http.ResponseWriter, out answer) {
	body, err := wire.Marshal(out.body)
	if err != nil {
		panic(err) // structs of texts and numbers always do
	}
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(out.status)
	w.Write(body) // the client may have left
}

// decode reads a body whose syntax was checked already. A body that is no object
// holds nothing.
func decode(body []byte) (values, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return values{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, ship.Coded(ship.Invalid, "malformed_json", "the body must be JSON")
	}
	object, _ := out.(map[string]any)
	return values(object), nil
}

// isText reports whether s is what Postgres accepts as text: UTF-8 without NUL.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// authenticate finds the caller and counts the request against the key's limit.
// An empty scope asks for a valid key alone.
func (s *server) authenticate(ex *httpkit.Exchange, w http.ResponseWriter, r *http.Request, scope string) error {
	key := keyOf(r)
	if key == "" {
		return ship.Coded(ship.Forbidden, "invalid_api_key", "send an API key of this service as the user name of basic authentication, or as a bearer token")
	}

	caller, err := s.Account.Authenticate(r.Context(), key, httpkit.ClientAddr(r, s.TrustedProxies))
	if err != nil {
		// A header of its own: the refused caller is not shown the limit.
		if caller.Key != "" && s.Limiter.Admit(http.Header{}, "refused "+string(caller.Key)) == nil {
			ex.Refused = caller
		}
		return err
	}

	// The principal is set first, so that a request over the limit is logged
	// under its key.
	ex.Principal = caller
	if err := s.Limiter.Admit(w.Header(), string(caller.Key)); err != nil {
		return err
	}
	if scope != "" && !caller.Can(scope) {
		return ship.Coded(ship.Forbidden, "insufficient_scope", "the key lacks the scope %s; use a key that has it", scope)
	}
	return nil
}

// keyOf returns the key of a request: half of the official clients send it as a
// bearer token, the others as the user of basic authentication.
func keyOf(r *http.Request) string {
	if key := httpkit.BearerKey(r); key != "" {
		return key
	}
	header := r.Header["Authorization"]
	if len(header) != 1 {
		return "" // two headers could mean two callers
	}
	scheme, encoded, ok := strings.Cut(header[0], " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return ""
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return ""
	}
	user, _, _ := strings.Cut(string(decoded), ":")
	return user
}

// actor is the caller as the audit log names it.
func (s *server) actor(caller account.Principal, r *http.Request) member.Actor {
	origin := member.Origin{Addr: httpkit.ClientAddr(r, s.TrustedProxies), Agent: r.UserAgent()}
	return member.Program(caller.Tenant.Account, caller.Key, caller.KeyName, caller.KeyHint, origin)
}

// denials are the codes of requests that are refused to a key, whatever they ask
// for.
var denials = []string{"invalid_api_key", "ip_not_allowed", "insufficient_scope", "rate_limited", "spend_limit_reached", "purchase_limit_exceeded", "country_not_allowed"}

// noteRefusal records that a request was refused to a key.
func (s *server) noteRefusal(ex *httpkit.Exchange, rt route, r *http.Request) {
	caller := ex.Principal
	if ex.Refused.Key != "" {
		caller = ex.Refused
	}
	code := ex.FailedWith()
	if s.NoteRefusal == nil || caller.Key == "" || !slices.Contains(denials, code) {
		return
	}
	s.NoteRefusal(s.actor(caller, r), member.Entry{
		Action:  "key.denied",
		Target:  string(caller.Key),
		Mode:    modeOf(caller.Tenant),
		Details: map[string]string{"reason": code, "route": rt.Method + " " + rt.Path},
	})
}

// modeOf returns what the audit log calls the tenant's mode.
func modeOf(t ship.Tenant) string { return store.EntryOf(t, "", "").Mode }

// mode returns what EasyPost calls the tenant's mode.
func mode(t ship.Tenant) string {
	if t.Livemode {
		return "production"
	}
	return "test"
}

// A handler answers a request.
type handler func(context.Context, *request) (answer, error)
