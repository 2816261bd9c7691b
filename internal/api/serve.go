package api

import (
	"context"
	"errors"
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
)

// serve answers every request. A path that is not in its plainest form matches
// nothing: the mux would redirect it, and a redirect of a POST is not safe.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.EscapedPath(); p != path.Clean(p) || !isText(r.URL.Path) {
		httpkit.Fail(w, r, noRoute())
		return
	}
	s.mux.ServeHTTP(w, r)
}

func noRoute() error { return ship.Errorf(ship.NotFound, "there is no such path") }

// otherwise answers what no route does: 405 if the path exists with another
// method, else 404.
func (s *server) otherwise(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := s.mux.Handler(probe); pattern != "/" {
			allow = append(allow, method)
		}
	}
	if len(allow) == 0 {
		httpkit.Fail(w, r, noRoute())
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	httpkit.Fail(w, r, ship.Coded(ship.Unsupported, "method_not_allowed", "the path exists, but not with this method"))
}

// guard lets only requests through to next that the route allows: known
// caller, enough scope, within its limits, with parameters and a body of the
// right shape. A pattern that is not in the table is not served.
func (s *server) guard(pattern string, next http.HandlerFunc) http.HandlerFunc {
	rt := s.routes[pattern]
	if rt == nil {
		return func(w http.ResponseWriter, r *http.Request) { httpkit.Fail(w, r, noRoute()) }
	}
	return func(w http.ResponseWriter, r *http.Request) {
		ex := httpkit.From(r.Context())
		ex.Route = rt.path
		done, err := s.admit(ex, rt, w, r)
		defer done()
		if rt.told() && ex.Principal.Key != "" {
			r = r.WithContext(s.audited(ex.Principal, r))
		}
		switch {
		case err != nil:
			ex.Problem(err).Write(w)
		case ex.Idempotency != "" && !rt.purchase:
			ex.Once(w, r, s.once(rt), next)
		default:
			next(w, r)
		}
	}
}

// told reports whether what the route changes is in the audit log.
func (rt *route) told() bool { return rt.method != http.MethodGet && rt.untold == "" }

// audited is the context of the request: the services write what they change
// into the audit log, as done with the key.
func (s *server) audited(p account.Principal, r *http.Request) context.Context {
	from := member.Origin{Addr: httpkit.ClientAddr(r, s.TrustedProxies), Agent: r.UserAgent()}
	return member.Audited(r.Context(), member.Program(p.Tenant.Account, p.Key, p.KeyName, p.KeyHint, from), member.Entry{})
}

// admit decides whether the request may go on. done must be called in any
// case.
func (s *server) admit(ex *httpkit.Exchange, rt *route, w http.ResponseWriter, r *http.Request) (done func(), err error) {
	done = func() {}
	if err := s.authenticate(ex, rt, w, r); err != nil {
		return done, err
	}
	if err := rt.checkQuery(r.URL.RawQuery); err != nil {
		return done, err
	}
	if !hasBody(r.Method) {
		return done, nil
	}
	if r.Method == http.MethodPost {
		if ex.Idempotency, err = httpkit.IdempotencyKey(r); err != nil {
			return done, err
		}
	}
	if done, err = ex.ReadJSON(w, r, max(s.Limits.Body, rt.maxBody)); err != nil {
		return done, err
	}
	return done, rt.checkBody(ex)
}

// hasBody reports whether requests of the method have a body.
func hasBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// once keeps the answers to the route's idempotency keys. Those that hold a
// secret are sealed while they are kept.
func (s *server) once(rt *route) httpkit.OnceFunc {
	if !rt.secret {
		return s.Account.Once
	}
	return func(ctx context.Context, t ship.Tenant, key string, fingerprint [32]byte, do func(context.Context) ship.Answer) (ship.Answer, bool, error) {
		place := []string{string(t.Account), strconv.FormatBool(t.Livemode), "idempotency", key}
		answer, replayed, err := s.Account.Once(ctx, t, key, fingerprint, func(ctx context.Context) ship.Answer {
			a := do(ctx)
			a.Body = s.Box.Seal(a.Body, place...)
			return a
		})
		if err == nil {
			answer.Body, err = s.Box.Open(answer.Body, place...)
		}
		return answer, replayed, err
	}
}

// authenticate finds the caller, and counts the request against its limit. What
// is asked with a key that may not be used any more, or not from there, is noted
// for its account, no more often than the key might be used. A label's signed link stands for a key; its requests count against their
// address.
func (s *server) authenticate(ex *httpkit.Exchange, rt *route, w http.ResponseWriter, r *http.Request) error {
	if p, ok := httpkit.VouchedFor(r.Context()); ok {
		ex.Principal = p
		return nil
	}
	from := httpkit.ClientAddr(r, s.TrustedProxies)
	if rt.link && len(r.Header["Authorization"]) == 0 && r.URL.Query().Has("token") {
		return s.limiter.Admit(w.Header(), from.String())
	}
	key := httpkit.BearerKey(r)
	if key == "" {
		return ship.Coded(ship.Forbidden, "invalid_api_key", "send the header Authorization: Bearer with an API key")
	}
	p, err := s.Account.Authenticate(r.Context(), key, from)
	if err != nil {
		if p.Key != "" && s.limiter.Admit(http.Header{}, "refused "+string(p.Key)) == nil {
			ex.Refused = p
		}
		return err
	}
	ex.Principal = p
	if err := s.limiter.Admit(w.Header(), string(p.Key)); err != nil {
		return err
	}
	switch {
	case rt.sandbox && p.Tenant.Livemode:
		return ship.Coded(ship.Forbidden, "test_key_required", "sandbox routes need a test key")
	case !rt.sandbox && !p.Can(rt.scope):
		return ship.Coded(ship.Forbidden, "insufficient_scope", "the key lacks the scope %s", rt.scope)
	}
	return nil
}

// checkQuery refuses parameters that the route does not have, and those given
// twice or empty: a typo must not widen a search.
func (rt *route) checkQuery(raw string) error {
	if raw == "" {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return ship.Errorf(ship.Invalid, "the query cannot be read")
	}
	var wrong []ship.FieldError
	add := func(name, code, detail, suggestion string) {
		wrong = append(wrong, ship.FieldError{Pointer: httpkit.ParameterPrefix + name, Code: code, Detail: detail, Suggestion: suggestion})
	}
	for name, values := range query {
		switch {
		case !slices.Contains(rt.query, name):
			add(name, "unknown_parameter", "there is no such parameter", ship.Nearest(name, rt.query))
		case len(values) > 1:
			add(name, "repeated_parameter", "may be given once", "")
		case values[0] == "":
			add(name, "required", "may not be empty", "")
		case !isText(values[0]):
			add(name, "invalid_text", "has characters that cannot be printed", "")
		}
	}
	slices.SortFunc(wrong, func(a, b ship.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return ship.InvalidFields(wrong)
}

// isText reports whether s is what Postgres takes as text: UTF-8 without NUL.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// checkBody holds the body to the route's shape.
func (rt *route) checkBody(ex *httpkit.Exchange) error {
	switch {
	case ex.JSON == nil && rt.bodyRequired:
		return ship.Coded(ship.Invalid, "malformed_json", "a JSON body is required")
	case ex.JSON == nil:
		return nil
	case rt.body == nil && (ex.JSON.Node(0).Kind != httpkit.Object || ex.JSON.Len(0) > 0):
		return ship.Errorf(ship.Invalid, "the request takes no body")
	case rt.body == nil:
		return nil
	}
	wrong := rt.body.validate(ex.JSON)
	if len(wrong) > 0 && rt.further != nil {
		wrong = withFurther(wrong, rt.further(ex))
	}
	return ship.InvalidFields(wrong)
}

// withFurther adds what the rules of an order find to what is wrong with the
// shape of a body, but for places that are listed already.
func withFurther(wrong, further []ship.FieldError) []ship.FieldError {
	covered := make([]string, 0, len(wrong))
	for _, w := range wrong {
		covered = append(covered, w.Pointer)
		if w.Code == "unknown_field" && w.Suggestion != "" {
			// The value is there, under another name.
			covered = append(covered, w.Pointer[:strings.LastIndexByte(w.Pointer, '/')+1]+w.Suggestion)
		}
	}

	for _, f := range further {
		isCovered := slices.ContainsFunc(covered, func(pointer string) bool {
			return f.Pointer == pointer || strings.HasPrefix(f.Pointer, pointer+"/") || strings.HasPrefix(pointer, f.Pointer+"/")
		})
		if !isCovered {
			wrong = append(wrong, f)
		}
	}
	return wrong
}

// fieldsOf are the fields that an error lists.
func fieldsOf(err error) []ship.FieldError {
	if e, ok := errors.AsType[*ship.Error](err); ok {
		return e.Fields
	}
	return nil
}
