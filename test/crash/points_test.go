//go:build chaos

package crash

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// points are all places where the program can be told to die, as its source
// has them: both sides of every act of a purchase, both sides of every other
// step that lasts, and the places between. Nothing here is a copied list, so a
// new step is a point that some case must reach.
func points(t *testing.T, root string) []string {
	t.Helper()
	var list []string
	for _, file := range sources(t, root) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if kind, ok := n.Type.(*ast.Ident); ok && kind.Name == "Kind" && file.Name.Name == "purchase" {
					list = append(list, around(text(t, n.Values[0]))...)
				}
			case *ast.CallExpr:
				list = append(list, pointsOf(t, n)...)
			}
			return true
		})
	}
	list = slices.DeleteFunc(list, func(point string) bool { return slices.Contains(slices.Concat(repeated, unlogged, decided), point) })
	slices.Sort(list)
	return slices.Compact(list)
}

// repeated are the points of a purchase that is sent again. Only USPS is, which is not
// among the carriers of this proof: the simulation of package purchase dies there, in
// every order.
var repeated = []string{"before resend", "after resend", "before repeat", "after repeat"}

// unlogged are the points of what a restore lost where the log has no sale, or no log is
// left. The carrier is only asked there, and what it answers is written in one transaction:
// a death in between has the whole step done again.
var unlogged = []string{
	"before missing_look", "after missing_look", "before restore_control", "after restore_control",
	"before record_unlabelled", "after record_unlabelled", "before defer_missing", "after defer_missing",
}

// decided are the points of what a person decides about missing purchases, in a command or on
// a page: one transaction. A death before it leaves them undecided, and one after it has the
// service carry the decision out, which is proved.
var decided = []string{"before decide_missing", "after decide_missing"}

func around(step string) []string { return []string{"before " + step, "after " + step} }

// pointsOf are the points of one call. The only ones without a fixed name are
// those of the acts, in run.do and in package failpoint itself.
func pointsOf(t *testing.T, call *ast.CallExpr) []string {
	t.Helper()
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	if from, ok := fn.X.(*ast.Ident); !ok || from.Name != "failpoint" {
		return nil
	}
	switch fn.Sel.Name {
	case "Around":
		return around(text(t, call.Args[0]))
	case "Hit":
		if sum, ok := call.Args[0].(*ast.BinaryExpr); ok && strings.HasSuffix(text(t, sum.X), " ") {
			return nil // of an act: its kinds are listed
		}
		return []string{text(t, call.Args[0])}
	}
	return nil
}

// text is the value of a string in the source.
func text(t *testing.T, e ast.Expr) string {
	t.Helper()
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		t.Fatalf("a point has no fixed name: %#v", e)
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sources are the files of the program, without tests.
func sources(t *testing.T, root string) (files []*ast.File) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
