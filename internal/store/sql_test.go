package store_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestSQL has Postgres parse and plan every sql constant of the package, so a
// misspelt column fails here even if no other test runs the query.
func TestSQL(t *testing.T) {
	t.Parallel()
	conn := storetest.Conn(t, storetest.URL(t))
	n := 0
	for name, sql := range constants(t) {
		if strings.Contains(sql, "%[1]s") || name == "sqlPrepareQueue" || name == "sqlMakeRoles" {
			continue // a template, run by every migration
		}
		n++
		text, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), conn, sql, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Prepare(t.Context(), fmt.Sprint("s", n), text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n < 30 {
		t.Errorf("only %d statements found", n)
	}
}

func TestThePackageCommentNamesEveryFile(t *testing.T) {
	t.Parallel()
	comment, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		named := regexp.MustCompile(`[ (]` + regexp.QuoteMeta(file) + `\b`)
		if file != "doc.go" && !strings.HasSuffix(file, "_test.go") && !named.Match(comment) {
			t.Errorf("the package comment does not name %s", file)
		}
	}
}

// constants returns the values of the package's constants whose names begin
// with sql.
func constants(t *testing.T) map[string]string {
	t.Helper()
	all, err := readConstants()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readConstants reads them once: it takes a look at everything that the package
// imports.
var readConstants = sync.OnceValues(func() (map[string]string, error) {
	fset := token.NewFileSet()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, p, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	// Only constants matter: what cannot be imported is ignored.
	conf := types.Config{Importer: importer.Default(), Error: func(error) {}}
	pkg, _ := conf.Check("store", fset, files, nil)
	found := map[string]string{}
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok && strings.HasPrefix(name, "sql") && c.Val().Kind() == constant.String {
			found[name] = constant.StringVal(c.Val())
		}
	}
	return found, nil
})
