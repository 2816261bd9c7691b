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

// setHuma sets what huma keeps in package variables: lists are never null.
var setHuma = sync.OnceFunc(func() { huma.DefaultArrayNullable = false })

// newServer registers all routes.
func newServer(c Config) *server {
	setHuma()
	s := &server{
		Config:  c,
		limiter: httpkit.NewLimiter(c.Limits.RequestsPerSec, c.Limits.Burst),
		routes:  make(map[string]*route),
		mux:     http.NewServeMux(),
	}
	s.api = humago.New(guardedMux{s}, s.humaConfig())
	for _, rt := range s.table() {
		s.order = append(s.order, rt)
		s.routes[rt.method+" "+rt.path] = rt
		rt.handler(s.api, s.operation(rt))
		s.finish(rt)
	}
	s.open("POST /in/{connection}/{token}", s.receivePush)
	s.open("GET /healthz", s.healthz)
	s.open("GET /readyz", s.readyz)
	s.open("GET /openapi.yaml", s.serveDocument)
	s.open("GET /openapi.json", s.serveGeneratorDocument)
	s.open("GET /docs", s.serveDocs)
	s.open("GET /docs/errors", s.serveDocs)
	s.mux.HandleFunc("/", s.otherwise)
	return s
}

// humaConfig leaves everything out that huma serves by itself.
func (s *server) humaConfig() huma.Config {
	config := huma.DefaultConfig("Waybill", "1.0.0")
	config.CreateHooks = nil
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.Transformers = []huma.Transformer{shownProblem}
	// Every error is shown as httpkit shows it.
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[httpkit.Problem]())
	return config
}

// guardedMux puts the guard before each handler that huma registers.
type guardedMux struct{ *server }

// HandleFunc registers a guarded handler.
func (m guardedMux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.mux.HandleFunc(pattern, m.guard(pattern, h))
}

// ServeHTTP is asked for by huma and never used.
func (m guardedMux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// open registers a handler that needs no key.
func (s *server) open(pattern string, h http.HandlerFunc) {
	_, path, _ := strings.Cut(pattern, " ")
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		httpkit.From(r.Context()).Route = path
		h(w, r)
	})
}

// finish prepares what the guard needs of a registered route.
func (s *server) finish(rt *route) {
	reg := s.api.OpenAPI().Components.Schemas
	op := s.operationOf(rt)
	for _, p := range op.Parameters {
		if p.In == "query" {
			rt.query = append(rt.query, p.Name)
		}
	}
	if rt.link {
		rt.query = append(rt.query, "token")
	}
	if op.RequestBody == nil {
		return
	}
	rt.bodyRequired = op.RequestBody.Required
	schema := op.RequestBody.Content["application/json"].Schema
	oneParcel(reg, schema)
	rt.body = shapeOf(reg, schema, s.propertyOrder)
}

// oneParcel asks for exactly one of parcel and parcels, where a body has both.
func oneParcel(reg huma.Registry, s *huma.Schema) {
	if s.Ref != "" {
		s = reg.SchemaFromRef(s.Ref)
	}
	if s.Properties["parcel"] != nil && s.Properties["parcels"] != nil {
		s.OneOf = []*huma.Schema{{Required: []string{"parcel"}}, {Required: []string{"parcels"}}}
	}
}

// operationOf is the route's entry in the document.
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
	reg := s.api.OpenAPI().Components.Schemas
	for name, known := range reg.Map() {
		if known == schema {
			return jsonNames(reg.TypeFromRef("#/components/schemas/" + name))
		}
	}
	return nil
}

// jsonNames lists the members of a struct in the order of its fields.
func jsonNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// shownProblem turns huma's own errors, which are about parameters, into the
// service's: values are not repeated.
func shownProblem(ctx huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	var wrong []ship.FieldError
	for _, detail := range model.Errors {
		_, name, _ := strings.Cut(detail.Location, ".")
		wrong = append(wrong, parameterError(ctx.Operation(), name, detail))
	}
	err := ship.InvalidFields(wrong)
	if err == nil || model.Status >= http.StatusInternalServerError {
		err = ship.Errorf(ship.Internal, "huma: %d %s", model.Status, model.Detail)
	}
	return httpkit.From(ctx.Context()).Problem(err), nil
}

// parameterError is huma's complaint about a parameter with the bounds or the
// values that are allowed.
func parameterError(op *huma.Operation, name string, detail *huma.ErrorDetail) ship.FieldError {
	out := ship.FieldError{Pointer: httpkit.ParameterPrefix + name}
	out.Code, out.Detail = parameterCode(detail.Message)

	schema := &huma.Schema{}
	for _, p := range op.Parameters {
		if p.Name == name && p.Schema != nil {
			schema = p.Schema
		}
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

// bounds are the least and the largest number that a schema allows, in words.
func bounds(s *huma.Schema) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return "from " + textOf(*s.Minimum) + " to " + textOf(*s.Maximum)
	case s.Minimum != nil:
		return "at least " + textOf(*s.Minimum)
	case s.Maximum != nil:
		return "at most " + textOf(*s.Maximum)
	}
	return "a number"
}

// parameterCode names what huma's message says.
func parameterCode(message string) (code, detail string) {
	for _, m := range []struct{ prefix, code, detail string }{
		{"required ", "required", "this parameter is required"},
		{"invalid integer", "wrong_type", "must be a whole number"},
		{"invalid date/time", "invalid_format", "must be a time, as 2026-03-31T12:00:00Z"},
		{"expected length >=", "too_short", "is too short"},
		{"expected length <=", "too_long", "is too long"},
		{"expected number >=", "too_small", "is too small"},
		{"expected number <=", "too_large", "is too large"},
		{"expected string to match pattern", "invalid_format", "is not written as it must be"},
		{"expected array length <=", "too_many", "has too many items"},
		{"expected value to be one of", "not_allowed", "is not one of those listed"},
	} {
		if strings.HasPrefix(message, m.prefix) {
			return m.code, m.detail
		}
	}
	return "invalid", "is wrong"
}
