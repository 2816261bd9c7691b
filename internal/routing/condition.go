package routing

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"
)

// A condition is one that was checked. The nil condition is always met.
//
// It always terminates: its cost is bounded before it is accepted, and loops go
// only over inputs.
type condition struct {
	program cel.Program
	cost    uint64 // at most, by the estimate
	offers  bool   // reads the offers
}

// A problem is an error of a condition, in plain words.
type problem struct {
	at         common.Location
	detail     string
	suggestion string
}

func (p *problem) String() string {
	switch {
	case p.at == nil || p.at.Line() < 1:
		return p.detail
	case p.at.Line() == 1:
		return fmt.Sprintf("column %d: %s", p.at.Column()+1, p.detail)
	}
	return fmt.Sprintf("line %d, column %d: %s", p.at.Line(), p.at.Column()+1, p.detail)
}

// compileText checks the text of a condition.
func compileText(source string) (*condition, *problem) {
	if strings.TrimSpace(source) == "" {
		return nil, nil
	}
	if !utf8.ValidString(source) {
		return nil, &problem{detail: "the condition is not valid UTF-8"}
	}
	if n := utf8.RuneCountInString(source); n > MaxCondition {
		return nil, &problem{detail: fmt.Sprintf("the condition has %d characters; the limit is %d", n, MaxCondition)}
	}

	env, err := language()
	if err != nil {
		return nil, &problem{detail: "the condition language is not available"}
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, explainSyntax(source, issues.Errors())
	}

	// Before the types are checked: the reader explains unknown names better
	// than the type checker, and converts numbers that it would reject.
	tree := parsed.NativeRep()
	r := reader{info: tree.SourceInfo(), next: ast.MaxID(tree) + 1}
	r.read(tree.Expr(), nil)
	if r.problem != nil {
		return nil, r.problem
	}

	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, explainTypes(tree, issues.Errors())
	}
	if output := checked.OutputType(); output != types.BoolType {
		return nil, &problem{
			at:         common.NewLocation(1, 0),
			detail:     "the condition must be true or false, but this is " + plainType(output.String()),
			suggestion: suggestComparison(source, output),
		}
	}
	return plan(env, checked, r.offers)
}

// plan makes a checked condition ready to run.
func plan(env *cel.Env, checked *cel.Ast, offers bool) (*condition, *problem) {
	estimate, err := env.EstimateCost(checked, sizes{})
	if err != nil {
		return nil, &problem{detail: "the cost of the condition cannot be estimated"}
	}
	if estimate.Max > maxCost {
		return nil, &problem{detail: fmt.Sprintf("the condition is too complex: up to %s steps, and the limit is %d; use fewer nested loops", steps(estimate.Max), maxCost)}
	}

	program, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, &problem{detail: "the condition cannot be evaluated: " + firstLine(err.Error())}
	}
	return &condition{program: program, cost: estimate.Max, offers: offers}, nil
}

// met reports whether the condition holds. An error is about one of the values,
// such as a postal code that is not a number.
func (c *condition) met(s *scope) (bool, error) {
	if c == nil {
		return true, nil
	}

	frame, err := interpreter.NewExecutionFrame(s)
	if err != nil {
		return false, err
	}
	defer frame.Close()
	out, _, err := c.program.Eval(frame)
	if err != nil {
		return false, err
	}
	return out == types.True, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
