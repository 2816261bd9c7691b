package routing

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// ruleForm is a rule as it is being written.
type ruleForm struct {
	Mark    string // of the draft that it was opened on
	Was     string // the rule's name then; "" for a new one
	Default bool   // it is the default: an action alone
	Name    string
	Off     bool
	Builder bool // the condition is in Clauses; else in When
	Any     bool
	Clauses []clauseForm
	When    string
	Stuck   bool // the builder cannot show the condition
	Then    actionForm
	Names   offers.Catalog
	Wrong   site.Problems
	Problem string
	Focus   string // name of the field to focus
	Read    bool   // the reader may not change it
}

// A clauseForm is a row of the builder.
type clauseForm struct{ Name, Key, Test, Value string }

// An actionForm is a rule's action, field by field.
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
var actionKinds = []parts.Choice{
	{Value: "choose", Title: "Buy the cheapest or the fastest"},
	{Value: "use", Title: "Buy these, in this order"},
	{Value: "prefer", Title: "Prefer these unless they cost much more"},
	{Value: "split", Title: "Split orders by percentage"},
	{Value: "forbid", Title: "Never buy these"},
	{Value: "require", Title: "Require a signature"},
}

// kinds returns the actions that the form offers: the default must choose.
func (f ruleForm) kinds() []parts.Choice {
	if f.Default {
		return actionKinds[:4]
	}
	return actionKinds
}

// goesOn reports whether the action leaves the choice to the following rules.
func (a actionForm) goesOn() bool { return a.Kind == "forbid" || a.Kind == "require" }

// list returns the field of routing.Action that the targets belong to.
func (a actionForm) list() string {
	if a.Kind == "choose" {
		return "only"
	}
	return a.Kind
}

// ruleFormOf fills the form with a rule.
func ruleFormOf(rule routing.Rule) ruleForm {
	form := ruleForm{
		Was:  rule.Name,
		Name: rule.Name,
		Off:  rule.Disabled,
		When: rule.When,
		Then: actionFormOf(rule),
	}
	form.build()
	return form
}

// build shows the condition in the builder, if that is possible.
func (f *ruleForm) build() {
	simple, ok := routing.ReadSimple(f.When)
	f.Builder = ok
	f.Stuck = !ok
	if !ok {
		return
	}

	f.Any = simple.Any
	f.Clauses = nil
	for _, clause := range simple.Clauses {
		f.Clauses = append(f.Clauses, clauseForm{
			Name:  clause.Name,
			Key:   clause.Key,
			Test:  clause.Test,
			Value: strings.Join(clause.Values, ", "),
		})
	}
}

func actionFormOf(rule routing.Rule) actionForm {
	action := rule.Then
	guard := rule.Guard
	form := actionForm{
		Kind:         "choose",
		Choose:       cmp.Or(action.Choose, "cheapest"),
		By:           string(action.By),
		WithinDays:   intText(action.WithinDays),
		OfFastest:    intText(action.WithinDaysOfFastest),
		Cheapest:     floatText(action.WithinPercentOfCheapest),
		Percent:      floatText(action.TolerancePercent),
		Amount:       action.ToleranceAmount,
		Signature:    "standard",
		Guard:        "any",
		GuardPercent: floatText(guard.ExtraPercent),
		GuardAmount:  guard.ExtraAmount,
		GuardDays:    intText(guard.ExtraDays),
		Otherwise:    cmp.Or(rule.Otherwise, "next"),
	}

	switch {
	case guard.None:
		form.Guard = "none"
	case guard != (routing.Guard{}):
		form.Guard = "limits"
	}

	switch {
	case action.Use != nil:
		form.Kind = "use"
	case action.Prefer != nil:
		form.Kind = "prefer"
	case action.Forbid != nil:
		form.Kind = "forbid"
	case action.Split != nil:
		form.Kind = "split"
	case action.Require != nil:
		form.Kind = "require"
		form.Signature = action.Require.Signature
	}

	// A rule has one action, so at most one of these lists has targets.
	for _, target := range slices.Concat(action.Use, action.Only, action.Prefer, action.Forbid) {
		form.Targets = append(form.Targets, targetForm{Value: offers.TargetValue(target)})
	}
	for _, share := range action.Split {
		form.Targets = append(form.Targets, targetForm{offers.TargetValue(share.Target), strconv.Itoa(share.Percent)})
	}
	return form
}

func intText(n *int) string {
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

// readRuleForm reads the form.
func readRuleForm(v *site.Visit) ruleForm {
	form := ruleForm{
		Mark:    v.Form("mark"),
		Was:     v.Request.FormValue("was"), // untrimmed: it is compared with the stored name
		Default: v.Form("default") != "",
		Name:    v.Form("name"),
		Off:     v.Form("off") != "",
		Builder: v.Form("by") != "cel",
		Any:     v.Form("join") == "any",
		When:    v.Form("when"),
	}
	for i := 0; v.Request.PostForm.Has(rowField("c", i, "name")) && i < routing.MaxCondition; i++ {
		clause := clauseForm{
			Name:  v.Form(rowField("c", i, "name")),
			Key:   v.Form(rowField("c", i, "key")),
			Test:  v.Form(rowField("c", i, "test")),
			Value: v.Form(rowField("c", i, "value")),
		}
		clause.settle()
		form.Clauses = append(form.Clauses, clause)
	}

	form.Then = actionForm{
		Kind:         v.Form("kind"),
		Choose:       v.Form("choose"),
		By:           v.Form("byDay"),
		WithinDays:   v.Form("withinDays"),
		OfFastest:    v.Form("ofFastest"),
		Cheapest:     v.Form("ofCheapest"),
		Percent:      v.Form("percent"),
		Amount:       v.Form("amount"),
		Signature:    v.Form("signature"),
		Guard:        v.Form("guard"),
		GuardPercent: v.Form("guardPercent"),
		GuardAmount:  v.Form("guardAmount"),
		GuardDays:    v.Form("guardDays"),
		Otherwise:    v.Form("otherwise"),
	}
	for i := 0; v.Request.PostForm.Has(rowField("t", i, "value")) && i <= routing.MaxTargets; i++ {
		form.Then.Targets = append(form.Then.Targets, targetForm{
			Value:   v.Form(rowField("t", i, "value")),
			Percent: v.Form(rowField("t", i, "percent")),
		})
	}
	return form
}

// rowField returns the name of a field in a row.
func rowField(list string, i int, field string) string {
	return list + "." + strconv.Itoa(i) + "." + field
}

// settle replaces a test that the row's variable does not have, which happens
// when the variable was changed.
func (c *clauseForm) settle() {
	variable, ok := routing.FindVariable(c.Name)
	if ok && !slices.Contains(variable.Tests(), c.Test) && len(variable.Tests()) > 0 {
		c.Test = variable.Tests()[0]
	}
}

// clause returns the row as a clause of the condition.
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

// condition returns the condition in CEL.
func (f ruleForm) condition() string {
	if !f.Builder {
		return f.When
	}

	simple := routing.Simple{Any: f.Any}
	for _, row := range f.Clauses {
		simple.Clauses = append(simple.Clauses, row.clause())
	}
	return simple.String()
}

// rule returns the form as a rule, and the errors of fields that cannot be
// read.
func (f ruleForm) rule() (routing.Rule, []ship.FieldError) {
	var in fieldReader
	rule := routing.Rule{Name: f.Name, When: f.condition(), Disabled: f.Off}
	if f.Builder {
		for i, row := range f.Clauses {
			if problem := row.clause().Problem(); problem != "" {
				in.add(fmt.Sprintf("/clauses/%d", i), problem)
			}
		}
	}

	then := f.Then
	rule.Then = then.action(&in)
	if then.goesOn() || f.Default {
		return rule, in.invalid
	}

	if then.Otherwise == "refuse" {
		rule.Otherwise = "refuse"
	}
	switch then.Guard {
	case "none":
		rule.Guard.None = true
	case "limits":
		rule.Guard = routing.Guard{
			ExtraPercent: in.float(then.GuardPercent, "/guard/extraPercent"),
			ExtraAmount:  then.GuardAmount,
			ExtraDays:    in.integer(then.GuardDays, "/guard/extraDays"),
		}
	}
	return rule, in.invalid
}

// action returns the form as an action.
func (a actionForm) action(in *fieldReader) routing.Action {
	targets := []routing.Target{}
	for _, row := range a.Targets {
		targets = append(targets, offers.ParseTarget(row.Value))
	}

	switch a.Kind {
	case "use":
		return routing.Action{Use: targets}

	case "forbid":
		return routing.Action{Forbid: targets}

	case "prefer":
		return routing.Action{
			Prefer:           targets,
			TolerancePercent: in.float(a.Percent, "/then/tolerancePercent"),
			ToleranceAmount:  a.Amount,
		}

	case "require":
		return routing.Action{Require: &routing.Requirement{Signature: a.Signature}}

	case "split":
		shares := []routing.Share{}
		for i, target := range targets {
			share := routing.Share{Target: target}
			if percent := in.integer(a.Targets[i].Percent, fmt.Sprintf("/then/split/%d/percent", i)); percent != nil {
				share.Percent = *percent
			}
			shares = append(shares, share)
		}
		return routing.Action{Split: shares}
	}

	out := routing.Action{
		Choose:                  cmp.Or(a.Choose, "cheapest"),
		By:                      ship.Date(a.By),
		WithinDays:              in.integer(a.WithinDays, "/then/withinDays"),
		WithinDaysOfFastest:     in.integer(a.OfFastest, "/then/withinDaysOfFastest"),
		WithinPercentOfCheapest: in.float(a.Cheapest, "/then/withinPercentOfCheapest"),
	}
	if len(targets) > 0 {
		out.Only = targets
	}
	return out
}

// A fieldReader parses numbers and collects the errors of those that are
// invalid.
type fieldReader struct{ invalid []ship.FieldError }

func (in *fieldReader) add(pointer, detail string) {
	in.invalid = append(in.invalid, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: detail})
}

func (in *fieldReader) integer(text, pointer string) *int {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		in.add(pointer, "must be a whole number")
	}
	return &n
}

func (in *fieldReader) float(text, pointer string) *float64 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(strings.ReplaceAll(text, ",", "."), "%"), 64)
	if err != nil {
		in.add(pointer, "must be a number")
	}
	return &n
}

var guardKinds = []parts.Choice{
	{Value: "any", Title: "Buy the next offer that the rule allows"},
	{Value: "limits", Title: "Buy the next offer within limits"},
	{Value: "none", Title: "Buy nothing else and refuse the shipment"},
}

var otherwiseKinds = []parts.Choice{{Value: "next", Title: "Continue with the next rule"}, {Value: "refuse", Title: "Refuse the shipment"}}
