package routing

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Compiled book decides. It never changes and is safe for concurrent use.
// Rules with the same condition share it, also across books.
type Compiled struct {
	rules    []rule // that choose or forbid, without the disabled
	requires []rule
	fallback action
	plain    bool // no rules, and the cheapest: the strategy of an account without a book
}

// A rule is a Rule, ready to be applied.
type rule struct {
	name   string
	when   *condition
	then   action
	guard  guard
	refuse bool
}

// A kind is what an action does.
type kind int

// The kinds of actions.
const (
	none kind = iota
	use
	choose
	prefer
	split
	forbid
	require
)

// An action is an Action, checked. -1 means no limit.
type action struct {
	kind       kind
	targets    []Target // of use, prefer, forbid; only of choose
	shares     []Share
	signature  string
	fastest    bool
	by         int64 // number of a day, noDay for none
	withinDays int64
	ofFastest  int64 // days
	ofCheapest int64 // hundredths of a percent
	percent    int64 // hundredths of a percent
	amount     int64 // in the minor unit of widestCurrency
}

// A guard is a Guard, checked. -1 means no limit.
type guard struct {
	percent int64 // hundredths
	amount  int64 // in the minor unit of widestCurrency
	days    int64
	none    bool
}

// Compile checks a book, including its disabled rules. The error lists all
// problems, with pointers into the book; that of a condition has the code
// "invalid_condition" and the column. Whether the account has the carriers that
// the book names is for the caller to check, with Targets.
func Compile(book Book) (*Compiled, error) {
	check := checker{names: map[string]int{}}
	if len(book.Rules) > MaxRules {
		check.add("/rules", "too_long", fmt.Sprintf("has more than %d rules", MaxRules), "")
		return nil, ship.InvalidFields(check.invalid)
	}

	out := &Compiled{}
	for i, given := range book.Rules {
		checked := check.rule(given, i)
		switch {
		case given.Disabled:
		case checked.then.kind == require:
			out.requires = append(out.requires, checked)
		default:
			out.rules = append(out.rules, checked)
		}
	}

	// Each condition is bounded on its own; many of them together must be, too.
	if check.cost > maxBookCost {
		check.add("/rules", "too_long", fmt.Sprintf("the conditions are too complex in total: up to %s steps, and the limit is %d", steps(check.cost), maxBookCost), "")
	}

	out.fallback = check.fallback(book.Default)
	out.plain = len(book.Rules) == 0 && out.fallback.unlimited()
	if len(check.invalid) > 0 {
		return nil, ship.InvalidFields(check.invalid)
	}
	return out, nil
}

// fallback checks the default; a book without one chooses the cheapest.
func (c *checker) fallback(given Action) action {
	if reflect.ValueOf(given).IsZero() {
		given.Choose = "cheapest"
	}

	out := c.action(given, "/default")
	if out.kind == forbid || out.kind == require {
		c.add("/default", "invalid", "the default must have one of use, choose, prefer or split", "")
	}
	return out
}

// unlimited reports whether the action is to choose the cheapest of all.
func (a action) unlimited() bool {
	return a.kind == choose && !a.fastest && len(a.targets) == 0 && a.by == noDay && a.withinDays < 0 && a.ofFastest < 0 && a.ofCheapest < 0
}

// Targets lists every target of the book and where it is named, for callers who
// know the account's carriers and check them.
func (b Book) Targets() []NamedTarget {
	var all []NamedTarget
	add := func(action Action, pointer string) {
		for _, list := range []struct {
			name    string
			targets []Target
		}{{"use", action.Use}, {"only", action.Only}, {"prefer", action.Prefer}, {"forbid", action.Forbid}} {
			for i, target := range list.targets {
				all = append(all, NamedTarget{target, pointer + "/" + list.name + "/" + strconv.Itoa(i)})
			}
		}
		for i, share := range action.Split {
			all = append(all, NamedTarget{share.Target, pointer + "/split/" + strconv.Itoa(i)})
		}
	}

	for i, rule := range b.Rules {
		add(rule.Then, "/rules/"+strconv.Itoa(i)+"/then")
	}
	add(b.Default, "/default")
	return all
}
