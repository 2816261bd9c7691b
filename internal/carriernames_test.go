package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/all"
)

// mayNameCarriers are the places that know single carriers, beside their own
// folders: the two lists, the sandbox's data, and examples in texts.
var mayNameCarriers = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`carrier/(?:sandbox|all)/`,
	`cli/emulate\.go$`,               // the list of emulators
	`api/examples`,                   // of requests and answers
	`store/storetest/sample\.go$`,    // of rows
	`webhook/try\.go$`,               // a test event
	`compat/easypost/shipments\.go$`, // a field of EasyPost's has a carrier's name
	`web/developers/sandbox\.go$`,    // the failures that the sandbox plays
}, "|") + `)`)

// isExample reports whether a text is a help or documentation text, in which a
// carrier is an example: it has several words.
func isExample(text string) bool { return strings.ContainsAny(text, " =|-") }

// TestOnlyItsOwnFolderNamesACarrier holds the promise that a carrier is one
// folder, one for its emulator, and a line in each list. Comments may name
// carriers.
func TestOnlyItsOwnFolderNamesACarrier(t *testing.T) {
	t.Parallel()
	var names, folders, firstWords []string
	for _, spec := range all.Specs {
		folder := strings.ReplaceAll(spec.Name, "_", "")
		names = append(names, spec.Name, spec.Title, folder)
		folders = append(folders, folder)
		firstWords = append(firstWords, strings.Fields(spec.Title)[0])
	}
	ownFolder := regexp.MustCompile(`^(?:carrier|emulator)/(?:` + strings.Join(folders, "|") + `)/`)
	named := regexp.MustCompile(`(?i)(?:^|[^a-z])(?:` + strings.Join(names, "|") + `)(?:$|[^a-z])`)
	inIdentifier := regexp.MustCompile(strings.Join(firstWords, "|"))

	files := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir(), filepath.Ext(path) != ".go", strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, "_templ.go"):
			return nil
		case ownFolder.MatchString(filepath.ToSlash(path)), mayNameCarriers.MatchString(filepath.ToSlash(path)):
			return nil
		}

		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		files++
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.BasicLit:
				if node.Kind == token.STRING && !isExample(node.Value) && named.MatchString(node.Value) {
					t.Errorf("%s names a carrier: %s", set.Position(node.Pos()), node.Value)
				}
			case *ast.Ident:
				if inIdentifier.MatchString(node.Name) {
					t.Errorf("%s names a carrier: %s", set.Position(node.Pos()), node.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 300 {
		t.Errorf("only %d files were read: the search is broken", files)
	}
}
