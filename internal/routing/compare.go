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

// A Difference is one thing in which two books differ.
type Difference struct {
	What     string
	Was, Is  Rule // for the default, Then alone
	From, To int  // positions of the rule, the first is 1; 0 where there is none
}

// Compare lists what changed from one book to another: first the rules of the
// new book in their order, then those that were removed, then the default. A
// rule is identified by its name; a removed and an added rule that do the same
// are one that was renamed.
func Compare(was, is Book) []Difference {
	oldIndexes := matchRules(was.Rules, is.Rules)
	stayed := longestRise(oldIndexes)

	var list []Difference
	for i, rule := range is.Rules {
		old := oldIndexes[i]
		difference := Difference{Is: rule, From: old + 1, To: i + 1}
		switch {
		case old < 0:
			difference.What = RuleAdded
		case !reflect.DeepEqual(was.Rules[old], rule):
			difference.What = RuleChanged
			difference.Was = was.Rules[old]
		case !slices.Contains(stayed, i):
			difference.What = RuleMoved
			difference.Was = rule
		default:
			continue
		}
		list = append(list, difference)
	}

	for old, rule := range was.Rules {
		if !slices.Contains(oldIndexes, old) {
			list = append(list, Difference{What: RuleRemoved, Was: rule, From: old + 1})
		}
	}

	before := was.fallbackAction()
	after := is.fallbackAction()
	if !reflect.DeepEqual(before, after) {
		list = append(list, Difference{What: DefaultChanged, Was: Rule{Then: before}, Is: Rule{Then: after}})
	}
	return list
}

// fallbackAction returns the default that applies, also if the book has none.
func (b Book) fallbackAction() Action {
	if reflect.ValueOf(b.Default).IsZero() {
		return Action{Choose: "cheapest"}
	}
	return b.Default
}

// matchRules returns the old index of each new rule, or -1.
func matchRules(was, is []Rule) []int {
	byName := map[string]int{}
	for i, rule := range was {
		byName[rule.Name] = i
	}

	oldIndexes := make([]int, len(is))
	taken := make([]bool, len(was))
	for i, rule := range is {
		oldIndexes[i] = -1
		if old, ok := byName[rule.Name]; ok && !taken[old] {
			oldIndexes[i] = old
			taken[old] = true
		}
	}

	// What is left may have been renamed: it is equal but for the name.
	for i, rule := range is {
		for old := range was {
			rule.Name = was[old].Name
			if oldIndexes[i] < 0 && !taken[old] && reflect.DeepEqual(rule, was[old]) {
				oldIndexes[i] = old
				taken[old] = true
			}
		}
	}
	return oldIndexes
}

// longestRise returns the longest list of indexes whose old indexes increase:
// the rules that stayed while others were moved around them.
func longestRise(oldIndexes []int) []int {
	best := make([][]int, len(oldIndexes)) // the longest that ends at the index
	var longest []int
	for i, old := range oldIndexes {
		if old < 0 {
			continue
		}

		for j := range i {
			if oldIndexes[j] >= 0 && oldIndexes[j] < old && len(best[j]) > len(best[i]) {
				best[i] = best[j]
			}
		}

		// Clip, because several lists can share the beginning.
		best[i] = append(slices.Clip(best[i]), i)
		if len(best[i]) > len(longest) {
			longest = best[i]
		}
	}
	return longest
}
