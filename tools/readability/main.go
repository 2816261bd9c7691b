// Readability prints how the hand-written Go code of a folder reads: how many
// long functions have no paragraphs, how often a comment says why, how many
// unrelated values share an assignment, and how many locals have one letter.
//
// The figures are only indicators of places worth reading again. A blank line
// or a comment that is added just to improve them makes the code worse.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// figures are the counts of one package, or of all of them.
type figures struct {
	lines       int // of function bodies
	comments    int // lines inside function bodies that hold nothing but a comment
	long        int // functions of at least 20 lines
	unbroken    int // those of them without a blank line
	parallel    int // assignments of several independent values
	locals      int
	shortLocals int // with one letter, except loop indexes and the usual t, w, r and n
}

func (f *figures) add(other figures) {
	f.lines += other.lines
	f.comments += other.comments
	f.long += other.long
	f.unbroken += other.unbroken
	f.parallel += other.parallel
	f.locals += other.locals
	f.shortLocals += other.shortLocals
}

func main() {
	perFunction := flag.Bool("functions", false, "list the long functions without a blank line")
	tests := flag.Bool("tests", false, "count test files instead of the program")
	flag.Parse()

	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	if err := run(root, *tests, *perFunction); err != nil {
		fmt.Fprintln(os.Stderr, "readability:", err)
		os.Exit(1)
	}
}

func run(root string, tests, perFunction bool) error {
	packages := map[string]figures{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") != tests {
			return nil
		}

		counted, err := countFile(path, perFunction)
		if err != nil {
			return err
		}
		total := packages[filepath.Dir(path)]
		total.add(counted)
		packages[filepath.Dir(path)] = total
		return nil
	})
	if err != nil {
		return err
	}

	names := make([]string, 0, len(packages))
	var all figures
	for name, counted := range packages {
		names = append(names, name)
		all.add(counted)
	}
	sort.Strings(names)

	fmt.Printf("%-40s %7s %6s %10s %10s %10s %10s\n", "package", "lines", "long", "unbroken", "comments", "parallel", "one letter")
	fmt.Printf("%-40s %7s %6s %10s %10s %10s %10s\n", "", "", "", "%", "per 100", "per 1000", "%")
	for _, name := range names {
		printRow(name, packages[name])
	}
	printRow("all", all)
	return nil
}

func printRow(name string, f figures) {
	fmt.Printf("%-40s %7d %6d %10.1f %10.1f %10.1f %10.1f\n", name, f.lines, f.long,
		ratio(f.unbroken, f.long, 100), ratio(f.comments, f.lines, 100),
		ratio(f.parallel, f.lines, 1000), ratio(f.shortLocals, f.locals, 100))
}

func ratio(part, whole, scale int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) * float64(scale) / float64(whole)
}

// countFile counts the functions of one file. A generated file counts nothing.
func countFile(path string, perFunction bool) (figures, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return figures{}, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments)
	if err != nil {
		return figures{}, err
	}
	if ast.IsGenerated(file) {
		return figures{}, nil
	}

	text := strings.Split(string(source), "\n")
	var counted figures
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		first := files.Position(function.Body.Lbrace).Line
		last := files.Position(function.Body.Rbrace).Line
		one := countBody(text[first:max(first, last-1)])
		countStatements(function.Body, &one)
		if one.unbroken > 0 && perFunction {
			fmt.Printf("%s:%d: %s has %d lines without a blank line\n", path, first, function.Name.Name, last-first-1)
		}
		counted.add(one)
	}
	return counted, nil
}

// countBody counts the lines between the braces of a function.
func countBody(lines []string) figures {
	counted := figures{lines: len(lines)}
	blank := false
	for _, line := range lines {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "":
			blank = true
		case strings.HasPrefix(trimmed, "//"):
			counted.comments++
		}
	}

	if len(lines) >= 20 {
		counted.long = 1
		if !blank {
			counted.unbroken = 1
		}
	}
	return counted
}

// countStatements counts parallel assignments and locals in a body, closures
// included.
func countStatements(body *ast.BlockStmt, counted *figures) {
	usual := map[string]bool{"t": true, "w": true, "r": true, "n": true, "_": true}
	indexes := map[*ast.Ident]bool{}

	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ForStmt:
			markIndexes(node.Init, indexes)
		case *ast.RangeStmt:
			if key, ok := node.Key.(*ast.Ident); ok {
				indexes[key] = true
			}
			if value, ok := node.Value.(*ast.Ident); ok && node.Tok == token.DEFINE {
				countLocal(value, usual, counted)
			}
		case *ast.AssignStmt:
			if isParallel(node, indexes) {
				counted.parallel++
			}
			if node.Tok == token.DEFINE {
				for _, target := range node.Lhs {
					if name, ok := target.(*ast.Ident); ok && !indexes[name] {
						countLocal(name, usual, counted)
					}
				}
			}
		case *ast.ValueSpec:
			for _, name := range node.Names {
				countLocal(name, usual, counted)
			}
		}
		return true
	})
}

// markIndexes records the variables that a for statement counts with.
func markIndexes(init ast.Stmt, indexes map[*ast.Ident]bool) {
	assignment, ok := init.(*ast.AssignStmt)
	if !ok {
		return
	}
	for _, target := range assignment.Lhs {
		if name, ok := target.(*ast.Ident); ok {
			indexes[name] = true
		}
	}
}

// isParallel reports whether an assignment gives several values at once that
// could stand on lines of their own. A swap could not.
func isParallel(assignment *ast.AssignStmt, indexes map[*ast.Ident]bool) bool {
	if len(assignment.Lhs) < 2 || len(assignment.Rhs) != len(assignment.Lhs) {
		return false
	}

	targets := map[string]bool{}
	for _, target := range assignment.Lhs {
		if name, ok := target.(*ast.Ident); ok {
			if indexes[name] {
				return false
			}
			targets[name.Name] = true
		}
	}
	swap := false
	for _, value := range assignment.Rhs {
		ast.Inspect(value, func(node ast.Node) bool {
			if name, ok := node.(*ast.Ident); ok && targets[name.Name] {
				swap = true
			}
			return true
		})
	}
	return !swap
}

func countLocal(name *ast.Ident, usual map[string]bool, counted *figures) {
	if name.Name == "_" {
		return
	}
	counted.locals++
	if len(name.Name) == 1 && !usual[name.Name] {
		counted.shortLocals++
	}
}
