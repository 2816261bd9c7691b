package routing

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// A checker collects the errors of a book.
type checker struct {
	invalid []ship.FieldError
	names   map[string]int // of rules, to their indexes
	cost    uint64
}

func (c *checker) add(pointer, code, detail, suggestion string) {
	if len(c.invalid) < maxErrors {
		c.invalid = append(c.invalid, ship.FieldError{Pointer: pointer, Code: code, Detail: detail, Suggestion: suggestion})
	}
}

func (c *checker) rule(given Rule, i int) rule {
	pointer := "/rules/" + strconv.Itoa(i)
	c.name(given.Name, i, pointer+"/name")
	out := rule{name: given.Name, refuse: given.Otherwise == "refuse"}

	var found *problem
	if out.when, found = compileCondition(given.When); found != nil {
		c.add(pointer+"/when", "invalid_condition", found.String(), found.suggestion)
	}
	if out.when != nil {
		c.cost += out.when.cost
	}

	out.then = c.action(given.Then, pointer+"/then")
	out.guard = c.guard(given.Guard, pointer+"/guard")
	if given.Otherwise != "" && given.Otherwise != "next" && !out.refuse {
		c.add(pointer+"/otherwise", "not_allowed", `must be "next" or "refuse"`, ship.Nearest(given.Otherwise, []string{"next", "refuse"}))
	}

	if out.then.kind == forbid || out.then.kind == require {
		if given.Otherwise != "" {
			c.add(pointer+"/otherwise", "not_allowed", "is not allowed with forbid or require: the next rule is always tried", "")
		}
		if given.Guard != (Guard{}) {
			c.add(pointer+"/guard", "not_allowed", "is not allowed with forbid or require: such a rule does not choose an offer", "")
		}
	}

	// A signature changes the carriers' prices, so it is required before there
	// are any offers.
	if out.then.kind == require && out.when != nil && out.when.offers {
		c.add(pointer+"/when", "invalid_condition", "a require rule is evaluated before carriers are asked for prices, so its condition cannot use quotes, cheapest or fastest", "")
	}
	return out
}

func (c *checker) name(name string, i int, pointer string) {
	first, taken := c.names[name]
	switch {
	case strings.TrimSpace(name) == "":
		c.add(pointer, "required", "a rule needs a name", "")
	case utf8.RuneCountInString(name) > MaxName:
		c.add(pointer, "too_long", fmt.Sprintf("is longer than %d characters", MaxName), "")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		c.add(pointer, "invalid", "contains characters that cannot be displayed", "")
	case taken:
		c.add(pointer, "duplicate", "rule "+strconv.Itoa(first+1)+" has the same name", "")
	default:
		c.names[name] = i
	}
}

// kindAndField returns the one action that an Action asks for and its field's
// name; none if it does not ask for exactly one.
func (a Action) kindAndField() (kind, string) {
	found := none
	field := ""

	for _, candidate := range []struct {
		given bool
		kind  kind
		field string
	}{
		{a.Use != nil, use, "use"},
		{a.Choose != "", choose, "choose"},
		{a.Prefer != nil, prefer, "prefer"},
		{a.Split != nil, split, "split"},
		{a.Forbid != nil, forbid, "forbid"},
		{a.Require != nil, require, "require"},
	} {
		if !candidate.given {
			continue
		}
		if found != none {
			return none, ""
		}
		found = candidate.kind
		field = candidate.field
	}
	return found, field
}

const oneAction = "must have exactly one of use, choose, prefer, split, forbid or require"

func (c *checker) action(given Action, pointer string) action {
	var out action
	var field string
	out.kind, field = given.kindAndField()
	field = pointer + "/" + field

	switch out.kind {
	case none:
		c.add(pointer, "invalid", oneAction, "")
		return out
	case use:
		out.targets = c.targets(given.Use, field)
	case prefer:
		out.targets = c.targets(given.Prefer, field)
	case forbid:
		out.targets = c.targets(given.Forbid, field)
	case split:
		out.shares = c.shares(given.Split, field)
	case require:
		out.signature = c.signature(given.Require.Signature, field+"/signature")
	case choose:
		out.fastest = given.Choose == "fastest"
		if !out.fastest && given.Choose != "cheapest" {
			c.add(field, "not_allowed", `must be "cheapest" or "fastest"`, ship.Nearest(given.Choose, []string{"cheapest", "fastest"}))
		}
	}

	c.chooseLimits(given, &out, pointer)
	c.tolerances(given, &out, pointer)
	return out
}

// chooseLimits checks the limits that belong to choose.
func (c *checker) chooseLimits(given Action, out *action, pointer string) {
	out.by = noDay
	out.withinDays = -1
	out.ofFastest = -1
	out.ofCheapest = -1
	if out.kind != choose {
		c.rejectFields(map[string]bool{
			"by":                      given.By != "",
			"withinDays":              given.WithinDays != nil,
			"withinDaysOfFastest":     given.WithinDaysOfFastest != nil,
			"withinPercentOfCheapest": given.WithinPercentOfCheapest != nil,
			"only":                    given.Only != nil,
		}, "choose", pointer)
		return
	}

	if given.By != "" {
		day, ok := ship.ParseDate(string(given.By))
		if !ok {
			c.add(pointer+"/by", "invalid", `must be a day such as "2026-12-24"`, "")
		}
		out.by = dayOf(day)
	}
	out.withinDays = c.days(given.WithinDays, pointer+"/withinDays")
	out.ofFastest = c.days(given.WithinDaysOfFastest, pointer+"/withinDaysOfFastest")
	out.ofCheapest = c.percent(given.WithinPercentOfCheapest, pointer+"/withinPercentOfCheapest")
	if given.Only != nil {
		out.targets = c.targets(given.Only, pointer+"/only")
	}
}

// tolerances checks the tolerances that belong to prefer.
func (c *checker) tolerances(given Action, out *action, pointer string) {
	if out.kind != prefer {
		c.rejectFields(map[string]bool{
			"tolerancePercent": given.TolerancePercent != nil,
			"toleranceAmount":  given.ToleranceAmount != "",
		}, "prefer", pointer)
		return
	}

	out.percent = c.percent(given.TolerancePercent, pointer+"/tolerancePercent")
	out.amount = c.amount(given.ToleranceAmount, pointer+"/toleranceAmount")
	if given.TolerancePercent == nil && given.ToleranceAmount == "" {
		c.add(pointer, "required", "say how much more a preferred offer may cost: tolerancePercent or toleranceAmount", "tolerancePercent")
	}
}

// rejectFields rejects the given fields, which belong to another action.
func (c *checker) rejectFields(given map[string]bool, owner, pointer string) {
	// A list, because the order of errors must not depend on that of a map.
	for _, name := range []string{"by", "withinDays", "withinDaysOfFastest", "withinPercentOfCheapest", "only", "tolerancePercent", "toleranceAmount"} {
		if given[name] {
			c.add(pointer+"/"+name, "not_allowed", "is only allowed with "+owner, "")
		}
	}
}
