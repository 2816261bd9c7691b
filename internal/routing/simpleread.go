package routing

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

func readSimple(source string) (Simple, bool) {
	if strings.TrimSpace(source) == "" {
		return Simple{}, true
	}
	code, _ := blank(source)
	if strings.Contains(code, "//") || utf8.RuneCountInString(source) > MaxCondition {
		return Simple{}, false
	}
	env, err := language()
	if err != nil {
		return Simple{}, false
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return Simple{}, false
	}
	e := parsed.NativeRep().Expr()
	s := Simple{Any: isCall(e, operators.LogicalOr)}
	joined := operators.LogicalAnd
	if s.Any {
		joined = operators.LogicalOr
	}
	for _, part := range partsOf(e, joined) {
		c, ok := clauseOf(part)
		if !ok {
			return Simple{}, false
		}
		s.Clauses = append(s.Clauses, c)
	}
	return s, true
}

func isCall(e ast.Expr, name string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == name
}

// partsOf are the parts of a && b && c, or of a || b || c.
func partsOf(e ast.Expr, joined string) []ast.Expr {
	if !isCall(e, joined) {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, a := range e.AsCall().Args() {
		all = append(all, partsOf(a, joined)...)
	}
	return all
}

// clauseOf reads one part.
func clauseOf(e ast.Expr) (Clause, bool) {
	if c, v, ok := subjectOf(e); ok {
		c.Test = TestYes
		return c, v.Type == truthType
	}
	if e.Kind() != ast.CallKind {
		return Clause{}, false
	}
	call := e.AsCall()
	if call.FunctionName() == operators.LogicalNot {
		c, ok := clauseOf(call.Args()[0])
		opposite, has := map[string]string{TestYes: TestNo, TestContains: TestLacks, TestOneOf: TestNoneOf}[c.Test]
		c.Test = opposite
		return c, ok && has
	}
	if call.IsMemberFunction() {
		return functionClause(call)
	}
	if len(call.Args()) != 2 {
		return Clause{}, false
	}
	c, v, ok := subjectOf(call.Args()[0])
	if !ok {
		return Clause{}, false
	}
	if call.FunctionName() == operators.In {
		return c.listClause(v, call.Args()[1])
	}
	return c.compared(v, strings.Trim(call.FunctionName(), "_"), call.Args()[1])
}

// subjectOf is what a clause is about, if the part is a variable or a key of
// one.
func subjectOf(e ast.Expr) (Clause, Variable, bool) {
	if isCall(e, operators.Index) {
		args := e.AsCall().Args()
		name, _ := nameOf(args[0])
		key, isText := textOf(args[1])
		v, known := FindVariable(name)
		return Clause{Name: name, Key: key}, v, isText && known && v.HasKeys() && key != ""
	}
	name, root := nameOf(e)
	if root == nil {
		return Clause{}, Variable{}, false
	}
	if of, key, _ := cutName(name); key != "" && !strings.Contains(key, ".") {
		if v, known := FindVariable(of); known && v.HasKeys() {
			return Clause{Name: of, Key: key}, v, true
		}
	}
	v, known := FindVariable(name)
	return Clause{Name: name}, v, known && !v.HasKeys() && len(v.Tests()) > 0
}

func functionClause(call ast.CallExpr) (Clause, bool) {
	test, known := map[string]string{"startsWith": TestStarts, "endsWith": TestEnds, "contains": TestContains}[call.FunctionName()]
	c, v, ok := subjectOf(call.Target())
	if !known || !ok || len(call.Args()) != 1 || !slices.Contains(v.Tests(), test) {
		return Clause{}, false
	}
	value, isText := textOf(call.Args()[0])
	c.Test, c.Values = test, []string{value}
	return c, isText && value != ""
}

func (c Clause) listClause(v Variable, e ast.Expr) (Clause, bool) {
	if e.Kind() != ast.ListKind || !slices.Contains(v.Tests(), TestOneOf) {
		return c, false
	}
	c.Test = TestOneOf
	for _, item := range e.AsList().Elements() {
		value, ok := textOf(item)
		if !ok || value == "" {
			return c, false
		}
		c.Values = append(c.Values, value)
	}
	return c, len(c.Values) > 0
}

// compared reads a comparison with a constant.
func (c Clause) compared(v Variable, sign string, e ast.Expr) (Clause, bool) {
	for test, s := range signs {
		if s == sign {
			c.Test = test
		}
	}
	value, isText := textOf(e)
	if !isText && v.IsNumber() {
		value, isText = numberOf(e), true
	}
	if v.Type == truthType || !isText || value == "" && v.IsNumber() {
		return c, false
	}
	if value == "" {
		c.Test = map[string]string{TestIs: TestEmpty, TestIsNot: TestFilled}[c.Test]
		return c, slices.Contains(v.Tests(), c.Test)
	}
	c.Values = []string{value}
	return c, slices.Contains(v.Tests(), c.Test)
}

func textOf(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// numberOf is a constant as people write it; "" if it is no number.
func numberOf(e ast.Expr) string {
	if e.Kind() != ast.LiteralKind {
		return ""
	}
	s := ""
	switch n := e.AsLiteral().(type) {
	case types.Int:
		s = strconv.FormatInt(int64(n), 10)
	case types.Double:
		s = strconv.FormatFloat(float64(n), 'f', -1, 64)
	}
	if !plainNumber.MatchString(strings.TrimPrefix(s, "-")) {
		return ""
	}
	return s
}
