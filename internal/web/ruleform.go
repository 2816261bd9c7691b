package web

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// ruleForm is a rule as it is being written.
type ruleForm struct {
	Mark    string // of the draft that it was opened on
	Was     string // the rule's name then; "" for a new one
	Default bool   // it is the default: an action alone
	Name    string
	Off     bool
	Builder bool // the condition is in clauses; else in When
	Any     bool
	Clauses []clauseForm
	When    string
	Stuck   bool // the condition cannot be shown in the builder
	Then    actionForm
	Names   catalog
	Wrong   problems
	Problem string
	Focus   string // name of the field to go to
	Read    bool   // may not be changed by who reads it
}

// A clauseForm is a row of the builder.
type clauseForm struct{ Name, Key, Test, Value string }

// An actionForm is what a rule does, field by field.
type actionForm struct {
	Kind                                        string
	Targets                                     []targetForm
	Choose, By, WithinDays, OfFastest, Cheapest string
	Percent, Amount                             string
	Signature                                   string
	Guard, GuardPercent, GuardAmount, GuardDays string
	Otherwise                                   string
}

// A targetForm is a row of targets.
type targetForm struct{ Value, Percent string }

// The kinds of actions, as the form shows them.
var actionKinds = []choice{
	{"choose", "Buy the cheapest or the fastest"},
	{"use", "Buy these, in this order"},
	{"prefer", "Prefer these while they cost little more"},
	{"split", "Share the orders out"},
	{"forbid", "Never buy these"},
	{"require", "Ask for a signature"},
}

// kinds are those that the form can have: the default must choose.
func (f ruleForm) kinds() []choice {
	if f.Default {
		return actionKinds[:4]
	}
	return actionKinds
}

// goesOn reports whether the action leaves the choice to the rules behind.
func (a actionForm) goesOn() bool { return a.Kind == "forbid" || a.Kind == "require" }

// list is the field of the model that the targets belong to.
func (a actionForm) list() string {
	if a.Kind == "choose" {
		return "only"
	}
	return a.Kind
}

// ruleFormOf fills the form with a rule.
func ruleFormOf(r routing.Rule) ruleForm {
	f := ruleForm{Was: r.Name, Name: r.Name, Off: r.Disabled, When: r.When, Then: actionFormOf(r)}
	f.build()
	return f
}

// build shows the condition in the builder, if it can.
func (f *ruleForm) build() {
	simple, ok := routing.ReadSimple(f.When)
	f.Builder, f.Stuck = ok, !ok
	if !ok {
		return
	}
	f.Any, f.Clauses = simple.Any, nil
	for _, c := range simple.Clauses {
		f.Clauses = append(f.Clauses, clauseForm{c.Name, c.Key, c.Test, strings.Join(c.Values, ", ")})
	}
}

func actionFormOf(r routing.Rule) actionForm {
	a, g := r.Then, r.Guard
	f := actionForm{
		Kind: "choose", Choose: or(a.Choose, "cheapest"), By: string(a.By), WithinDays: wholeText(a.WithinDays), OfFastest: wholeText(a.WithinDaysOfFastest),
		Cheapest: floatText(a.WithinPercentOfCheapest), Percent: floatText(a.TolerancePercent), Amount: a.ToleranceAmount, Signature: "standard",
		Guard: "any", GuardPercent: floatText(g.ExtraPercent), GuardAmount: g.ExtraAmount, GuardDays: wholeText(g.ExtraDays), Otherwise: or(r.Otherwise, "next"),
	}
	switch {
	case g.None:
		f.Guard = "none"
	case g != (routing.Guard{}):
		f.Guard = "limits"
	}
	list := slices.Concat(a.Use, a.Only, a.Prefer, a.Forbid)
	switch {
	case a.Use != nil:
		f.Kind = "use"
	case a.Prefer != nil:
		f.Kind = "prefer"
	case a.Forbid != nil:
		f.Kind = "forbid"
	case a.Split != nil:
		f.Kind = "split"
	case a.Require != nil:
		f.Kind, f.Signature = "require", a.Require.Signature
	}
	for _, t := range list {
		f.Targets = append(f.Targets, targetForm{Value: targetValue(t)})
	}
	for _, s := range a.Split {
		f.Targets = append(f.Targets, targetForm{targetValue(s.Target), strconv.Itoa(s.Percent)})
	}
	return f
}

func wholeText(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func floatText(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

// ruleForm reads the form.
func (v *visit) ruleForm() ruleForm {
	f := ruleForm{
		Mark: v.form("mark"), Was: v.r.FormValue("was"), Default: v.form("default") != "", Name: v.form("name"), Off: v.form("off") != "",
		Builder: v.form("by") != "cel", Any: v.form("join") == "any", When: v.form("when"),
	}
	for i := 0; v.r.PostForm.Has(rowField("c", i, "name")) && i < routing.MaxCondition; i++ {
		f.Clauses = append(f.Clauses, clauseForm{v.form(rowField("c", i, "name")), v.form(rowField("c", i, "key")), v.form(rowField("c", i, "test")), v.form(rowField("c", i, "value"))})
	}
	f.Then = actionForm{
		Kind: v.form("kind"), Choose: v.form("choose"), By: v.form("byDay"), WithinDays: v.form("withinDays"), OfFastest: v.form("ofFastest"),
		Cheapest: v.form("ofCheapest"), Percent: v.form("percent"), Amount: v.form("amount"), Signature: v.form("signature"),
		Guard: v.form("guard"), GuardPercent: v.form("guardPercent"), GuardAmount: v.form("guardAmount"), GuardDays: v.form("guardDays"), Otherwise: v.form("otherwise"),
	}
	for i := 0; v.r.PostForm.Has(rowField("t", i, "value")) && i <= routing.MaxTargets; i++ {
		f.Then.Targets = append(f.Then.Targets, targetForm{v.form(rowField("t", i, "value")), v.form(rowField("t", i, "percent"))})
	}
	for i := range f.Clauses {
		f.Clauses[i].settle()
	}
	return f
}

// rowField names a field of a row.
func rowField(list string, i int, field string) string {
	return list + "." + strconv.Itoa(i) + "." + field
}

// settle gives a row whose variable was changed a test that the variable has.
func (c *clauseForm) settle() {
	if v, ok := routing.FindVariable(c.Name); ok && !slices.Contains(v.Tests(), c.Test) && len(v.Tests()) > 0 {
		c.Test = v.Tests()[0]
	}
}

// clause is the row as a clause.
func (c clauseForm) clause() routing.Clause {
	out := routing.Clause{Name: c.Name, Key: c.Key, Test: c.Test}
	switch {
	case out.Bare() || c.Value == "":
	case out.Several():
		for _, part := range strings.Split(c.Value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out.Values = append(out.Values, part)
			}
		}
	default:
		out.Values = []string{c.Value}
	}
	return out
}

// condition is the condition in CEL.
func (f ruleForm) condition() string {
	if !f.Builder {
		return f.When
	}
	s := routing.Simple{Any: f.Any}
	for _, c := range f.Clauses {
		s.Clauses = append(s.Clauses, c.clause())
	}
	return s.String()
}

// rule is the form as a rule, and what cannot be one.
func (f ruleForm) rule() (routing.Rule, []ship.FieldError) {
	var in fieldReader
	a, g := f.Then, routing.Guard{}
	r := routing.Rule{Name: f.Name, When: f.condition(), Disabled: f.Off}
	if f.Builder {
		for i, c := range f.Clauses {
			if p := c.clause().Problem(); p != "" {
				in.add(fmt.Sprintf("/clauses/%d", i), p)
			}
		}
	}
	r.Then = a.action(&in)
	if a.goesOn() || f.Default {
		return r, in.wrong
	}
	if a.Otherwise == "refuse" {
		r.Otherwise = "refuse"
	}
	switch a.Guard {
	case "none":
		g.None = true
	case "limits":
		g = routing.Guard{ExtraPercent: in.float(a.GuardPercent, "/guard/extraPercent"), ExtraAmount: a.GuardAmount, ExtraDays: in.whole(a.GuardDays, "/guard/extraDays")}
	}
	r.Guard = g
	return r, in.wrong
}

// action is the form as an action.
func (a actionForm) action(in *fieldReader) routing.Action {
	targets := []routing.Target{}
	for _, t := range a.Targets {
		targets = append(targets, targetOf(t.Value))
	}
	switch a.Kind {
	case "use":
		return routing.Action{Use: targets}
	case "forbid":
		return routing.Action{Forbid: targets}
	case "prefer":
		return routing.Action{Prefer: targets, TolerancePercent: in.float(a.Percent, "/then/tolerancePercent"), ToleranceAmount: a.Amount}
	case "require":
		return routing.Action{Require: &routing.Requirement{Signature: a.Signature}}
	case "split":
		shares := []routing.Share{}
		for i, t := range targets {
			s := routing.Share{Target: t}
			if n := in.whole(a.Targets[i].Percent, fmt.Sprintf("/then/split/%d/percent", i)); n != nil {
				s.Percent = *n
			}
			shares = append(shares, s)
		}
		return routing.Action{Split: shares}
	}
	out := routing.Action{
		Choose: or(a.Choose, "cheapest"), By: ship.Date(a.By), WithinDays: in.whole(a.WithinDays, "/then/withinDays"),
		WithinDaysOfFastest: in.whole(a.OfFastest, "/then/withinDaysOfFastest"), WithinPercentOfCheapest: in.float(a.Cheapest, "/then/withinPercentOfCheapest"),
	}
	if len(targets) > 0 {
		out.Only = targets
	}
	return out
}

// A fieldReader reads numbers and keeps what is none.
type fieldReader struct{ wrong []ship.FieldError }

func (in *fieldReader) add(pointer, detail string) {
	in.wrong = append(in.wrong, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: detail})
}

func (in *fieldReader) whole(s, pointer string) *int {
	if s == "" {
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		in.add(pointer, "give a whole number")
	}
	return &n
}

func (in *fieldReader) float(s, pointer string) *float64 {
	if s == "" {
		return nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(strings.ReplaceAll(s, ",", "."), "%"), 64)
	if err != nil {
		in.add(pointer, "give a number")
	}
	return &n
}

var guardKinds = []choice{
	{"any", "Buy the next that the rule allows"},
	{"limits", "Buy the next, inside limits"},
	{"none", "Buy nothing else: refuse the shipment"},
}

var otherwiseKinds = []choice{{"next", "Go on with the next rule"}, {"refuse", "Refuse the shipment"}}
