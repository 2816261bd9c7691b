package routing

import (
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/waybillhq/waybill/internal/ship"
)

// A reader walks a parsed condition before its types are checked. It rejects
// what conditions may not contain, whatever CEL allows, and makes numbers of
// different types work together.
type reader struct {
	info    *ast.SourceInfo
	next    int64 // ID of the next part that is added
	problem *problem
	offers  bool // the condition reads the offers
}

// fail records the first problem. It returns the empty type, for callers that
// return one.
func (r *reader) fail(at common.Location, detail, suggestion string) string {
	if r.problem == nil {
		r.problem = &problem{at: at, detail: detail, suggestion: suggestion}
	}
	return ""
}

func (r *reader) location(expr ast.Expr) common.Location { return r.info.GetStartLocation(expr.ID()) }

// read checks a part, in which the bound names are loop variables, and returns
// its type as far as numbers go: integerType, numberType or "".
func (r *reader) read(expr ast.Expr, bound []string) string {
	switch expr.Kind() {
	case ast.LiteralKind:
		return r.literal(expr)

	case ast.IdentKind, ast.SelectKind:
		return r.name(expr, bound)

	case ast.CallKind:
		return r.call(expr, bound)

	case ast.ListKind:
		r.unify(expr.AsList().Elements(), bound)
		return ""

	case ast.MapKind:
		for _, entry := range expr.AsMap().Entries() {
			r.read(entry.AsMapEntry().Key(), bound)
			r.read(entry.AsMapEntry().Value(), bound)
		}
		return ""

	case ast.ComprehensionKind:
		return r.loop(expr.AsComprehension(), bound)
	}
	return r.fail(r.location(expr), "a condition cannot create objects", "")
}

func (r *reader) literal(expr ast.Expr) string {
	switch expr.AsLiteral().(type) {
	case types.Int:
		return integerType
	case types.Double:
		return numberType
	case types.String, types.Bool:
		return ""
	case types.Null:
		return r.fail(r.location(expr), "no value is ever null; missing text is empty", `""`)
	}
	return r.fail(r.location(expr), "a constant must be text, a number, true or false", "")
}

// name checks that there is such a variable.
func (r *reader) name(expr ast.Expr, bound []string) string {
	name, root := nameOf(expr)
	if root == nil {
		selected := expr.AsSelect()
		r.read(selected.Operand(), bound)
		return fieldType(selected.FieldName())
	}

	// Names with @ are the hidden variables of CEL's macros.
	first, rest, dotted := strings.Cut(name, ".")
	if slices.Contains(bound, first) || strings.HasPrefix(first, "@") {
		if dotted {
			return fieldType(rest)
		}
		return ""
	}

	// A variable's name has dots itself, and a key of metadata can follow it:
	// the longest part that is a variable is meant.
	r.offers = r.offers || readsOffers[first]
	for part := name; part != ""; part = part[:max(0, strings.LastIndexByte(part, '.'))] {
		i, ok := variableIndex[part]
		if !ok {
			continue
		}
		if found := variables[i].Type; part == name && (found == integerType || found == numberType) {
			return found
		}
		return ""
	}

	detail, suggestion := unknownName(name)
	return r.fail(r.location(root), detail, suggestion)
}

// nameOf returns the dotted name that a part spells and the part that it starts
// with, which is nil if it is not a plain name.
func nameOf(expr ast.Expr) (string, ast.Expr) {
	switch expr.Kind() {
	case ast.IdentKind:
		return expr.AsIdent(), expr
	case ast.SelectKind:
		if name, root := nameOf(expr.AsSelect().Operand()); root != nil {
			return name + "." + expr.AsSelect().FieldName(), root
		}
	}
	return "", nil
}

// fieldType returns the type of an offer's field, as far as numbers go.
func fieldType(name string) string {
	for _, field := range offerFields {
		if field.Name == name && (field.Type == integerType || field.Type == numberType) {
			return field.Type
		}
	}
	return ""
}

func (r *reader) loop(loop ast.ComprehensionExpr, bound []string) string {
	r.read(loop.IterRange(), bound)

	// A loop variable named parcel would hide parcel.weightKg.
	if _, taken := groups[loop.IterVar()]; taken {
		return r.fail(r.location(loop.IterRange()), "the loop variable needs a name of its own; "+loop.IterVar()+" is already in use", "q")
	}

	inside := append(slices.Clip(bound), loop.IterVar(), loop.AccuVar())
	r.read(loop.AccuInit(), inside)
	r.read(loop.LoopCondition(), inside)
	r.read(loop.LoopStep(), inside)
	r.read(loop.Result(), inside)
	return ""
}

// call checks a function or an operator and its arguments.
func (r *reader) call(expr ast.Expr, bound []string) string {
	call := expr.AsCall()
	name := call.FunctionName()
	args := call.Args()
	if !calls[name] {
		detail, suggestion := unknownFunction(name, len(args))
		return r.fail(r.nameLocation(expr, name), detail, suggestion)
	}
	if call.IsMemberFunction() {
		r.read(call.Target(), bound)
	}

	switch name {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		r.unify(args, bound)
		r.checkValues(args)
		return ""
	case operators.Add, operators.Subtract, operators.Multiply, operators.Divide:
		return r.unify(args, bound)
	case operators.Conditional:
		r.read(args[0], bound)
		return r.unify(args[1:], bound)
	case operators.In:
		return r.membership(args, bound)
	}
	return r.plainCall(expr, name, args, bound)
}

// membership checks "x in list".
func (r *reader) membership(args []ast.Expr, bound []string) string {
	kind := r.read(args[0], bound)
	r.read(args[1], bound)

	if kind == numberType && args[1].Kind() == ast.ListKind {
		list := args[1].AsList().Elements()
		for i, element := range list {
			if element.Kind() == ast.LiteralKind && element.AsLiteral().Type() == types.IntType {
				list[i] = r.asNumber(element)
			}
		}
	}
	r.checkValues(args)
	return ""
}

// plainCall checks a call whose arguments have types of their own.
func (r *reader) plainCall(expr ast.Expr, name string, args []ast.Expr, bound []string) string {
	kind := ""
	for _, arg := range args {
		kind = r.read(arg, bound)
	}

	switch name {
	case "matches":
		// Only a constant pattern can be checked and bounded in advance.
		if len(args) > 0 && args[len(args)-1].Kind() != ast.LiteralKind {
			return r.fail(r.nameLocation(expr, name), "the pattern of matches must be a constant, not a variable", "")
		}
	case "size", "int", operators.Modulo:
		return integerType
	case "double":
		return numberType
	case operators.Negate:
		return kind
	}
	return ""
}

// nameLocation returns the location of a call's name. CEL's own is that of the
// bracket behind it.
func (r *reader) nameLocation(expr ast.Expr, name string) common.Location {
	bracket := r.location(expr)
	return common.NewLocation(bracket.Line(), max(0, bracket.Column()-utf8.RuneCountInString(name)))
}

// unify reads parts that must have one type. If one is a number, the whole
// numbers beside it become numbers, too: a client may write weightKg > 20.
func (r *reader) unify(parts []ast.Expr, bound []string) string {
	kinds := make([]string, len(parts))
	for i, part := range parts {
		kinds[i] = r.read(part, bound)
	}

	switch {
	case slices.Contains(kinds, numberType):
		for i, kind := range kinds {
			if kind == integerType {
				parts[i] = r.asNumber(parts[i])
			}
		}
		return numberType
	case len(kinds) > 0:
		return kinds[0]
	}
	return ""
}

// asNumber converts a whole number to a number.
func (r *reader) asNumber(expr ast.Expr) ast.Expr {
	factory := ast.NewExprFactory()
	if expr.Kind() == ast.LiteralKind {
		return factory.NewLiteral(expr.ID(), types.Double(expr.AsLiteral().(types.Int)))
	}

	// The added call has the location of what it converts, for error messages.
	r.next++
	if span, ok := r.info.GetOffsetRange(expr.ID()); ok {
		r.info.SetOffsetRange(r.next, span)
	}
	return factory.NewCall(r.next, "double", expr)
}

// checkValues rejects the comparison of a variable with a text that it can
// never be.
func (r *reader) checkValues(args []ast.Expr) {
	if len(args) != 2 {
		return
	}

	for i, arg := range args {
		name, root := nameOf(arg)
		index, ok := variableIndex[name]
		if root == nil || !ok || variables[index].known == nil {
			continue
		}

		other := args[1-i]
		compared := []ast.Expr{other}
		if other.Kind() == ast.ListKind {
			compared = other.AsList().Elements()
		}
		for _, expr := range compared {
			if expr.Kind() == ast.LiteralKind {
				r.checkValue(expr, variables[index], expr.AsLiteral())
			}
		}
	}
}

func (r *reader) checkValue(expr ast.Expr, compared variable, literal ref.Val) {
	value, ok := literal.(types.String)
	text := string(value)
	if !ok || compared.known(text) {
		return
	}
	if compared.Values != nil {
		r.fail(r.location(expr), compared.Name+" never has this value; it is one of "+quoted(compared.Values), quote(ship.Nearest(text, compared.Values)))
		return
	}

	// Without a list of values the variable is a country. Addresses suggest the
	// code for a country's name.
	suggestion := ""
	_, invalid := ship.Address{Country: text}.Normalize("")
	for _, field := range invalid {
		if field.Pointer == "/country" {
			suggestion = field.Suggestion
		}
	}
	if upper := strings.ToUpper(text); ship.KnownCountry(upper) {
		suggestion = upper
	}
	r.fail(r.location(expr), compared.Name+" must be a valid two-letter country code in capitals", quote(suggestion))
}
