package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/wire"
)

// operation describes one operation of the document for the reference page.
func (d *document) operation(base, method, path string, op *object) httpkit.ReferenceOperation {
	rt := d.routeOf(method, path)
	out := httpkit.ReferenceOperation{
		ID:      op.text("operationId"),
		Method:  method,
		Path:    path,
		Summary: op.text("summary"),
		About:   op.text("description"),
		Scope:   op.text("x-scope"),
	}

	for _, p := range op.list("parameters") {
		parameter := d.resolve(p.(*object))
		field := d.field(parameter.text("name"), parameter.child("schema"), parameter.get("required") == true)
		field.About = parameter.text("description")
		field.Type += " in " + parameter.text("in")
		out.Parameters = append(out.Parameters, field)
	}

	var example *object
	if body := op.child("requestBody"); body != nil {
		media := body.child("content", "application/json")
		out.Body = d.fields(media.child("schema"))
		out.BodyRequired = body.get("required") == true
		example, _ = media.get("example").(*object)
	}
	out.Curl = curl(base, method, path, rt.purchase, example)
	out.Samples = d.samples(base, method, path, op, example)

	for _, m := range op.child("responses").members {
		if status, _ := strconv.Atoi(m.name); status < http.StatusBadRequest {
			out.Answers = append(out.Answers, d.answer(status, m.value.(*object)))
		}
	}
	slices.SortStableFunc(out.Answers, func(a, b httpkit.ReferenceAnswer) int { return rank(a) - rank(b) })

	// The codes come from the route: the document has them only as text.
	failures := rt.errors()
	for _, status := range slices.Sorted(maps.Keys(failures)) {
		out.Errors = append(out.Errors, httpkit.ReferenceFailure{Status: status, Codes: failures[status]})
	}
	return out
}

// rank orders the answers of an operation: 201 first, as the usual one, then by
// status.
func rank(answer httpkit.ReferenceAnswer) int {
	if answer.Status == http.StatusCreated {
		return 0
	}
	return answer.Status
}

func (d *document) answer(status int, response *object) httpkit.ReferenceAnswer {
	out := httpkit.ReferenceAnswer{Status: status, About: response.text("description")}
	content := response.child("content")
	if content == nil {
		return out
	}

	out.Kind = content.members[0].name
	media := content.child(out.Kind)
	if schema := media.child("schema"); schema != nil {
		out.Fields = d.fields(schema)
	}
	if example := media.get("example"); example != nil {
		out.Example = indentJSON(example)
	}
	return out
}

// resolve follows a reference.
func (d *document) resolve(schema *object) *object {
	if ref := schema.text("$ref"); ref != "" {
		return d.root.child(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}

	// A reference that may be null is written as a choice of two.
	for _, choice := range schema.list("anyOf") {
		if choice := choice.(*object); choice.text("$ref") != "" {
			return d.resolve(choice)
		}
	}
	return schema
}

// fields lists the properties of an object's schema.
func (d *document) fields(schema *object) []httpkit.ReferenceField {
	schema = d.resolve(schema)
	properties := schema.child("properties")
	if properties == nil {
		return nil
	}

	required := schema.list("required")
	either, alternative := choicesOf(schema)

	var out []httpkit.ReferenceField
	for _, m := range properties.members {
		field := d.field(m.name, m.value.(*object), slices.Contains(required, any(m.name)))
		if slices.Contains(alternative, m.name) {
			field.Rules = strings.Trim("required unless "+either[0]+" is given, "+field.Rules, ", ")
		} else if slices.Contains(either, m.name) && len(either) > 1 {
			field.Rules = strings.Trim("exactly one of "+strings.Join(either, " and ")+" is required, "+field.Rules, ", ")
		}
		out = append(out, field)
	}
	return out
}

// choicesOf returns the members of which a schema needs exactly one. Where one
// member stands for several, it alone is the first, and these are the second.
func choicesOf(schema *object) (either, alternative []string) {
	for _, choice := range schema.list("oneOf") {
		required := choice.(*object).list("required")
		for _, name := range required {
			if len(required) > 1 {
				alternative = append(alternative, name.(string))
			} else {
				either = append(either, name.(string))
			}
		}
	}
	return either, alternative
}

func (d *document) field(name string, schema *object, required bool) httpkit.ReferenceField {
	// The description stands beside a reference, not behind it.
	field := httpkit.ReferenceField{Name: name, Required: required, About: schema.text("description")}

	resolved := d.resolve(schema)
	field.Type = kindOf(resolved)
	field.Rules = constraints(resolved)
	if field.Type == "array" {
		items := d.resolve(resolved.child("items"))
		field.Type = "list of " + kindOf(items) + "s"
		field.Fields = d.fields(items)
		field.Rules = strings.Trim(field.Rules+", "+constraints(items), ", ")
		return field
	}

	field.Fields = d.fields(resolved)
	return field
}

// kindOf is the type of a schema without its null.
func kindOf(schema *object) string {
	kind := schema.get("type")
	if list, ok := kind.([]any); ok {
		kind = list[0]
	}
	return fmt.Sprint(kind)
}

// constraints puts the limits of a schema into words.
func constraints(schema *object) string {
	var out []string
	add := func(name, format string) {
		if v := schema.get(name); v != nil {
			out = append(out, fmt.Sprintf(format, v))
		}
	}

	var enum []string
	for _, v := range schema.list("enum") {
		if v != nil {
			enum = append(enum, fmt.Sprint(v))
		}
	}
	if enum != nil {
		out = append(out, "one of "+strings.Join(enum, ", "))
	}

	add("exclusiveMinimum", "more than %v")
	add("minimum", "at least %v")
	add("maximum", "at most %v")
	add("maxLength", "at most %v characters")
	add("maxItems", "at most %v items")
	add("maxProperties", "at most %v members")
	if format := schema.text("format"); format == "date" || format == "date-time" {
		out = append(out, format)
	}
	add("default", "default %v")
	return strings.Join(out, ", ")
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// examplePath fills the parameters of a path with examples.
func examplePath(path string) string {
	return pathParameter.ReplaceAllStringFunc(path, func(name string) string {
		return exampleOf(path, strings.Trim(name, "{}"))
	})
}

// exampleOf returns an example of a parameter of a path.
func exampleOf(path, name string) string {
	switch name {
	case "trackingNumber":
		return exampleNumber
	case "version":
		return "3"
	case "name":
		return "ups-2026"
	case "number":
		return "1"
	}

	// {id} is the id of a shipment except under these paths.
	switch {
	case strings.HasPrefix(path, "/v1/trackers/"):
		return string(exampleTracker)
	case strings.HasPrefix(path, "/v1/batches/"):
		return string(exampleBatch)
	case strings.HasPrefix(path, "/v1/webhooks/"):
		return string(exampleEndpoint)
	}
	return string(exampleShipment)
}

// curl renders the operation as a command line.
func curl(base, method, path string, keyed bool, body *object) string {
	path = examplePath(path)
	lines := []string{"curl " + base + path, `-H "Authorization: Bearer $WAYBILL_KEY"`}
	if method != http.MethodGet {
		lines[0] = "curl -X " + method + " " + base + path
	}
	if strings.HasPrefix(path, "/v1/labels/") {
		lines = append(lines, "-o label"+path[strings.LastIndexByte(path, '.'):])
	}
	if keyed {
		lines = append(lines, `-H "Idempotency-Key: order-1001-label-1"`)
	}
	if body != nil {
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+indentJSON(body)+"'")
	}
	return strings.Join(lines, " \\\n  ")
}

// indentJSON renders a value as indented JSON.
func indentJSON(v any) string {
	text, err := wire.Marshal(v)
	if err != nil {
		return ""
	}

	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return ""
	}
	return out.String()
}

// highlightJSON marks the names and values of indented JSON for the page's
// style. The indented form has one name or value a line.
func highlightJSON(text string) template.HTML {
	var out strings.Builder
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, `": `)
		if ok {
			out.WriteString(`<span class="k">` + template.HTMLEscapeString(name+`"`) + `</span>: `)
		} else {
			rest = line
		}

		class := "n"
		if strings.HasPrefix(strings.TrimSpace(rest), `"`) {
			class = "s"
		}
		out.WriteString(`<span class="` + class + `">` + template.HTMLEscapeString(rest) + `</span>`)
	}
	return template.HTML(out.String()) // every part is escaped above
}
