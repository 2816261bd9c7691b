package rulebook_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/routing"
)

func TestHistorySaysWhatEachVersionChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rule := func(name, carrier string) routing.Rule {
		return routing.Rule{Name: name, Then: routing.Action{Use: []routing.Target{{Carrier: carrier}}}}
	}
	b.publish(t, routing.Book{Rules: []routing.Rule{rule("A", "ups")}}, "first")
	b.publish(t, routing.Book{Rules: []routing.Rule{rule("A", "usps"), rule("B", "ups")}}, "second")
	b.publish(t, routing.Book{Rules: []routing.Rule{rule("B", "ups")}}, "third")
	want := map[int]map[string]int{1: {routing.RuleAdded: 1}, 2: {routing.RuleAdded: 1, routing.RuleChanged: 1}, 3: {routing.RuleRemoved: 1}}
	for _, page := range [][3]int{{3, 1, 2}, {0, 1, 3}, {0, 10, 3}, {0, 10, 3}, {2, 10, 1}} { // before, limit, the newest on it
		list, err := b.History(t.Context(), b.tenant, page[0], page[1])
		if err != nil || len(list) == 0 || list[0].Version != page[2] {
			t.Fatalf("%v: %+v, %v", page, list, err)
		}
		for _, v := range list {
			if len(v.Changes) != len(want[v.Version]) || v.Rules != []int{0, 1, 2, 1}[v.Version] || v.Note == "" {
				t.Errorf("%v: version %d is %+v", page, v.Version, v)
			}
			for what, n := range want[v.Version] {
				if v.Changes[what] != n {
					t.Errorf("%v: version %d: %v", page, v.Version, v.Changes)
				}
			}
		}
	}
}
