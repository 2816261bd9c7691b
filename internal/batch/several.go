package batch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// bar stands between the values of several parcels, or of several kinds of
// things, in one cell.
const bar = "|"

// several reads the fields of parcels or things: the first says by its bars how
// many there are, each other has one value for all or one for each. Where there
// is one, a bar is a sign like any other.
func (l *line) several(first string, others ...string) []map[string]string {
	n := strings.Count(l.values[first], bar) + 1
	list := make([]map[string]string, n)
	for i := range list {
		list[i] = map[string]string{}
	}
	for _, name := range append([]string{first}, others...) {
		parts := []string{l.values[name]}
		if n > 1 {
			parts = strings.Split(l.values[name], bar)
		}
		if len(parts) != 1 && len(parts) != n {
			l.add(name, fmt.Sprintf("has %d values, and %s has %d: write one for all, or one for each", len(parts), Title(first), n))
		}
		for i := range list {
			list[i][name] = strings.TrimSpace(parts[min(i, len(parts)-1)])
		}
	}
	return list
}

// member says which of several parcels or things of an order a pointer points
// to; "" if there is one.
func member(pointer string, o ship.Order) string {
	parts := strings.Split(pointer, "/")
	for i := range len(parts) - 1 {
		n, err := strconv.Atoi(parts[i+1])
		switch {
		case err != nil:
		case parts[i] == "parcels" && len(o.Parcels) > 1:
			return fmt.Sprintf("parcel %d: ", n+1)
		case parts[i] == "items" && o.Customs != nil && len(o.Customs.Items) > 1:
			return fmt.Sprintf("thing %d: ", n+1)
		}
	}
	return ""
}

// Examples are the lines of the template: an order of one parcel, and one of
// two.
func Examples() [][]string {
	one, two := make([]string, len(Fields)), make([]string, len(Fields))
	for i, f := range Fields {
		one[i], two[i] = f.Example, f.Example
		switch f.Name {
		case "order":
			two[i] = "1002"
		case "weight":
			two[i] = "2.5 " + bar + " 4"
		case "length":
			two[i] = "12 " + bar + " 16"
		}
	}
	return [][]string{one, two}
}
