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

// unknownName says that there is no such variable, and which one is most likely
// meant.
func unknownName(name string) (detail, suggestion string) {
	group, rest, _ := cutName(name)
	members := groups[group]
	missing := "there is no " + clip(name)
	switch {
	case len(members) > 0 && rest == "":
		return group + " is a group of variables, such as " + members[0], members[0]
	case len(members) > 0:
		return missing, nearestMember(group, rest)
	}

	// A name without its group, such as country, is the first variable whose
	// last part is the same.
	lastPart := func(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
	names := make([]string, len(variables))
	samePart := ""
	for i, variable := range variables {
		names[i] = variable.Name
		if samePart == "" && strings.EqualFold(lastPart(variable.Name), lastPart(name)) {
			samePart = variable.Name
		}
	}
	if nearest := cmp.Or(ship.Nearest(name, names), samePart); nearest != "" {
		return missing, nearest
	}

	if rest == "" && clip(name) == name {
		return missing + "; text must be in quotes", quote(name)
	}
	return missing, ""
}

// clip shortens a name that nobody can have meant: messages are for people.
func clip(name string) string {
	const longest = 80
	if letters := []rune(name); len(letters) > longest {
		return string(letters[:longest]) + "..."
	}
	return name
}

// nearestMember returns the variable of the group that is most likely meant.
func nearestMember(group, given string) string {
	var parts []string
	for _, name := range groups[group] {
		_, part, _ := cutName(name)
		parts = append(parts, part)
	}
	if nearest := ship.Nearest(given, parts); nearest != "" {
		return group + "." + nearest
	}
	return ""
}

func unknownFunction(name string, args int) (detail, suggestion string) {
	if slices.Contains(loops, name) && args != 2 {
		return name + " needs a loop variable and a condition", fmt.Sprintf("quotes.%s(q, q.amount > 10)", name)
	}
	return "there is no function " + clip(name), ship.Nearest(name, slices.Concat(functions, loops))
}

var (
	noOverload = regexp.MustCompile(`^found no matching overload for '(.+)' applied to '(.*)'`)
	mismatch   = regexp.MustCompile(`^expected type '(.+)' but found '(.+)'`)
	noField    = regexp.MustCompile(`^undefined field '(.+)'`)
	noSelect   = regexp.MustCompile(`^type '(.+)' does not support field selection`)
	badPattern = regexp.MustCompile(`^regex program size`)
)

// explainTypes puts CEL's type errors in plain words. CEL has no codes for
// them, so they are recognized by their text.
func explainTypes(tree *ast.AST, errs []*common.Error) *problem {
	first := errs[0]
	message := first.Message
	found := &problem{at: first.Location, detail: firstLine(message)}

	if match := noOverload.FindStringSubmatch(message); match != nil {
		found.detail, found.suggestion = explainCall(tree, first.ExprID, match[1], match[2])
	} else if match := mismatch.FindStringSubmatch(message); match != nil {
		found.detail = plainType(match[1]) + " is expected here, but this is " + plainType(match[2])
	} else if match := noField.FindStringSubmatch(message); match != nil {
		found.detail = "an offer has no " + clip(match[1])
		found.suggestion = ship.Nearest(match[1], fieldNames())
	} else if match := noSelect.FindStringSubmatch(message); match != nil {
		found.detail = plainType(match[1]) + " has no fields"
	} else if badPattern.MatchString(message) {
		found.detail = "the pattern is too large"
	} else if strings.HasPrefix(message, "invalid matches argument") {
		found.detail = "the pattern is not a valid regular expression (RE2 syntax)"
	} else if strings.HasPrefix(message, "expression node count") {
		found.detail = fmt.Sprintf("the condition has more than %d parts; split it into several rules", maxNodes)
	}
	return found
}

// explainCall says why an operator or a function does not take its arguments.
func explainCall(tree *ast.AST, id int64, name, signature string) (detail, suggestion string) {
	operandTypes := splitTypes(signature)
	sign := strings.Trim(name, "_")
	switch {
	case name == "@in":
		return "in checks one value against a list of the same type", ""
	case len(operandTypes) == 2 && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, sign):
		return fmt.Sprintf("%s cannot compare %s with %s", sign, plainType(operandTypes[0]), plainType(operandTypes[1])), convertedComparison(tree, id)
	case len(operandTypes) == 2 && name == "_[_]":
		return "[] cannot be used on " + plainType(operandTypes[0]), ""
	case len(operandTypes) == 2 && strings.HasPrefix(name, "_"):
		return fmt.Sprintf("%s does not work on %s and %s", sign, plainType(operandTypes[0]), plainType(operandTypes[1])), ""
	case len(operandTypes) == 1 && strings.HasSuffix(name, "_"):
		return fmt.Sprintf("%s does not work on %s", sign, plainType(operandTypes[0])), ""
	}

	words := make([]string, len(operandTypes))
	for i, operandType := range operandTypes {
		words[i] = plainType(operandType)
	}
	if len(words) == 0 {
		return name + " needs an argument", ""
	}
	return fmt.Sprintf("%s does not work on %s", name, strings.Join(words, " and ")), ""
}

// convertedComparison writes a comparison of a variable and a constant with the
// constant in the variable's type, if there is an obvious one.
func convertedComparison(tree *ast.AST, id int64) string {
	found := ast.MatchDescendants(ast.NavigateAST(tree), func(expr ast.NavigableExpr) bool {
		return expr.ID() == id && expr.Kind() == ast.CallKind
	})
	if len(found) == 0 || len(found[0].AsCall().Args()) != 2 {
		return ""
	}

	args := found[0].AsCall().Args()
	name, _ := nameOf(args[0])
	i, ok := variableIndex[name]
	if !ok || args[1].Kind() != ast.LiteralKind {
		return ""
	}

	converted := ""
	switch value := args[1].AsLiteral().(type) {
	case types.Int, types.Double:
		if variables[i].Type == textType {
			converted = fmt.Sprintf(`"%v"`, value.Value())
		}
	case types.String:
		text := strings.ToLower(string(value))
		switch variables[i].Type {
		case integerType, numberType:
			converted = plainNumber.FindString(text)
		case booleanType:
			converted = map[string]string{"true": "true", "yes": "true", "false": "false", "no": "false"}[text]
		}
	}
	if converted == "" {
		return ""
	}
	return fmt.Sprintf("%s %s %s", name, strings.Trim(found[0].AsCall().FunctionName(), "_"), converted)
}

var plainNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// splitTypes splits a signature such as "(string, list(int))" or
// "string.(int)".
func splitTypes(signature string) []string {
	list := strings.NewReplacer(".(", ", ", ").", ", ").Replace(signature)
	list = strings.TrimSuffix(strings.TrimPrefix(list, "("), ")")

	var out []string
	for part := range strings.SplitSeq(list, ", ") {
		if part != "" {
			out = append(out, part)
		}
	}
	return out
}

// plainType returns a CEL type in words.
func plainType(name string) string {
	switch {
	case name == "string":
		return "text"
	case name == "int":
		return "a whole number"
	case name == "double":
		return "a number"
	case name == "bool":
		return "true or false"
	case name == "offer":
		return "an offer"
	case strings.HasPrefix(name, "list"):
		return "a list"
	case strings.HasPrefix(name, "map"):
		return "a map"
	}
	return "another type"
}

// suggestComparison returns how a variable that is not a condition could become
// one.
func suggestComparison(source string, output *types.Type) string {
	source = strings.TrimSpace(source)
	if _, ok := variableIndex[source]; !ok {
		return ""
	}

	switch output.Kind() {
	case types.StringKind:
		return source + ` == "..."`
	case types.IntKind, types.DoubleKind:
		return source + " > 0"
	}
	return ""
}

func quote(text string) string {
	if text == "" {
		return ""
	}
	return `"` + text + `"`
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = `"` + text + `"`
	}
	return strings.Join(out, ", ")
}
