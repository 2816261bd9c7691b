package api

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/yaml"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/wire"
)

// document is the OpenAPI document as a tree.
type document struct {
	root   *object
	routes []*route
}

// document builds the document: huma's, with the order of the table and of the
// types, one path a label format, and what huma cannot express.
func (s *server) document() (*document, error) {
	s.addComponents()
	doc := s.api.OpenAPI()
	doc.Info.Description = introduction
	doc.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	doc.Servers = []*huma.Server{{URL: s.BaseURL}}
	for _, tag := range tags {
		doc.Tags = append(doc.Tags, &huma.Tag{Name: tag[0], Description: tag[1]})
	}

	// From here on the document is edited as JSON: huma keeps most of it in
	// maps, which have no order.
	tree, err := treeOf(doc)
	if err != nil {
		return nil, err
	}
	root, ok := tree.(*object)
	if !ok {
		return nil, fmt.Errorf("the document is a %T", tree)
	}

	d := &document{root: root, routes: s.order}
	d.arrangePaths()
	d.tidy()
	s.arrangeSchemas(root.child("components", "schemas"), d.requestSchemas())
	return d, nil
}

// yaml renders the document as YAML.
func (d *document) yaml() ([]byte, error) {
	text, err := wire.Marshal(d.root)
	if err != nil {
		return nil, err
	}

	var out bytes.Buffer
	err = yaml.Convert(&out, bytes.NewReader(text))
	return out.Bytes(), err
}

// arrangePaths puts the paths into the table's order and splits the path of
// labels into one a format.
func (d *document) arrangePaths() {
	paths := d.root.child("paths")
	var order []string
	for _, rt := range d.routes {
		if !slices.Contains(order, rt.path) {
			order = append(order, rt.path)
		}
	}
	paths.arrange(order)

	var members []property
	for _, m := range paths.members {
		item := m.value.(*object)
		item.arrange([]string{"post", "get", "put", "patch", "delete"})
		if m.name == labelPath {
			members = append(members, labelPaths(item.child("get"))...)
			continue
		}
		if m.name == manifestFilePath {
			m.name = manifestFileURL
		}
		members = append(members, m)
	}
	paths.members = members
}

// tidy puts what readers look for first, and drops what repeats the obvious.
func (d *document) tidy() {
	d.root.arrange([]string{"openapi", "info", "servers", "security", "tags", "paths", "components"})
	d.root.child("info").arrange([]string{"title", "version", "description"})
	for _, tag := range d.root.list("tags") {
		tag.(*object).arrange([]string{"name"})
	}

	d.operations(func(_, _ string, op *object) {
		op.arrange([]string{"operationId", "tags", "summary", "description", "x-scope", "security", "parameters", "requestBody", "responses"})

		for _, p := range op.list("parameters") {
			parameter := p.(*object)
			parameter.arrange([]string{"name", "in", "required", "description", "schema"})

			// huma repeats the parameter's description in its schema, and sets
			// explode where it means nothing.
			if schema := parameter.child("schema"); schema != nil {
				schema.remove("description")
				if schema.text("type") != "array" {
					parameter.remove("explode")
				}
			}
		}

		// The handler answers with a file, of which the table has no type.
		if format, ok := fileAnswers[op.text("operationId")]; ok {
			content := &object{}
			content.set(format.ContentType(), fileContent())
			op.child("responses", "200").set("content", content)
		}

		for _, m := range op.child("responses").members {
			m.value.(*object).arrange([]string{"$ref", "description", "headers", "content", "links"})
		}
	})
}

// fileAnswers are the operations that answer with a file, and its usual format.
var fileAnswers = map[string]label.Format{
	"getDocument":        label.PDF,
	"getPackingSlip":     label.PDF,
	"getProofOfDelivery": label.PDF,
	"getManifestPdf":     label.PDF,
	"getBatchLabelsPdf":  label.PDF,
	"getBatchLabelsZpl":  label.ZPL,
}

// labelPaths shows the one label route as the paths that clients know.
func labelPaths(op *object) []property {
	var out []property
	for _, format := range []label.Format{label.PDF, label.ZPL, label.PNG} {
		upper := strings.ToUpper(string(format))
		name := upper[:1] + string(format[1:])

		get := clone(op).(*object)
		get.set("operationId", "getLabel"+name)
		get.set("summary", op.text("summary")+" as "+upper)
		setLabelParameter(get)
		content := &object{}
		content.set(format.ContentType(), fileContent())
		get.child("responses", "200").set("content", content)

		head := clone(get).(*object)
		head.set("operationId", "headLabel"+name)
		head.set("summary", "Check a label as "+upper)
		head.set("description", "Returns the same headers as GET, without the label.")
		head.child("responses", "200").remove("content")

		item := &object{}
		item.set("get", get)
		item.set("head", head)
		out = append(out, property{"/v1/labels/{shipment_id}." + string(format), item})
	}
	return out
}

// fileContent describes an answer that is a file.
func fileContent() *object {
	schema := &object{}
	schema.set("type", "string")
	schema.set("format", "binary")
	media := &object{}
	media.set("schema", schema)
	return media
}

// setLabelParameter names the shipment where the mux sees a file.
func setLabelParameter(op *object) {
	for _, p := range op.list("parameters") {
		parameter := p.(*object)
		if parameter.text("name") != "file" {
			continue
		}

		schema := &object{}
		schema.set("type", "string")
		schema.set("examples", []any{string(exampleShipment)})

		parameter.set("name", "shipment_id")
		parameter.set("description", "Identifier of the shipment.")
		parameter.set("schema", schema)
	}
}

// requestSchemas returns the names of the schemas that requests are made of.
func (d *document) requestSchemas() map[string]bool {
	seen := make(map[string]bool)
	for _, path := range d.root.child("paths").members {
		for _, op := range path.value.(*object).members {
			if body := op.value.(*object).child("requestBody"); body != nil {
				d.collectRefs(body, seen)
			}
		}
	}
	return seen
}

const schemaRef = "#/components/schemas/"

// collectRefs adds the names of the schemas that v refers to, directly or
// through other schemas, to seen.
func (d *document) collectRefs(v any, seen map[string]bool) {
	switch v := v.(type) {
	case *object:
		name, ok := strings.CutPrefix(v.text("$ref"), schemaRef)
		if ok && !seen[name] {
			seen[name] = true
			d.collectRefs(d.root.child("components", "schemas", name), seen)
		}
		for _, m := range v.members {
			d.collectRefs(m.value, seen)
		}

	case []any:
		for _, element := range v {
			d.collectRefs(element, seen)
		}
	}
}

// arrangeSchemas puts the fields of schemas into the order of their types.
// Answers may get new fields at any time, so their schemas are open; requests
// may send null for a field that they leave out.
func (s *server) arrangeSchemas(schemas *object, requests map[string]bool) {
	registry := s.api.OpenAPI().Components.Schemas
	for _, m := range schemas.members {
		schema := m.value.(*object)
		properties := schema.child("properties")
		if properties == nil {
			continue
		}
		properties.arrange(jsonNames(registry.TypeFromRef(schemaRef + m.name)))
		schema.arrange([]string{"type", "description", "required", "properties"})

		if !requests[m.name] {
			schema.remove("additionalProperties")
			continue
		}

		// A member of an either-or may not be null either: null there would
		// count as the one that is given.
		required := schema.list("required")
		for _, choice := range schema.list("oneOf") {
			required = append(required, choice.(*object).list("required")...)
		}
		for i, p := range properties.members {
			forbidNUL(p.value)
			if !slices.Contains(required, any(p.name)) {
				properties.members[i].value = nullable(p.value.(*object))
			}
		}
	}
}

// forbidNUL states of every free text what the JSON parser enforces: it has no
// U+0000.
func forbidNUL(v any) {
	schema, ok := v.(*object)
	if !ok {
		return
	}
	for _, name := range []string{"items", "additionalProperties", "propertyNames"} {
		forbidNUL(schema.get(name))
	}

	isText := schema.text("type") == "string" || schema.get("type") == nil && schema.get("maxLength") != nil
	if isText && schema.get("pattern") == nil && schema.get("enum") == nil && schema.get("format") == nil {
		schema.set("pattern", `^[^\x00]*$`)
	}
}

// nullable allows null beside what the schema allows.
func nullable(schema *object) *object {
	// What stands beside a reference can only narrow it, so null needs a choice
	// of two.
	if ref := schema.text("$ref"); ref != "" {
		target := &object{}
		target.set("$ref", ref)
		null := &object{}
		null.set("type", "null")

		out := &object{}
		if about := schema.text("description"); about != "" {
			out.set("description", about)
		}
		out.set("anyOf", []any{target, null})
		return out
	}

	if kind := schema.text("type"); kind != "" {
		schema.set("type", []any{kind, "null"})
	}
	if enum := schema.list("enum"); enum != nil {
		schema.set("enum", append(slices.Clone(enum), nil))
	}
	return schema
}

// operations calls each with the operations of the document, in its order.
func (d *document) operations(each func(method, path string, op *object)) {
	for _, path := range d.root.child("paths").members {
		for _, op := range path.value.(*object).members {
			each(strings.ToUpper(op.name), path.name, op.value.(*object))
		}
	}
}

// routeOf returns the route of an operation of the document.
func (d *document) routeOf(method, path string) *route {
	// One route serves the paths of all label formats, and HEAD with GET.
	if strings.HasPrefix(path, "/v1/labels/") {
		method = http.MethodGet
		path = labelPath
	}
	if path == manifestFileURL {
		path = manifestFilePath
	}

	for _, rt := range d.routes {
		if rt.method == method && rt.path == path {
			return rt
		}
	}
	return nil
}
