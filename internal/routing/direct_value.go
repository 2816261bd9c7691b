package routing

import (
	"math"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// getters finds the variable, or the field of the loop's offer, that a part
// names.
func (d directly) getters(e ast.Expr) (getters, bool) {
	name, root := nameOf(e)
	if root == nil {
		return getters{}, false
	}
	if i, ok := place[name]; ok {
		return variables[i].getters, true
	}
	first, field, ok := cutName(name)
	if !ok || first != d.loop {
		return getters{}, false
	}
	for _, f := range offerFields {
		if f.Name == field {
			return f.getters, true
		}
	}
	return getters{}, false
}

func (d directly) text(e ast.Expr) (func(*scope) string, bool) {
	if s, ok := constant(e); ok {
		return func(*scope) string { return s }, true
	}
	if key, ok := metadataKey(e); ok {
		return func(s *scope) string { return s.in.Order.Metadata[key] }, true
	}
	if e.Kind() == ast.CallKind {
		return d.changed(e.AsCall())
	}
	g, ok := d.getters(e)
	return g.text, ok && g.text != nil
}

// changed is a text in other letters, or without white space around it.
func (d directly) changed(c ast.CallExpr) (func(*scope) string, bool) {
	change := map[string]func(string) string{"lowerAscii": lowerASCII, "upperAscii": upperASCII, "trim": strings.TrimSpace}[c.FunctionName()]
	if change == nil || !c.IsMemberFunction() {
		return nil, false
	}
	get, ok := d.text(c.Target())
	return func(s *scope) string { return change(get(s)) }, ok
}

func lowerASCII(s string) string { return mapASCII(s, 'A', 'Z', 'a'-'A') }
func upperASCII(s string) string { return mapASCII(s, 'a', 'z', 'A'-'a') }

func mapASCII(s string, from, to, by rune) string {
	return strings.Map(func(r rune) rune {
		if r >= from && r <= to {
			return r + by
		}
		return r
	}, s)
}

// metadataKey is the key that metadata.key and metadata["key"] read.
func metadataKey(e ast.Expr) (string, bool) {
	var of ast.Expr
	var key string
	switch {
	case e.Kind() == ast.SelectKind:
		of, key = e.AsSelect().Operand(), e.AsSelect().FieldName()
	case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Index:
		var ok bool
		of = e.AsCall().Args()[0]
		if key, ok = constant(e.AsCall().Args()[1]); !ok {
			return "", false
		}
	default:
		return "", false
	}
	return key, of.Kind() == ast.IdentKind && of.AsIdent() == "metadata"
}

func (d directly) whole(e ast.Expr) (func(*scope) int64, bool) {
	if e.Kind() == ast.LiteralKind {
		n, ok := e.AsLiteral().(types.Int)
		return func(*scope) int64 { return int64(n) }, ok
	}
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "size" {
		of := append([]ast.Expr{e.AsCall().Target()}, e.AsCall().Args()...)
		get, ok := d.text(of[len(of)-1])
		return func(s *scope) int64 { return int64(utf8.RuneCountInString(get(s))) }, ok
	}
	g, ok := d.getters(e)
	return g.whole, ok && g.whole != nil
}

func (d directly) number(e ast.Expr) (func(*scope) float64, bool) {
	switch e.Kind() {
	case ast.LiteralKind:
		n, ok := e.AsLiteral().(types.Double)
		return func(*scope) float64 { return float64(n) }, ok && !math.IsNaN(float64(n))
	case ast.CallKind:
		return d.arithmetic(e.AsCall())
	}
	g, ok := d.getters(e)
	return g.number, ok && g.number != nil
}

// arithmetic is a number times, plus or minus a constant of a usual size. So
// it cannot be something that is no number, which the interpreter refuses to
// compare.
func (d directly) arithmetic(c ast.CallExpr) (func(*scope) float64, bool) {
	args := c.Args()
	if c.FunctionName() == "double" && len(args) == 1 {
		n, ok := d.whole(args[0])
		return func(s *scope) float64 { return float64(n(s)) }, ok
	}
	if len(args) != 2 || args[1].Kind() != ast.LiteralKind {
		return nil, false
	}
	constant, ok := args[1].AsLiteral().(types.Double)
	by := float64(constant)
	if size := math.Abs(by); !ok || size < 1e-6 || size > 1e9 || math.IsNaN(size) {
		return nil, false
	}
	n, ok := d.number(args[0])
	switch c.FunctionName() {
	case operators.Multiply:
		return func(s *scope) float64 { return n(s) * by }, ok
	case operators.Add:
		return func(s *scope) float64 { return n(s) + by }, ok
	case operators.Subtract:
		return func(s *scope) float64 { return n(s) - by }, ok
	}
	return nil, false
}

// overOffers is quotes.exists or quotes.all, outside of another loop.
func (d directly) overOffers(c ast.ComprehensionExpr) (test, bool) {
	over := c.IterRange()
	if d.loop != "" || c.HasIterVar2() || over.Kind() != ast.IdentKind || over.AsIdent() != "quotes" {
		return nil, false
	}
	start, step, result := c.AccuInit(), c.LoopStep(), c.Result()
	if start.Kind() != ast.LiteralKind || step.Kind() != ast.CallKind || result.Kind() != ast.IdentKind || result.AsIdent() != c.AccuVar() {
		return nil, false
	}
	all := start.AsLiteral() == types.True
	want := operators.LogicalOr
	if all {
		want = operators.LogicalAnd
	}
	args := step.AsCall().Args()
	if step.AsCall().FunctionName() != want || len(args) != 2 || args[0].Kind() != ast.IdentKind || args[0].AsIdent() != c.AccuVar() {
		return nil, false
	}
	each, ok := directly{loop: c.IterVar()}.test(args[1])
	return func(s *scope) bool {
		for _, o := range s.offers[:min(len(s.offers), maxQuotes)] {
			s.turn = o
			if each(s) != all {
				return !all
			}
		}
		return all
	}, ok
}
