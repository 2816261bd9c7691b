package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/wire"
)

// docsOperation is one operation on the reference page.
type docsOperation struct {
	ID, Method, Path, Summary, About, Scope string
	Parameters                              []docsField
	Body                                    []docsField
	BodyRequired                            bool
	Curl                                    string
	Answers                                 []docsAnswer
	Errors                                  []docsFailure
}

type docsAnswer struct {
	Status  int
	About   string
	Kind    string
	Fields  []docsField
	Example string
}

type docsFailure struct {
	Status int
	Codes  []string
}

// docsField is a field or parameter; an object's own fields are below it.
type docsField struct {
	Name, Type, About, Rules string
	Required                 bool
	Fields                   []docsField
}

func (d *document) operation(base, method, path string, op *object) docsOperation {
	rt := d.find(method, path)
	out := docsOperation{
		ID: op.text("operationId"), Method: method, Path: path, Summary: op.text("summary"), About: op.text("description"), Scope: op.text("x-scope"),
	}
	for _, p := range op.list("parameters") {
		p := d.resolve(p.(*object))
		f := d.field(p.text("name"), p.at("schema"), p.get("required") == true)
		f.About, f.Type = p.text("description"), f.Type+" in "+p.text("in")
		out.Parameters = append(out.Parameters, f)
	}
	var body *object
	if b := op.at("requestBody"); b != nil {
		media := b.at("content", "application/json")
		out.Body, out.BodyRequired = d.fields(media.at("schema")), b.get("required") == true
		body, _ = media.get("example").(*object)
	}
	out.Curl = curl(base, method, path, rt.purchase, body)
	for _, m := range op.at("responses").members {
		if status, _ := strconv.Atoi(m.name); status < http.StatusBadRequest {
			out.Answers = append(out.Answers, d.answer(status, m.value.(*object)))
		}
	}
	slices.SortStableFunc(out.Answers, func(a, b docsAnswer) int { return rank(a) - rank(b) })
	failures := rt.errors()
	for _, status := range slices.Sorted(maps.Keys(failures)) {
		out.Errors = append(out.Errors, docsFailure{status, failures[status]})
	}
	return out
}

// rank puts the usual answer first.
func rank(a docsAnswer) int {
	if a.Status == http.StatusCreated {
		return 0
	}
	return a.Status
}

func (d *document) answer(status int, r *object) docsAnswer {
	out := docsAnswer{Status: status, About: r.text("description")}
	content := r.at("content")
	if content == nil {
		return out
	}
	out.Kind = content.members[0].name
	media := content.at(out.Kind)
	if schema := media.at("schema"); schema != nil {
		out.Fields = d.fields(schema)
	}
	if example := media.get("example"); example != nil {
		out.Example = pretty(example)
	}
	return out
}

// resolve follows a reference.
func (d *document) resolve(o *object) *object {
	if ref := o.text("$ref"); ref != "" {
		return d.root.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	for _, one := range o.list("anyOf") { // a nullable reference
		if one := one.(*object); one.text("$ref") != "" {
			return d.resolve(one)
		}
	}
	return o
}

// fields lists the properties of an object's schema.
func (d *document) fields(schema *object) []docsField {
	schema = d.resolve(schema)
	properties := schema.at("properties")
	if properties == nil {
		return nil
	}
	required := schema.list("required")
	var either []string
	for _, one := range schema.list("oneOf") {
		either = append(either, fmt.Sprint(one.(*object).list("required")...))
	}
	var out []docsField
	for _, m := range properties.members {
		f := d.field(m.name, m.value.(*object), slices.Contains(required, any(m.name)))
		if slices.Contains(either, m.name) {
			f.Rules = strings.Trim("exactly one of "+strings.Join(either, " and ")+" is required, "+f.Rules, ", ")
		}
		out = append(out, f)
	}
	return out
}

func (d *document) field(name string, schema *object, required bool) docsField {
	f := docsField{Name: name, Required: required, About: schema.text("description")}
	whole := d.resolve(schema)
	f.Type = kindOf(whole)
	f.Rules = rules(whole)
	if f.Type == "array" {
		items := d.resolve(whole.at("items"))
		f.Type, f.Fields = "list of "+kindOf(items)+"s", d.fields(items)
		f.Rules = strings.Trim(f.Rules+", "+rules(items), ", ")
		return f
	}
	f.Fields = d.fields(whole)
	return f
}

// kindOf is the type of a schema without its null.
func kindOf(schema *object) string {
	kind := schema.get("type")
	if list, ok := kind.([]any); ok {
		kind = list[0]
	}
	return fmt.Sprint(kind)
}

// rules puts the limits of a schema into words.
func rules(schema *object) string {
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
	if f := schema.text("format"); f == "date" || f == "date-time" {
		out = append(out, f)
	}
	add("default", "default %v")
	return strings.Join(out, ", ")
}

// curl is the operation as a command line.
func curl(base, method, path string, keyed bool, body *object) string {
	path = strings.NewReplacer("{id}", string(exampleShipment), "{shipment_id}", string(exampleShipment), "{trackingNumber}", exampleNumber, "{version}", "3", "{name}", "ups-2026", "{number}", "1").Replace(path)
	if strings.HasPrefix(path, "/v1/trackers/") {
		path = "/v1/trackers/" + string(exampleTracker)
	}
	if strings.HasPrefix(path, "/v1/webhooks/") {
		path = strings.Replace(path, string(exampleShipment), string(exampleEndpoint), 1)
	}
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
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+pretty(body)+"'")
	}
	return strings.Join(lines, " \\\n  ")
}

// pretty is a value as indented JSON.
func pretty(v any) string {
	b, err := wire.Marshal(v)
	if err != nil {
		return ""
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return ""
	}
	return out.String()
}

// coloured marks the names and values of JSON text for the page's style.
func coloured(text string) template.HTML {
	var b strings.Builder
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, `": `)
		if !ok {
			name, rest = "", line
		}
		if ok {
			b.WriteString(`<span class="k">` + template.HTMLEscapeString(name+`"`) + `</span>: `)
		}
		class := "n"
		if strings.HasPrefix(strings.TrimSpace(rest), `"`) {
			class = "s"
		}
		b.WriteString(`<span class="` + class + `">` + template.HTMLEscapeString(rest) + `</span>`)
	}
	return template.HTML(b.String()) // every part is escaped above
}
