package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// serve answers every request. A path that is not in its canonical form matches
// nothing: the mux would redirect it, and a redirect of a POST is not safe.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if escaped := r.URL.EscapedPath(); escaped != path.Clean(escaped) || !isText(r.URL.Path) {
		httpkit.Fail(w, r, pathNotFound())
		return
	}
	s.mux.ServeHTTP(w, withManifestFile(r))
}

func pathNotFound() error { return ship.Errorf(ship.NotFound, "there is no such path") }

// serveUnmatched answers a request that no route matches: 405 if the path
// exists with another method, else 404.
func (s *server) serveUnmatched(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := s.mux.Handler(probe); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		httpkit.Fail(w, r, pathNotFound())
		return
	}

	w.Header().Set("Allow", strings.Join(allowed, ", "))
	httpkit.Fail(w, r, ship.Coded(ship.Unsupported, "method_not_allowed", "this path does not support the method; the Allow header lists those that it supports"))
}

// guard passes on to next only the requests that the route allows: from a known
// caller with the scope, within its limits, with parameters and a body of the
// right shape. A pattern that is not in the table is not served.
func (s *server) guard(pattern string, next http.HandlerFunc) http.HandlerFunc {
	rt := s.routes[pattern]
	if rt == nil {
		return func(w http.ResponseWriter, r *http.Request) { httpkit.Fail(w, r, pathNotFound()) }
	}

	return func(w http.ResponseWriter, r *http.Request) {
		ex := httpkit.From(r.Context())
		ex.Route = rt.path
		if rt.mayBeStale() {
			r = r.WithContext(store.AllowStale(r.Context(), func(asOf time.Time) {
				w.Header().Set("Data-As-Of", asOf.UTC().Format(time.RFC3339))
			}))
		}

		done, err := s.admit(ex, rt, w, r)
		defer done()

		// A request that the dashboard vouches for has no key; its changes are
		// recorded under the person who is signed in.
		if rt.isAudited() && ex.Principal.Key != "" {
			r = r.WithContext(s.withAudit(ex.Principal, r))
		}

		defer s.note(ex, rt, r)
		switch {
		case err != nil:
			ex.Problem(err).Write(w)
		case ex.Idempotency != "" && !rt.purchase:
			ex.Once(w, r, s.onceFunc(rt), next)
		default:
			next(w, r)
		}
	}
}

// denials are the codes of requests that are refused to a key, whatever they
// ask for.
var denials = []string{
	"invalid_api_key",
	"ip_not_allowed",
	"insufficient_scope",
	"test_key_required",
	"rate_limited",
	"spend_limit_reached",
	"purchase_limit_exceeded",
	"country_not_allowed",
}

// note records what the request was refused or, if it changes nothing but gives
// away many shipments or a label, what it was given. A request that the
// dashboard vouches for is one of a person, and recorded by the dashboard.
func (s *server) note(ex *httpkit.Exchange, rt *route, r *http.Request) {
	caller := ex.Principal
	if ex.Refused.Key != "" {
		caller = ex.Refused
	}
	origin := member.Origin{Addr: httpkit.ClientAddr(r, s.TrustedProxies), Agent: r.UserAgent()}
	code := ex.FailedWith()

	switch {
	case s.Note == nil || s.NoteRefusal == nil:
	case caller.Key != "" && slices.Contains(denials, code):
		actor := member.Program(caller.Tenant.Account, caller.Key, caller.KeyName, caller.KeyHint, origin)
		s.NoteRefusal(actor, member.Entry{
			Action:  "key.denied",
			Target:  string(caller.Key),
			Mode:    modeOf(caller.Tenant),
			Details: map[string]string{"reason": code, "route": rt.method + " " + rt.path},
		})
	case code != "" || rt.notes == "":
	case caller.Key != "" && !rt.link:
		actor := member.Program(caller.Tenant.Account, caller.Key, caller.KeyName, caller.KeyHint, origin)
		s.Note(actor, member.Entry{Action: rt.notes, Target: r.PathValue("id"), Mode: modeOf(caller.Tenant)})
	case ex.Holder.Account != "":
		id, _, _ := strings.Cut(r.PathValue("file"), ".")
		s.NoteRefusal(member.LinkHolder(ex.Holder.Account, origin), member.Entry{Action: rt.notes, Target: id, Mode: modeOf(ex.Holder)})
	}
}

// modeOf returns what the audit log calls the tenant's mode.
func modeOf(t ship.Tenant) string { return store.EntryOf(t, "", "").Mode }

// mayBeStale reports whether the route may be answered from a standby while there is
// no primary. The log is not: its readers need every event in order, and can wait.
func (rt *route) mayBeStale() bool {
	return (rt.method == http.MethodGet || rt.method == http.MethodHead) && rt.path != "/v1/events"
}

// isAudited reports whether the changes that the route makes are in the audit
// log.
func (rt *route) isAudited() bool { return rt.method != http.MethodGet && rt.unaudited == "" }

// withAudit returns the request's context in which services record their
// changes in the audit log, as made with the caller's key.
func (s *server) withAudit(caller account.Principal, r *http.Request) context.Context {
	origin := member.Origin{Addr: httpkit.ClientAddr(r, s.TrustedProxies), Agent: r.UserAgent()}
	actor := member.Program(caller.Tenant.Account, caller.Key, caller.KeyName, caller.KeyHint, origin)
	return member.Audited(r.Context(), actor, member.Entry{})
}

// admit decides whether the request may go on. The caller must call done in any
// case.
func (s *server) admit(ex *httpkit.Exchange, rt *route, w http.ResponseWriter, r *http.Request) (done func(), err error) {
	done = func() {}

	// The caller is identified before anything else is looked at: strangers
	// learn nothing about parameters, and their bodies are not read.
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

	release, err := s.reserve(ex, rt, w, r)
	if err != nil {
		return done, err
	}
	if rt.list != "" {
		ex.List, err = httpkit.OpenList(w, r, rt.maxBody, int(s.Limits.Body), rt.list)
		return release, err
	}

	read, err := ex.ReadJSON(w, r, max(s.Limits.Body, rt.maxBody))
	done = func() {
		read()
		release()
	}
	if err != nil {
		return done, err
	}
	return done, rt.checkBody(ex)
}

// reserve reserves memory for a large body. It is reserved when the body has arrived
// and before it is parsed: a client that sends slowly keeps nobody else from it, and
// bodies that arrive at the same time do not fill it.
func (s *server) reserve(ex *httpkit.Exchange, rt *route, w http.ResponseWriter, r *http.Request) (release func(), err error) {
	if rt.memory == 0 {
		return func() {}, nil
	}
	owner := ex.Principal.Tenant.Account
	drop, err := s.Uploads.Receive(w, r, owner, max(s.Limits.Body, rt.maxBody))
	if err != nil {
		return nil, err
	}
	free, err := s.Heavy.Reserve(r.Context(), owner, rt.memory)
	if err != nil {
		drop()
		return nil, err
	}
	return func() {
		free()
		drop()
	}, nil
}

// hasBody reports whether requests of the method have a body.
func hasBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// onceFunc returns the function that keeps the answers to the route's
// idempotency keys. Answers that hold a secret are sealed while they are kept.
func (s *server) onceFunc(rt *route) httpkit.OnceFunc {
	if rt.starts {
		return s.onceStarted
	}
	if !rt.secret {
		return s.Account.OnceByKey
	}

	return func(ctx context.Context, tenant ship.Tenant, key string, fingerprint [32]byte, do func(context.Context) ship.Answer) (ship.Answer, bool, error) {
		place := account.AnswerBinding(tenant, key)

		answer, replayed, err := s.Account.OnceByKey(ctx, tenant, key, fingerprint, func(ctx context.Context) ship.Answer {
			sealed := do(ctx)
			sealed.Body = s.Box.Seal(sealed.Body, place...)
			return sealed
		})
		if err == nil {
			answer.Body, err = s.Box.Open(answer.Body, place...)
		}
		return answer, replayed, err
	}
}

// onceStarted keeps the answers of routes that start background work. Otherwise a
// 202 is not kept, because a retry is to see how far the work has come; here it
// names the work, and a retry must not start it again.
func (s *server) onceStarted(ctx context.Context, tenant ship.Tenant, key string, fingerprint [32]byte, do func(context.Context) ship.Answer) (ship.Answer, bool, error) {
	answer, replayed, err := s.Account.OnceByKey(ctx, tenant, key, fingerprint, func(ctx context.Context) ship.Answer {
		started := do(ctx)
		if started.Status == http.StatusAccepted {
			started.Status = http.StatusOK
		}
		return started
	})
	if answer.Status == http.StatusOK {
		answer.Status = http.StatusAccepted
	}
	return answer, replayed, err
}

// authenticate finds the caller and counts the request against the caller's
// limit.
//
// A request with a key that may not be used any more, or not from its address,
// is recorded for the key's account, no more often than the key could be used.
// A label's signed link stands for a key; its requests count against the
// address that they come from.
func (s *server) authenticate(ex *httpkit.Exchange, rt *route, w http.ResponseWriter, r *http.Request) error {
	if caller, ok := httpkit.VouchedFor(r.Context()); ok {
		ex.Principal = caller
		return nil
	}

	from := httpkit.ClientAddr(r, s.TrustedProxies)
	if rt.link && len(r.Header["Authorization"]) == 0 && r.URL.Query().Has("token") {
		return s.limiter.Admit(w.Header(), httpkit.ClientNetwork(r, s.TrustedProxies))
	}

	key := httpkit.BearerKey(r)
	if key == "" {
		return ship.Coded(ship.Forbidden, "invalid_api_key", "send the header Authorization: Bearer with an API key")
	}
	caller, err := s.Account.Authenticate(r.Context(), key, from)
	if err != nil {
		// A header of its own: the refused caller is not shown the limit.
		if caller.Key != "" && s.limiter.Admit(http.Header{}, "refused "+string(caller.Key)) == nil {
			ex.Refused = caller
		}
		return err
	}

	// The principal is set first, so that a request over the limit is logged
	// under its key.
	ex.Principal = caller
	if err := s.limiter.Admit(w.Header(), string(caller.Key)); err != nil {
		return err
	}

	switch {
	case rt.sandbox && caller.Tenant.Livemode:
		return ship.Coded(ship.Forbidden, "test_key_required", "sandbox routes need a test key")
	case !rt.sandbox && !caller.Can(rt.scope):
		return ship.Coded(ship.Forbidden, "insufficient_scope", "the key lacks the scope %s; use a key that has it", rt.scope)
	case rt.terms && caller.Limits.IsLimited():
		// A price from a rate sheet is what the limits are compared with.
		return ship.Coded(ship.Forbidden, "insufficient_scope", "a key with spending limits cannot change prices, rules or terms of purchases; use a key without limits, or the dashboard")
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
		return ship.Errorf(ship.Invalid, "the query string is malformed")
	}

	var invalid []ship.FieldError
	add := func(name, code, detail, suggestion string) {
		invalid = append(invalid, ship.FieldError{
			Pointer:    httpkit.ParameterPrefix + name,
			Code:       code,
			Detail:     detail,
			Suggestion: suggestion,
		})
	}

	for name, values := range query {
		switch {
		case !slices.Contains(rt.query, name):
			add(name, "unknown_parameter", "is not a known parameter", ship.Nearest(name, rt.query))
		case len(values) > 1:
			add(name, "repeated_parameter", "may be given only once", "")
		case values[0] == "":
			add(name, "required", "may not be empty", "")
		case !isText(values[0]):
			add(name, "invalid_text", "contains characters that cannot be printed", "")
		}
	}

	// A map has no order; the same request gets the same answer.
	slices.SortFunc(invalid, func(a, b ship.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return ship.InvalidFields(invalid)
}

// isText reports whether s is what Postgres accepts as text: UTF-8 without NUL.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// checkBody validates the body against the route's shape.
func (rt *route) checkBody(ex *httpkit.Exchange) error {
	switch {
	case ex.JSON == nil && rt.bodyRequired:
		return ship.Coded(ship.Invalid, "malformed_json", "a JSON body is required")
	case ex.JSON == nil:
		return nil
	case rt.body == nil && (ex.JSON.Node(0).Kind != httpkit.Object || ex.JSON.Len(0) > 0):
		return ship.Errorf(ship.Invalid, "this request does not take a body")
	case rt.body == nil:
		return nil
	}

	// A body of the right shape is checked further by its handler.
	invalid := rt.body.validate(ex.JSON)
	if len(invalid) > 0 && rt.checkFurther != nil {
		invalid = mergeInvalid(invalid, rt.checkFurther(ex))
	}
	return ship.InvalidFields(invalid)
}

// mergeInvalid adds what the rules of an order find to what is wrong with the
// shape of a body, except for places that are listed already.
func mergeInvalid(invalid, further []ship.FieldError) []ship.FieldError {
	covered := make([]string, 0, len(invalid))
	for _, field := range invalid {
		covered = append(covered, field.Pointer)

		// The value of an unknown field is there, under another name: its
		// proper field is not reported as missing too.
		if field.Code == "unknown_field" && field.Suggestion != "" {
			parent := field.Pointer[:strings.LastIndexByte(field.Pointer, '/')+1]
			covered = append(covered, parent+field.Suggestion)
		}
	}

	for _, field := range further {
		isCovered := slices.ContainsFunc(covered, func(pointer string) bool {
			return field.Pointer == pointer || strings.HasPrefix(field.Pointer, pointer+"/") || strings.HasPrefix(pointer, field.Pointer+"/")
		})
		if !isCovered {
			invalid = append(invalid, field)
		}
	}
	return invalid
}

// fieldsOf returns the fields that an error lists.
func fieldsOf(err error) []ship.FieldError {
	if e, ok := errors.AsType[*ship.Error](err); ok {
		return e.Fields
	}
	return nil
}
