package shipping_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A step that lasts is whatever writes to the database or to this machine's
// disk, or buys, voids or looks something up at a carrier. Each has a point on
// both sides where a test can kill the process: it is the one such step of an
// act of run.act, which run.do puts points around, or it is inside
// failpoint.Around. Package test/crash dies at every point.
func TestEveryStepThatLastsHasAPointOnBothSides(t *testing.T) {
	t.Parallel()
	l := newLint(t)
	for _, name := range l.order {
		steps := l.stepsOf(name)
		heavy := slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return s.asks })
		switch {
		case l.acts[name]:
			if len(heavy) > 1 {
				t.Errorf("%s is one act and takes %d steps that last: %v. The process can die between them", name, len(heavy), heavy)
			}
		case len(steps) > 0 && (ast.IsExported(name) || !l.called[name]):
			t.Errorf("%s reaches steps that last without a point on both sides: %v. Make each an act of package purchase, or put failpoint.Around around it", name, steps)
		}
	}
	for _, wrong := range l.wrong {
		t.Error(wrong)
	}
	if len(l.acts) < 10 || len(l.stepsOf("record")) != 1 {
		t.Errorf("the acts are not recognized any more: %v", l.acts)
	}
}

// free are steps that cost nothing: how plain sandbox purchases are made, files that
// are stored beside a shipment in one statement, and the former name of a purchase:
// whoever finds it taken after a crash goes on under the present name. Labels that were
// rendered are rendered again if they are lost, and metadata changes in one transaction.
var free = []string{
	"buyAtOnce", "create", "AddDocument", "settleName",
	"keepRenderings", "startPreparing", "PrepareLabels", "DeleteOldLabelFiles", "ChangeMetadata",
}

// reading are the methods of the store that change nothing. All others write.
var reading = []string{
	"Approval", "Attempts", "Attention", "DecidedApprovals", "DueApprovals", "WaitingApprovals", "Audit", "CountShipments", "Document", "ErasedSince", "UncertainPurchases", "Upload", "Exceptions", "FailedPurchases", "InTx", "TrackingStates", "Label", "LabelFile", "LabelFileOfKey", "LabelRenderings", "Labels", "Location", "Lanes", "LastAttempts", "Logo", "LockTrackingStates",
	"LiveReturn", "LockOrder", "LockReturns", "Returns", "IdempotencyRecord", "OpenPurchases", "RestoreState", "IsHeld", "MissingUnder", "DecidedPurchases", "Scans", "Shipment", "ShipmentByNumber", "Shipments", "ShipmentsByID", "Spent",
	"ConnectionLookup", "ConnectionLookups", "ControlPurchase", "PurchaseUnder",
	"HasLiveOrphan", "OrphanedLabel", "OrphanedLabels", "MissingPage", "MissingNeeds", "CountMissing", "Tallies", "Unknown",
}

// A step lasts.
type step struct {
	where string
	asks  bool // it only asks the carrier
}

func (s step) String() string { return s.where }

type lint struct {
	fset   *token.FileSet
	funcs  map[string][]*ast.FuncDecl // by name alone: a step of one counts for all
	order  []string
	acts   map[string]bool
	called map[string]bool
	writes []string // methods that last, by name
	known  map[string][]step
	busy   map[string]bool
	within string // the function that is being read
	wrong  []string
}

func newLint(t *testing.T) *lint {
	t.Helper()
	l := &lint{
		fset: token.NewFileSet(), funcs: map[string][]*ast.FuncDecl{}, acts: map[string]bool{}, called: map[string]bool{}, known: map[string][]step{}, busy: map[string]bool{},
		writes: []string{"Buy", "Void", "Find", "Append", "Put", "Remove"},
	}
	for _, fn := range l.parse(t, "../store") {
		if fn.Recv != nil && fn.Name.IsExported() && receiverType(fn) == "Store" && !slices.Contains(reading, fn.Name.Name) {
			l.writes = append(l.writes, fn.Name.Name)
		}
	}
	for _, fn := range l.parse(t, ".") {
		name := fn.Name.Name
		if name == "act" {
			l.readActs(fn)
		}
		l.funcs[name] = append(l.funcs[name], fn)
		l.order = append(l.order, name)
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				l.called[nameOf(call.Fun)] = true
			}
			return true
		})
	}
	return l
}

// parse reads the functions of a package, without tests.
func (l *lint) parse(t *testing.T, dir string) (list []*ast.FuncDecl) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(l.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				list = append(list, fn)
			}
		}
	}
	return list
}

// readActs finds what run.act returns.
func (l *lint) readActs(fn *ast.FuncDecl) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
			l.acts[nameOf(r.Results[0])] = true
		}
		return true
	})
}

// stepsOf are the steps that a function takes, itself or through others of the
// package, and that are not inside failpoint.Around.
func (l *lint) stepsOf(name string) []step {
	steps, ok := l.known[name]
	if ok || l.busy[name] || slices.Contains(free, name) {
		return steps
	}
	l.busy[name] = true
	caller := l.within
	l.within = name
	for _, fn := range l.funcs[name] {
		own := l.stepsIn(fn.Body, receiverName(fn))
		if hasTx(fn.Type) && len(own) > 1 {
			own = own[:1] // parts of one transaction
		}
		steps = append(steps, own...)
	}
	l.busy[name], l.within = false, caller
	l.known[name] = steps
	return steps
}

// stepsIn are the steps of a piece of code in a method of self.
func (l *lint) stepsIn(code ast.Node, self string) (steps []step) {
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			inner := l.stepsIn(n.Body, self)
			if hasTx(n.Type) && len(inner) > 1 {
				inner = inner[:1]
			}
			steps = append(steps, inner...)
			return false
		case *ast.CallExpr:
			if isAround(n) {
				if inner := l.stepsIn(n.Args[1], self); len(inner) != 1 {
					l.wrong = append(l.wrong, fmt.Sprintf("%s: there are %d steps that last between the two points: %v", l.at(n), len(inner), inner))
				}
				return false
			}
			steps = append(steps, l.stepsOfCall(n, self)...)
		}
		return true
	})
	return steps
}

func (l *lint) stepsOfCall(call *ast.CallExpr, self string) []step {
	name := nameOf(call.Fun)
	sel, ok := call.Fun.(*ast.SelectorExpr)
	own := !ok || isSelf(sel.X, self)
	switch {
	case own:
		return l.stepsOf(name)
	case slices.Contains(l.writes, name) && nameOf(sel.X) != "machine":
		return []step{{where: name + " in " + l.within + " at " + l.at(call), asks: name == "Find"}}
	}
	return nil
}

func (l *lint) at(n ast.Node) string {
	p := l.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)
}

// isSelf reports whether x is the receiver, or another value of a type of this
// package as it is called here.
func isSelf(x ast.Expr, self string) bool {
	id, ok := x.(*ast.Ident)
	return ok && (id.Name == self || id.Name == "r" || id.Name == "s")
}

func isAround(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Around" && nameOf(sel.X) == "failpoint"
}

// nameOf is the last name of an expression: of f(), x.f() and x.f.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		return nameOf(e.Fun)
	}
	return ""
}

// hasTx reports whether a function is given a store: then all that it writes
// is one transaction.
func hasTx(fn *ast.FuncType) bool {
	return slices.ContainsFunc(fn.Params.List, func(f *ast.Field) bool {
		star, ok := f.Type.(*ast.StarExpr)
		return ok && nameOf(star.X) == "Store"
	})
}

func receiverName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List[0].Names) == 0 {
		return ""
	}
	return fn.Recv.List[0].Names[0].Name
}

func receiverType(fn *ast.FuncDecl) string {
	if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
		return nameOf(star.X)
	}
	return nameOf(fn.Recv.List[0].Type)
}
