package api

import (
	"cmp"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// configureHuma sets what huma keeps in package variables: lists are never null.
var configureHuma = sync.OnceFunc(func() { huma.DefaultArrayNullable = false })

// newServer registers all routes.
func newServer(c Config) *server {
	configureHuma()
	s := &server{
		Config:     c,
		limiter:    c.Limiter,
		unverified: httpkit.NewLimiter(unverifiedRate, unverifiedBurst),
		devices:    httpkit.NewSlowLimiter(deviceEvery, deviceBurst),
		routes:     make(map[string]*route),
		mux:        http.NewServeMux(),
	}
	if s.limiter == nil {
		s.limiter = httpkit.NewLimiter(c.Limits.RequestsPerSec, c.Limits.Burst)
	}
	s.api = humago.New(guardedMux{s}, s.humaConfig())

	for _, rt := range s.table() {
		// The guard looks a route up by its pattern when huma registers the
		// handler, so the route must be known by then.
		s.order = append(s.order, rt)
		s.routes[rt.method+" "+rt.path] = rt
		rt.handler(s.api, s.operation(rt))
		s.prepare(rt)
	}

	s.handlePublic("POST /in/{connection}/{token}", s.receivePush)
	s.handlePublic("POST /oauth/device", s.startDevice)
	s.handlePublic("POST /oauth/token", s.redeemDevice)
	s.handlePublic("POST /oauth/revoke", s.revokeToken)
	s.handlePublic("GET /healthz", s.healthz)
	s.handlePublic("GET /readyz", s.readyz)
	s.handlePublic("GET /openapi.yaml", s.serveDocument)
	s.handlePublic("GET /openapi.json", s.serveGeneratorDocument)
	s.handlePublic("GET /docs", s.serveDocs)
	s.handlePublic("GET /docs/{page}", s.serveDocs)
	s.handlePublic("GET /docs/search", s.searchDocs)
	s.handlePublic("GET /docs/files/{hash}/{file}", s.serveDocsFile)
	s.mux.HandleFunc("/", s.serveUnmatched)
	return s
}

// humaConfig leaves out everything that huma serves by itself.
func (s *server) humaConfig() huma.Config {
	config := huma.DefaultConfig("Waybill", "1.0.0")
	config.CreateHooks = nil
	config.OpenAPIPath = ""
	config.DocsPath = ""
	config.SchemasPath = ""

	// huma's own errors are answered, and documented, as httpkit.Problem.
	config.Transformers = []huma.Transformer{transformError}
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[httpkit.Problem]())
	return config
}

// guardedMux puts the guard before each handler that huma registers.
type guardedMux struct{ *server }

// HandleFunc registers a guarded handler.
func (m guardedMux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.mux.HandleFunc(pattern, m.guard(pattern, handler))
}

// ServeHTTP is part of the interface that huma asks for. It is not used.
func (m guardedMux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// handlePublic registers a handler that needs no key.
func (s *server) handlePublic(pattern string, handler http.HandlerFunc) {
	s.public = append(s.public, pattern)
	_, path, _ := strings.Cut(pattern, " ")
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		httpkit.From(r.Context()).Route = path
		handler(w, r)
	})
}

// prepare derives what the guard checks requests against from a route that huma
// has registered: its query parameters and the shape of its body.
func (s *server) prepare(rt *route) {
	op := s.operationOf(rt)
	for _, parameter := range op.Parameters {
		if parameter.In == "query" {
			rt.query = append(rt.query, parameter.Name)
		}
	}

	// The token of a signed link is hidden from the document's parameters,
	// which show it as a way to authenticate.
	if rt.link {
		rt.query = append(rt.query, "token")
	}

	// If huma knew of this body, it would read all of it before the handler runs.
	if rt.list != "" {
		op.RequestBody = s.listBody(rt)
	}
	if op.RequestBody == nil {
		return
	}

	rt.bodyRequired = op.RequestBody.Required
	registry := s.api.OpenAPI().Components.Schemas
	schema := op.RequestBody.Content["application/json"].Schema
	requireParcelOrParcels(registry, schema)
	requireAddressOrLocation(registry)
	rt.body = shapeOf(registry, schema, s.propertyOrder)
}

// requireParcelOrParcels asks for exactly one of parcel and parcels, where a
// body has both.
func requireParcelOrParcels(registry huma.Registry, schema *huma.Schema) {
	if schema.Ref != "" {
		schema = registry.SchemaFromRef(schema.Ref)
	}
	if schema.Properties["parcel"] != nil && schema.Properties["parcels"] != nil {
		schema.OneOf = []*huma.Schema{{Required: []string{"parcel"}}, {Required: []string{"parcels"}}}
	}
}

// requireAddressOrLocation asks of an origin for a location alone, or for what
// every address needs.
func requireAddressOrLocation(registry huma.Registry) {
	schema := registry.Map()["OriginInput"]
	if schema == nil {
		return
	}
	alone := 1
	schema.OneOf = []*huma.Schema{
		{Required: []string{"name", "address1", "city", "country"}},
		{Required: []string{"locationId"}, MaxProperties: &alone},
	}
}

// operationOf returns the route's entry in the document.
func (s *server) operationOf(rt *route) *huma.Operation {
	item := s.api.OpenAPI().Paths[rt.path]
	switch rt.method {
	case http.MethodPost:
		return item.Post
	case http.MethodPut:
		return item.Put
	case http.MethodPatch:
		return item.Patch
	case http.MethodDelete:
		return item.Delete
	}
	return item.Get
}

// propertyOrder lists the properties of a schema as its type declares them:
// huma keeps them in a map.
func (s *server) propertyOrder(schema *huma.Schema) []string {
	registry := s.api.OpenAPI().Components.Schemas
	for name, known := range registry.Map() {
		if known == schema {
			return jsonNames(registry.TypeFromRef("#/components/schemas/" + name))
		}
	}
	return nil
}

// jsonNames lists the members of a struct in the order of its fields.
func jsonNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// transformError turns huma's own errors, which are about parameters, into
// problems of the service. Values of the request are not repeated.
func transformError(ctx huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}

	var invalid []ship.FieldError
	for _, detail := range model.Errors {
		_, name, _ := strings.Cut(detail.Location, ".")
		invalid = append(invalid, parameterError(ctx.Operation(), name, detail))
	}

	err := ship.InvalidFields(invalid)
	if err == nil || model.Status >= http.StatusInternalServerError {
		err = ship.Errorf(ship.Internal, "huma: %d %s", model.Status, model.Detail)
	}
	return httpkit.From(ctx.Context()).Problem(err), nil
}

// parameterError translates huma's error about a parameter, and adds the bounds
// or the values that are allowed.
func parameterError(op *huma.Operation, name string, detail *huma.ErrorDetail) ship.FieldError {
	name, _, isItem := strings.Cut(name, "[") // huma says which one of a list
	out := ship.FieldError{Pointer: httpkit.ParameterPrefix + name}
	out.Code, out.Detail = parameterCode(detail.Message)

	schema := &huma.Schema{}
	for _, parameter := range op.Parameters {
		if parameter.Name == name && parameter.Schema != nil {
			schema = parameter.Schema
		}
	}
	if isItem && schema.Items != nil {
		schema = schema.Items
	}

	switch out.Code {
	case "too_small", "too_large":
		out.Detail = "must be " + bounds(schema)

	case "wrong_type":
		out.Detail = "must be a whole number"
		if schema.Minimum != nil {
			out.Detail += ", " + bounds(schema)
		}

	case "too_short", "too_long":
		out.Detail = "must have " + strconv.Itoa(valueOr(schema.MinLength, 0)) + " to " + strconv.Itoa(valueOr(schema.MaxLength, 0)) + " characters"

	case "not_allowed":
		allowed := make([]string, len(schema.Enum))
		for i, v := range schema.Enum {
			allowed[i] = textOf(v)
		}
		given, _ := detail.Value.(string)
		out.Detail = "must be one of " + strings.Join(allowed, ", ")
		out.Suggestion = ship.Nearest(given, allowed)

	case "invalid_format":
		if schema.Pattern != "" {
			out.Detail = cmp.Or(patternDetails[schema.Pattern], "must match "+schema.Pattern)
		}
	}
	return out
}

// bounds states the least and the largest number that a schema allows.
func bounds(schema *huma.Schema) string {
	switch {
	case schema.Minimum != nil && schema.Maximum != nil:
		return "from " + textOf(*schema.Minimum) + " to " + textOf(*schema.Maximum)
	case schema.Minimum != nil:
		return "at least " + textOf(*schema.Minimum)
	case schema.Maximum != nil:
		return "at most " + textOf(*schema.Maximum)
	}
	return "a number"
}

// parameterCode returns the code and the words for a message of huma, which has
// no codes of its own.
func parameterCode(message string) (code, detail string) {
	for _, known := range []struct{ prefix, code, detail string }{
		{"required ", "required", "this parameter is required"},
		{"invalid integer", "wrong_type", "must be a whole number"},
		{"invalid date/time", "invalid_format", "must be a time, such as 2026-03-31T12:00:00Z"},
		{"expected length >=", "too_short", "is too short"},
		{"expected length <=", "too_long", "is too long"},
		{"expected number >=", "too_small", "is too small"},
		{"expected number <=", "too_large", "is too large"},
		{"expected string to match pattern", "invalid_format", "does not have the expected format"},
		{"expected array length <=", "too_many", "has too many items"},
		{"expected value to be one of", "not_allowed", "is not one of the allowed values"},
	} {
		if strings.HasPrefix(message, known.prefix) {
			return known.code, known.detail
		}
	}
	return "invalid", "is not valid"
}
