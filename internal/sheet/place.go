package sheet

import (
	"cmp"
	"sort"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// anywhere is the country that stands for all.
const anywhere = "*"

// An area is a part of the world: everywhere, a country, a state, or the postal
// codes that begin with lo to hi.
type area struct {
	country string // anywhere or a code
	state   string
	lo, hi  string // keys of the same length; "" is all of the country
}

// level orders areas by how exact they are.
func (a area) level() int {
	switch {
	case a.lo != "":
		return 3 + len(a.lo)
	case a.state != "":
		return 2
	case a.country != anywhere:
		return 1
	}
	return 0
}

func (a area) compare(b area) int {
	return cmp.Or(
		strings.Compare(a.country, b.country), cmp.Compare(a.level(), b.level()),
		strings.Compare(a.state, b.state), strings.Compare(a.lo, b.lo), strings.Compare(a.hi, b.hi),
	)
}

// overlaps reports whether two areas of one level have a place in common.
func (a area) overlaps(b area) bool {
	return a.country == b.country && a.state == b.state && a.level() == b.level() && a.lo <= b.hi && b.lo <= a.hi
}

// zip is the cell of the area's postal codes.
func (a area) zip() string {
	lo, hi := zipText(a.country, a.lo), zipText(a.country, a.hi)
	if lo == hi {
		return lo
	}
	return lo + ".." + hi
}

func (a area) String() string {
	switch {
	case a.lo != "":
		return a.country + " " + a.zip()
	case a.state != "":
		return a.country + " " + a.state
	case a.country == anywhere:
		return "all countries"
	}
	return a.country
}

// A spot is an address as areas see it.
type spot struct{ country, state, zip string }

func spotOf(a *ship.Address) spot {
	return spot{country: a.Country, state: a.State, zip: zipKey(a.Country, a.Zip)}
}

// A sited is an area and what is found there.
type sited struct {
	area
	value int
}

// places find what is at a spot. They are sorted, and those of one level do not
// overlap.
type places []sited

// land is the part of the list that is in a country.
func (p places) land(country string) places {
	first := sort.Search(len(p), func(i int) bool { return p[i].country >= country })
	rest := p[first:]
	return rest[:sort.Search(len(rest), func(i int) bool { return rest[i].country > country })]
}

// walk yields what is at the spot, the most exact area first, with its level.
func (p places) walk(at spot, yield func(value, level int) bool) {
	land := p.land(at.country)
	if at.country == anywhere {
		land = nil
	}
	for len(land) > 0 {
		level := land[len(land)-1].level()
		first := sort.Search(len(land), func(i int) bool { return land[i].level() >= level })
		if value, ok := land[first:].find(at, level); ok && !yield(value, level) {
			return
		}
		land = land[:first]
	}
	if len(p) > 0 && p[0].country == anywhere {
		yield(p[0].value, 0)
	}
}

// find returns what is at the spot, of areas in its country and of one level.
func (p places) find(at spot, level int) (int, bool) {
	switch level {
	case 1:
		return p[0].value, true
	case 2:
		i := sort.Search(len(p), func(i int) bool { return p[i].state >= at.state })
		if i == len(p) || p[i].state != at.state {
			return 0, false
		}
		return p[i].value, true
	}
	if len(at.zip) < level-3 {
		return 0, false
	}
	zip := at.zip[:level-3]
	i := sort.Search(len(p), func(i int) bool { return p[i].lo > zip }) - 1
	if i < 0 || p[i].hi < zip {
		return 0, false
	}
	return p[i].value, true
}

// best returns what is at the spot in the most exact area.
func (p places) best(at spot) (value, level int, ok bool) {
	p.walk(at, func(v, l int) bool {
		value, level, ok = v, l, true
		return false
	})
	return value, level, ok
}

// zoneOf finds the zone between two spots. The more exact destination wins,
// and of equals the more exact origin.
func (s *Sheet) zoneOf(from, to spot) (zone int, ok bool) {
	deepest := -1
	s.origins.walk(from, func(lane, _ int) bool {
		if value, level, found := s.lanes[lane].best(to); found && level > deepest {
			zone, deepest, ok = value, level, true
		}
		return true
	})
	return zone, ok
}
