package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waybillhq/waybill/internal/docsite"
	"github.com/waybillhq/waybill/internal/httpkit"
)

var update = flag.Bool("update", false, "write api/openapi.yaml")

// fileBase is the address in the committed document.
const fileBase = "http://localhost:8080"

func testDocument(t *testing.T) (*server, *document) {
	t.Helper()
	s := newServer(Config{BaseURL: fileBase})
	d, err := s.document()
	if err != nil {
		t.Fatal(err)
	}
	return s, d
}

func TestDocumentIsTheCommittedOne(t *testing.T) {
	got, err := Document(fileBase)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "api", "openapi.yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("api/openapi.yaml is not what the code serves; run go test ./internal/api -update and read the difference")
	}
}

func TestDocumentHasEveryRouteAndNoOther(t *testing.T) {
	s, d := testDocument(t)
	shown := make(map[*route]int)
	d.operations(func(method, path string, op *object) {
		rt := d.routeOf(method, path)
		if rt == nil {
			t.Errorf("%s %s is in the document and not in the table", method, path)
			return
		}
		shown[rt]++
		probe, _ := http.NewRequest(method, strings.ReplaceAll(path, "{shipment_id}", "shp_1"), nil)
		if _, pattern := s.mux.Handler(withManifestFile(probe)); !strings.HasSuffix(pattern, " "+rt.path) {
			t.Errorf("%s %s is served by %q", method, path, pattern)
		}
		if op.text("summary") == "" || op.text("description") == "" || len(op.list("tags")) != 1 {
			t.Errorf("%s %s is not described", method, path)
		}
	})
	for pattern, rt := range s.routes {
		if shown[rt] == 0 {
			t.Errorf("%s is in the table and not in the document", pattern)
		}
		if (rt.scope == "") != rt.sandbox {
			t.Errorf("%s has scope %q", pattern, rt.scope)
		}
	}
}

func TestEveryRouteAsksForAKey(t *testing.T) {
	c := testConfig(t)
	h := New(c)
	for _, rt := range newServer(c).order {
		w := send(h, rt.method, strings.NewReplacer("{id}", "x", "{file}", "x.pdf", "{trackingNumber}", "x").Replace(rt.path), "", "")
		if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s %s without a key: %d", rt.method, rt.path, w.Code)
		}
	}
}

func TestRequestsAreClosedAndAnswersAreOpen(t *testing.T) {
	_, d := testDocument(t)
	requests := d.requestSchemas()
	answers := make(map[string]bool)
	d.operations(func(_, _ string, op *object) { d.collectRefs(op.child("responses"), answers) })
	d.collectRefs(d.root.child("components", "responses"), answers)
	for name := range requests {
		if answers[name] {
			t.Errorf("%s is used in requests and in answers", name)
		}
	}
	for _, m := range d.root.child("components", "schemas").members {
		closed := m.value.(*object).get("additionalProperties") == false
		if closed != requests[m.name] {
			t.Errorf("%s: closed %v, request %v", m.name, closed, requests[m.name])
		}
	}
}

func TestExamplesFitTheirSchemas(t *testing.T) {
	s, d := testDocument(t)
	reg := s.api.OpenAPI().Components.Schemas
	for id, example := range requestExamples {
		i := slices.IndexFunc(s.order, func(rt *route) bool { return rt.id == id })
		if wrong := wrongWith(t, s.order[i], string(example.(json.RawMessage))); wrong != nil {
			t.Errorf("%s: %v", id, wrong)
		}
	}
	check := func(name string, schema *huma.Schema, example any) {
		b, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		res := &huma.ValidateResult{}
		huma.Validate(reg, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, res)
		for _, err := range res.Errors {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, rt := range s.order {
		for status, r := range s.operationOf(rt).Responses {
			for _, media := range r.Content {
				check(rt.id+" "+status, media.Schema, media.Example)
			}
		}
	}
	for name, r := range s.api.OpenAPI().Components.Responses {
		check(name, r.Content[httpkit.ProblemType].Schema, r.Content[httpkit.ProblemType].Example)
	}
	_ = d
}

func TestLinksLeadToOperations(t *testing.T) {
	_, d := testDocument(t)
	parameters := make(map[string][]string)
	d.operations(func(_, _ string, op *object) {
		for _, p := range op.list("parameters") {
			parameters[op.text("operationId")] = append(parameters[op.text("operationId")], p.(*object).text("name"))
		}
	})
	for name, link := range shipmentLinks() {
		for parameter := range maps.Keys(link.Parameters) {
			if !slices.Contains(parameters[link.OperationID], parameter) {
				t.Errorf("link %s: %s has no parameter %s", name, link.OperationID, parameter)
			}
		}
	}
}

func TestReferencePageShowsEverythingAndLoadsNothing(t *testing.T) {
	_, d := testDocument(t)
	b, err := d.page(fileBase, d.groups(fileBase), docsite.Addresses{})
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	d.operations(func(method, _ string, op *object) {
		if id := `<article id="` + op.text("operationId") + `">`; method != http.MethodHead && !strings.Contains(page, id) {
			t.Errorf("%s is missing", op.text("operationId"))
		}
	})
	var used []string
	for _, rt := range newServer(testConfig(t)).order {
		for _, codes := range rt.errors() {
			used = append(used, codes...)
		}
	}
	for _, code := range httpkit.Codes {
		if !strings.Contains(page, `<a href="/docs/errors#`+code.Name+`">`) && slices.Contains(used, code.Name) {
			t.Errorf("the code %s leads nowhere", code.Name)
		}
	}
	for _, loader := range []string{"<script", "<img", "url(", "@import", `src="`} {
		if strings.Contains(page, loader) {
			t.Errorf("the page has %s", loader)
		}
	}
}
