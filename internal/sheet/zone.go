package sheet

import (
	"slices"
	"strings"
)

// A lane is a row of [zones], for one origin and one destination.
type lane struct {
	from, to area
	zone     int
	line     int
}

// readZone reads a row of [zones].
func (p *parser) readZone(r *row) {
	zone, ok := r.readZone("zone", r.get("zone"))
	if r.get("country") == "" {
		r.fail("country", "required", anywhere, "the row has no country; use %s for all countries", anywhere)
	}
	destinations := r.readAreas("")
	origins := r.readAreas("from ")
	if !ok || r.bad {
		return
	}

	if len(origins) == 0 {
		origins = []area{{country: anywhere}}
	}
	if len(origins)*len(destinations)+len(p.lanes) > MaxRows {
		r.fail("", "too_large", "", "the zones have more than %d areas: combine them into ranges or prefixes", MaxRows)
		return
	}
	for _, from := range origins {
		for _, to := range destinations {
			p.lanes = append(p.lanes, lane{from: from, to: to, zone: zone, line: r.line})
		}
	}
}

// readAreas reads the columns country, state and zip, whose names have the
// prefix. There are none if all three are empty.
func (r *row) readAreas(prefix string) []area {
	states := splitList(r.get(prefix+"state"), false)
	zips := splitList(r.get(prefix+"zip"), false)
	var countries []string
	for _, cell := range splitList(r.get(prefix+"country"), true) {
		if country, ok := r.readCountry(prefix+"country", cell); ok {
			countries = append(countries, strings.Clone(country))
		}
	}

	switch {
	case r.bad || len(countries)+len(states)+len(zips) == 0:
		return nil
	case len(states) > 0 && len(zips) > 0:
		r.fail(prefix+"state", "invalid", "", "a row can have states or postal codes, not both")
		return nil
	case len(states)+len(zips) > 0 && (len(countries) != 1 || countries[0] == anywhere):
		r.fail(prefix+"country", "required", "", "a row with states or postal codes needs exactly one country")
		return nil
	}

	var areas []area
	for _, country := range countries {
		switch {
		case len(states) > 0:
			for _, cell := range states {
				if state, ok := r.readState(prefix+"state", country, cell); ok {
					areas = append(areas, area{country: country, state: state})
				}
			}
		case len(zips) > 0:
			for _, cell := range zips {
				if codes, ok := r.readZips(prefix+"zip", country, cell); ok {
					areas = append(areas, codes)
				}
			}
		default:
			areas = append(areas, area{country: country})
		}
	}
	return areas
}

// readZips reads the beginning of a postal code, or a range of them: "900..935"
// or "900-935".
func (r *row) readZips(column, country, cell string) (area, bool) {
	lo, hi, isRange := strings.Cut(cell, "..")
	if before, after, ok := strings.Cut(cell, "-"); ok && !isRange && !strings.Contains(hyphenated, country) {
		// Parts of unequal length are one code: 94103-1234.
		first := zipKey(country, before)
		last := zipKey(country, after)
		if first != "" && len(first) == len(last) {
			lo = before
			hi = after
			isRange = true
		}
	}

	codes := area{country: country, lo: zipKey(country, lo)}
	codes.hi = codes.lo
	if isRange {
		codes.hi = zipKey(country, hi)
	}
	longest := r.zipDigits(country)
	switch {
	case codes.lo == "" || codes.hi == "":
		r.fail(column, "invalid", "", "%s is not a postal code prefix or a range such as 900..935", quoteCell(cell))
	case len(codes.lo) != len(codes.hi):
		r.fail(column, "invalid", "", "both ends of a range must have the same length")
	case codes.lo > codes.hi:
		r.fail(column, "invalid", formatZip(country, codes.hi)+".."+formatZip(country, codes.lo), "the range ends before it begins")
	case longest > 0 && !allDigits(codes.lo+codes.hi):
		r.fail(column, "invalid", suggestZips(cell), "postal codes of %s must be digits; write a range as 900..935", country)
	case longest > 0 && len(codes.lo) > longest:
		r.fail(column, "invalid", "", "is longer than the postal codes of %s: separate several with commas or vertical bars", country)
	default:
		return codes, true
	}
	return area{}, false
}

// suggestZips is the postal code in "D-10" and the range in "900 to 935".
func suggestZips(cell string) string {
	parts := strings.FieldsFunc(cell, func(char rune) bool { return char < '0' || char > '9' })
	if len(parts) > 2 {
		return ""
	}
	return strings.Join(parts, "..")
}

// zipDigits remembers the digits of the countries of the sheet.
func (r *row) zipDigits(country string) int {
	n, ok := r.p.digits[country]
	if !ok {
		n = zipDigits(country)
		r.p.digits[country] = n
	}
	return n
}

// buildLanes puts the zones in order: one index of destinations for each origin.
func (p *parser) buildLanes() {
	slices.SortStableFunc(p.lanes, func(a, b lane) int {
		if order := a.from.compare(b.from); order != 0 {
			return order
		}
		return a.to.compare(b.to)
	})

	sheet := &p.sheet
	var farthest area // the origin that reaches farthest
	for i := 0; i < len(p.lanes); {
		first := &p.lanes[i]
		if farthest.overlaps(first.from) {
			p.fail(first.line, "from zip", "overlap", "", "%s overlaps the origin %s: use the same range or separate ones", first.from, farthest)
		}
		if !farthest.overlaps(first.from) || first.from.hi > farthest.hi {
			farthest = first.from
		}

		end := i
		var destinations []areaRow
		for ; end < len(p.lanes) && p.lanes[end].from == first.from; end++ {
			lane := &p.lanes[end]
			destinations = append(destinations, areaRow{areaEntry{lane.to, lane.zone}, lane.line})
		}
		sheet.origins = append(sheet.origins, areaEntry{first.from, len(sheet.lanes)})
		sheet.lanes = append(sheet.lanes, p.buildIndex(destinations))
		i = end
	}
}

// An areaRow is an area with its line in the text.
type areaRow struct {
	areaEntry
	line int
}

// buildIndex is the sorted list without repeats. Areas of one level that overlap
// are an error: the value of a location would depend on the order of the rows.
func (p *parser) buildIndex(rows []areaRow) areaIndex {
	var index areaIndex
	farthest := -1 // the area that reaches farthest
	for i, row := range rows {
		if farthest < 0 || !rows[farthest].overlaps(row.area) {
			index = append(index, row.areaEntry)
			farthest = i
			continue
		}

		// The later row of the text is the one that is reported.
		earlier := rows[farthest]
		later := row
		if later.line < earlier.line {
			earlier, later = later, earlier
		}
		switch {
		case earlier.areaEntry == later.areaEntry:
			p.warn(later.line, "", "duplicate", "", "%s repeats line %d", later.area, earlier.line)
		case earlier.area == later.area:
			zones := p.sheet.Zones
			p.fail(later.line, "zone", "overlap", "", "%s is in zone %s here and in zone %s on line %d", later.area, zones[later.value], zones[earlier.value], earlier.line)
		default:
			p.fail(later.line, "zip", "overlap", "", "%s overlaps %s of line %d", later.area, earlier.area, earlier.line)
		}
		if row.hi > rows[farthest].hi {
			farthest = i
		}
	}
	return index
}
