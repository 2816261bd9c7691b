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

// A condition is a checked one. The nil condition is always met.
//
// Most conditions compare variables with constants; these are tested directly.
// The others are run by the language's interpreter, if what can be tested of
// them holds. Both give the same answer, and both end: the cost is bounded
// before the condition is accepted, and there is no loop but over an input.
type condition struct {
	test    test        // must hold; nil if there is nothing to test
	program cel.Program // decides then; nil if the test decides
	cost    uint64      // at most, by the estimate
	offers  bool        // reads the offers
}

// A problem is what is wrong with a condition, in plain words.
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
		return nil, &problem{detail: fmt.Sprintf("the condition has %d characters, over %d", n, MaxCondition)}
	}
	env, err := language()
	if err != nil {
		return nil, &problem{detail: "the language of conditions is not available"}
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, explainSyntax(source, issues.Errors())
	}
	r := reader{info: parsed.NativeRep().SourceInfo(), next: ast.MaxID(parsed.NativeRep()) + 1}
	if r.read(parsed.NativeRep().Expr(), nil); r.wrong != nil {
		return nil, r.wrong
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, explainTypes(parsed.NativeRep(), issues.Errors())
	}
	if t := checked.OutputType(); t != types.BoolType {
		return nil, &problem{
			at:     common.NewLocation(1, 0),
			detail: "the condition must be true or false, and this is " + plainType(t.String()), suggestion: comparison(source, t),
		}
	}
	return plan(env, checked, r.offers)
}

// plan makes a checked condition ready to run.
func plan(env *cel.Env, checked *cel.Ast, offers bool) (*condition, *problem) {
	c := &condition{offers: offers}
	estimate, err := env.EstimateCost(checked, sizes{})
	if err != nil {
		return nil, &problem{detail: "the cost of the condition cannot be bounded"}
	}
	if c.cost = estimate.Max; c.cost > maxCost {
		return nil, &problem{detail: fmt.Sprintf("the condition does too much: up to %s steps, over %d; use fewer loops inside each other", steps(c.cost), maxCost)}
	}
	var whole bool
	if c.test, whole = direct(checked.NativeRep().Expr()); whole {
		return c, nil
	}
	if c.program, err = env.Program(checked, cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, &problem{detail: "the condition cannot be run: " + firstLine(err.Error())}
	}
	return c, nil
}

// met reports whether the condition holds. An error is one of the values, such
// as a postal code that is not a number.
func (c *condition) met(s *scope) (bool, error) {
	switch {
	case c == nil:
		return true, nil
	case c.test != nil && !c.test(s):
		return false, nil
	case c.program == nil:
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

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
