package routing

import (
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// A test is a condition that is tested without the language's interpreter,
// some twenty times as fast. It cannot fail.
type test func(*scope) bool

// direct makes a test of a checked condition, if it is of the plain kind:
// comparisons of variables with constants and with each other, tests of texts,
// one loop over the offers, and these joined by &&, || and !.
//
// Of another condition it tests the parts that must all hold and are plain, if
// there are any; it reports whether the test is the whole condition. A part
// that does not hold makes the condition false, even if another part fails.
func direct(e ast.Expr) (test, bool) {
	if whole, ok := (directly{}).test(e); ok {
		return whole, true
	}
	var parts []test
	for _, p := range conjuncts(e) {
		if t, ok := (directly{}).test(p); ok {
			parts = append(parts, t)
		}
	}
	if len(parts) == 0 {
		return nil, false
	}
	return allOf(parts), false
}

// conjuncts are the parts of a && b && c.
func conjuncts(e ast.Expr) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.LogicalAnd {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, a := range e.AsCall().Args() {
		all = append(all, conjuncts(a)...)
	}
	return all
}

func allOf(parts []test) test {
	return func(s *scope) bool {
		for _, t := range parts {
			if !t(s) {
				return false
			}
		}
		return true
	}
}

// directly makes tests. Inside a loop it knows the loop's variable.
type directly struct{ loop string }

func (d directly) test(e ast.Expr) (test, bool) {
	switch e.Kind() {
	case ast.LiteralKind:
		yes, ok := e.AsLiteral().(types.Bool)
		return func(*scope) bool { return bool(yes) }, ok
	case ast.IdentKind, ast.SelectKind:
		g, ok := d.getters(e)
		return g.truth, ok && g.truth != nil
	case ast.ComprehensionKind:
		return d.overOffers(e.AsComprehension())
	case ast.CallKind:
		return d.call(e.AsCall())
	}
	return nil, false
}

func (d directly) call(c ast.CallExpr) (test, bool) {
	args := c.Args()
	switch name := c.FunctionName(); name {
	case operators.LogicalNot:
		not, ok := d.test(args[0])
		return func(s *scope) bool { return !not(s) }, ok
	case operators.LogicalAnd, operators.LogicalOr:
		return d.join(name == operators.LogicalAnd, args)
	case operators.In:
		return d.among(args[0], args[1])
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return d.compare(name, args[0], args[1])
	case "startsWith", "endsWith", "contains", "matches":
		if c.IsMemberFunction() {
			return d.texts(name, c.Target(), args[0])
		}
	}
	return nil, false
}

func (d directly) join(and bool, args []ast.Expr) (test, bool) {
	a, ok := d.test(args[0])
	b, both := d.test(args[1])
	if !ok || !both || len(args) != 2 {
		return nil, false
	}
	if and {
		return func(s *scope) bool { return a(s) && b(s) }, true
	}
	return func(s *scope) bool { return a(s) || b(s) }, true
}

// compare compares two values of one type. Numbers of different types are left
// to the interpreter.
func (d directly) compare(op string, x, y ast.Expr) (test, bool) {
	if a, ok := d.text(x); ok {
		b, ok := d.text(y)
		return comparing(op, a, b), ok
	}
	if a, ok := d.whole(x); ok {
		b, ok := d.whole(y)
		return comparing(op, a, b), ok
	}
	if a, ok := d.number(x); ok {
		b, ok := d.number(y)
		return comparing(op, a, b), ok
	}
	if op != operators.Equals && op != operators.NotEquals {
		return nil, false
	}
	a, ok := d.test(x)
	b, both := d.test(y)
	return func(s *scope) bool { return (a(s) == b(s)) == (op == operators.Equals) }, ok && both
}

func comparing[T int64 | float64 | string](op string, a, b func(*scope) T) test {
	switch op {
	case operators.Equals:
		return func(s *scope) bool { return a(s) == b(s) }
	case operators.NotEquals:
		return func(s *scope) bool { return a(s) != b(s) }
	case operators.Less:
		return func(s *scope) bool { return a(s) < b(s) }
	case operators.LessEquals:
		return func(s *scope) bool { return a(s) <= b(s) }
	case operators.Greater:
		return func(s *scope) bool { return a(s) > b(s) }
	}
	return func(s *scope) bool { return a(s) >= b(s) }
}

// among tests whether a text is in a list of constants, or a constant is a key
// of the metadata.
func (d directly) among(x, list ast.Expr) (test, bool) {
	if key, ok := constant(x); ok && list.Kind() == ast.IdentKind && list.AsIdent() == "metadata" {
		return func(s *scope) bool { _, given := s.in.Order.Metadata[key]; return given }, true
	}
	get, ok := d.text(x)
	if !ok || list.Kind() != ast.ListKind {
		return nil, false
	}
	var words []string
	for _, e := range list.AsList().Elements() {
		word, ok := constant(e)
		if !ok {
			return nil, false
		}
		words = append(words, word)
	}
	if len(words) <= 8 {
		return func(s *scope) bool { return slices.Contains(words, get(s)) }, true
	}
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[word] = true
	}
	return func(s *scope) bool { return set[get(s)] }, true
}

func constant(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

func (d directly) texts(name string, target, arg ast.Expr) (test, bool) {
	get, ok := d.text(target)
	part, fixed := constant(arg)
	if !ok || !fixed {
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
