package api

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func openDocument(t *testing.T, name string) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join("..", "..", "api", name))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestContractNothingThatWasPublishedIsTakenAway compares the document with
// the published one: each path, method, status and field must still be there.
// The gate's oasdiff looks closer.
func TestContractNothingThatWasPublishedIsTakenAway(t *testing.T) {
	t.Parallel()
	was, is := openDocument(t, "published.yaml"), openDocument(t, "openapi.yaml")
	fields := 0
	for path, item := range was.Paths.Map() {
		if !strings.HasPrefix(path, "/v1/") {
			t.Errorf("%s is not under /v1", path)
		}
		for method, op := range item.Operations() {
			now := is.Paths.Value(path)
			if now == nil || now.GetOperation(method) == nil {
				t.Errorf("%s %s is gone", method, path)
				continue
			}
			for status := range op.Responses.Map() {
				if now.GetOperation(method).Responses.Value(status) == nil {
					t.Errorf("%s %s answers %s no more", method, path, status)
				}
			}
		}
	}
	for name, schema := range was.Components.Schemas {
		now := is.Components.Schemas[name]
		for field := range schema.Value.Properties {
			fields++
			if now == nil || now.Value.Properties[field] == nil {
				t.Errorf("%s.%s is gone", name, field)
			}
		}
	}
	if was.Paths.Len() < 12 || fields < 100 {
		t.Errorf("only %d paths and %d fields were compared", was.Paths.Len(), fields)
	}
}
