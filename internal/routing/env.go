package routing

import (
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/parser"
)

// The limits of one condition, beside its length.
const (
	maxNesting = 32   // brackets and calls inside each other
	maxNodes   = 1000 // parts, after macros are written out
	maxPattern = 200  // instructions of a regular expression
)

// functions are all that a condition can call, beside the operators. It is an
// allow list: what CEL or its extensions add later does not exist here.
var functions = []string{
	"contains",
	"double",
	"endsWith",
	"int",
	"lowerAscii",
	"matches",
	"size",
	"startsWith",
	"string",
	"substring",
	"trim",
	"upperAscii",
}

// loops are the macros that iterate over a list.
var loops = []string{"all", "exists", "exists_one", "filter", "map"}

// calls are the functions and operators that a parsed condition may contain.
var calls = func() map[string]bool {
	set := map[string]bool{}
	for _, name := range slices.Concat(functions, []string{
		operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		operators.Index, operators.In,
	}) {
		set[name] = true
	}
	return set
}()

// language returns the one CEL environment of all books. It has no state, and
// compiled conditions refer to it.
var language = sync.OnceValues(func() (*cel.Env, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}

	options := []cel.EnvOption{
		cel.CustomTypeProvider(provider{registry}),
		cel.CustomTypeAdapter(registry),
		cel.StdLib(),
		ext.Strings(ext.StringsVersion(0)),

		cel.ClearMacros(),
		cel.Macros(cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro, cel.FilterMacro, cel.MapMacro, cel.MapFilterMacro, hasMacro),
		cel.EnableHiddenAccumulatorName(true),
		cel.CrossTypeNumericComparisons(true),
		cel.HomogeneousAggregateLiterals(),

		// Conditions come from clients: what is too large is rejected while it
		// is parsed.
		cel.ParserRecursionLimit(maxNesting),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ParserExpressionSizeLimit(MaxCondition),
		cel.ParserErrorRecoveryLimit(1),
		cel.RegexProgramSizeLimit(maxPattern),
		cel.ASTValidators(cel.ValidateRegexLiterals()),
	}
	for _, variable := range variables {
		options = append(options, cel.Variable(variable.Name, variable.celType()))
	}
	return cel.NewCustomEnv(options...)
})

// hasMacro makes has(metadata.gift) mean that the client gave the key. CEL's
// own macro would always be true, because a missing key reads as empty text.
var hasMacro = parser.NewGlobalMacro(operators.Has, 1, func(helper parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if args[0].Kind() == ast.SelectKind {
		if operand := args[0].AsSelect().Operand(); operand.Kind() == ast.IdentKind && operand.AsIdent() == "metadata" {
			return helper.NewCall(operators.In, helper.NewLiteral(types.String(args[0].AsSelect().FieldName())), operand), nil
		}
	}
	return nil, helper.NewError(args[0].ID(), hasMisused)
})

const hasMisused = "has() checks whether metadata has a key, as in has(metadata.gift)"

// A provider adds the type of offers to CEL's own.
type provider struct{ *types.Registry }

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if name == offerType.TypeName() {
		return types.NewTypeTypeWithParam(offerType), true
	}
	return p.Registry.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if name == offerType.TypeName() {
		return fieldNames(), true
	}
	return p.Registry.FindStructFieldNames(name)
}

func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name != offerType.TypeName() {
		return p.Registry.FindStructFieldType(name, field)
	}

	i := slices.IndexFunc(offerFields, func(v variable) bool { return v.Name == field })
	if i < 0 {
		return nil, false
	}
	return &types.FieldType{
		Type:    offerFields[i].celType(),
		IsSet:   func(any) bool { return true },
		GetFrom: func(target any) (any, error) { return target.(*offerValue).field(i), nil },
	}, true
}

// NewValue fails: conditions cannot create offers.
func (p provider) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("%s cannot be created", name)
}

func fieldNames() []string {
	names := make([]string, len(offerFields))
	for i, field := range offerFields {
		names[i] = field.Name
	}
	return names
}
