package routing

import (
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// A test is a condition that is evaluated without the CEL interpreter, some
// twenty times as fast. It cannot fail.
type test func(*scope) bool

// direct makes a test of a checked condition, if it is of the plain kind:
// comparisons of variables with constants and with each other, tests of texts,
// one loop over the offers, and these joined by &&, || and !.
//
// Of any other condition it tests the parts that must all hold and are plain,
// if there are any; it reports whether the test is the complete condition. A
// part that does not hold makes the condition false, even if another part
// fails.
func direct(expr ast.Expr) (compiled test, isComplete bool) {
	if complete, ok := (directCompiler{}).test(expr); ok {
		return complete, true
	}

	var parts []test
	for _, part := range conjuncts(expr) {
		if partTest, ok := (directCompiler{}).test(part); ok {
			parts = append(parts, partTest)
		}
	}
	if len(parts) == 0 {
		return nil, false
	}
	return allOf(parts), false
}

// conjuncts returns the parts of a && b && c.
func conjuncts(expr ast.Expr) []ast.Expr {
	if expr.Kind() != ast.CallKind || expr.AsCall().FunctionName() != operators.LogicalAnd {
		return []ast.Expr{expr}
	}

	var all []ast.Expr
	for _, arg := range expr.AsCall().Args() {
		all = append(all, conjuncts(arg)...)
	}
	return all
}

func allOf(parts []test) test {
	return func(s *scope) bool {
		for _, part := range parts {
			if !part(s) {
				return false
			}
		}
		return true
	}
}

// A directCompiler makes tests. Inside a loop it knows the loop's variable.
type directCompiler struct{ loop string }

func (d directCompiler) test(expr ast.Expr) (test, bool) {
	switch expr.Kind() {
	case ast.LiteralKind:
		value, ok := expr.AsLiteral().(types.Bool)
		return func(*scope) bool { return bool(value) }, ok
	case ast.IdentKind, ast.SelectKind:
		found, ok := d.getters(expr)
		return found.boolean, ok && found.boolean != nil
	case ast.ComprehensionKind:
		return d.overOffers(expr.AsComprehension())
	case ast.CallKind:
		return d.call(expr.AsCall())
	}
	return nil, false
}

func (d directCompiler) call(call ast.CallExpr) (test, bool) {
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.LogicalNot:
		negated, ok := d.test(args[0])
		return func(s *scope) bool { return !negated(s) }, ok

	case operators.LogicalAnd, operators.LogicalOr:
		return d.join(name == operators.LogicalAnd, args)

	case operators.In:
		return d.membership(args[0], args[1])

	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return d.compare(name, args[0], args[1])

	case "startsWith", "endsWith", "contains", "matches":
		if call.IsMemberFunction() {
			return d.textFunction(name, call.Target(), args[0])
		}
	}
	return nil, false
}

func (d directCompiler) join(and bool, args []ast.Expr) (test, bool) {
	left, leftOK := d.test(args[0])
	right, rightOK := d.test(args[1])
	if !leftOK || !rightOK || len(args) != 2 {
		return nil, false
	}

	if and {
		return func(s *scope) bool { return left(s) && right(s) }, true
	}
	return func(s *scope) bool { return left(s) || right(s) }, true
}

// compare compares two values of one type. Numbers of different types are left
// to the interpreter.
func (d directCompiler) compare(operator string, x, y ast.Expr) (test, bool) {
	if left, ok := d.text(x); ok {
		right, ok := d.text(y)
		return compareTest(operator, left, right), ok
	}
	if left, ok := d.integer(x); ok {
		right, ok := d.integer(y)
		return compareTest(operator, left, right), ok
	}
	if left, ok := d.number(x); ok {
		right, ok := d.number(y)
		return compareTest(operator, left, right), ok
	}

	// Booleans are equal or not; they have no order.
	if operator != operators.Equals && operator != operators.NotEquals {
		return nil, false
	}
	left, leftOK := d.test(x)
	right, rightOK := d.test(y)
	return func(s *scope) bool { return (left(s) == right(s)) == (operator == operators.Equals) }, leftOK && rightOK
}

func compareTest[T int64 | float64 | string](operator string, left, right func(*scope) T) test {
	switch operator {
	case operators.Equals:
		return func(s *scope) bool { return left(s) == right(s) }
	case operators.NotEquals:
		return func(s *scope) bool { return left(s) != right(s) }
	case operators.Less:
		return func(s *scope) bool { return left(s) < right(s) }
	case operators.LessEquals:
		return func(s *scope) bool { return left(s) <= right(s) }
	case operators.Greater:
		return func(s *scope) bool { return left(s) > right(s) }
	}
	return func(s *scope) bool { return left(s) >= right(s) }
}

// membership tests whether a text is in a list of constants, or a constant is a
// key of the metadata.
func (d directCompiler) membership(x, list ast.Expr) (test, bool) {
	if key, ok := constant(x); ok && list.Kind() == ast.IdentKind && list.AsIdent() == "metadata" {
		return func(s *scope) bool {
			_, given := s.in.Order.Metadata[key]
			return given
		}, true
	}

	get, ok := d.text(x)
	if !ok || list.Kind() != ast.ListKind {
		return nil, false
	}
	var words []string
	for _, element := range list.AsList().Elements() {
		word, ok := constant(element)
		if !ok {
			return nil, false
		}
		words = append(words, word)
	}

	// A short list is searched faster than a map.
	if len(words) <= 8 {
		return func(s *scope) bool { return slices.Contains(words, get(s)) }, true
	}
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[word] = true
	}
	return func(s *scope) bool { return set[get(s)] }, true
}

func constant(expr ast.Expr) (string, bool) {
	if expr.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := expr.AsLiteral().(types.String)
	return string(text), ok
}

func (d directCompiler) textFunction(name string, target, arg ast.Expr) (test, bool) {
	get, ok := d.text(target)
	part, isConstant := constant(arg)
	if !ok || !isConstant {
		return nil, false
	}

	switch name {
	case "startsWith":
		return func(s *scope) bool { return strings.HasPrefix(get(s), part) }, true
	case "endsWith":
		return func(s *scope) bool { return strings.HasSuffix(get(s), part) }, true
	case "contains":
		return func(s *scope) bool { return strings.Contains(get(s), part) }, true
	}
	pattern, err := regexp.Compile(part)
	return func(s *scope) bool { return pattern.MatchString(get(s)) }, err == nil
}
