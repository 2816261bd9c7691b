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

// document makes the document: huma's, with the order of the table and of the
// types, one path a label format, and what huma cannot say.
func (s *server) document() (*document, error) {
	s.components()
	doc := s.api.OpenAPI()
	doc.Info.Description = introduction
	doc.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	doc.Servers = []*huma.Server{{URL: s.BaseURL}}
	for _, tag := range tags {
		doc.Tags = append(doc.Tags, &huma.Tag{Name: tag[0], Description: tag[1]})
	}
	tree, err := treeOf(doc)
	if err != nil {
		return nil, err
	}
	root, ok := tree.(*object)
	if !ok {
		return nil, fmt.Errorf("the document is a %T", tree)
	}
	d := &document{root: root, routes: s.order}
	d.paths()
	d.tidy()
	s.schemas(root.at("components", "schemas"), d.requestSchemas())
	return d, nil
}

func (d *document) yaml() ([]byte, error) {
	b, err := wire.Marshal(d.root)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = yaml.Convert(&out, bytes.NewReader(b))
	return out.Bytes(), err
}

// paths puts the paths into the table's order and splits the labels' one.
func (d *document) paths() {
	paths := d.root.at("paths")
	var order []string
	for _, rt := range d.routes {
		if !slices.Contains(order, rt.path) {
			order = append(order, rt.path)
		}
	}
	paths.arrange(order)
	for _, m := range paths.members {
		m.value.(*object).arrange([]string{"post", "get", "put", "patch", "delete"})
	}
	var members []property
	for _, m := range paths.members {
		if m.name == labelPath {
			members = append(members, labelPaths(m.value.(*object).at("get"))...)
			continue
		}
		members = append(members, m)
	}
	paths.members = members
}

// tidy puts what readers look for first, and drops what says nothing.
func (d *document) tidy() {
	d.root.arrange([]string{"openapi", "info", "servers", "security", "tags", "paths", "components"})
	d.root.at("info").arrange([]string{"title", "version", "description"})
	for _, tag := range d.root.list("tags") {
		tag.(*object).arrange([]string{"name"})
	}
	d.operations(func(_, _ string, op *object) {
		op.arrange([]string{"operationId", "tags", "summary", "description", "x-scope", "security", "parameters", "requestBody", "responses"})
		for _, p := range op.list("parameters") {
			p := p.(*object)
			p.arrange([]string{"name", "in", "required", "description", "schema"})
			if schema := p.at("schema"); schema != nil {
				schema.remove("description")
				if schema.text("type") != "array" {
					p.remove("explode")
				}
			}
		}
		if op.text("operationId") == "getDocument" {
			content := &object{}
			content.set(label.PDF.ContentType(), fileContent())
			op.at("responses", "200").set("content", content)
		}
		for _, m := range op.at("responses").members {
			m.value.(*object).arrange([]string{"$ref", "description", "headers", "content", "links"})
		}
	})
}

// labelPaths shows the one label route as the paths that clients know.
func labelPaths(op *object) []property {
	var out []property
	for _, f := range []label.Format{label.PDF, label.ZPL, label.PNG} {
		name := strings.ToUpper(string(f[:1])) + string(f[1:])
		get := clone(op).(*object)
		get.set("operationId", "getLabel"+name)
		get.set("summary", op.text("summary")+" as "+strings.ToUpper(string(f)))
		setLabelParameter(get)
		content := &object{}
		content.set(f.ContentType(), fileContent())
		get.at("responses", "200").set("content", content)
		head := clone(get).(*object)
		head.set("operationId", "headLabel"+name)
		head.set("summary", "Check a label as "+strings.ToUpper(string(f)))
		head.set("description", "Answers as GET does, without the label itself.")
		head.at("responses", "200").remove("content")
		item := &object{}
		item.set("get", get)
		item.set("head", head)
		out = append(out, property{"/v1/labels/{shipment_id}." + string(f), item})
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
		if p := p.(*object); p.text("name") == "file" {
			p.set("name", "shipment_id")
			p.set("description", "Identifier of the shipment.")
			schema := &object{}
			schema.set("type", "string")
			schema.set("examples", []any{string(exampleShipment)})
			p.set("schema", schema)
		}
	}
}

// requestSchemas are the names of the schemas that requests are made of.
func (d *document) requestSchemas() map[string]bool {
	seen := make(map[string]bool)
	for _, path := range d.root.at("paths").members {
		for _, op := range path.value.(*object).members {
			if body := op.value.(*object).at("requestBody"); body != nil {
				d.reach(body, seen)
			}
		}
	}
	return seen
}

const schemaRef = "#/components/schemas/"

// reach collects the schemas that v refers to.
func (d *document) reach(v any, seen map[string]bool) {
	switch v := v.(type) {
	case *object:
		name, ok := strings.CutPrefix(v.text("$ref"), schemaRef)
		if ok && !seen[name] {
			seen[name] = true
			d.reach(d.root.at("components", "schemas", name), seen)
		}
		for _, m := range v.members {
			d.reach(m.value, seen)
		}
	case []any:
		for _, one := range v {
			d.reach(one, seen)
		}
	}
}

// schemas puts the fields into the order of their types. Answers may get new
// fields at any time, so their schemas are open; requests may say null for a
// field that is not there.
func (s *server) schemas(schemas *object, requests map[string]bool) {
	reg := s.api.OpenAPI().Components.Schemas
	for _, m := range schemas.members {
		schema := m.value.(*object)
		properties := schema.at("properties")
		if properties == nil {
			continue
		}
		properties.arrange(jsonNames(reg.TypeFromRef(schemaRef + m.name)))
		schema.arrange([]string{"type", "description", "required", "properties"})
		if !requests[m.name] {
			schema.remove("additionalProperties")
			continue
		}
		required := schema.list("required")
		for _, one := range schema.list("oneOf") {
			required = append(required, one.(*object).list("required")...)
		}
		for i, p := range properties.members {
			noNUL(p.value)
			if !slices.Contains(required, any(p.name)) {
				properties.members[i].value = nullable(p.value.(*object))
			}
		}
	}
}

// noNUL says of every free text what the reader of JSON sees to: it has no
// U+0000.
func noNUL(v any) {
	schema, ok := v.(*object)
	if !ok {
		return
	}
	for _, name := range []string{"items", "additionalProperties", "propertyNames"} {
		noNUL(schema.get(name))
	}
	free := schema.text("type") == "string" || schema.get("type") == nil && schema.get("maxLength") != nil
	if free && schema.get("pattern") == nil && schema.get("enum") == nil && schema.get("format") == nil {
		schema.set("pattern", `^[^\x00]*$`)
	}
}

// nullable allows null beside what the schema allows.
func nullable(schema *object) *object {
	if ref := schema.text("$ref"); ref != "" {
		out := &object{}
		if about := schema.text("description"); about != "" {
			out.set("description", about)
		}
		one, null := &object{}, &object{}
		one.set("$ref", ref)
		null.set("type", "null")
		out.set("anyOf", []any{one, null})
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

// operations lists the operations of the document in its order.
func (d *document) operations(each func(method, path string, op *object)) {
	for _, path := range d.root.at("paths").members {
		for _, op := range path.value.(*object).members {
			each(strings.ToUpper(op.name), path.name, op.value.(*object))
		}
	}
}

// find is the route of an operation of the document.
func (d *document) find(method, path string) *route {
	if strings.HasPrefix(path, "/v1/labels/") {
		method, path = http.MethodGet, labelPath
	}
	for _, rt := range d.routes {
		if rt.method == method && rt.path == path {
			return rt
		}
	}
	return nil
}
