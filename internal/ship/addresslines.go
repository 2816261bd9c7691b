package ship

import (
	"strings"
	"unicode"
)

// Lines returns the address as it is printed, from top to bottom: in the order that
// its country uses, with the name of a state where people do not write its
// code. With the country, its English name in capitals comes last, as the
// Universal Postal Union asks for it.
func (a *Address) Lines(withCountry bool) []string {
	lines := make([]string, 0, 8)
	local := a.isLocal()
	if !local {
		lines = appendLines(lines, a.Name, a.Company)
	}
	lines = appendLines(lines, strings.Split(a.layOut(local), "\n")...)

	// Where addresses go from the large to the small, the person comes last.
	if local {
		lines = appendLines(lines, a.Company, a.Name)
	}
	if withCountry {
		lines = appendLines(lines, strings.ToUpper(CountryName(a.Country)))
	}
	return lines
}

func appendLines(lines []string, more ...string) []string {
	for _, line := range more {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// isLocal reports whether the address is written in the script of a country
// that has an order of its own for it, such as Japan.
func (a *Address) isLocal() bool {
	c := countries()[a.Country]
	if c == nil || c.format.LocalLayout == "" {
		return false
	}
	for _, r := range a.Address1 + a.City {
		if r > unicode.MaxLatin1 && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
			return true
		}
	}
	return false
}

// layOut puts street, city, state and postal code into the layout of the
// country. A field that is empty falls away with what stands before it.
func (a *Address) layOut(local bool) string {
	layout := "%1\n%2\n%3\n%L %R %P"
	if c := countries()[a.Country]; c != nil {
		layout = c.format.Layout
		if local {
			layout = c.format.LocalLayout
		}
	}

	// Some layouts leave out what a client may write nevertheless. A postal
	// code or city that was given is printed.
	if a.City != "" && !strings.Contains(layout, "%L") && !strings.EqualFold(a.City, CountryName(a.Country)) {
		layout += "\n%L"
	}
	if a.Zip != "" && !strings.Contains(layout, "%P") {
		layout += "\n%P"
	}

	var out strings.Builder
	before := 0
	for i := 0; i+1 < len(layout); i++ {
		if layout[i] != '%' {
			continue
		}
		if value := a.field(layout[i+1], local); value != "" {
			out.WriteString(layout[before:i])
			out.WriteString(value)
		}
		before = i + 2
	}
	return out.String()
}

// field is the value that a letter of a layout stands for.
func (a *Address) field(letter byte, local bool) string {
	switch letter {
	case '1':
		return a.Address1
	case '2':
		return a.Address2
	case '3':
		return a.Address3
	case 'L':
		return a.City
	case 'P':
		return a.Zip
	case 'R':
		return a.writtenState(local)
	}
	return ""
}

// writtenState is the state as people write it in an address: as a code in the
// United States, as a name in Japan. A number is never written.
func (a *Address) writtenState(local bool) string {
	c := countries()[a.Country]
	if c == nil || a.State == "" || c.format.ShowRegionID && !isNumber(a.State) {
		return a.State
	}
	if local {
		if name, ok := c.format.LocalRegions.Get(a.State); ok {
			return name
		}
	}
	return StateName(a.Country, a.State)
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
