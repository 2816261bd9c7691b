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

	// Texts are blanked, because a URL in one is not a comment.
	code, _ := blankTexts(source)
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

	expr := parsed.NativeRep().Expr()
	simple := Simple{Any: isCall(expr, operators.LogicalOr)}
	operator := operators.LogicalAnd
	if simple.Any {
		operator = operators.LogicalOr
	}
	for _, part := range partsOf(expr, operator) {
		clause, ok := clauseOf(part)
		if !ok {
			return Simple{}, false
		}
		simple.Clauses = append(simple.Clauses, clause)
	}
	return simple, true
}

func isCall(expr ast.Expr, name string) bool {
	return expr.Kind() == ast.CallKind && expr.AsCall().FunctionName() == name
}

// partsOf returns the parts of a && b && c, or of a || b || c.
func partsOf(expr ast.Expr, operator string) []ast.Expr {
	if !isCall(expr, operator) {
		return []ast.Expr{expr}
	}

	var all []ast.Expr
	for _, arg := range expr.AsCall().Args() {
		all = append(all, partsOf(arg, operator)...)
	}
	return all
}

// clauseOf reads one part.
func clauseOf(expr ast.Expr) (Clause, bool) {
	if clause, variable, ok := subjectOf(expr); ok {
		clause.Test = TestYes
		return clause, variable.Type == booleanType
	}
	if expr.Kind() != ast.CallKind {
		return Clause{}, false
	}

	call := expr.AsCall()
	if call.FunctionName() == operators.LogicalNot {
		clause, ok := clauseOf(call.Args()[0])
		opposite, hasOpposite := map[string]string{TestYes: TestNo, TestContains: TestLacks, TestOneOf: TestNoneOf}[clause.Test]
		clause.Test = opposite
		return clause, ok && hasOpposite
	}
	if call.IsMemberFunction() {
		return functionClause(call)
	}

	if len(call.Args()) != 2 {
		return Clause{}, false
	}
	clause, variable, ok := subjectOf(call.Args()[0])
	if !ok {
		return Clause{}, false
	}
	if call.FunctionName() == operators.In {
		return clause.listClause(variable, call.Args()[1])
	}
	return clause.comparisonClause(variable, strings.Trim(call.FunctionName(), "_"), call.Args()[1])
}

// subjectOf returns what a clause is about, if the part is a variable or a key
// of one.
func subjectOf(expr ast.Expr) (Clause, Variable, bool) {
	if isCall(expr, operators.Index) {
		args := expr.AsCall().Args()
		name, _ := nameOf(args[0])
		key, isText := constant(args[1])
		variable, known := FindVariable(name)
		return Clause{Name: name, Key: key}, variable, isText && known && variable.HasKeys() && key != ""
	}

	name, root := nameOf(expr)
	if root == nil {
		return Clause{}, Variable{}, false
	}
	if group, key, _ := cutName(name); key != "" && !strings.Contains(key, ".") {
		if variable, known := FindVariable(group); known && variable.HasKeys() {
			return Clause{Name: group, Key: key}, variable, true
		}
	}
	variable, known := FindVariable(name)
	return Clause{Name: name}, variable, known && !variable.HasKeys() && len(variable.Tests()) > 0
}

func functionClause(call ast.CallExpr) (Clause, bool) {
	test, known := map[string]string{"startsWith": TestStarts, "endsWith": TestEnds, "contains": TestContains}[call.FunctionName()]
	clause, variable, ok := subjectOf(call.Target())
	if !known || !ok || len(call.Args()) != 1 || !slices.Contains(variable.Tests(), test) {
		return Clause{}, false
	}

	value, isText := constant(call.Args()[0])
	clause.Test = test
	clause.Values = []string{value}
	return clause, isText && value != ""
}

func (c Clause) listClause(variable Variable, list ast.Expr) (Clause, bool) {
	if list.Kind() != ast.ListKind || !slices.Contains(variable.Tests(), TestOneOf) {
		return c, false
	}

	c.Test = TestOneOf
	for _, item := range list.AsList().Elements() {
		value, ok := constant(item)
		if !ok || value == "" {
			return c, false
		}
		c.Values = append(c.Values, value)
	}
	return c, len(c.Values) > 0
}

// comparisonClause reads a comparison with a constant.
func (c Clause) comparisonClause(variable Variable, sign string, operand ast.Expr) (Clause, bool) {
	for test, known := range signs {
		if known == sign {
			c.Test = test
		}
	}

	value, ok := constant(operand)
	if !ok && variable.IsNumber() {
		value = numberOf(operand)
		ok = true
	}
	if variable.Type == booleanType || !ok || value == "" && variable.IsNumber() {
		return c, false
	}

	if value == "" {
		c.Test = map[string]string{TestIs: TestEmpty, TestIsNot: TestFilled}[c.Test]
		return c, slices.Contains(variable.Tests(), c.Test)
	}
	c.Values = []string{value}
	return c, slices.Contains(variable.Tests(), c.Test)
}

// constant returns the value of a constant text.
func constant(expr ast.Expr) (string, bool) {
	if expr.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := expr.AsLiteral().(types.String)
	return string(text), ok
}

// numberOf returns a constant as people write it; "" if it is not a number.
func numberOf(expr ast.Expr) string {
	if expr.Kind() != ast.LiteralKind {
		return ""
	}

	text := ""
	switch n := expr.AsLiteral().(type) {
	case types.Int:
		text = strconv.FormatInt(int64(n), 10)
	case types.Double:
		text = strconv.FormatFloat(float64(n), 'f', -1, 64)
	}
	if !plainNumber.MatchString(strings.TrimPrefix(text, "-")) {
		return ""
	}
	return text
}
