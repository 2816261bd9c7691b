package api

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waybillhq/waybill/internal/httpkit"
)

// operation describes a route to huma: what it can answer comes from the
// table, the parameters and the body from the handler's input.
func (s *server) operation(rt *route) huma.Operation {
	op := huma.Operation{
		OperationID:   rt.id,
		Method:        rt.method,
		Path:          rt.path,
		Tags:          []string{rt.tag},
		Summary:       rt.summary,
		Description:   abouts[rt.id],
		DefaultStatus: rt.outcomes[0].status,
		Responses:     make(map[string]*huma.Response),
		Extensions:    map[string]any{},

		// The guard has read and checked the body before huma sees it.
		SkipValidateBody: true,
		MaxBodyBytes:     -1,
		BodyReadTimeout:  -1,
	}

	if rt.scope != "" {
		op.Extensions["x-scope"] = rt.scope
	}
	if rt.link {
		op.Security = []map[string][]string{{"apiKey": {}}, {"labelLink": {}}}
	}
	if rt.method == http.MethodPost {
		op.Parameters = append(op.Parameters, &huma.Param{Ref: "#/components/parameters/" + httpkit.IdempotencyHeader})
	}
	if example := requestExamples[rt.id]; example != nil && rt.list == "" {
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Example: example}}}
	}

	for _, outcome := range rt.outcomes {
		op.Responses[strconv.Itoa(outcome.status)] = s.response(rt, outcome)
	}
	for status, codes := range rt.errors() {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Ref:         "#/components/responses/" + responseName(status),
			Description: "`" + strings.Join(codes, "`, `") + "`",
		}
	}
	return op
}

// listBody describes a body that the handler reads as a stream, in both of its
// forms. There is one such route.
func (s *server) listBody(rt *route) *huma.RequestBody {
	schemas := s.api.OpenAPI().Components.Schemas
	return &huma.RequestBody{
		Required: true,
		Content: map[string]*huma.MediaType{
			"application/json": {
				Schema:  schemas.Schema(reflect.TypeFor[batchInput](), true, ""),
				Example: requestExamples[rt.id],
			},
			httpkit.NDJSON: {
				Schema: &huma.Schema{Type: huma.TypeString, Description: "One shipment a line, each as in POST /v1/shipments."},
			},
		},
	}
}

// response describes an answer that is not an error.
func (s *server) response(rt *route, outcome outcome) *huma.Response {
	names := append([]string{"Request-Id", "RateLimit", "RateLimit-Policy"}, outcome.headers...)
	if rt.mayBeStale() {
		names = append(names, "Data-As-Of")
	}
	out := &huma.Response{Description: outcome.about, Headers: headersOf(names)}

	if outcome.body != nil {
		out.Content = map[string]*huma.MediaType{"application/json": {
			Schema:  s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(outcome.body), true, ""),
			Example: responseExample(rt.id, outcome.status),
		}}
	}
	if outcome.linked {
		out.Links = shipmentLinks()
	}
	return out
}

func headersOf(names []string) map[string]*huma.Param {
	out := make(map[string]*huma.Param, len(names))
	for _, name := range names {
		out[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
	return out
}

// shipmentLinks lead from a new shipment to what can be done with it.
func shipmentLinks() map[string]*huma.Link {
	to := func(operation, parameter string) *huma.Link {
		return &huma.Link{OperationID: operation, Parameters: map[string]any{parameter: "$response.body#/id"}}
	}

	return map[string]*huma.Link{
		"get":       to("getShipment", "id"),
		"void":      to("voidShipment", "id"),
		"label":     to("makeLabel", "id"),
		"labelLink": to("linkLabel", "id"),
		"pdf":       to("getLabelPdf", "shipment_id"),
		"zpl":       to("getLabelZpl", "shipment_id"),
		"png":       to("getLabelPng", "shipment_id"),
		"headPdf":   to("headLabelPdf", "shipment_id"),
		"headZpl":   to("headLabelZpl", "shipment_id"),
		"headPng":   to("headLabelPng", "shipment_id"),
		"track":     to("track", "trackingNumber"),
		"advance":   to("advanceShipment", "id"),
	}
}

// errors returns the codes that the route can answer with, by status: its own
// and those of every route of its kind.
func (rt *route) errors() map[int][]string {
	names := []string{"invalid_api_key", "ip_not_allowed", "validation_failed", "rate_limited", "internal_error", "service_unavailable", "timeout"}
	if rt.sandbox {
		names = append(names, "test_key_required")
	} else {
		names = append(names, "insufficient_scope")
	}
	if hasBody(rt.method) {
		names = append(names, "malformed_json", "body_too_large", "unsupported_media_type")
	}
	if rt.method == http.MethodPost {
		names = append(names, "idempotency_key_reused", "idempotency_in_progress")
	}

	out := make(map[int][]string)
	for _, name := range append(names, rt.codes...) {
		code, ok := httpkit.CodeNamed(name)
		if !ok {
			panic(fmt.Sprintf("api: %s answers with the code %s, which is not listed", rt.id, name))
		}
		out[code.Status] = append(out[code.Status], name)
	}
	return out
}

// responseName is the name of the shared description of an error.
func responseName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

// addComponents adds what operations share to the document.
func (s *server) addComponents() {
	doc := s.api.OpenAPI()
	doc.Security = []map[string][]string{{"apiKey": {}}}

	components := doc.Components
	components.Headers = make(map[string]*huma.Param, len(headers))
	for name, about := range headers {
		components.Headers[name] = &huma.Param{Description: about, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	components.Headers["Retry-After"].Schema = &huma.Schema{Type: huma.TypeInteger}

	components.Parameters = map[string]*huma.Param{httpkit.IdempotencyHeader: {
		Name:        httpkit.IdempotencyHeader,
		In:          "header",
		Example:     "order-1001-label-1",
		Description: "Makes the request safe to retry: repeating it with the same key and body returns the original response and does not perform the operation again.",
		Schema: &huma.Schema{
			Type:      huma.TypeString,
			MinLength: new(1),
			MaxLength: new(255),
			Pattern:   "^[!-~]([ -~]*[!-~])?$",
		},
	}}
	components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"apiKey": {Type: "http", Scheme: "bearer", Description: "An API key: sk_live_... or sk_test_..."},
		"labelLink": {
			Type:        "apiKey",
			In:          "query",
			Name:        "token",
			Description: "Token of a signed link to one label.",
		},
	}
	components.Responses = s.errorResponses()
}

// errorResponses describe each status that errors have, with an example.
func (s *server) errorResponses() map[string]*huma.Response {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[httpkit.Problem](), true, "")
	out := make(map[string]*huma.Response)
	for _, code := range httpkit.Codes {
		// The first code of a status is its example. No operation lists 405,
		// which is the answer to a method that has no operation.
		name := responseName(code.Status)
		if out[name] != nil || code.Status == http.StatusMethodNotAllowed {
			continue
		}

		names := []string{"Request-Id"}
		switch code.Status {
		case http.StatusUnauthorized:
			names = append(names, "WWW-Authenticate")
		case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusConflict:
			names = append(names, "Retry-After")
		}

		out[name] = &huma.Response{
			Description: code.Title + ".",
			Headers:     headersOf(names),
			Content:     map[string]*huma.MediaType{httpkit.ProblemType: {Schema: schema, Example: problemExample(code)}},
		}
	}
	return out
}
