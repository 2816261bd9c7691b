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
		strings.Compare(a.country, b.country),
		cmp.Compare(a.level(), b.level()),
		strings.Compare(a.state, b.state),
		strings.Compare(a.lo, b.lo),
		strings.Compare(a.hi, b.hi),
	)
}

// overlaps reports whether two areas of one level have a place in common.
func (a area) overlaps(b area) bool {
	return a.country == b.country && a.state == b.state && a.level() == b.level() && a.lo <= b.hi && b.lo <= a.hi
}

// zip is the cell of the area's postal codes.
func (a area) zip() string {
	lo := formatZip(a.country, a.lo)
	hi := formatZip(a.country, a.hi)
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

// A location is the part of an address that areas depend on.
type location struct{ country, state, zip string }

func locationOf(address *ship.Address) location {
	return location{
		country: address.Country,
		state:   address.State,
		zip:     zipKey(address.Country, address.Zip),
	}
}

// An areaEntry is an area and its value.
type areaEntry struct {
	area
	value int
}

// An areaIndex finds the value of a location. It is sorted, and areas of one
// level do not overlap.
type areaIndex []areaEntry

// inCountry is the part of the index that is in a country.
func (x areaIndex) inCountry(country string) areaIndex {
	first := sort.Search(len(x), func(i int) bool { return x[i].country >= country })
	rest := x[first:]
	return rest[:sort.Search(len(rest), func(i int) bool { return rest[i].country > country })]
}

// walk yields the values of a location, that of the most exact area first, with
// the level of the area.
func (x areaIndex) walk(at location, yield func(value, level int) bool) {
	entries := x.inCountry(at.country)
	if at.country == anywhere {
		entries = nil
	}

	// The entries of a country are sorted by level, the most exact last.
	for len(entries) > 0 {
		level := entries[len(entries)-1].level()
		first := sort.Search(len(entries), func(i int) bool { return entries[i].level() >= level })
		if value, ok := entries[first:].find(at, level); ok && !yield(value, level) {
			return
		}
		entries = entries[:first]
	}

	if len(x) > 0 && x[0].country == anywhere {
		yield(x[0].value, 0)
	}
}

// find returns the value of a location, among areas in its country and of one
// level.
func (x areaIndex) find(at location, level int) (value int, ok bool) {
	switch level {
	case 1:
		return x[0].value, true
	case 2:
		i := sort.Search(len(x), func(i int) bool { return x[i].state >= at.state })
		if i == len(x) || x[i].state != at.state {
			return 0, false
		}
		return x[i].value, true
	}

	// Above these, the level says how many characters of a postal code count.
	if len(at.zip) < level-3 {
		return 0, false
	}
	zip := at.zip[:level-3]
	i := sort.Search(len(x), func(i int) bool { return x[i].lo > zip }) - 1
	if i < 0 || x[i].hi < zip {
		return 0, false
	}
	return x[i].value, true
}

// best returns the value of a location in the most exact area.
func (x areaIndex) best(at location) (value, level int, ok bool) {
	x.walk(at, func(foundValue, foundLevel int) bool {
		value = foundValue
		level = foundLevel
		ok = true
		return false
	})
	return value, level, ok
}

// zoneOf finds the zone between two locations. The more exact destination wins,
// and of equals the more exact origin.
func (s *Sheet) zoneOf(from, to location) (zone int, ok bool) {
	// Origins come with the most exact one first, so only a destination that is
	// more exact replaces the zone.
	highest := -1
	s.origins.walk(from, func(lane, _ int) bool {
		if value, level, found := s.lanes[lane].best(to); found && level > highest {
			zone = value
			highest = level
			ok = true
		}
		return true
	})
	return zone, ok
}
