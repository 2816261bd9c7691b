package routing

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Simple condition is one that a form can show: clauses about one variable
// each. It is another spelling of some conditions, not a language of its own.
type Simple struct {
	Any     bool // one clause is enough; else all must hold
	Clauses []Clause
}

// A Clause tests one variable.
type Clause struct {
	Name   string // of the variable
	Key    string // of metadata
	Test   string // one of Tests
	Values []string
}

// The tests of clauses.
const (
	TestIs       = "is"
	TestIsNot    = "is_not"
	TestOneOf    = "one_of"  // any number of values
	TestNoneOf   = "none_of" // any number of values
	TestStarts   = "starts"
	TestEnds     = "ends"
	TestContains = "contains"
	TestLacks    = "lacks"
	TestEmpty    = "empty"  // no value
	TestFilled   = "filled" // no value
	TestLess     = "less"
	TestAtMost   = "at_most"
	TestMore     = "more"
	TestAtLeast  = "at_least"
	TestYes      = "yes" // no value
	TestNo       = "no"  // no value
)

// signs are the operators of tests that compare.
var signs = map[string]string{
	TestIs:      "==",
	TestIsNot:   "!=",
	TestLess:    "<",
	TestAtMost:  "<=",
	TestMore:    ">",
	TestAtLeast: ">=",
}

var (
	textTests    = []string{TestIs, TestIsNot, TestOneOf, TestNoneOf, TestStarts, TestEnds, TestContains, TestLacks, TestEmpty, TestFilled}
	listTests    = []string{TestIs, TestIsNot, TestOneOf, TestNoneOf}
	dayTests     = []string{TestIs, TestIsNot, TestLess, TestAtMost, TestMore, TestAtLeast, TestEmpty, TestFilled}
	numberTests  = []string{TestMore, TestAtLeast, TestLess, TestAtMost, TestIs, TestIsNot}
	booleanTests = []string{TestYes, TestNo}
)

// Tests returns the tests that a clause about the variable can make; none if no
// clause can be about it.
func (v Variable) Tests() []string {
	switch {
	case v.IsDay():
		return dayTests
	case v.Type == textType && len(v.Values) > 0:
		return listTests
	case v.Type == textType, v.Type == mapType:
		return textTests
	case v.IsNumber():
		return numberTests
	case v.Type == booleanType:
		return booleanTests
	}
	return nil
}

// IsNumber reports whether the variable holds a number.
func (v Variable) IsNumber() bool { return v.Type == integerType || v.Type == numberType }

// IsDay reports whether the variable holds a day, as text that sorts.
func (v Variable) IsDay() bool {
	return slices.Contains([]string{"order.deliverBy", "order.shipDate", "time.date"}, v.Name)
}

// HasKeys reports whether a clause about the variable names a key of it.
func (v Variable) HasKeys() bool { return v.Type == mapType }

// FindVariable returns the variable of the name.
func FindVariable(name string) (Variable, bool) {
	i, ok := variableIndex[name]
	if !ok {
		return Variable{}, false
	}
	return variables[i].Variable, true
}

// Problem says what is missing before the clause means anything; "" if it is
// complete.
func (c Clause) Problem() string {
	variable, ok := FindVariable(c.Name)
	switch {
	case !ok || !slices.Contains(variable.Tests(), c.Test):
		return "choose a variable"
	case variable.HasKeys() && c.Key == "":
		return "enter a metadata key"
	case c.Bare():
		return ""
	case len(c.Values) == 0 || slices.Contains(c.Values, ""):
		return "enter a value"
	case variable.IsNumber() && !plainNumber.MatchString(strings.TrimPrefix(c.Values[0], "-")):
		return "enter a number, such as 20 or 1.5"
	}
	return ""
}

// Bare reports whether the test needs no value.
func (c Clause) Bare() bool {
	return slices.Contains([]string{TestEmpty, TestFilled, TestYes, TestNo}, c.Test)
}

// Several reports whether the test takes any number of values.
func (c Clause) Several() bool { return c.Test == TestOneOf || c.Test == TestNoneOf }

// String writes the condition in CEL; "" if there are no clauses.
func (s Simple) String() string {
	parts := make([]string, len(s.Clauses))
	for i, clause := range s.Clauses {
		parts[i] = clause.String()
	}
	if s.Any {
		return strings.Join(parts, " || ")
	}
	return strings.Join(parts, " && ")
}

// String writes the clause in CEL.
func (c Clause) String() string {
	variable, _ := FindVariable(c.Name)
	name := c.Name
	if variable.HasKeys() {
		name += "[" + literalText(c.Key) + "]"
	}
	value := ""
	if len(c.Values) > 0 {
		value = c.Values[0]
	}

	switch c.Test {
	case TestYes:
		return name
	case TestNo:
		return "!" + name
	case TestEmpty:
		return name + ` == ""`
	case TestFilled:
		return name + ` != ""`
	case TestStarts:
		return name + ".startsWith(" + literalText(value) + ")"
	case TestEnds:
		return name + ".endsWith(" + literalText(value) + ")"
	case TestContains:
		return name + ".contains(" + literalText(value) + ")"
	case TestLacks:
		return "!" + name + ".contains(" + literalText(value) + ")"
	case TestOneOf, TestNoneOf:
		return c.inList(name)
	}

	literal := literalText(value)
	if variable.IsNumber() && plainNumber.MatchString(strings.TrimPrefix(value, "-")) {
		literal = value
	}
	return name + " " + signs[c.Test] + " " + literal
}

func (c Clause) inList(name string) string {
	list := make([]string, len(c.Values))
	for i, value := range c.Values {
		list[i] = literalText(value)
	}
	in := name + " in [" + strings.Join(list, ", ") + "]"
	if c.Test == TestNoneOf {
		return "!(" + in + ")"
	}
	return in
}

// literalText returns a text in quotes. Conditions are UTF-8, so other bytes
// are replaced.
func literalText(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return strconv.Quote(text)
}
