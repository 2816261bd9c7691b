package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// generatorDocument reads the document for generators as they read it.
func generatorDocument(t *testing.T) map[string]any {
	t.Helper()
	text, err := GeneratorDocument(fileBase)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

func TestGeneratorDocumentIsTheCommittedOne(t *testing.T) {
	text, err := GeneratorDocument(fileBase)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')

	path := filepath.Join("..", "..", "api", "openapi.json")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("api/openapi.json is not what the code serves; run go test ./internal/api -update and read the difference")
	}
}

func TestGeneratorDocumentIsServed(t *testing.T) {
	w := send(New(testConfig(t)), http.MethodGet, "/openapi.json", "", "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || !json.Valid(w.Body.Bytes()) {
		t.Errorf("GET /openapi.json: %d %s", w.Code, w.Header().Get("Content-Type"))
	}
}

// TestGeneratorsGetNamesAndTypes holds what made generators write bad code.
func TestGeneratorsGetNamesAndTypes(t *testing.T) {
	document := generatorDocument(t)
	schemas := below(document, "components", "schemas")

	lists := map[string][]string{}
	walkJSON(document, nil, func(path []string, v map[string]any) {
		at := strings.Join(path, "/")
		if enum, ok := v["enum"].([]any); ok {
			lists[fmt.Sprint(enum)] = append(lists[fmt.Sprint(enum)], at)
			if slices.Contains(enum, nil) && !strings.Contains(at, "WebhookChange") {
				t.Errorf("%s lists null", at)
			}
		}
		if v["format"] == "int64" {
			t.Errorf("%s is a big integer in some languages", at)
		}
		if ref, ok := v["$ref"].(string); ok && strings.HasPrefix(ref, schemaRef) && schemas[strings.TrimPrefix(ref, schemaRef)] == nil {
			t.Errorf("%s refers to %s, which is not there", at, ref)
		}
	})
	for values, places := range lists {
		if len(places) > 1 {
			t.Errorf("%s stands in %v: name it in enumNames", values, places)
		}
	}

	for name, schema := range schemas {
		for _, suffix := range []string{"Shown", "Answer", "Request"} {
			if strings.HasSuffix(name, suffix) {
				t.Errorf("the schema %s has a name of the server's: add it to schemaNames", name)
			}
		}
		if _, ok := schema.(map[string]any)["oneOf"]; ok {
			t.Errorf("the body %s is either-or", name)
		}
	}
	for old := range schemaNames {
		if schemas[old] != nil {
			t.Errorf("the schema %s is still there under its old name", old)
		}
	}
}

// TestGeneratorsGetEveryOperationWhole looks at each operation: a name, an
// example, and a type for all that it takes and gives.
func TestGeneratorsGetEveryOperationWhole(t *testing.T) {
	document := generatorDocument(t)
	methods := map[string]bool{}
	for path, item := range below(document, "paths") {
		for verb, op := range item.(map[string]any) {
			op := op.(map[string]any)
			id := fmt.Sprint(op["operationId"])
			sdk := below(op, "x-sdk")
			name := fmt.Sprint(sdk["resource"], ".", sdk["method"])
			if verb == "head" || sdk == nil || methods[name] {
				t.Errorf("%s %s (%s) has no name of its own in sdkMethods: %s", verb, path, id, name)
			}
			methods[name] = true

			if body := below(op, "requestBody", "content", "application/json"); op["requestBody"] != nil && (body["schema"] == nil || body["example"] == nil) {
				t.Errorf("%s takes a body without a schema or an example", id)
			}
			paged := strings.Contains(fmt.Sprint(op["parameters"]), "name:cursor") || strings.Contains(fmt.Sprint(op["parameters"]), "name:after")
			if paged != (op["x-pagination"] != nil) {
				t.Errorf("%s does not say how the list goes on", id)
			}

			if success := below(op, "responses", "200"); success != nil && success["content"] == nil {
				t.Errorf("%s answers 200 with nothing that has a type", id)
			}
			for status, answer := range below(op, "responses") {
				_, isError := answer.(map[string]any)["$ref"]
				if status != "204" && !isError && below(answer.(map[string]any), "content") == nil {
					t.Errorf("%s answers %s without a body: generators lose the types of all its answers", id, status)
				}
				for kind, media := range below(answer.(map[string]any), "content") {
					media := media.(map[string]any)
					isJSON := strings.HasSuffix(kind, "json")
					if media["schema"] == nil || isJSON && media["example"] == nil {
						t.Errorf("%s answers %s as %s without a schema or an example", id, status, kind)
					}
					if !isJSON && below(media, "schema")["format"] != "binary" {
						t.Errorf("%s answers %s as %s, which is not binary", id, status, kind)
					}
				}
			}
		}
	}

	if n := len(below(document, "webhooks")); n != 6 {
		t.Errorf("%d kinds of events are described as webhooks, want 6", n)
	}
}

// below walks down objects; nil if one is missing.
func below(v map[string]any, names ...string) map[string]any {
	for _, name := range names {
		v, _ = v[name].(map[string]any)
	}
	return v
}

// walkJSON visits all objects, but for examples.
func walkJSON(v any, path []string, visit func([]string, map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(path, v)
		for name, value := range v {
			if name != "example" && name != "examples" {
				walkJSON(value, append(slices.Clone(path), name), visit)
			}
		}
	case []any:
		for i, value := range v {
			walkJSON(value, append(slices.Clone(path), fmt.Sprint(i)), visit)
		}
	}
}
