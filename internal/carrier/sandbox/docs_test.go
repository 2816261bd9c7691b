package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
)

// TestTheDocumentListsEveryMagicDestination checks that docs/sandbox.md agrees
// with Magic.
func TestTheDocumentListsEveryMagicDestination(t *testing.T) {
	var table strings.Builder
	table.WriteString("| name | zip | what happens |\n|---|---|---|\n")
	for _, m := range sandbox.Magic {
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", m.Name, m.Zip, m.Does)
	}
	checkTable(t, "magic", table.String())
}

// TestTheDocumentListsEveryMagicStreet checks that docs/sandbox.md agrees with
// MagicStreets.
func TestTheDocumentListsEveryMagicStreet(t *testing.T) {
	var table strings.Builder
	table.WriteString("| address1 | what a check finds |\n|---|---|\n")
	for _, street := range sandbox.MagicStreets {
		fmt.Fprintf(&table, "| `%s` | %s |\n", street.Line, street.Does)
	}
	checkTable(t, "streets", table.String())
}

// TestTheDocumentListsTheFaultsOfTheDay checks that docs/sandbox.md agrees with
// MagicDay.
func TestTheDocumentListsTheFaultsOfTheDay(t *testing.T) {
	var table strings.Builder
	table.WriteString("| name | pickup | manifest |\n|---|---|---|\n")
	for _, fault := range sandbox.MagicDay {
		i := slices.IndexFunc(sandbox.Magic, func(d sandbox.Destination) bool { return d.Fault == fault.Fault })
		if i < 0 {
			t.Fatalf("%s is not in Magic", fault.Fault)
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", sandbox.Magic[i].Name, fault.Pickup, fault.Manifest)
	}
	checkTable(t, "day", table.String())
}

// checkTable checks that docs/sandbox.md has the table between the marks of its
// name. With -update it writes it there.
func checkTable(t *testing.T, name, table string) {
	t.Helper()
	file := filepath.Join("..", "..", "..", "docs", "sandbox.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the document has no place for the table")
	}

	want := before + begin + table + end + after
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
