package api

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

	"github.com/waybillhq/waybill/internal/httpkit"
)

// TestEveryCodeIsListed reads the source of everything under the edges for
// codes of errors, so that one that nobody has described fails here.
func TestEveryCodeIsListed(t *testing.T) {
	var fields []string
	for _, f := range httpkit.FieldCodes {
		fields = append(fields, f[0])
	}
	seen := 0
	for _, dir := range []string{"ship", "label", "account", "routing", "sheet", "rulebook", "shipping", "handover", "tracking", "webhook", "httpkit", "api"} {
		for where, use := range codesIn(t, filepath.Join("..", dir)) {
			seen++
			_, listed := httpkit.CodeNamed(use.code)
			if use.field {
				listed = slices.Contains(fields, use.code)
			}
			if !listed {
				t.Errorf("%s: the code %q is not in httpkit/codes.go", where, use.code)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d codes were found", seen)
	}
}

type codeUse struct {
	code  string
	field bool // of a field, not of an error
}

// codesIn finds ship.Coded(kind, "code", ...) and Code: "code" in ship.Error
// and ship.FieldError literals.
func codesIn(t *testing.T, dir string) map[string]codeUse {
	t.Helper()
	out := make(map[string]codeUse)
	set := token.NewFileSet()
	add := func(e ast.Expr, field bool) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			code, _ := strconv.Unquote(lit.Value)
			out[set.Position(e.Pos()).String()] = codeUse{code, field}
		}
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if last(n.Fun) == "Coded" && len(n.Args) > 1 {
					add(n.Args[1], false)
				}
			case *ast.CompositeLit:
				kind := last(n.Type)
				if list, ok := n.Type.(*ast.ArrayType); ok {
					kind = last(list.Elt)
					for _, e := range n.Elts {
						literalCode(e, kind, add)
					}
				}
				literalCode(n, kind, add)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func literalCode(e ast.Expr, kind string, add func(ast.Expr, bool)) {
	lit, ok := e.(*ast.CompositeLit)
	if !ok || kind != "Error" && kind != "FieldError" {
		return
	}
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok && last(pair.Key) == "Code" {
			add(pair.Value, kind == "FieldError")
		}
	}
}

// last is the last name of an expression, "Error" of ship.Error.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
