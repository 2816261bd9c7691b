package routing

import (
	"strconv"
	"testing"
)

func TestMenusOfVersionsReachTheFirst(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	m := versionMenu{newest: 3*menuSize + 7}
	pages := 0
	for ; ; pages++ {
		for _, c := range m.choices(0) {
			seen[c.Value] = true
		}
		if m.Older() == "" || pages > 10 {
			break
		}
		m.before, _ = versionOf(m.Older())
	}
	if len(seen) != m.newest || pages != 3 {
		t.Errorf("%d versions on %d pages, of %d", len(seen), pages+1, m.newest)
	}
	for _, chosen := range []int{1, 60, m.newest} {
		m.before = 2*menuSize + 1
		n := 0
		for _, c := range m.choices(chosen) {
			if c.Value == strconv.Itoa(chosen) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("version %d is %d times in the menu that has it chosen", chosen, n)
		}
	}
}
