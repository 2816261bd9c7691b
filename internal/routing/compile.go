package routing

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Compiled book decides. It never changes, is safe for concurrent use, and
// shares with other books all but its own rules; rules of one condition share
// that.
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

// An action is an Action, checked. -1 stands for no limit.
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
	amount     int64 // in the minor unit of widest
}

// A guard is a Guard, checked. -1 stands for no limit.
type guard struct {
	percent int64 // hundredths
	amount  int64 // in the minor unit of widest
	days    int64
	none    bool
}

// Compile checks a book, disabled rules too. The error lists all that is
// wrong, with pointers into the book: a condition's has the code
// "invalid_condition" and says the column. Whether the account has the carriers
// that the book names is for the caller to check, by Targets.
func Compile(b Book) (*Compiled, error) {
	c := checker{names: map[string]int{}}
	if len(b.Rules) > MaxRules {
		c.add("/rules", "too_long", fmt.Sprintf("has more than %d rules", MaxRules), "")
		return nil, ship.InvalidFields(c.wrong)
	}
	out := &Compiled{}
	for i, given := range b.Rules {
		switch r := c.rule(given, i); {
		case given.Disabled:
		case r.then.kind == require:
			out.requires = append(out.requires, r)
		default:
			out.rules = append(out.rules, r)
		}
	}
	if c.cost > maxBookCost {
		c.add("/rules", "too_long", fmt.Sprintf("the conditions together do too much: up to %s steps, over %d", steps(c.cost), maxBookCost), "")
	}
	out.fallback = c.fallback(b.Default)
	out.plain = len(b.Rules) == 0 && out.fallback.unlimited()
	if len(c.wrong) > 0 {
		return nil, ship.InvalidFields(c.wrong)
	}
	return out, nil
}

// fallback checks the default; the cheapest is that of a book without one.
func (c *checker) fallback(a Action) action {
	if reflect.ValueOf(a).IsZero() {
		a.Choose = "cheapest"
	}
	out := c.action(a, "/default")
	if out.kind == forbid || out.kind == require {
		c.add("/default", "invalid", "the default must choose: use, choose, prefer or split", "")
	}
	return out
}

// unlimited reports whether the action is to choose the cheapest of all.
func (a action) unlimited() bool {
	return a.kind == choose && !a.fastest && len(a.targets) == 0 && a.by == noDay && a.withinDays < 0 && a.ofFastest < 0 && a.ofCheapest < 0
}

// Targets lists every target of the book and where it is named, so that a
// caller who knows the account's carriers can check them.
func (b Book) Targets() []NamedTarget {
	var all []NamedTarget
	add := func(a Action, pointer string) {
		for _, list := range []struct {
			name    string
			targets []Target
		}{{"use", a.Use}, {"only", a.Only}, {"prefer", a.Prefer}, {"forbid", a.Forbid}} {
			for i, t := range list.targets {
				all = append(all, NamedTarget{t, pointer + "/" + list.name + "/" + strconv.Itoa(i)})
			}
		}
		for i, s := range a.Split {
			all = append(all, NamedTarget{s.Target, pointer + "/split/" + strconv.Itoa(i)})
		}
	}
	for i, r := range b.Rules {
		add(r.Then, "/rules/"+strconv.Itoa(i)+"/then")
	}
	add(b.Default, "/default")
	return all
}
