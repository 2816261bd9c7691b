package routing

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// A checker collects what is wrong with a book.
type checker struct {
	wrong []ship.FieldError
	names map[string]int // of rules, to their places
	cost  uint64
}

func (c *checker) add(pointer, code, detail, suggestion string) {
	if len(c.wrong) < maxWrong {
		c.wrong = append(c.wrong, ship.FieldError{Pointer: pointer, Code: code, Detail: detail, Suggestion: suggestion})
	}
}

func (c *checker) rule(r Rule, i int) rule {
	pointer := "/rules/" + strconv.Itoa(i)
	c.name(r.Name, i, pointer+"/name")
	out := rule{name: r.Name, refuse: r.Otherwise == "refuse"}
	var wrong *problem
	if out.when, wrong = compileCondition(r.When); wrong != nil {
		c.add(pointer+"/when", "invalid_condition", wrong.String(), wrong.suggestion)
	}
	if out.when != nil {
		c.cost += out.when.cost
	}
	out.then = c.action(r.Then, pointer+"/then")
	out.guard = c.guard(r.Guard, pointer+"/guard")
	if r.Otherwise != "" && r.Otherwise != "next" && !out.refuse {
		c.add(pointer+"/otherwise", "not_allowed", `must be "next" or "refuse"`, ship.Nearest(r.Otherwise, []string{"next", "refuse"}))
	}
	if out.then.kind == forbid || out.then.kind == require {
		if r.Otherwise != "" {
			c.add(pointer+"/otherwise", "not_allowed", "a rule that forbids or requires always goes on", "")
		}
		if r.Guard != (Guard{}) {
			c.add(pointer+"/guard", "not_allowed", "a rule that forbids or requires chooses nothing that could be guarded", "")
		}
	}
	if out.then.kind == require && out.when != nil && out.when.offers {
		c.add(pointer+"/when", "invalid_condition", "require applies before the carriers are asked, so its condition cannot read quotes, cheapest or fastest", "")
	}
	return out
}

func (c *checker) name(name string, i int, pointer string) {
	switch first, taken := c.names[name]; {
	case strings.TrimSpace(name) == "":
		c.add(pointer, "required", "a rule needs a name", "")
	case utf8.RuneCountInString(name) > MaxName:
		c.add(pointer, "too_long", fmt.Sprintf("is longer than %d characters", MaxName), "")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		c.add(pointer, "invalid", "has characters that cannot be shown", "")
	case taken:
		c.add(pointer, "duplicate", "rule "+strconv.Itoa(first+1)+" has the same name", "")
	default:
		c.names[name] = i
	}
}

// asked is the one action that an Action asks for and its field's name; none
// if it is not exactly one.
func (a Action) asked() (kind, string) {
	found, field := none, ""
	for _, k := range []struct {
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
		if k.given && found != none {
			return none, ""
		}
		if k.given {
			found, field = k.kind, k.field
		}
	}
	return found, field
}

const oneAction = "must be exactly one of use, choose, prefer, split, forbid and require"

func (c *checker) action(a Action, pointer string) action {
	var out action
	var field string
	out.kind, field = a.asked()
	field = pointer + "/" + field
	switch out.kind {
	case none:
		c.add(pointer, "invalid", oneAction, "")
		return out
	case use:
		out.targets = c.targets(a.Use, field)
	case prefer:
		out.targets = c.targets(a.Prefer, field)
	case forbid:
		out.targets = c.targets(a.Forbid, field)
	case split:
		out.shares = c.shares(a.Split, field)
	case require:
		out.signature = c.signature(a.Require.Signature, field+"/signature")
	case choose:
		out.fastest = a.Choose == "fastest"
		if !out.fastest && a.Choose != "cheapest" {
			c.add(field, "not_allowed", `must be "cheapest" or "fastest"`, ship.Nearest(a.Choose, []string{"cheapest", "fastest"}))
		}
	}
	c.choosing(a, &out, pointer)
	c.preferring(a, &out, pointer)
	return out
}

// choosing checks the limits that belong to choose.
func (c *checker) choosing(a Action, out *action, pointer string) {
	out.by, out.withinDays, out.ofFastest, out.ofCheapest = noDay, -1, -1, -1
	given := map[string]bool{
		"by": a.By != "", "withinDays": a.WithinDays != nil, "withinDaysOfFastest": a.WithinDaysOfFastest != nil,
		"withinPercentOfCheapest": a.WithinPercentOfCheapest != nil, "only": a.Only != nil,
	}
	if out.kind != choose {
		c.belongs(given, "choose", pointer)
		return
	}
	if a.By != "" {
		day, ok := ship.ParseDate(string(a.By))
		if !ok {
			c.add(pointer+"/by", "invalid", `must be a day such as "2026-12-24"`, "")
		}
		out.by = dayOf(day)
	}
	out.withinDays = c.days(a.WithinDays, pointer+"/withinDays")
	out.ofFastest = c.days(a.WithinDaysOfFastest, pointer+"/withinDaysOfFastest")
	out.ofCheapest = c.percent(a.WithinPercentOfCheapest, pointer+"/withinPercentOfCheapest")
	if a.Only != nil {
		out.targets = c.targets(a.Only, pointer+"/only")
	}
}

// preferring checks the tolerances that belong to prefer.
func (c *checker) preferring(a Action, out *action, pointer string) {
	if out.kind != prefer {
		c.belongs(map[string]bool{"tolerancePercent": a.TolerancePercent != nil, "toleranceAmount": a.ToleranceAmount != ""}, "prefer", pointer)
		return
	}
	out.percent = c.percent(a.TolerancePercent, pointer+"/tolerancePercent")
	out.amount = c.amount(a.ToleranceAmount, pointer+"/toleranceAmount")
	if a.TolerancePercent == nil && a.ToleranceAmount == "" {
		c.add(pointer, "required", "prefer needs tolerancePercent or toleranceAmount: how much more the preferred may cost", "tolerancePercent")
	}
}

// belongs refuses fields of another action.
func (c *checker) belongs(given map[string]bool, to, pointer string) {
	for _, name := range []string{"by", "withinDays", "withinDaysOfFastest", "withinPercentOfCheapest", "only", "tolerancePercent", "toleranceAmount"} {
		if given[name] {
			c.add(pointer+"/"+name, "not_allowed", "belongs to "+to+" alone", "")
		}
	}
}
