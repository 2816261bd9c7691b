// Package internal holds the plan of the house as tests: which package may
// import which, how packages are named and documented, and which imports are
// reserved. Nothing else lives here.
package internal

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/waybillhq/waybill/"

// floors is the plan of the house. A package may import packages on lower
// floors only: never its own floor, never upward. Tests are free. A name comes
// before a pattern: carriers and their emulators have one floor each.
var floors = [][]string{
	{"ship", "config", "seal", "emulator", "failpoint", "coalesce", "pdfium", "member/oidctest"},
	{"budget", "csvtext"},
	{"job", "routing", "sheet", "label", "wire", "purchase", "customs", "effect", "emulator/*"},
	{"carrier"},
	{"carrier/carrierkit", "store"},
	{"quoting", "addresscheck", "inquiry", "archive", "restore", "carrier/conformance", "store/storetest"},
	{"carrier/*", "shipping", "webhook", "account", "rulebook", "member", "journal", "batch", "certify", "privacy", "handover", "bulk", "returns", "compat", "cell"}, // services know no driver
	{"carrier/all", "carrier/carriertest", "tracking", "plugin"},                                                                                                     // tracking moves the parcels of the sandbox
	{"httpkit", "web/parts"},
	{"web/site", "docsite"},
	{"web/offers"},
	{"web/newshipment"},
	{"web/*"},
	{"api", "web", "worker", "compat/easypost", "mcp"},
	{"app"},
	{"cli"},
}

// testOnly packages serve tests; no package that ships imports them.
var testOnly = []string{"carrier/carriertest", "store/storetest", "member/oidctest"}

// outside says what the packages beside internal may import of ours: these and
// no others. The rest (bench, test) drives the whole and may import anything,
// and nothing imports it.
var outside = map[string][]string{
	"api":         {},
	"client":      {},
	"kms":         {"internal/seal"},
	"cmd/waybill": {"internal/app", "internal/cli"},
}

// reserved imports have rooms of their own: only the listed packages under
// internal have them, by prefix of the import path.
var reserved = map[string][]string{
	"github.com/jackc/pgx":   {"store", "store/storetest", "app"},
	"github.com/riverqueue/": {"store", "worker", "app"},
}

// pure packages import the standard library and what is listed, by prefix.
var pure = map[string][]string{
	"ship": {"github.com/bojanz/address", "golang.org/x/text/currency"},
	"seal": {},
}

// A listed package is what "go list" tells of one.
type listed struct {
	ImportPath string
	Dir        string
	Imports    []string // of the files that ship
	GoFiles    []string
}

// path is the package's path inside the module.
func (p listed) path() string { return strings.TrimPrefix(p.ImportPath, module) }

// room is the package's path under internal, and whether it is there.
func (p listed) room() (string, bool) { return strings.CutPrefix(p.path(), "internal/") }

// packages lists the packages of the module that have files that ship.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,Imports,GoFiles", "./...")
	cmd.Dir = ".."
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, complaint.String())
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		t.Fatal("go list finds no package")
	}
	return all
}

// floorOf is the floor of a package under internal, or -1.
func floorOf(room string) int {
	if floor := slices.IndexFunc(floors, func(f []string) bool { return slices.Contains(f, room) }); floor >= 0 {
		return floor
	}
	pattern := path.Dir(room) + "/*"
	return slices.IndexFunc(floors, func(f []string) bool { return slices.Contains(f, pattern) })
}

func TestImportsGoDownward(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		room, inside := p.room()
		if !inside {
			continue
		}
		floor := floorOf(room)
		if floor < 0 {
			t.Errorf("%s has no floor: give it one in floors", room)
			continue
		}
		for _, imported := range p.Imports {
			other, ours := strings.CutPrefix(imported, module+"internal/")
			if ours && floorOf(other) >= floor {
				t.Errorf("%s (floor %d) imports %s (floor %d): imports go downward only", room, floor, other, floorOf(other))
			}
			if beside, ours := strings.CutPrefix(imported, module); ours && !strings.HasPrefix(beside, "internal/") && !importable(beside) {
				t.Errorf("%s imports %s, which nothing imports", room, beside)
			}
		}
	}
}

// importable says whether a package beside internal may be imported by those in it.
func importable(path string) bool { return path == "api" || path == "client" || path == "kms" }

// TestEmulatorsAreOnTheirOwn keeps the judges independent: what judges the
// service may share no code with it.
func TestEmulatorsAreOnTheirOwn(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		room, inside := p.room()
		if !inside || room != "emulator" && !strings.HasPrefix(room, "emulator/") {
			continue
		}
		for _, imported := range p.Imports {
			if other, ours := strings.CutPrefix(imported, module); ours && other != "internal/emulator" {
				t.Errorf("%s imports %s: a stand-in carrier shares no code with the service", room, other)
			}
		}
	}
}

func TestNothingThatShipsImportsTestPackages(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		room, inside := p.room()
		ships := inside && !slices.Contains(testOnly, room)
		if _, named := outside[p.path()]; !ships && !named {
			continue
		}
		for _, imported := range p.Imports {
			if slices.Contains(testOnly, strings.TrimPrefix(imported, module+"internal/")) || imported == "testing" {
				t.Errorf("%s ships and imports %s", p.path(), imported)
			}
		}
	}
}

func TestPackagesOutsideImportOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		allowed, named := outside[p.path()]
		for _, imported := range p.Imports {
			ours, yes := strings.CutPrefix(imported, module)
			if named && yes && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s; of ours it may import %v", p.path(), ours, allowed)
			}
		}
	}
}

func TestReservedImportsStayInTheirRooms(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		room, inside := p.room()
		_, named := outside[p.path()]
		if !inside && !named {
			continue
		}
		for _, imported := range p.Imports {
			for prefix, rooms := range reserved {
				if strings.HasPrefix(imported, prefix) && !(inside && slices.Contains(rooms, room)) {
					t.Errorf("%s imports %s, which belongs in %v", p.path(), imported, rooms)
				}
			}
			if extra, isPure := pure[room]; isPure && thirdParty(imported) && !hasPrefix(imported, extra) {
				t.Errorf("%s imports %s; it may import the standard library and %v", room, imported, extra)
			}
		}
	}
}

// thirdParty tells a module's package from the standard library's.
func thirdParty(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".")
}

func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
