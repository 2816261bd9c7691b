package routing

import (
	"reflect"
	"slices"
)

// What a Difference is about.
const (
	RuleAdded      = "added"
	RuleRemoved    = "removed"
	RuleChanged    = "changed" // perhaps its name alone, or moved as well
	RuleMoved      = "moved"
	DefaultChanged = "default"
)

// A Difference is one thing that two books do not have in common.
type Difference struct {
	What     string
	Was, Is  Rule // of the default, Then alone
	From, To int  // places of the rule, the first is 1; 0 where there is none
}

// Compare lists what was changed to make one book of another: by the place of
// the rules that are, then those that are gone, then the default. A rule is
// the same by its name; one that is gone and one that is new and does the same
// is one that was renamed.
func Compare(was, is Book) []Difference {
	olds := matchRules(was.Rules, is.Rules)
	stay := longestRise(olds)
	var list []Difference
	for i, r := range is.Rules {
		at := olds[i]
		d := Difference{Is: r, From: at + 1, To: i + 1}
		switch {
		case at < 0:
			d.What = RuleAdded
		case !reflect.DeepEqual(was.Rules[at], r):
			d.What, d.Was = RuleChanged, was.Rules[at]
		case !slices.Contains(stay, i):
			d.What, d.Was = RuleMoved, r
		default:
			continue
		}
		list = append(list, d)
	}
	for at, r := range was.Rules {
		if !slices.Contains(olds, at) {
			list = append(list, Difference{What: RuleRemoved, Was: r, From: at + 1})
		}
	}
	if !reflect.DeepEqual(was.fallbackAction(), is.fallbackAction()) {
		list = append(list, Difference{What: DefaultChanged, Was: Rule{Then: was.fallbackAction()}, Is: Rule{Then: is.fallbackAction()}})
	}
	return list
}

// fallbackAction is the default, as it counts if there is none.
func (b Book) fallbackAction() Action {
	if reflect.ValueOf(b.Default).IsZero() {
		return Action{Choose: "cheapest"}
	}
	return b.Default
}

// matchRules finds for each rule that is the place where it was, or -1.
func matchRules(was, is []Rule) []int {
	at := map[string]int{}
	for i, r := range was {
		at[r.Name] = i
	}
	olds, taken := make([]int, len(is)), make([]bool, len(was))
	for i, r := range is {
		olds[i] = -1
		if old, ok := at[r.Name]; ok && !taken[old] {
			olds[i], taken[old] = old, true
		}
	}
	for i, r := range is {
		for old := range was {
			r.Name = was[old].Name
			if olds[i] < 0 && !taken[old] && reflect.DeepEqual(r, was[old]) {
				olds[i], taken[old] = old, true
			}
		}
	}
	return olds
}

// longestRise is the longest list of places whose old places rise: the rules
// that stayed while others were moved around them.
func longestRise(olds []int) []int {
	best := make([][]int, len(olds)) // that ends at the place
	var longest []int
	for i, old := range olds {
		if old < 0 {
			continue
		}
		for j := range i {
			if olds[j] >= 0 && olds[j] < old && len(best[j]) > len(best[i]) {
				best[i] = best[j]
			}
		}
		best[i] = append(slices.Clip(best[i]), i)
		if len(best[i]) > len(longest) {
			longest = best[i]
		}
	}
	return longest
}
