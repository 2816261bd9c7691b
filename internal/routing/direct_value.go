package routing

import (
	"math"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// getters returns the getters of the variable, or of the field of the loop's
// offer, that a part names.
func (d directCompiler) getters(expr ast.Expr) (getters, bool) {
	name, root := nameOf(expr)
	if root == nil {
		return getters{}, false
	}
	if i, ok := variableIndex[name]; ok {
		return variables[i].getters, true
	}

	first, fieldName, ok := cutName(name)
	if !ok || first != d.loop {
		return getters{}, false
	}
	for _, candidate := range offerFields {
		if candidate.Name == fieldName {
			return candidate.getters, true
		}
	}
	return getters{}, false
}

func (d directCompiler) text(expr ast.Expr) (func(*scope) string, bool) {
	if text, ok := constant(expr); ok {
		return func(*scope) string { return text }, true
	}
	if key, ok := metadataKey(expr); ok {
		return func(s *scope) string { return s.in.Order.Metadata[key] }, true
	}
	if expr.Kind() == ast.CallKind {
		return d.transformedText(expr.AsCall())
	}
	found, ok := d.getters(expr)
	return found.text, ok && found.text != nil
}

// transformedText returns a text in lower or upper case, or without surrounding
// white space.
func (d directCompiler) transformedText(call ast.CallExpr) (func(*scope) string, bool) {
	transform := map[string]func(string) string{
		"lowerAscii": lowerASCII,
		"upperAscii": upperASCII,
		"trim":       strings.TrimSpace,
	}[call.FunctionName()]
	if transform == nil || !call.IsMemberFunction() {
		return nil, false
	}

	get, ok := d.text(call.Target())
	return func(s *scope) string { return transform(get(s)) }, ok
}

func lowerASCII(text string) string { return mapASCII(text, 'A', 'Z', 'a'-'A') }
func upperASCII(text string) string { return mapASCII(text, 'a', 'z', 'A'-'a') }

func mapASCII(text string, from, to, by rune) string {
	return strings.Map(func(r rune) rune {
		if r >= from && r <= to {
			return r + by
		}
		return r
	}, text)
}

// metadataKey returns the key that metadata.key and metadata["key"] read.
func metadataKey(expr ast.Expr) (string, bool) {
	var operand ast.Expr
	var key string
	switch {
	case expr.Kind() == ast.SelectKind:
		operand = expr.AsSelect().Operand()
		key = expr.AsSelect().FieldName()

	case expr.Kind() == ast.CallKind && expr.AsCall().FunctionName() == operators.Index:
		var ok bool
		operand = expr.AsCall().Args()[0]
		if key, ok = constant(expr.AsCall().Args()[1]); !ok {
			return "", false
		}

	default:
		return "", false
	}
	return key, operand.Kind() == ast.IdentKind && operand.AsIdent() == "metadata"
}

func (d directCompiler) integer(expr ast.Expr) (func(*scope) int64, bool) {
	if expr.Kind() == ast.LiteralKind {
		n, ok := expr.AsLiteral().(types.Int)
		return func(*scope) int64 { return int64(n) }, ok
	}

	// size(text) and text.size() mean the same.
	if expr.Kind() == ast.CallKind && expr.AsCall().FunctionName() == "size" {
		operands := append([]ast.Expr{expr.AsCall().Target()}, expr.AsCall().Args()...)
		get, ok := d.text(operands[len(operands)-1])
		return func(s *scope) int64 { return int64(utf8.RuneCountInString(get(s))) }, ok
	}
	found, ok := d.getters(expr)
	return found.integer, ok && found.integer != nil
}

func (d directCompiler) number(expr ast.Expr) (func(*scope) float64, bool) {
	switch expr.Kind() {
	case ast.LiteralKind:
		n, ok := expr.AsLiteral().(types.Double)
		return func(*scope) float64 { return float64(n) }, ok && !math.IsNaN(float64(n))
	case ast.CallKind:
		return d.arithmetic(expr.AsCall())
	}
	found, ok := d.getters(expr)
	return found.number, ok && found.number != nil
}

// arithmetic returns a number times, plus or minus a constant of a usual size.
// The result cannot be NaN then, which the interpreter refuses to compare.
func (d directCompiler) arithmetic(call ast.CallExpr) (func(*scope) float64, bool) {
	args := call.Args()
	if call.FunctionName() == "double" && len(args) == 1 {
		get, ok := d.integer(args[0])
		return func(s *scope) float64 { return float64(get(s)) }, ok
	}

	if len(args) != 2 || args[1].Kind() != ast.LiteralKind {
		return nil, false
	}
	literal, ok := args[1].AsLiteral().(types.Double)
	by := float64(literal)
	if size := math.Abs(by); !ok || size < 1e-6 || size > 1e9 || math.IsNaN(size) {
		return nil, false
	}

	get, ok := d.number(args[0])
	switch call.FunctionName() {
	case operators.Multiply:
		return func(s *scope) float64 { return get(s) * by }, ok
	case operators.Add:
		return func(s *scope) float64 { return get(s) + by }, ok
	case operators.Subtract:
		return func(s *scope) float64 { return get(s) - by }, ok
	}
	return nil, false
}

// overOffers tests quotes.exists or quotes.all, outside of another loop. Any
// other loop is left to the interpreter.
func (d directCompiler) overOffers(loop ast.ComprehensionExpr) (test, bool) {
	over := loop.IterRange()
	if d.loop != "" || loop.HasIterVar2() || over.Kind() != ast.IdentKind || over.AsIdent() != "quotes" {
		return nil, false
	}

	// The macros write exists as false || each || each ..., and all as
	// true && each && each ....
	start := loop.AccuInit()
	step := loop.LoopStep()
	result := loop.Result()
	if start.Kind() != ast.LiteralKind || step.Kind() != ast.CallKind || result.Kind() != ast.IdentKind || result.AsIdent() != loop.AccuVar() {
		return nil, false
	}
	isAll := start.AsLiteral() == types.True
	operator := operators.LogicalOr
	if isAll {
		operator = operators.LogicalAnd
	}
	args := step.AsCall().Args()
	if step.AsCall().FunctionName() != operator || len(args) != 2 || args[0].Kind() != ast.IdentKind || args[0].AsIdent() != loop.AccuVar() {
		return nil, false
	}

	each, ok := directCompiler{loop: loop.IterVar()}.test(args[1])
	return func(s *scope) bool {
		for _, next := range s.offers[:min(len(s.offers), maxQuotes)] {
			s.current = next
			if each(s) != isAll {
				return !isAll
			}
		}
		return isAll
	}, ok
}
