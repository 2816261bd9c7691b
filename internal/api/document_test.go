package api

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write api/openapi.yaml")

// fileBase is the address in the committed document.
const fileBase = "http://localhost:8080"

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
