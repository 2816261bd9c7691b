package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ambient are variables of the operating system and the Go toolchain.
var ambient = []string{"PATH", "HOME", "GOFLAGS", "GOGC", "TERM", "NOTIFY_SOCKET", "WATCHDOG_USEC"}

var readVariable = regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\("([A-Z_]+)"\)`)

// TestEveryVariableOfTheTestsIsDocumented reads the tests, and what the tests
// are built on, for variables of the environment.
func TestEveryVariableOfTheTestsIsDocumented(t *testing.T) {
	t.Parallel()
	documented := read(t, "docs/testing.md")

	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}

		name, _ := filepath.Rel(root, path)
		isTest := strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/") || strings.HasPrefix(name, "bench/")
		if !isTest || filepath.Ext(name) != ".go" {
			return nil
		}

		source, err := os.ReadFile(path)
		for _, match := range readVariable.FindAllStringSubmatch(string(source), -1) {
			found[match[1]] = name
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if len(found) < 20 {
		t.Errorf("only %d variables were found: the search is broken", len(found))
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(ambient, name) && !strings.Contains(documented, "`"+name+"`") {
			t.Errorf("docs/testing.md does not say what %s is for; %s reads it", name, found[name])
		}
	}
}

// TestEveryProofIsDocumented compares the table with what "make prove" lists.
func TestEveryProofIsDocumented(t *testing.T) {
	t.Parallel()
	documented := read(t, "docs/testing.md")
	list, _, ok := strings.Cut(read(t, "scripts/prove"), "\n\tEND\n")
	if !ok {
		t.Fatal("scripts/prove has no list")
	}

	proofs := regexp.MustCompile(`(?m)^\t\t([a-z-]+) {2,}`).FindAllStringSubmatch(list, -1)
	if len(proofs) < 10 {
		t.Fatalf("scripts/prove lists %d proofs: the search is broken", len(proofs))
	}
	for _, proof := range proofs {
		if !strings.Contains(documented, "`"+proof[1]+"`") {
			t.Errorf("docs/testing.md does not name the proof %s", proof[1])
		}
	}
}
