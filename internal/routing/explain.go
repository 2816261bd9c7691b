package routing

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/waybillhq/waybill/internal/ship"
)

// unknownName says that there is no such variable, and which one it most
// likely means.
func unknownName(name string) (detail, suggestion string) {
	group, rest, _ := cutName(name)
	members := groups[group]
	switch {
	case len(members) > 0 && rest == "":
		return group + " has parts, such as " + members[0], members[0]
	case len(members) > 0:
		return "there is no " + name, nearestMember(group, rest)
	}
	all, last := make([]string, len(variables)), name[strings.LastIndexByte(name, '.')+1:]
	same := ""
	for i, v := range variables {
		all[i] = v.Name
		if same == "" && strings.EqualFold(v.Name[strings.LastIndexByte(v.Name, '.')+1:], last) {
			same = v.Name
		}
	}
	if near := cmp.Or(ship.Nearest(name, all), same); near != "" {
		return "there is no " + name, near
	}
	if rest == "" {
		return "there is no " + name + "; a text is written in quotes", quote(name)
	}
	return "there is no " + name, ""
}

// nearestMember is the variable of the group that a wrong one most likely
// means.
func nearestMember(group, wrong string) string {
	var parts []string
	for _, name := range groups[group] {
		_, part, _ := cutName(name)
		parts = append(parts, part)
	}
	if near := ship.Nearest(wrong, parts); near != "" {
		return group + "." + near
	}
	return ""
}

func unknownFunction(name string, args int) (detail, suggestion string) {
	if slices.Contains(loops, name) && args != 2 {
		return name + " needs a name and a condition", fmt.Sprintf("quotes.%s(q, q.amount > 10)", name)
	}
	return "there is no function " + name, ship.Nearest(name, slices.Concat(functions, loops))
}

var (
	noOverload = regexp.MustCompile(`^found no matching overload for '(.+)' applied to '(.*)'`)
	mismatch   = regexp.MustCompile(`^expected type '(.+)' but found '(.+)'`)
	noField    = regexp.MustCompile(`^undefined field '(.+)'`)
	noSelect   = regexp.MustCompile(`^type '(.+)' does not support field selection`)
	badPattern = regexp.MustCompile(`^regex program size`)
)

// explainTypes puts the language's complaint about types in plain words.
func explainTypes(a *ast.AST, errs []*common.Error) *problem {
	e := errs[0]
	p := &problem{at: e.Location, detail: firstLine(e.Message)}
	if m := noOverload.FindStringSubmatch(e.Message); m != nil {
		p.detail, p.suggestion = explainCall(a, e.ExprID, m[1], m[2])
	} else if m := mismatch.FindStringSubmatch(e.Message); m != nil {
		p.detail = plainType(m[1]) + " is needed here, and this is " + plainType(m[2])
	} else if m := noField.FindStringSubmatch(e.Message); m != nil {
		p.detail, p.suggestion = "an offer has no "+m[1], ship.Nearest(m[1], fieldNames())
	} else if m := noSelect.FindStringSubmatch(e.Message); m != nil {
		p.detail = plainType(m[1]) + " has no parts"
	} else if badPattern.MatchString(e.Message) {
		p.detail = "the pattern is too large"
	} else if strings.HasPrefix(e.Message, "invalid matches argument") {
		p.detail = "the pattern is not a regular expression (RE2)"
	} else if strings.HasPrefix(e.Message, "expression node count") {
		p.detail = fmt.Sprintf("the condition has too many parts, over %d; divide it into several rules", maxNodes)
	}
	return p
}

// explainCall says why an operator or a function does not take its arguments.
func explainCall(a *ast.AST, id int64, name, signature string) (detail, suggestion string) {
	suggestion = otherConstant(a, id)
	kinds := splitTypes(signature)
	sign := strings.Trim(name, "_")
	switch {
	case name == "@in":
		return "in looks for one value in a list of the same kind", ""
	case len(kinds) == 2 && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, sign):
		return fmt.Sprintf("%s cannot compare %s with %s", sign, plainType(kinds[0]), plainType(kinds[1])), suggestion
	case len(kinds) == 2 && name == "_[_]":
		return "there is nothing to look up with [] in " + plainType(kinds[0]), ""
	case len(kinds) == 2 && strings.HasPrefix(name, "_"):
		return fmt.Sprintf("%s does not work on %s and %s", sign, plainType(kinds[0]), plainType(kinds[1])), ""
	case len(kinds) == 1 && strings.HasSuffix(name, "_"):
		return fmt.Sprintf("%s does not work on %s", sign, plainType(kinds[0])), ""
	}
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = plainType(k)
	}
	if len(words) == 0 {
		return name + " needs something in its brackets", ""
	}
	return fmt.Sprintf("%s does not work on %s", name, strings.Join(words, " and ")), ""
}

// otherConstant writes a comparison of a variable and a constant with the
// constant in the variable's type, if there is an obvious one.
func otherConstant(a *ast.AST, id int64) string {
	found := ast.MatchDescendants(ast.NavigateAST(a), func(e ast.NavigableExpr) bool { return e.ID() == id && e.Kind() == ast.CallKind })
	if len(found) == 0 || len(found[0].AsCall().Args()) != 2 {
		return ""
	}
	args := found[0].AsCall().Args()
	name, _ := nameOf(args[0])
	at, ok := place[name]
	if !ok || args[1].Kind() != ast.LiteralKind {
		return ""
	}
	var want string
	switch value := args[1].AsLiteral().(type) {
	case types.Int, types.Double:
		if variables[at].Type == textType {
			want = fmt.Sprintf(`"%v"`, value.Value())
		}
	case types.String:
		s := strings.ToLower(string(value))
		switch variables[at].Type {
		case wholeType, numberType:
			want = plainNumber.FindString(s)
		case truthType:
			want = map[string]string{"true": "true", "yes": "true", "false": "false", "no": "false"}[s]
		}
	}
	if want == "" {
		return ""
	}
	return fmt.Sprintf("%s %s %s", name, strings.Trim(found[0].AsCall().FunctionName(), "_"), want)
}

var plainNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// splitTypes divides "(string, list(int))" or "string.(int)".
func splitTypes(signature string) []string {
	s := strings.NewReplacer(".(", ", ", ").", ", ").Replace(signature)
	s = strings.TrimSuffix(strings.TrimPrefix(s, "("), ")")
	var out []string
	for part := range strings.SplitSeq(s, ", ") {
		if part != "" {
			out = append(out, part)
		}
	}
	return out
}

// plainType is a type of the language in words.
func plainType(t string) string {
	switch {
	case t == "string":
		return "text"
	case t == "int":
		return "a whole number"
	case t == "double":
		return "a number"
	case t == "bool":
		return "true or false"
	case t == "offer":
		return "an offer"
	case strings.HasPrefix(t, "list"):
		return "a list"
	case strings.HasPrefix(t, "map"):
		return "a map"
	}
	return "something else"
}

// comparison is how a value that is no condition could become one.
func comparison(source string, t *types.Type) string {
	source = strings.TrimSpace(source)
	if _, ok := place[source]; !ok {
		return ""
	}
	switch t.Kind() {
	case types.StringKind:
		return source + ` == "..."`
	case types.IntKind, types.DoubleKind:
		return source + " > 0"
	}
	return ""
}

func quote(s string) string {
	if s == "" {
		return ""
	}
	return `"` + s + `"`
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = `"` + s + `"`
	}
	return strings.Join(out, ", ")
}
