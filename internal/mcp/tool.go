package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/httpkit"
)

// A tool is one operation that a model may call.
type tool struct {
	name, title string
	about       string
	scopes      []string // that the key needs, all of them; a key without them is not shown the tool
	hints       hints
	input       *schema
	output      *schema
	run         func(context.Context, *call, json.RawMessage) (outcome, error)
}

// hints say what a tool does, for clients that ask a person first. They enforce
// nothing.
type hints struct {
	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool // a carrier is asked
}

// The kinds of tools.
var (
	readsOnly    = hints{ReadOnly: true, Idempotent: true}
	asksCarriers = hints{ReadOnly: true, Idempotent: true, OpenWorld: true}
	prepares     = hints{ReadOnly: true, Idempotent: true, OpenWorld: true} // nothing is changed or stored
	adds         = hints{Idempotent: true, OpenWorld: true}
	spends       = hints{Destructive: true, Idempotent: true, OpenWorld: true}
)

// An outcome is the answer of a tool.
type outcome struct {
	value any
	links []sdk.Content
}

// newTool makes a tool of a function. Its schemas follow from the types.
func newTool[In, Out any](name, title, about string, kind hints, run func(context.Context, *call, In) (Out, error), scopes ...string) *tool {
	input := newSchema(reflect.TypeFor[In]())
	return &tool{
		name:   name,
		title:  title,
		about:  about,
		scopes: scopes,
		hints:  kind,
		input:  input,
		output: newSchema(reflect.TypeFor[Out]()),
		run: func(ctx context.Context, c *call, arguments json.RawMessage) (outcome, error) {
			var in In
			if err := input.decode(arguments, &in); err != nil {
				return outcome{}, err
			}
			out, err := run(ctx, c, in)
			if err != nil {
				return outcome{}, err
			}

			result := outcome{value: out}
			if linked, ok := any(out).(interface{ links() []sdk.Content }); ok {
				result.links = linked.links()
			}
			return result, nil
		},
	}
}

// shown returns the tool as clients see it.
func (t *tool) shown() *sdk.Tool {
	return &sdk.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  t.about,
		InputSchema:  t.input.root,
		OutputSchema: t.output.root,
		Annotations: &sdk.ToolAnnotations{
			Title:           t.title,
			ReadOnlyHint:    t.hints.ReadOnly,
			DestructiveHint: &t.hints.Destructive,
			IdempotentHint:  t.hints.Idempotent,
			OpenWorldHint:   &t.hints.OpenWorld,
		},
	}
}

// may reports whether the caller's key has all of the scopes.
func (c *call) may(scopes []string) bool {
	for _, scope := range scopes {
		if !c.caller.Can(scope) {
			return false
		}
	}
	return true
}

// listTools returns the tools that the key can use, always in the same order.
func (c *call) listTools() []*sdk.Tool {
	list := make([]*sdk.Tool, 0, len(c.tools))
	for _, t := range c.tools {
		if c.may(t.scopes) {
			list = append(list, t.shown())
		}
	}
	return list
}

// callTool runs a tool. What it could not do is an answer too, marked as an error,
// which the model reads.
func (c *call) callTool(t *tool, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	done, err := t.run(c.request.Context(), c, arguments)
	if err != nil {
		text, _ := json.Marshal(c.explain(err)) // strings always encode
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}, IsError: true}, nil
	}

	text, err := json.Marshal(done.value)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer could not be encoded"}
	}
	return &sdk.CallToolResult{
		Content:           append([]sdk.Content{&sdk.TextContent{Text: string(text)}}, done.links...),
		StructuredContent: json.RawMessage(text),
	}, nil
}

// A toolError is why a tool did nothing, and what to do next.
type toolError struct {
	Code      string       `json:"code"`
	Message   string       `json:"message"`
	Fields    []fieldError `json:"fields,omitempty"`
	Next      string       `json:"next,omitempty"`
	Retryable bool         `json:"retryable"`
	RequestID string       `json:"requestId,omitempty"`
	Carrier   string       `json:"carrier,omitempty"`
	Outside   *outside     `json:"untrusted,omitempty"`
}

type fieldError struct {
	Field      string `json:"field"`
	Detail     string `json:"detail"`
	Suggestion string `json:"suggestion,omitempty"`
}

func (e *toolError) Error() string { return e.Code + ": " + e.Message }

func refused(code, next, format string, args ...any) *toolError {
	return &toolError{Code: code, Next: next, Message: fmt.Sprintf(format, args...)}
}

// explain returns an error as the model reads it. What a carrier wrote is marked.
func (c *call) explain(err error) *toolError {
	if own, ok := errors.AsType[*toolError](err); ok {
		return own
	}
	answered, ok := errors.AsType[*client.Error](err)
	if !ok {
		c.Log.Error("tool failed", "request", httpkit.From(c.request.Context()).ID, "error", err.Error())
		return refused("internal_error", "Report the request id to a person.", "an unexpected error occurred and was logged")
	}

	out := &toolError{
		Code:      answered.Code,
		Message:   clean(answered.Detail, maxLine*2),
		Retryable: answered.Retryable,
		RequestID: answered.RequestID,
		Carrier:   answered.Carrier,
		Next:      nextSteps[answered.Code],
	}
	var text outside
	if answered.Source == "carrier" {
		// The detail repeats what the carrier wrote.
		out.Message = "the carrier did not accept this; its own words are in untrusted"
		text.add(answered.Detail)
	}
	text.add(answered.CarrierMessage)
	for _, field := range answered.Errors {
		if field.Carrier != "" {
			text.add(field.Pointer + ": " + field.Detail)
			continue
		}
		out.Fields = append(out.Fields, fieldError{field.Pointer + field.Parameter, clean(field.Detail, maxLine), clean(field.Suggestion, maxField)})
	}
	out.Outside = text.shown()
	return out
}

// nextSteps say what a model should do about an error of the API.
var nextSteps = map[string]string{
	"duplicate_order":         "The order has a label already. Find it with find_shipments; do not buy another.",
	"price_changed":           "Nothing was bought. Quote again and show the new price.",
	"no_rate":                 "Nothing was bought. Quote again and show the new price.",
	"spend_limit_reached":     "Nothing was bought. Tell the person; do not try another way.",
	"purchase_limit_exceeded": "Nothing was bought. Choose a cheaper offer, or tell the person.",
	"country_not_allowed":     "Nothing was bought. Tell the person; do not try another way.",
	"insufficient_scope":      "The key may not do this. Tell the person; do not try another way.",
	"idempotency_in_progress": "The same purchase is under way. Call this tool again with the same token.",
	"outcome_unknown":         "It may have been done. Ask get_shipment; do not buy again.",
	"restore_pending":         "Nothing was bought now. Wait, then call this tool again with the same token; an operator may have to decide first.",
	"rate_limited":            "Wait before the next call.",
	"return_exists":           "The shipment has a return already; do not buy another.",
}

// A schema is a JSON Schema of a type, and what validates it.
type schema struct {
	root     *huma.Schema
	registry huma.Registry
}

// newSchema returns the schema of a type, without references: some clients do not
// follow them.
func newSchema(t reflect.Type) *schema {
	// Types of several packages have the same name.
	namer := func(t reflect.Type, hint string) string {
		if t.Name() == "" {
			return hint
		}
		return t.String()
	}
	registry := huma.NewMapRegistry("#/$defs/", namer)
	root := registry.Schema(t, false, t.Name())
	return &schema{inline(registry, root), registry}
}

func inline(registry huma.Registry, in *huma.Schema) *huma.Schema {
	if in == nil {
		return nil
	}
	if in.Ref != "" {
		about := in.Description
		in = registry.SchemaFromRef(in.Ref)
		copied := *in
		if about != "" {
			copied.Description = about
		}
		in = &copied
	}

	out := *in
	out.Items = inline(registry, in.Items)
	if in.Properties != nil {
		out.Properties = make(map[string]*huma.Schema, len(in.Properties))
		for name, property := range in.Properties {
			out.Properties[name] = inline(registry, property)
		}
	}
	if further, ok := in.AdditionalProperties.(*huma.Schema); ok {
		out.AdditionalProperties = inline(registry, further)
	}

	out.Nullable = out.Nullable && out.Type != huma.TypeArray // lists are never null here
	out.PrecomputeMessages()
	return &out
}

// decode validates arguments and reads them.
func (s *schema) decode(arguments json.RawMessage, into any) error {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	var value any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return refused("invalid_arguments", "", "the arguments are not JSON")
	}

	var found huma.ValidateResult
	huma.Validate(s.registry, s.root, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, value, &found)
	if len(found.Errors) == 0 {
		if err := json.Unmarshal(arguments, into); err == nil {
			return nil
		}
	}

	wrong := refused("invalid_arguments", "Correct the arguments as the schema of the tool says.", "the arguments do not fit the tool")
	for _, err := range found.Errors {
		if detail, ok := errors.AsType[*huma.ErrorDetail](err); ok {
			wrong.Fields = append(wrong.Fields, fieldError{Field: "/" + strings.ReplaceAll(detail.Location, ".", "/"), Detail: detail.Message})
		}
	}
	return wrong
}
