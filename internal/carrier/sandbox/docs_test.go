package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
)

// TestTheDocumentListsEveryMagicDestination checks that docs/sandbox.md agrees
// with Magic.
func TestTheDocumentListsEveryMagicDestination(t *testing.T) {
	file := filepath.Join("..", "..", "..", "docs", "sandbox.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- magic -->\n", "<!-- /magic -->"
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the document has no place for the table")
	}
	var table strings.Builder
	table.WriteString("| name | zip | what happens |\n|---|---|---|\n")
	for _, m := range sandbox.Magic {
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", m.Name, m.Zip, m.Does)
	}
	want := before + begin + table.String() + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != want {
		t.Error("docs/sandbox.md is not up to date: go test ./internal/carrier/sandbox -run Document -update")
	}
}
