package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A document is what the libraries are generated from.
type document struct {
	schemas   []schema // by name
	resources []resource
	codes     []string // of errors, sorted
}

// A schema is a named type.
type schema struct {
	name    string
	node    *node
	isInput bool // it is part of a request
}

// A resource is the operations that a library offers together, such as
// client.shipments.
type resource struct {
	name       string // "rateSheets"
	about      string
	operations []operation
}

// An operation becomes a method.
type operation struct {
	id      string // "createShipment"
	method  string // "create"
	verb    string
	path    string
	summary string
	about   string

	pathParameters []parameter
	query          []parameter
	queryRequired  bool

	// body is the schema of a JSON body. A body of another kind is sent as bytes,
	// with one of the media types.
	body         *node
	mediaTypes   []string
	hasBody      bool
	bodyRequired bool

	result  *node // of a JSON answer; nil if there is none
	isFile  bool  // the answer is bytes
	isKeyed bool  // it has an idempotency key

	// A list goes on with the cursor of the page before: cursor is the parameter
	// and items the member with the elements. A list without a cursor has one page.
	isList bool
	cursor string
	items  string

	formats []string // the extensions of a file that comes in several formats
}

// A parameter is one of a path or a query.
type parameter struct {
	name     string
	about    string
	required bool
	schema   *node
}

// withoutEffect are POST operations that only compute or read, so they need no
// idempotency key. One that is missing here gets a key it does not need, which
// is harmless.
var withoutEffect = []string{
	"quoteRates", "estimateLandedCost", "validateAddress", "duplicateShipment", "createLabel", "createLabelLink",
	"tryRouting", "simulateRouting",
}

func read(text []byte) (*document, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	out := &document{}
	known := root.get("components").get("schemas")

	inputs := map[string]bool{}
	codes := map[string]bool{}
	for _, path := range root.get("paths").names {
		item := root.get("paths").get(path)
		for _, verb := range item.names {
			node := item.get(verb)
			collect(known, node.get("requestBody"), inputs)
			for _, status := range node.get("responses").names {
				if status >= "400" {
					for _, code := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(node.get("responses").get(status).text("description"), -1) {
						codes[code[1]] = true
					}
				}
			}

			op, err := newOperation(known, path, strings.ToUpper(verb), node)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", verb, path, err)
			}
			out.add(node.get("x-sdk").text("resource"), op)
		}
	}

	for code := range codes {
		out.codes = append(out.codes, code)
	}
	slices.Sort(out.codes)
	for _, name := range known.names {
		out.schemas = append(out.schemas, schema{name: name, node: known.get(name), isInput: inputs[name]})
	}
	for i := range out.resources {
		out.resources[i].mergeFormats()
	}
	return out, nil
}

func (d *document) add(name string, op operation) {
	for i := range d.resources {
		if d.resources[i].name == name {
			d.resources[i].operations = append(d.resources[i].operations, op)
			return
		}
	}
	d.resources = append(d.resources, resource{name: name, operations: []operation{op}})
}

// isClass reports whether the name is that of an object, not of an enum.
func (d *document) isClass(name string) bool {
	for _, schema := range d.schemas {
		if schema.name == name {
			return schema.node.get("enum") == nil
		}
	}
	return false
}

// collect adds the names of all schemas that the node refers to.
func collect(known, from *node, names map[string]bool) {
	if from == nil {
		return
	}
	if name := from.ref(); name != "" && !names[name] {
		names[name] = true
		collect(known, known.get(name), names)
	}
	for _, name := range from.names {
		if name != "example" && name != "examples" {
			collect(known, from.members[name], names)
		}
	}
	for _, element := range from.list {
		collect(known, element, names)
	}
}

func newOperation(known *node, path, verb string, from *node) (operation, error) {
	op := operation{
		id:      from.text("operationId"),
		method:  from.get("x-sdk").text("method"),
		verb:    verb,
		path:    path,
		summary: from.text("summary"),
		about:   from.text("description"),
	}
	if op.method == "" {
		return op, fmt.Errorf("%s has no x-sdk", op.id)
	}
	op.isKeyed = verb == "POST" && !slices.Contains(withoutEffect, op.id)

	for _, p := range from.get("parameters").elements() {
		parameter := parameter{
			name:     p.text("name"),
			about:    p.text("description"),
			required: p.get("required").isTrue(),
			schema:   p.get("schema"),
		}
		switch p.text("in") {
		case "path":
			op.pathParameters = append(op.pathParameters, parameter)
		case "query":
			op.query = append(op.query, parameter)
			op.queryRequired = op.queryRequired || parameter.required
		}
	}

	if body := from.get("requestBody"); body != nil {
		op.hasBody = true
		op.bodyRequired = body.get("required").isTrue()
		if media := body.get("content").get("application/json"); media != nil {
			op.body = media.get("schema")
		} else {
			op.mediaTypes = body.get("content").names
		}
	}

	for _, status := range from.get("responses").names {
		content := from.get("responses").get(status).get("content")
		if status >= "300" || content == nil {
			continue
		}
		if media := content.get("application/json"); media != nil {
			op.result = media.get("schema")
		} else {
			op.isFile = true
		}
	}

	op.findList(known, from.get("x-pagination"))
	return op, nil
}

// findList recognizes a list by its cursor, or by an answer that is a page.
func (op *operation) findList(known, pagination *node) {
	if pagination != nil {
		op.isList = true
		op.cursor = pagination.text("cursor")
		op.items = pagination.text("items")
		return
	}
	if op.result == nil || op.verb != "GET" {
		return
	}
	properties := known.get(op.result.ref()).get("properties")
	if properties.get("data") != nil && properties.get("nextCursor") != nil {
		op.isList = true
		op.items = "data"
	}
}

// itemOf returns the schema of the elements of a list.
func (d *document) itemOf(op operation) *node {
	for _, schema := range d.schemas {
		if schema.name == op.result.ref() {
			return schema.node.get("properties").get(op.items).get("items")
		}
	}
	return nil
}

// mergeFormats makes one method of those that differ by the format of a file:
// getPdf, getZpl and getPng become get, with the format as a parameter.
func (r *resource) mergeFormats() {
	suffix := regexp.MustCompile(`^(.*)(Pdf|Zpl|Png)$`)
	byBase := map[string]int{}
	for _, op := range r.operations {
		if parts := suffix.FindStringSubmatch(op.method); parts != nil && op.isFile {
			byBase[parts[1]]++
		}
	}

	var merged []operation
	at := map[string]int{}
	for _, op := range r.operations {
		parts := suffix.FindStringSubmatch(op.method)
		if parts == nil || byBase[parts[1]] < 2 {
			merged = append(merged, op)
			continue
		}

		format := strings.ToLower(parts[2])
		index, ok := at[parts[1]]
		if !ok {
			at[parts[1]] = len(merged)
			op.method = parts[1]
			op.id = strings.TrimSuffix(op.id, parts[2])
			op.path = strings.TrimSuffix(op.path, "."+format)
			op.formats = []string{format}
			merged = append(merged, op)
			continue
		}

		first := &merged[index]
		first.formats = append(first.formats, format)
		for _, added := range op.query {
			if !slices.ContainsFunc(first.query, func(known parameter) bool { return known.name == added.name }) {
				first.query = append(first.query, added)
			}
		}
	}
	r.operations = merged
}

// A node is a value of JSON whose members keep their order.
type node struct {
	names   []string
	members map[string]*node
	list    []*node
	value   any
}

func parse(text []byte) (*node, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return parseValue(decoder)
}

func parseValue(decoder *json.Decoder) (*node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}

	out := &node{}
	switch token {
	case json.Delim('{'):
		out.members = map[string]*node{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			member, err := parseValue(decoder)
			if err != nil {
				return nil, err
			}
			out.names = append(out.names, name.(string))
			out.members[name.(string)] = member
		}
		_, err = decoder.Token()

	case json.Delim('['):
		for decoder.More() {
			element, err := parseValue(decoder)
			if err != nil {
				return nil, err
			}
			out.list = append(out.list, element)
		}
		_, err = decoder.Token()

	default:
		out.value = token
	}
	return out, err
}

// get returns a member, nil if there is none.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	return n.members[name]
}

func (n *node) elements() []*node {
	if n == nil {
		return nil
	}
	return n.list
}

// text returns a member that is text, empty if there is none.
func (n *node) text(name string) string {
	if member := n.get(name); member != nil {
		text, _ := member.value.(string)
		return text
	}
	return ""
}

func (n *node) isTrue() bool { return n != nil && n.value == true }

// ref returns the name of the schema that the node refers to.
func (n *node) ref() string { return strings.TrimPrefix(n.text("$ref"), "#/components/schemas/") }

// kind returns the type of a schema, and whether null is one too.
func (n *node) kind() (kind string, nullable bool) {
	types := n.get("type")
	if types == nil {
		return "", false
	}
	for _, t := range types.list {
		if t.value == "null" {
			nullable = true
		} else {
			kind, _ = t.value.(string)
		}
	}
	if text, ok := types.value.(string); ok {
		kind = text
	}
	return kind, nullable
}

// requires reports whether an object's schema requires the member.
func (n *node) requires(name string) bool {
	return slices.ContainsFunc(n.get("required").elements(), func(required *node) bool { return required.value == name })
}

// literals returns the values of an enum as literals of both languages, without
// null.
func (n *node) literals(quote string) []string {
	var out []string
	for _, value := range n.get("enum").elements() {
		switch value := value.value.(type) {
		case string:
			out = append(out, quote+value+quote)
		case json.Number:
			out = append(out, value.String())
		}
	}
	return out
}

// sentence joins the summary and the description of an operation.
func (op operation) sentence() string {
	if op.about == "" {
		return op.summary + "."
	}
	return op.about
}

// upper returns a name with a capital: "rateSheets" becomes "RateSheets".
func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// snake returns a name as Python writes it: "rateSheets" becomes "rate_sheets".
func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				out.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// wrap breaks text into lines of at most width characters; paragraphs stay apart.
func wrap(text string, width int) []string {
	var lines []string
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			lines = append(lines, "")
		}
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			if line != "" && len(line)+1+len(word) > width {
				lines = append(lines, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}
	return lines
}
