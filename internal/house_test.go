package internal

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxInterfaceMethods keeps interfaces small: an ability is one method.
const maxInterfaceMethods = 3

// vague names say nothing of what lives in a package.
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "models", "misc", "base"}

// dialers make HTTP requests; they live in clientRooms, behind their limits,
// deadlines and guards.
var (
	dialers     = []string{"Client", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "Transport"}
	clientRooms = []string{"internal/carrier/carrierkit", "internal/webhook", "internal/cell", "client"}
)

// A source is one file that ships, read.
type source struct {
	pkg  listed
	name string
	fset *token.FileSet
	file *ast.File
}

func (s source) at(n ast.Node) token.Position {
	pos := s.fset.Position(n.Pos())
	pos.Filename = s.pkg.path() + "/" + s.name
	return pos
}

func (s source) generated() bool {
	return strings.HasSuffix(s.name, ".gen.go") || strings.HasSuffix(s.name, "_templ.go")
}

// sources reads every file of the module that ships, generated ones too.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%s: %v", p.path(), err)
				continue
			}
			all = append(all, source{p, name, fset, file})
		}
	}
	return all
}

func TestInterfacesAreSmall(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.generated() {
			continue
		}

		ast.Inspect(s.file, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok && i.Methods.NumFields() > maxInterfaceMethods {
				t.Errorf("%s: an interface of %d methods, over %d", s.at(n), i.Methods.NumFields(), maxInterfaceMethods)
			}
			return true
		})
	}
}

func TestPackagesAreNamedForWhatTheyHold(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for part := range strings.SplitSeq(p.path(), "/") {
			if slices.Contains(vague, part) {
				t.Errorf("%s: the name %q does not say what the package is for", p.path(), part)
			}
		}
	}
}

func TestEveryPackageSaysWhatLivesThere(t *testing.T) {
	t.Parallel()
	commented := map[string]bool{}
	for _, s := range sources(t) {
		commented[s.pkg.path()] = commented[s.pkg.path()] || s.file.Doc != nil
	}
	for path, yes := range commented {
		if !yes {
			t.Errorf("%s has no package comment", path)
		}
	}
}

func TestImportingHasNoSideEffects(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: an init function", s.at(f))
			}
		}
	}
}

func TestHTTPClientsStayInTheirRooms(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		path := s.pkg.path()
		room, inside := s.pkg.room()
		_, named := outside[path]
		if !inside && !named || slices.Contains(clientRooms, path) || slices.Contains(testOnly, room) || room == "emulator" || strings.HasPrefix(room, "emulator/") { // stand-ins push
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(dialers, sel.Sel.Name) {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "http" {
				t.Errorf("%s: http.%s belongs in %v", s.at(sel), sel.Sel.Name, clientRooms)
			}
			return true
		})
	}
}

// The words are put together here, so that this file does not hold them.
var (
	unowned   = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b([^(]|$)`)
	forbidden = []string{
		"/wo" + "rk/", "/roo" + "t/", // paths of one machine
		"proxy.go" + "lang.org", "sum.go" + "lang.org", "registry.np" + "mjs.org", "py" + "pi.org", "deb.deb" + "ian.org",
	}
)

func TestTextSpeaksOfTheProjectAlone(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && d.Name() != ".ci"
		if d.IsDir() && (hidden || path == filepath.Join("..", "bin") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		// In a worktree of Git, .git is a file that names a folder of the machine.
		if !d.Type().IsRegular() || d.Name() == ".git" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(text[:min(len(text), 1024)], 0) >= 0 {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, word := range forbidden {
				if strings.Contains(line, word) {
					t.Errorf("%s:%d: %q has no place in the project", path, i+1, word)
				}
			}
			if unowned.MatchString(line) {
				t.Errorf("%s:%d: work left over without an owner in parentheses", path, i+1)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
