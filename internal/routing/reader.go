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

// A reader goes through a parsed condition before its types are checked. It
// refuses what conditions may not hold, whatever the language allows, and
// makes numbers of different types work together.
type reader struct {
	info   *ast.SourceInfo
	next   int64 // id of the next part that is added
	wrong  *problem
	offers bool // the condition reads the offers
}

func (r *reader) fail(at common.Location, detail, suggestion string) string {
	if r.wrong == nil {
		r.wrong = &problem{at: at, detail: detail, suggestion: suggestion}
	}
	return ""
}

func (r *reader) at(e ast.Expr) common.Location { return r.info.GetStartLocation(e.ID()) }

// read checks a part, in which the bound names are loop variables, and returns
// its type as far as numbers go: wholeType, numberType or "".
func (r *reader) read(e ast.Expr, bound []string) string {
	switch e.Kind() {
	case ast.LiteralKind:
		return r.literal(e)
	case ast.IdentKind, ast.SelectKind:
		return r.name(e, bound)
	case ast.CallKind:
		return r.call(e, bound)
	case ast.ListKind:
		r.together(e.AsList().Elements(), bound)
		return ""
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.read(entry.AsMapEntry().Key(), bound)
			r.read(entry.AsMapEntry().Value(), bound)
		}
		return ""
	case ast.ComprehensionKind:
		return r.loop(e.AsComprehension(), bound)
	}
	return r.fail(r.at(e), "a condition cannot make things", "")
}

func (r *reader) literal(e ast.Expr) string {
	switch e.AsLiteral().(type) {
	case types.Int:
		return wholeType
	case types.Double:
		return numberType
	case types.String, types.Bool:
		return ""
	case types.Null:
		return r.fail(r.at(e), "nothing is ever null; a text that is missing is empty", `""`)
	}
	return r.fail(r.at(e), "a constant is a text, a number, true or false", "")
}

// name checks that there is such a variable.
func (r *reader) name(e ast.Expr, bound []string) string {
	name, root := nameOf(e)
	if root == nil {
		of := e.AsSelect()
		r.read(of.Operand(), bound)
		return fieldType(of.FieldName())
	}
	first, rest, dotted := strings.Cut(name, ".")
	if slices.Contains(bound, first) || strings.HasPrefix(first, "@") {
		if dotted {
			return fieldType(rest)
		}
		return ""
	}
	r.offers = r.offers || readsOffers[first]
	for part := name; part != ""; part = part[:max(0, strings.LastIndexByte(part, '.'))] {
		if i, ok := place[part]; ok {
			if t := variables[i].Type; part == name && (t == wholeType || t == numberType) {
				return t
			}
			return ""
		}
	}
	detail, suggestion := unknownName(name)
	return r.fail(r.at(root), detail, suggestion)
}

// nameOf is the dotted name that a part spells and the part that it starts
// with, nil if it is not a plain name.
func nameOf(e ast.Expr) (string, ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), e
	case ast.SelectKind:
		if name, root := nameOf(e.AsSelect().Operand()); root != nil {
			return name + "." + e.AsSelect().FieldName(), root
		}
	}
	return "", nil
}

// fieldType is the type of an offer's field, as far as numbers go.
func fieldType(name string) string {
	for _, f := range offerFields {
		if f.Name == name && (f.Type == wholeType || f.Type == numberType) {
			return f.Type
		}
	}
	return ""
}

func (r *reader) loop(c ast.ComprehensionExpr, bound []string) string {
	r.read(c.IterRange(), bound)
	if _, taken := groups[c.IterVar()]; taken {
		return r.fail(r.at(c.IterRange()), "the loop needs a name of its own; "+c.IterVar()+" is taken", "q")
	}
	inside := append(slices.Clip(bound), c.IterVar(), c.AccuVar())
	r.read(c.AccuInit(), inside)
	r.read(c.LoopCondition(), inside)
	r.read(c.LoopStep(), inside)
	r.read(c.Result(), inside)
	return ""
}

// call checks a function or an operator and its arguments.
func (r *reader) call(e ast.Expr, bound []string) string {
	c := e.AsCall()
	name, args := c.FunctionName(), c.Args()
	if !calls[name] {
		detail, suggestion := unknownFunction(name, len(args))
		return r.fail(r.before(e, name), detail, suggestion)
	}
	if c.IsMemberFunction() {
		r.read(c.Target(), bound)
	}
	switch name {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		r.together(args, bound)
		r.values(args)
		return ""
	case operators.Add, operators.Subtract, operators.Multiply, operators.Divide:
		return r.together(args, bound)
	case operators.Conditional:
		r.read(args[0], bound)
		return r.together(args[1:], bound)
	case operators.In:
		return r.membership(args, bound)
	}
	return r.simple(e, name, args, bound)
}

// membership checks "x in list".
func (r *reader) membership(args []ast.Expr, bound []string) string {
	kind := r.read(args[0], bound)
	r.read(args[1], bound)
	if kind == numberType && args[1].Kind() == ast.ListKind {
		list := args[1].AsList().Elements()
		for i, e := range list {
			if e.Kind() == ast.LiteralKind && e.AsLiteral().Type() == types.IntType {
				list[i] = r.asNumber(e)
			}
		}
	}
	r.values(args)
	return ""
}

// simple checks a call whose arguments have types of their own.
func (r *reader) simple(e ast.Expr, name string, args []ast.Expr, bound []string) string {
	kind := ""
	for _, a := range args {
		kind = r.read(a, bound)
	}
	switch name {
	case "matches":
		if len(args) > 0 && args[len(args)-1].Kind() != ast.LiteralKind {
			return r.fail(r.before(e, name), "the pattern of matches must be written out as text", "")
		}
	case "size", "int", operators.Modulo:
		return wholeType
	case "double":
		return numberType
	case operators.Negate:
		return kind
	}
	return ""
}

// before is the place of a call's name, which ends where its bracket is.
func (r *reader) before(e ast.Expr, name string) common.Location {
	at := r.at(e)
	return common.NewLocation(at.Line(), max(0, at.Column()-utf8.RuneCountInString(name)))
}

// together reads parts that must have one type. If one is a number, the whole
// numbers beside it become numbers too.
func (r *reader) together(parts []ast.Expr, bound []string) string {
	kinds := make([]string, len(parts))
	for i, p := range parts {
		kinds[i] = r.read(p, bound)
	}
	switch {
	case slices.Contains(kinds, numberType):
		for i, k := range kinds {
			if k == wholeType {
				parts[i] = r.asNumber(parts[i])
			}
		}
		return numberType
	case len(kinds) > 0:
		return kinds[0]
	}
	return ""
}

// asNumber is a whole number as a number.
func (r *reader) asNumber(e ast.Expr) ast.Expr {
	fac := ast.NewExprFactory()
	if e.Kind() == ast.LiteralKind {
		return fac.NewLiteral(e.ID(), types.Double(e.AsLiteral().(types.Int)))
	}
	r.next++
	if span, ok := r.info.GetOffsetRange(e.ID()); ok {
		r.info.SetOffsetRange(r.next, span)
	}
	return fac.NewCall(r.next, "double", e)
}

// values refuses to compare a variable with a text that it can never be.
func (r *reader) values(args []ast.Expr) {
	if len(args) != 2 {
		return
	}
	for i, of := range args {
		name, root := nameOf(of)
		at, ok := place[name]
		if root == nil || !ok || variables[at].known == nil {
			continue
		}
		against := []ast.Expr{args[1-i]}
		if args[1-i].Kind() == ast.ListKind {
			against = args[1-i].AsList().Elements()
		}
		for _, e := range against {
			if e.Kind() == ast.LiteralKind {
				r.value(e, variables[at], e.AsLiteral())
			}
		}
	}
}

func (r *reader) value(e ast.Expr, v variable, literal ref.Val) {
	s, ok := literal.(types.String)
	if !ok || v.known(string(s)) {
		return
	}
	if v.Values == nil {
		_, wrong := ship.Address{Country: string(s)}.Normalize("")
		suggestion := ""
		for _, w := range wrong {
			if w.Pointer == "/country" {
				suggestion = w.Suggestion
			}
		}
		if up := strings.ToUpper(string(s)); ship.KnownCountry(up) {
			suggestion = up
		}
		r.fail(r.at(e), v.Name+" is a two-letter code in capitals, and there is no such country", quote(suggestion))
		return
	}
	r.fail(r.at(e), v.Name+" is never this; it is one of "+quoted(v.Values), quote(ship.Nearest(string(s), v.Values)))
}
